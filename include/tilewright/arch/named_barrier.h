// The sixteen hardware barriers of a block (PTX `barrier`). Barrier 0 is the one of sync_threads.
#pragma once

#include <cstdint>

#include "tilewright/config.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/hooks.h"
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

inline constexpr uint32_t named_barrier_count = 16;

/// Waits for every thread of the block and orders memory among them. PTX `barrier.sync 0`. All threads of the
/// block.
TILEWRIGHT_DEVICE void sync_threads() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::sync_threads();
#else
  __syncthreads();
#endif
}

/// Arrives at barrier `id` (0..15) and waits until `threads` (a multiple of 32) have arrived; orders memory
/// among them. PTX `bar.sync`. Whole warps. Prefer NamedBarrier, which checks both numbers at compile time.
TILEWRIGHT_DEVICE void named_barrier_sync(uint32_t id, uint32_t threads) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::named_barrier_sync(id, threads);
#else
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
#endif
}

/// Arrives at barrier `id` without waiting; its earlier accesses are ordered before what the waiting threads
/// do. PTX `bar.arrive`. As named_barrier_sync.
TILEWRIGHT_DEVICE void named_barrier_arrive(uint32_t id, uint32_t threads) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::named_barrier_arrive(id, threads);
#else
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
#endif
}

/// Whether barrier `id` may be used by `threads` threads: what NamedBarrier asserts.
TILEWRIGHT_HOST_DEVICE constexpr bool is_legal_named_barrier(uint32_t id, uint32_t threads) {
  return id < named_barrier_count && threads % 32 == 0 && threads >= 32 && threads <= 1024;
}

/// Barrier `Id` (1..15; 0 belongs to sync_threads) for `Threads` threads, syncing and arriving ones together.
template <uint32_t Id, uint32_t Threads>
struct NamedBarrier {
  static_assert(Id != 0, "barrier 0 belongs to sync_threads(); use 1 to 15");
  static_assert(Id < named_barrier_count, "a block has named barriers 0 to 15");
  static_assert(Threads % 32 == 0,
                "whole warps take part in a named barrier: Threads must be a multiple of 32");
  static_assert(Threads >= 32 && Threads <= 1024, "a block has 32 to 1024 threads");

  /// named_barrier_sync.
  static TILEWRIGHT_DEVICE void sync() { named_barrier_sync(Id, Threads); }
  /// named_barrier_arrive.
  static TILEWRIGHT_DEVICE void arrive() { named_barrier_arrive(Id, Threads); }
};

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
