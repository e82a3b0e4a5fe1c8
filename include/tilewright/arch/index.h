// Who the calling thread is, and names that the emulated machine uses in its reports.
#pragma once

#include <cstdint>

#include "tilewright/arch/index3.h"
#include "tilewright/config.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/hooks.h"
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

inline constexpr uint32_t warp_size = 32;        // threads
inline constexpr uint32_t warpgroup_size = 128;  // threads

#if defined(TILEWRIGHT_EMULATE)

/// threadIdx. Any thread.
inline Index3 thread_index() {
  const auto i = emulator::thread_index();
  return {i.x, i.y, i.z};
}
/// blockIdx. Any thread.
inline Index3 block_index() {
  const auto i = emulator::block_index();
  return {i.x, i.y, i.z};
}
/// blockDim. Any thread.
inline Index3 block_dim() {
  const auto i = emulator::block_dim();
  return {i.x, i.y, i.z};
}
/// gridDim, in blocks. Any thread.
inline Index3 grid_dim() {
  const auto i = emulator::grid_dim();
  return {i.x, i.y, i.z};
}
/// Cluster extents in blocks (PTX special register %cluster_nctaid). Any thread.
inline Index3 cluster_dim() {
  const auto i = emulator::cluster_dim();
  return {i.x, i.y, i.z};
}
/// This block's position inside its cluster (PTX special register %cluster_ctaid). Any thread.
inline Index3 cluster_block_index() {
  const Index3 b = block_index(), c = cluster_dim();
  return {b.x % c.x, b.y % c.y, b.z % c.z};
}
/// This block's linear rank in its cluster, x fastest (PTX special register %cluster_ctarank). Any thread.
inline uint32_t cluster_rank() { return emulator::cluster_rank(); }

#else

/// threadIdx. Any thread.
TILEWRIGHT_DEVICE Index3 thread_index() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
/// blockIdx. Any thread.
TILEWRIGHT_DEVICE Index3 block_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
/// blockDim. Any thread.
TILEWRIGHT_DEVICE Index3 block_dim() { return {blockDim.x, blockDim.y, blockDim.z}; }
/// gridDim, in blocks. Any thread.
TILEWRIGHT_DEVICE Index3 grid_dim() { return {gridDim.x, gridDim.y, gridDim.z}; }
/// Cluster extents in blocks (PTX special register %cluster_nctaid). Any thread.
TILEWRIGHT_DEVICE Index3 cluster_dim() {
  Index3 i;
  asm("mov.u32 %0, %%cluster_nctaid.x; mov.u32 %1, %%cluster_nctaid.y; mov.u32 %2, %%cluster_nctaid.z;"
      : "=r"(i.x), "=r"(i.y), "=r"(i.z));
  return i;
}
/// This block's position inside its cluster (PTX special register %cluster_ctaid). Any thread.
TILEWRIGHT_DEVICE Index3 cluster_block_index() {
  Index3 i;
  asm("mov.u32 %0, %%cluster_ctaid.x; mov.u32 %1, %%cluster_ctaid.y; mov.u32 %2, %%cluster_ctaid.z;"
      : "=r"(i.x), "=r"(i.y), "=r"(i.z));
  return i;
}
/// This block's linear rank in its cluster, x fastest (PTX special register %cluster_ctarank). Any thread.
TILEWRIGHT_DEVICE uint32_t cluster_rank() {
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

#endif

/// Position of this thread in its block, x fastest. Any thread.
TILEWRIGHT_DEVICE uint32_t linear_thread_index() {
  const Index3 t = thread_index(), b = block_dim();
  return t.x + b.x * (t.y + b.y * t.z);
}

/// Lane of this thread in its warp, 0..31. Any thread.
TILEWRIGHT_DEVICE uint32_t lane_index() {
#if defined(TILEWRIGHT_EMULATE)
  return linear_thread_index() % warp_size;
#else
  uint32_t lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
#endif
}

/// Warp of this thread in its block. All 32 lanes must call it: the value goes through a shuffle, so that the
/// compiler knows it to be the same in the whole warp (PTX `shfl.sync.idx`).
TILEWRIGHT_DEVICE uint32_t warp_index() {
  const uint32_t warp = linear_thread_index() / warp_size;
#if defined(TILEWRIGHT_EMULATE)
  emulator::note_warp_index();
  return warp;
#else
  return __shfl_sync(0xFFFFFFFFu, warp, 0);
#endif
}

/// Names the role of the calling thread in the reports and the timeline of the emulated machine. Nothing on a
/// GPU.
TILEWRIGHT_DEVICE void name_role([[maybe_unused]] const char* role) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::name_role(role);
#endif
}

/// Names the mbarrier at shared address `bar`, and its ring stage (-1: none). Nothing on a GPU.
TILEWRIGHT_DEVICE void name_barrier([[maybe_unused]] uint32_t bar, [[maybe_unused]] const char* name,
                                    [[maybe_unused]] int stage = -1) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::name_barrier(bar, name, stage);
#endif
}

/// Names `bytes` of shared memory at `address`, and their ring stage (-1: none). Nothing on a GPU.
TILEWRIGHT_DEVICE void name_shared([[maybe_unused]] uint32_t address, [[maybe_unused]] uint32_t bytes,
                                   [[maybe_unused]] const char* name, [[maybe_unused]] int stage = -1) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::name_shared(address, bytes, name, stage);
#endif
}

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
