// Barriers in shared memory (PTX 9.7.13.15): 8 bytes, 8-aligned, with arrivals and bytes ("tx") to wait for.
//
// `bar` is a shared::cta address unless the name says cluster. A phase completes when its pending arrivals
// and its pending bytes are both zero. wait_parity(p) returns once the phase of parity p has completed: on a
// fresh barrier parity 1 returns at once. Only the current phase and the one before it can be told apart.
#pragma once

#include <cstdint>

#include "tilewright/config.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/hooks.h"
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

/// Starts phase 0 of a barrier of `count` arrivals (1..2^20 - 1). PTX `mbarrier.init`. One thread; the others
/// may use it after fence_mbarrier_init and a block (cluster) barrier.
TILEWRIGHT_DEVICE void mbarrier_init(uint32_t bar, uint32_t count) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::mbarrier_init(bar, count);
#else
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
#endif
}

/// Ends the life of a barrier that nobody uses any more, so that its bytes may be reused. PTX
/// `mbarrier.inval`. One thread.
TILEWRIGHT_DEVICE void mbarrier_invalidate(uint32_t bar) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::mbarrier_invalidate(bar);
#else
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(bar) : "memory");
#endif
}

/// One arrival of the calling thread. PTX `mbarrier.arrive` (release.cta): orders this thread's earlier
/// accesses before what the waiters do.
TILEWRIGHT_DEVICE void mbarrier_arrive(uint32_t bar) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::mbarrier_arrive(bar, 1, emulator::Scope::cta, emulator::Space::cta);
#else
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
#endif
}

/// `count` arrivals at once. As mbarrier_arrive.
TILEWRIGHT_DEVICE void mbarrier_arrive(uint32_t bar, uint32_t count) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::mbarrier_arrive(bar, count, emulator::Scope::cta, emulator::Space::cta);
#else
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(count) : "memory");
#endif
}

/// One arrival on a barrier of any block of the cluster; `bar` from map_shared. PTX
/// `mbarrier.arrive.shared::cluster`. Without a `.release.cluster` qualifier on purpose: that one drains the
/// thread's outstanding accesses and halves the speed of a main loop. It orders the reads of a stage before
/// its refill, which is what empty barriers are for.
TILEWRIGHT_DEVICE void mbarrier_arrive_cluster(uint32_t bar) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::mbarrier_arrive(bar, 1);
#else
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(bar) : "memory");
#endif
}

/// As mbarrier_arrive_cluster with release.cluster: also publishes this thread's earlier ordinary stores to
/// the block that waits (mbarrier_wait_parity_cluster). PTX
/// `mbarrier.arrive.release.cluster.shared::cluster`.
TILEWRIGHT_DEVICE void mbarrier_arrive_release_cluster(uint32_t bar) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::mbarrier_arrive(bar, 1, emulator::Scope::cluster);
#else
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(bar) : "memory");
#endif
}

/// One arrival, and one fewer arrival expected in every later phase. PTX `mbarrier.arrive_drop`
/// (release.cta).
TILEWRIGHT_DEVICE void mbarrier_arrive_drop(uint32_t bar) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::mbarrier_arrive_drop(bar);
#else
  asm volatile("mbarrier.arrive_drop.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
#endif
}

/// The current phase must also wait for `bytes` more bytes. PTX `mbarrier.expect_tx` (relaxed.cta). At most
/// 2^20 - 1 bytes a phase.
TILEWRIGHT_DEVICE void mbarrier_expect_tx(uint32_t bar, uint32_t bytes) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::mbarrier_expect_tx(bar, bytes);
#else
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
#endif
}

/// mbarrier_expect_tx, then one arrival. PTX `mbarrier.arrive.expect_tx` (release.cta).
TILEWRIGHT_DEVICE void mbarrier_arrive_expect_tx(uint32_t bar, uint32_t bytes) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::mbarrier_arrive_expect_tx(bar, bytes, emulator::Scope::cta, emulator::Space::cta);
#else
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
#endif
}

