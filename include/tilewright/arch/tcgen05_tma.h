// Tensor loads for a pair of blocks (PTX `cp.async.bulk.tensor` with `.cta_group::2`).
//
// The data go to shared memory as with tma_load of tma.h; the bytes are counted on the barrier at the offset
// of `bar` in the block of the destination's pair whose rank has the parity of the block of `bar`. So both
// blocks of a pair can load their parts and signal the first one: `bar` from map_shared(..., rank & ~1). That
// block expects the bytes of both.
#pragma once

#include <cstdint>

#include "tilewright/arch/tcgen05_issue.h"
#include "tilewright/config.h"
#include "tilewright/tensor_map.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

#if !defined(TILEWRIGHT_EMULATE)
#  define TILEWRIGHT_PAIR_LOAD(DIM, COORDS, MULTICAST, TAIL, ...)                      \
    asm volatile("cp.async.bulk.tensor." DIM                                           \
                 ".shared::cluster.global.tile.mbarrier::complete_tx::bytes" MULTICAST \
                 ".cta_group::2 [%0], "                                                \
                 "[%1, {" COORDS "}], [%2]" TAIL ";" ::"r"(dst),                       \
                 "l"(map), "r"(bar), "h"(mask), __VA_ARGS__                            \
                 : "memory")
#endif

/// Loads one box of a tensor of rank 3 to `dst` in this block. As tma_load_3d. One elected thread.
TILEWRIGHT_DEVICE void tma_load_pair_3d(uint32_t dst, const TensorMap* map, uint32_t bar, int32_t c0,
                                        int32_t c1, int32_t c2) {
#if defined(TILEWRIGHT_EMULATE)
  const int32_t coordinates[] = {c0, c1, c2};
  emulator::tma_load_pair(dst, map, bar, coordinates, 3, 0);
#else
  const uint16_t mask = 0;
  TILEWRIGHT_PAIR_LOAD("3d", "%4, %5, %6", "", "", "r"(c0), "r"(c1), "r"(c2));
#endif
}

/// The same for rank 4.
TILEWRIGHT_DEVICE void tma_load_pair_4d(uint32_t dst, const TensorMap* map, uint32_t bar, int32_t c0,
                                        int32_t c1, int32_t c2, int32_t c3) {
#if defined(TILEWRIGHT_EMULATE)
  const int32_t coordinates[] = {c0, c1, c2, c3};
  emulator::tma_load_pair(dst, map, bar, coordinates, 4, 0);
#else
  const uint16_t mask = 0;
  TILEWRIGHT_PAIR_LOAD("4d", "%4, %5, %6, %7", "", "", "r"(c0), "r"(c1), "r"(c2), "r"(c3));
#endif
}

/// One read for every block of the cluster whose rank is a set bit of `mask`; each destination's bytes are
/// counted in its own pair.
TILEWRIGHT_DEVICE void tma_load_pair_multicast_4d(uint32_t dst, const TensorMap* map, uint32_t bar,
                                                  uint16_t mask, int32_t c0, int32_t c1, int32_t c2,
                                                  int32_t c3) {
#if defined(TILEWRIGHT_EMULATE)
  const int32_t coordinates[] = {c0, c1, c2, c3};
  emulator::tma_load_pair(dst, map, bar, coordinates, 4, mask);
#else
  TILEWRIGHT_PAIR_LOAD("4d", "%4, %5, %6, %7", ".multicast::cluster", ", %3", "r"(c0), "r"(c1), "r"(c2),
                       "r"(c3));
#endif
}

#undef TILEWRIGHT_PAIR_LOAD

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
