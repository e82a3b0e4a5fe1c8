// Programmatic dependent launch (PTX `griddepcontrol`).
#pragma once

#include "tilewright/config.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/hooks.h"
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

/// Waits until the grids that this one depends on have finished and their writes are visible. Nothing when
/// the launch was not a dependent one. PTX `griddepcontrol.wait`. Every thread that reads or writes what they
/// touch, or one that orders the others.
TILEWRIGHT_DEVICE void grid_dependency_wait() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::grid_dependency_wait();
#elif !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Lets the dependent grid start once every block has called it or exited. Makes nothing visible. PTX
/// `griddepcontrol.launch_dependents`. Any thread.
TILEWRIGHT_DEVICE void launch_dependents() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::launch_dependents();
#elif !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
