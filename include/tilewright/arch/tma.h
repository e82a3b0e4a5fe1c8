// Bulk asynchronous copies: tensor tiles through a TensorMap, and plain spans of bytes (PTX `cp.async.bulk`).
//
// Each call is one copy: one elected thread makes it. Coordinates are in elements, dimension 0 (contiguous)
// first; a load fills what lies outside the tensor with zeros, a store drops it (its coordinates must not be
// negative). Shared addresses are shared::cta, 128-aligned for tiles (1024 under a 128-byte swizzle),
// 16-aligned for spans, whose sizes are multiples of 16 bytes. Data travels through the async proxy: what
// ordinary stores wrote to the source needs fence_proxy_async_shared by each writer and a barrier first.
//
// Loads signal their bytes on an mbarrier; who waits on it sees the data. Stores and reductions join the bulk
// group of the issuing thread: that thread commits and waits.
#pragma once

#include <cstdint>

#include "tilewright/arch/tma_issue.h"
#include "tilewright/config.h"
#include "tilewright/tensor_map.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/hooks.h"
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

#define TILEWRIGHT_TMA_P1 int32_t c0
#define TILEWRIGHT_TMA_P2 int32_t c0, int32_t c1
#define TILEWRIGHT_TMA_P3 int32_t c0, int32_t c1, int32_t c2
#define TILEWRIGHT_TMA_P4 int32_t c0, int32_t c1, int32_t c2, int32_t c3
#define TILEWRIGHT_TMA_P5 int32_t c0, int32_t c1, int32_t c2, int32_t c3, int32_t c4
#define TILEWRIGHT_TMA_A1 c0
#define TILEWRIGHT_TMA_A2 c0, c1
#define TILEWRIGHT_TMA_A3 c0, c1, c2
#define TILEWRIGHT_TMA_A4 c0, c1, c2, c3
#define TILEWRIGHT_TMA_A5 c0, c1, c2, c3, c4
// X(rank, coordinate parameters, coordinates)
#define TILEWRIGHT_TMA_RANKS(X)              \
  X(1, TILEWRIGHT_TMA_P1, TILEWRIGHT_TMA_A1) \
  X(2, TILEWRIGHT_TMA_P2, TILEWRIGHT_TMA_A2) \
  X(3, TILEWRIGHT_TMA_P3, TILEWRIGHT_TMA_A3) \
  X(4, TILEWRIGHT_TMA_P4, TILEWRIGHT_TMA_A4) \
  X(5, TILEWRIGHT_TMA_P5, TILEWRIGHT_TMA_A5)

/// tma_load_1d to tma_load_5d(dst, map, bar, c0, ... [, policy]): loads one box to `dst` and signals its
/// bytes, those outside the tensor included, on `bar`. PTX `cp.async.bulk.tensor.shared::cluster.global`.
#define TILEWRIGHT_X(RANK, PARAMETERS, COORDINATES)                                                         \
  TILEWRIGHT_DEVICE void tma_load_##RANK##d(uint32_t dst, const TensorMap* map, uint32_t bar, PARAMETERS) { \
    detail::tma_load<RANK>(dst, map, bar, {COORDINATES});                                                   \
  }                                                                                                         \
  TILEWRIGHT_DEVICE void tma_load_##RANK##d(uint32_t dst, const TensorMap* map, uint32_t bar, PARAMETERS,   \
                                            CachePolicy policy) {                                           \
    detail::tma_load<RANK>(dst, map, bar, {COORDINATES}, policy);                                           \
  }
TILEWRIGHT_TMA_RANKS(TILEWRIGHT_X)
#undef TILEWRIGHT_X