/// As mbarrier_arrive_expect_tx on a barrier of any block of the cluster; `bar` from map_shared
/// (release.cluster).
TILEWRIGHT_DEVICE void mbarrier_arrive_expect_tx_cluster(uint32_t bar, uint32_t bytes) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::mbarrier_arrive_expect_tx(bar, bytes, emulator::Scope::cluster);
#else
  asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(bar),
               "r"(bytes)
               : "memory");
#endif
}

/// Whether the phase of parity `parity` has completed; never blocks. PTX `mbarrier.test_wait.parity`
/// (acquire.cta).
TILEWRIGHT_DEVICE bool mbarrier_test_wait_parity(uint32_t bar, uint32_t parity) {
#if defined(TILEWRIGHT_EMULATE)
  return emulator::mbarrier_test_wait_parity(bar, parity);
#else
  uint32_t done;
  asm volatile(
      "{ .reg .pred p;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p; }"
      : "=r"(done)
      : "r"(bar), "r"(parity)
      : "memory");
  return done != 0;
#endif
}

/// As mbarrier_test_wait_parity, but may sleep up to a limit of the system before it answers no. Always in a
/// loop. PTX `mbarrier.try_wait.parity` (acquire.cta); before sm_90 `mbarrier.test_wait.parity`.
TILEWRIGHT_DEVICE bool mbarrier_try_wait_parity(uint32_t bar, uint32_t parity) {
#if defined(TILEWRIGHT_EMULATE)
  return emulator::mbarrier_test_wait_parity(bar, parity);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  return mbarrier_test_wait_parity(bar, parity);
#else
  uint32_t done;
  asm volatile(
      "{ .reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p; }"
      : "=r"(done)
      : "r"(bar), "r"(parity)
      : "memory");
  return done != 0;
#endif
}

#if !defined(TILEWRIGHT_EMULATE) && defined(TILEWRIGHT_BOUNDED_WAITS) && \
    (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900)
// Loop, bound (3 s of the nanosecond timer) and trap in one block: a trap that the compiler sees as a branch
// of its own serialises wgmma and spills the accumulators.
#  define TILEWRIGHT_BOUNDED_WAIT(SEMANTICS)        \
    asm volatile(                                   \
        "{ .reg .pred p, q;\n"                      \
        ".reg .u32 start, now;\n"                   \
        "mov.u32 start, %%globaltimer_lo;\n"        \
        "again: mbarrier.try_wait.parity" SEMANTICS \
        ".shared::cta.b64 p, [%0], %1;\n"           \
        "@p bra done;\n"                            \
        "mov.u32 now, %%globaltimer_lo;\n"          \
        "sub.u32 now, now, start;\n"                \
        "setp.gt.u32 q, now, 3000000000;\n"         \
        "@q trap;\n"                                \
        "bra again;\n"                              \
        "done: }" ::"r"(bar),                       \
        "r"(parity)                                 \
        : "memory")
#endif

/// Returns once the phase of parity `parity` has completed (acquire.cta): what the arrivals released, and the
/// bulk copies that the phase counted, are then visible to this thread. With TILEWRIGHT_BOUNDED_WAITS the
/// kernel traps after 3 seconds instead of hanging.
TILEWRIGHT_DEVICE void mbarrier_wait_parity(uint32_t bar, uint32_t parity) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::mbarrier_wait_parity(bar, parity);
#elif defined(TILEWRIGHT_BOUNDED_WAIT)
  TILEWRIGHT_BOUNDED_WAIT("");
#else
  while (!mbarrier_try_wait_parity(bar, parity)) {
  }
#endif
}

/// As mbarrier_wait_parity with acquire.cluster: also for ordinary stores that threads of other blocks
/// released.
TILEWRIGHT_DEVICE void mbarrier_wait_parity_cluster(uint32_t bar, uint32_t parity) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::mbarrier_wait_parity(bar, parity, emulator::Scope::cluster);
#elif defined(TILEWRIGHT_BOUNDED_WAIT)
  TILEWRIGHT_BOUNDED_WAIT(".acquire.cluster");
#else
  uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{ .reg .pred p;\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(bar), "r"(parity)
        : "memory");
  }
#endif
}

#undef TILEWRIGHT_BOUNDED_WAIT

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
