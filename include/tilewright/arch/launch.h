// Launching a kernel: on the GPU through the CUDA runtime, on the emulated machine as a call.
#pragma once

#include <tuple>
#include <utility>

#include "tilewright/arch/launch_config.h"
#include "tilewright/config.h"
#include "tilewright/error.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/hooks.h"
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

#if defined(TILEWRIGHT_EMULATE)

namespace detail {

/// Dynamic shared memory of a block of the emulated chip, in bytes.
inline constexpr uint32_t emulated_shared_limit = 232448;

}  // namespace detail

/// Runs `kernel` on the emulated machine that config.stream names (null: the calling thread's default
/// machine) and returns when every block has ended. Host. Errors: the rules of a launch; the machine's first
/// report.
template <class... P, class... A>
Status launch(void (*kernel)(P...), const LaunchConfig& config, A&&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A), "launch takes one argument for each parameter of the kernel");
  LaunchConfig c = config;
  if (Status broken = detail::check_launch(c, detail::emulated_shared_limit)) return broken;

  struct Closure {
    void (*kernel)(P...);
    std::tuple<P...> parameters;
  } closure{kernel, std::tuple<P...>(std::forward<A>(arguments)...)};
  emulator::LaunchConfig machine;
  machine.kernel_name = c.name;
  machine.grid = {c.grid.x, c.grid.y, c.grid.z};
  machine.block = {c.block.x, c.block.y, c.block.z};
  machine.cluster = {c.cluster.x, c.cluster.y, c.cluster.z};
  machine.shared_bytes = c.shared_bytes;
  machine.ctas_per_sm = c.ctas_per_sm;
  machine.dependent_launch = c.dependent_launch;
  machine.machine = static_cast<emulator::Machine*>(c.stream);
  return emulator::launch(
      machine,
      [](void* opaque) {
        auto* thread = static_cast<Closure*>(opaque);
        std::apply(thread->kernel, thread->parameters);
      },
      &closure);
}

#else

namespace detail {

/// launch() of a kernel whose parameters lie at the addresses `parameters`, in order. In the library, not
/// here: what it needs would add a second to the compilation of every kernel.
Status launch_on_device(const void* kernel, const LaunchConfig& requested, void** parameters);

}  // namespace detail

/// Launches `kernel` on config.stream of the current device and returns without waiting. Host; safe from
/// several threads. Errors, all before the launch but the last: the rules of a launch (detail::check_launch);
/// no code in the program for the device's architecture; more threads than the kernel's launch bounds; what
/// the runtime reports.
template <class... P, class... A>
Status launch(void (*kernel)(P...), const LaunchConfig& config, A&&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A), "launch takes one argument for each parameter of the kernel");
  std::tuple<P...> parameters(std::forward<A>(arguments)...);
  return std::apply(
      [&](auto&... parameter) {
        void* addresses[sizeof...(P) + 1] = {static_cast<void*>(&parameter)...};
        return detail::launch_on_device(reinterpret_cast<const void*>(kernel), config, addresses);
      },
      parameters);
}

#endif

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
