// Register reallocation between warpgroups (PTX `setmaxnreg`).
#pragma once

#include <cstdint>

#include "tilewright/config.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/hooks.h"
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

/// Whether setmaxnreg takes `registers`: 24 to 256 in steps of 8.
TILEWRIGHT_HOST_DEVICE constexpr bool is_legal_register_count(uint32_t registers) {
  return registers >= 24 && registers <= 256 && registers % 8 == 0;
}

/// Raises the registers of each thread to N; waits until the block's pool has them. The new ones hold
/// garbage. PTX `setmaxnreg.inc`. All 128 threads of a warpgroup, in a kernel with launch bounds (threads,
/// 1).
template <uint32_t N>
TILEWRIGHT_DEVICE void setmaxnreg_inc() {
  static_assert(is_legal_register_count(N), "setmaxnreg takes 24 to 256 registers, a multiple of 8");
#if defined(TILEWRIGHT_EMULATE)
  emulator::setmaxnreg(true, N);
#else
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
#endif
}

/// Lowers the registers of each thread to N and gives the rest back to the block's pool. PTX
/// `setmaxnreg.dec`. As setmaxnreg_inc.
template <uint32_t N>
TILEWRIGHT_DEVICE void setmaxnreg_dec() {
  static_assert(is_legal_register_count(N), "setmaxnreg takes 24 to 256 registers, a multiple of 8");
#if defined(TILEWRIGHT_EMULATE)
  emulator::setmaxnreg(false, N);
#else
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
#endif
}

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
