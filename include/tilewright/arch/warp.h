// Warp-wide exchange, votes and election.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tilewright/arch/index.h"
#include "tilewright/config.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

inline constexpr uint32_t full_warp = 0xFFFFFFFFu;

/// True in exactly one of the lanes in `mask`, the same one for the same mask. PTX `elect.sync`.
/// Every lane in `mask` must call it, converged. Orders nothing.
TILEWRIGHT_DEVICE bool elect_one(uint32_t mask = full_warp) {
#if defined(TILEWRIGHT_EMULATE)
  return emulator::elect_one(mask);
#else
  uint32_t elected;
  asm volatile(
      "{ .reg .pred p;\n"
      "elect.sync _|p, %1;\n"
      "selp.u32 %0, 1, 0, p; }"
      : "=r"(elected)
      : "r"(mask));
  return elected != 0;
#endif
}

/// Waits for the lanes in `mask` and orders memory among them. PTX `bar.warp.sync`. Every lane in
/// `mask`.
TILEWRIGHT_DEVICE void sync_warp(uint32_t mask = full_warp) {
#if defined(TILEWRIGHT_EMULATE)
  emulator::sync_warp(mask);
#else
  __syncwarp(mask);
#endif
}

namespace detail {

TILEWRIGHT_DEVICE uint32_t shuffle_word(uint32_t word, uint32_t lane, uint32_t mask) {
#if defined(TILEWRIGHT_EMULATE)
  return static_cast<uint32_t>(emulator::shuffle(mask, word, lane));
#else
  return __shfl_sync(mask, word, static_cast<int>(lane));
#endif
}

}  // namespace detail

/// The value that lane `lane` (0..31) of the warp passed. PTX `shfl.sync.idx`, one for each 4 bytes
/// of T. Every lane in `mask` must call it, converged; `lane` must be in `mask`. Orders nothing.
template <class T>
TILEWRIGHT_DEVICE T shuffle(T value, uint32_t lane, uint32_t mask = full_warp) {
  static_assert(std::is_trivially_copyable_v<T>, "only trivially copyable values can be exchanged");
  uint32_t words[(sizeof(T) + 3) / 4] = {};
  memcpy(words, &value, sizeof(T));
  TILEWRIGHT_UNROLL
  for (uint32_t& word : words) word = detail::shuffle_word(word, lane, mask);
  memcpy(&value, words, sizeof(T));
  return value;
}

/// The value of lane (own lane ^ `lane_mask`). As `shuffle`.
template <class T>
TILEWRIGHT_DEVICE T shuffle_xor(T value, uint32_t lane_mask, uint32_t mask = full_warp) {
  return shuffle(value, lane_index() ^ lane_mask, mask);
}

/// Bit l is set when lane l of `mask` passed true. PTX `vote.sync.ballot`. Every lane in `mask`.
TILEWRIGHT_DEVICE uint32_t ballot(bool predicate, uint32_t mask = full_warp) {
#if defined(TILEWRIGHT_EMULATE)
  return emulator::ballot(mask, predicate);
#else
  return __ballot_sync(mask, predicate);
#endif
}

/// True when some lane in `mask` passed true. PTX `vote.sync.any`. Every lane in `mask`.
TILEWRIGHT_DEVICE bool any(bool predicate, uint32_t mask = full_warp) {
#if defined(TILEWRIGHT_EMULATE)
  return emulator::ballot(mask, predicate) != 0;
#else
  return __any_sync(mask, predicate) != 0;
#endif
}

/// True when every lane in `mask` passed true. PTX `vote.sync.all`. Every lane in `mask`.
TILEWRIGHT_DEVICE bool all(bool predicate, uint32_t mask = full_warp) {
#if defined(TILEWRIGHT_EMULATE)
  return emulator::ballot(mask, !predicate) == 0;  // lanes that do not exist do not vote
#else
  return __all_sync(mask, predicate) != 0;
#endif
}

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