/// tma_load_multicast_1d to _5d(dst, map, bar, mask, c0, ... [, policy]): one read, delivered to every block
/// of the cluster whose rank is a set bit of `mask`: to the offset of `dst` there, and its bytes to the
/// barrier at the offset of `bar` there. PTX `cp.async.bulk.tensor...multicast::cluster`.
#define TILEWRIGHT_X(RANK, PARAMETERS, COORDINATES)                                                     \
  TILEWRIGHT_DEVICE void tma_load_multicast_##RANK##d(uint32_t dst, const TensorMap* map, uint32_t bar, \
                                                      uint16_t mask, PARAMETERS) {                      \
    detail::tma_load_multicast<RANK>(dst, map, bar, mask, {COORDINATES});                               \
  }                                                                                                     \
  TILEWRIGHT_DEVICE void tma_load_multicast_##RANK##d(uint32_t dst, const TensorMap* map, uint32_t bar, \
                                                      uint16_t mask, PARAMETERS, CachePolicy policy) {  \
    detail::tma_load_multicast<RANK>(dst, map, bar, mask, {COORDINATES}, policy);                       \
  }
TILEWRIGHT_TMA_RANKS(TILEWRIGHT_X)
#undef TILEWRIGHT_X

/// tma_store_1d to tma_store_5d(map, src, c0, ... [, policy]): stores one box from `src`. PTX
/// `cp.async.bulk.tensor.global.shared::cta.bulk_group`. Followed by tma_commit of the same thread.
#define TILEWRIGHT_X(RANK, PARAMETERS, COORDINATES)                                            \
  TILEWRIGHT_DEVICE void tma_store_##RANK##d(const TensorMap* map, uint32_t src, PARAMETERS) { \
    detail::tma_store<RANK>(map, src, {COORDINATES});                                          \
  }                                                                                            \
  TILEWRIGHT_DEVICE void tma_store_##RANK##d(const TensorMap* map, uint32_t src, PARAMETERS,   \
                                             CachePolicy policy) {                             \
    detail::tma_store<RANK>(map, src, {COORDINATES}, policy);                                  \
  }
TILEWRIGHT_TMA_RANKS(TILEWRIGHT_X)
#undef TILEWRIGHT_X

/// tma_reduce_add_1d to _5d(map, src, c0, ...), likewise tma_reduce_min and tma_reduce_max: global =
/// op(global, box), element by element and atomic in each, in the arithmetic of the map's type (add: not u8,
/// u16, s64, f64; min and max: integers of 32 and 64 bits, f16, bf16). PTX `cp.reduce.async.bulk.tensor`. As
/// tma_store.
#define TILEWRIGHT_X(RANK, PARAMETERS, COORDINATES)                                                 \
  TILEWRIGHT_DEVICE void tma_reduce_add_##RANK##d(const TensorMap* map, uint32_t src, PARAMETERS) { \
    detail::tma_reduce_add<RANK>(map, src, {COORDINATES});                                          \
  }                                                                                                 \
  TILEWRIGHT_DEVICE void tma_reduce_min_##RANK##d(const TensorMap* map, uint32_t src, PARAMETERS) { \
    detail::tma_reduce_min<RANK>(map, src, {COORDINATES});                                          \
  }                                                                                                 \
  TILEWRIGHT_DEVICE void tma_reduce_max_##RANK##d(const TensorMap* map, uint32_t src, PARAMETERS) { \
    detail::tma_reduce_max<RANK>(map, src, {COORDINATES});                                          \
  }
TILEWRIGHT_TMA_RANKS(TILEWRIGHT_X)
#undef TILEWRIGHT_X

/// tma_prefetch_1d to _5d(map, c0, ...): brings one box into L2. PTX `cp.async.bulk.prefetch.tensor`.
#define TILEWRIGHT_X(RANK, PARAMETERS, COORDINATES)                                 \
  TILEWRIGHT_DEVICE void tma_prefetch_##RANK##d(const TensorMap* map, PARAMETERS) { \
    detail::tma_prefetch<RANK>(map, {COORDINATES});                                 \
  }
TILEWRIGHT_TMA_RANKS(TILEWRIGHT_X)
#undef TILEWRIGHT_X

