// Small asynchronous copies from global to shared memory (PTX `cp.async`). Every thread issues its own.
//
// Their data counts as ordinary writes of the issuing thread, made when its wait (or the mbarrier arrival)
// returns: other threads need a barrier, the async proxy (wgmma, TMA) needs fence_proxy_async_shared as well.
#pragma once

#include <cstdint>

#include "tilewright/config.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/hooks.h"
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

/// Copies `src_bytes` (0 to 4) bytes from `src` to the shared address `dst`, both 4-aligned, and zeros the
/// rest of 4. PTX `cp.async.ca`.
TILEWRIGHT_DEVICE void cp_async_4(uint32_t dst, const void* src, uint32_t src_bytes) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::cp_async(dst, src, 4, src_bytes);
#else
  asm volatile("cp.async.ca.shared::cta.global [%0], [%1], 4, %2;" ::"r"(dst), "l"(src), "r"(src_bytes)
               : "memory");
#endif
}

/// As cp_async_4 with all 4 bytes, which saves a register.
TILEWRIGHT_DEVICE void cp_async_4(uint32_t dst, const void* src) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::cp_async(dst, src, 4, 4);
#else
  asm volatile("cp.async.ca.shared::cta.global [%0], [%1], 4;" ::"r"(dst), "l"(src) : "memory");
#endif
}

/// As cp_async_4 with 8 bytes. PTX `cp.async.ca`.
TILEWRIGHT_DEVICE void cp_async_8(uint32_t dst, const void* src, uint32_t src_bytes = 8) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::cp_async(dst, src, 8, src_bytes);
#else
  asm volatile("cp.async.ca.shared::cta.global [%0], [%1], 8, %2;" ::"r"(dst), "l"(src), "r"(src_bytes)
               : "memory");
#endif
}

/// As cp_async_4 with 16 bytes, past L1. PTX `cp.async.cg`.
TILEWRIGHT_DEVICE void cp_async_16(uint32_t dst, const void* src, uint32_t src_bytes = 16) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::cp_async(dst, src, 16, src_bytes);
#else
  asm volatile("cp.async.cg.shared::cta.global [%0], [%1], 16, %2;" ::"r"(dst), "l"(src), "r"(src_bytes)
               : "memory");
#endif
}

/// Closes a group of this thread's copies since the last one. PTX `cp.async.commit_group`.
TILEWRIGHT_DEVICE void cp_async_commit() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::cp_async_commit();
#else
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until at most the `Pending` newest groups of this thread still run; the others' data is visible to
/// this thread alone. PTX `cp.async.wait_group`.
template <int Pending>
TILEWRIGHT_DEVICE void cp_async_wait() {
  static_assert(Pending >= 0, "cp_async_wait takes a number of pending groups");
#if defined(TILEWRIGHT_EMULATE)
  emulator::cp_async_wait(Pending);
#else
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#endif
}

/// Arrives on `bar` once all copies that this thread has issued are done. The arrival is one that
/// mbarrier_init counted. PTX `cp.async.mbarrier.arrive.noinc`.
TILEWRIGHT_DEVICE void cp_async_mbarrier_arrive_noinc(uint32_t bar) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::cp_async_mbarrier_arrive(bar, true);
#else
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(bar) : "memory");
#endif
}

/// As cp_async_mbarrier_arrive_noinc, but adds its arrival to the phase's pending count first, so that
/// mbarrier_init does not count it. PTX `cp.async.mbarrier.arrive`.
TILEWRIGHT_DEVICE void cp_async_mbarrier_arrive(uint32_t bar) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::cp_async_mbarrier_arrive(bar, false);
#else
  asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(bar) : "memory");
#endif
}

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
