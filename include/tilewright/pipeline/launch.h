// Launching the kernels of a pipeline.
#pragma once

#include <cstdint>
#include <utility>

#include "tilewright/arch/launch.h"
#include "tilewright/config.h"
#include "tilewright/error.h"
#include "tilewright/pipeline/launch_bounds.h"
#include "tilewright/pipeline/suggest_pipeline.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {
/// arch::launch, for a kernel that takes the handle of `pipeline`. `config`: from launch_config() or
/// persistent_config(). Without blocks in x, as for an empty product, nothing is launched and that is a
/// success. Refuses besides a block or a cluster other than the pipeline's and less shared memory than its
/// buffer (pipeline.block, pipeline.cluster, pipeline.shared), and, on a GPU, a kernel without
/// TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block): its registers would not be those that the tile
/// was planned with.
template <class Handle, class... P, class... A>
[[nodiscard]] Status launch(void (*kernel)(P...), const Pipeline<Handle>& pipeline,
                            const arch::LaunchConfig& config, A&&... arguments) {
  const auto extents = [](arch::Index3 i) { return Extent3{i.x, i.y, i.z}; };
  const detail::LaunchShape given{extents(config.block), extents(config.cluster), config.shared_bytes},
      needed{pipeline.get_block_dim(), pipeline.get_cluster_dim(), pipeline.buffer_size()};
  if (Status refused = detail::check_launch_shape(given, needed, config.name)) return refused;
  if (config.grid.x == 0) return {};
#if !defined(TILEWRIGHT_EMULATE)
  const Status refused = impl::check_launch_bounds(reinterpret_cast<const void*>(kernel),
                                                   Handle::max_threads_per_block, config.name);
  if (refused) return refused;
#endif
  return arch::launch(kernel, config, std::forward<A>(arguments)...);
}

/// A launch of `grid` blocks of a descriptor's BlockDim on `stream`, with so many bytes of shared memory: for
/// kernels that multiply without a pipeline, with arch::launch(kernel, config, arguments...).
template <AnyDescription D>
arch::LaunchConfig make_launch_config(arch::Index3 grid, uint32_t shared_bytes, void* stream = nullptr,
                                      const char* name = "kernel") {
  static_assert(!facts_of_v<D>.with_pipeline, "a pipeline has its own: p->launch_config(grid)");
  arch::LaunchConfig config;
  config.grid = grid;
  config.block = D::block_dim;
  config.shared_bytes = shared_bytes;
  config.stream = stream;
  config.name = name;
  return config;
}
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