#undef TILEWRIGHT_TMA_P1
#undef TILEWRIGHT_TMA_P2
#undef TILEWRIGHT_TMA_P3
#undef TILEWRIGHT_TMA_P4
#undef TILEWRIGHT_TMA_P5
#undef TILEWRIGHT_TMA_A1
#undef TILEWRIGHT_TMA_A2
#undef TILEWRIGHT_TMA_A3
#undef TILEWRIGHT_TMA_A4
#undef TILEWRIGHT_TMA_A5
#undef TILEWRIGHT_TMA_RANKS

/// Brings a tensor map into the descriptor cache. PTX `prefetch.tensormap`. One thread, early.
TILEWRIGHT_DEVICE void prefetch_tensor_map(const TensorMap* map) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::prefetch_tensor_map(map);
#else
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
#endif
}

/// Closes a group of this thread's stores and reductions since the last one. PTX
/// `cp.async.bulk.commit_group`.
TILEWRIGHT_DEVICE void tma_commit() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::bulk_commit();
#else
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
}

/// Waits until at most the `Pending` newest groups of this thread still run: the others' results are in
/// global memory, visible to this thread. PTX `cp.async.bulk.wait_group`. The thread that committed.
template <int Pending>
TILEWRIGHT_DEVICE void tma_wait() {
  static_assert(Pending >= 0, "tma_wait takes a number of pending groups");
#if defined(TILEWRIGHT_EMULATE)
  emulator::bulk_wait(Pending, false);
#else
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(Pending) : "memory");
#endif
}

/// As tma_wait, but only until their shared memory has been read and may be written again. PTX
/// `cp.async.bulk.wait_group.read`. Before the block exits at the latest.
template <int Pending>
TILEWRIGHT_DEVICE void tma_wait_read() {
  static_assert(Pending >= 0, "tma_wait_read takes a number of pending groups");
#if defined(TILEWRIGHT_EMULATE)
  emulator::bulk_wait(Pending, true);
#else
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
#endif
}

/// Loads `bytes` bytes to `dst`, signalled on `bar`. PTX `cp.async.bulk.shared::cluster.global`.
TILEWRIGHT_DEVICE void bulk_load(uint32_t dst, const void* src, uint32_t bytes, uint32_t bar) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::bulk_load(dst, src, bytes, bar, 0);
#else
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(dst),
      "l"(src), "r"(bytes), "r"(bar)
      : "memory");
#endif
}

/// As bulk_load, delivered to every block whose rank is a set bit of `mask`; see tma_load_multicast.
TILEWRIGHT_DEVICE void bulk_load_multicast(uint32_t dst, const void* src, uint32_t bytes, uint32_t bar,
                                           uint16_t mask) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::bulk_load(dst, src, bytes, bar, mask);
#else
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, "
      "[%3], %4;" ::"r"(dst),
      "l"(src), "r"(bytes), "r"(bar), "h"(mask)
      : "memory");
#endif
}

/// Stores `bytes` bytes from `src`. PTX `cp.async.bulk.global.shared::cta.bulk_group`. As tma_store.
TILEWRIGHT_DEVICE void bulk_store(void* dst, uint32_t src, uint32_t bytes) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::bulk_store(dst, src, bytes);
#else
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(dst), "r"(src), "r"(bytes)
               : "memory");
#endif
}

/// Copies `bytes` bytes from this block to a block of the cluster, signalled on the barrier `bar` of that
/// block; `dst` and `bar` from map_shared. PTX `cp.async.bulk.shared::cluster.shared::cta`.
TILEWRIGHT_DEVICE void bulk_copy_to_cluster(uint32_t dst, uint32_t src, uint32_t bytes, uint32_t bar) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::bulk_copy_to_cluster(dst, src, bytes, bar);
#else
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          dst),
      "r"(src), "r"(bytes), "r"(bar)
      : "memory");
#endif
}

/// Brings `bytes` bytes (address and size multiples of 16) into L2. PTX `cp.async.bulk.prefetch.L2`.
TILEWRIGHT_DEVICE void bulk_prefetch([[maybe_unused]] const void* src, [[maybe_unused]] uint32_t bytes) {
#if !defined(TILEWRIGHT_EMULATE)
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(src), "r"(bytes) : "memory");
#endif
}

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
