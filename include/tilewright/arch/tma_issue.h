// The asm statements (or emulator calls) behind the tile copies of every rank; see tma.h for what to call.
#pragma once

#include <cstdint>

#include "tilewright/arch/cache_policy.h"
#include "tilewright/config.h"
#include "tilewright/tensor_map.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/hooks.h"
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

namespace detail {

#if defined(TILEWRIGHT_EMULATE)

template <int Rank>
inline void tma_load(uint32_t dst, const TensorMap* map, uint32_t bar, const int32_t (&c)[Rank]) {
  emulator::tma_load(dst, map, bar, c, Rank, 0);
}
template <int Rank>
inline void tma_load(uint32_t dst, const TensorMap* map, uint32_t bar, const int32_t (&c)[Rank],
                     CachePolicy) {
  emulator::tma_load(dst, map, bar, c, Rank, 0);
}
template <int Rank>
inline void tma_load_multicast(uint32_t dst, const TensorMap* map, uint32_t bar, uint16_t mask,
                               const int32_t (&c)[Rank]) {
  emulator::tma_load(dst, map, bar, c, Rank, mask);
}
template <int Rank>
inline void tma_load_multicast(uint32_t dst, const TensorMap* map, uint32_t bar, uint16_t mask,
                               const int32_t (&c)[Rank], CachePolicy) {
  emulator::tma_load(dst, map, bar, c, Rank, mask);
}
template <int Rank>
inline void tma_store(const TensorMap* map, uint32_t src, const int32_t (&c)[Rank]) {
  emulator::tma_store(map, src, c, Rank);
}
template <int Rank>
inline void tma_store(const TensorMap* map, uint32_t src, const int32_t (&c)[Rank], CachePolicy) {
  emulator::tma_store(map, src, c, Rank);
}
template <int Rank>
inline void tma_reduce_add(const TensorMap* map, uint32_t src, const int32_t (&c)[Rank]) {
  emulator::tma_reduce(map, src, c, Rank, emulator::Reduction::add);
}
template <int Rank>
inline void tma_reduce_min(const TensorMap* map, uint32_t src, const int32_t (&c)[Rank]) {
  emulator::tma_reduce(map, src, c, Rank, emulator::Reduction::min);
}
template <int Rank>
inline void tma_reduce_max(const TensorMap* map, uint32_t src, const int32_t (&c)[Rank]) {
  emulator::tma_reduce(map, src, c, Rank, emulator::Reduction::max);
}
template <int Rank>
inline void tma_prefetch(const TensorMap* map, const int32_t (&c)[Rank]) {
  emulator::tma_prefetch(map, c, Rank);
}

#else

// The asm statement of each rank: BODY gets the dimension in its PTX name, the coordinate list and the
// coordinate operands, which are numbered from %5.
#  define TILEWRIGHT_TMA_BY_RANK(BODY)                                                           \
    if constexpr (Rank == 1) {                                                                   \
      BODY("1d", "{%5}", "r"(c[0]));                                                             \
    } else if constexpr (Rank == 2) {                                                            \
      BODY("2d", "{%5, %6}", "r"(c[0]), "r"(c[1]));                                              \
    } else if constexpr (Rank == 3) {                                                            \
      BODY("3d", "{%5, %6, %7}", "r"(c[0]), "r"(c[1]), "r"(c[2]));                               \
    } else if constexpr (Rank == 4) {                                                            \
      BODY("4d", "{%5, %6, %7, %8}", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));                \
    } else {                                                                                     \
      BODY("5d", "{%5, %6, %7, %8, %9}", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4])); \
    }
// %0 shared address, %1 map, %2 barrier, %3 multicast mask, %4 cache policy. An operand that a form does not
// name costs nothing.
#  define TILEWRIGHT_TMA_ASM(TEXT, BAR, MASK, POLICY, SHARED, ...)                                      \
    asm volatile(TEXT ::"r"(SHARED), "l"(map), "r"(BAR), "h"(MASK), "l"(static_cast<uint64_t>(POLICY)), \
                 __VA_ARGS__                                                                            \
                 : "memory")
#  define TILEWRIGHT_TMA_LOAD_TEXT(DIM, COORDS, MULTICAST, HINT, TAIL)                                     \
    "cp.async.bulk.tensor." DIM ".shared::cluster.global.tile.mbarrier::complete_tx::bytes" MULTICAST HINT \
    " [%0], [%1, " COORDS "], [%2]" TAIL ";"
#  define TILEWRIGHT_TMA_STORE_TEXT(DIM, COORDS, HINT, TAIL) \
    "cp.async.bulk.tensor." DIM ".global.shared::cta.tile.bulk_group" HINT " [%1, " COORDS "], [%0]" TAIL ";"
#  define TILEWRIGHT_TMA_HINT ".L2::cache_hint"
#  define TILEWRIGHT_TMA_MULTICAST ".multicast::cluster"

template <int Rank>
TILEWRIGHT_DEVICE void tma_load(uint32_t dst, const TensorMap* map, uint32_t bar, const int32_t (&c)[Rank]) {
#  define TILEWRIGHT_BODY(DIM, COORDS, ...)                                                         \
    TILEWRIGHT_TMA_ASM(TILEWRIGHT_TMA_LOAD_TEXT(DIM, COORDS, "", "", ""), bar, uint16_t{0}, 0, dst, \
                       __VA_ARGS__)
  TILEWRIGHT_TMA_BY_RANK(TILEWRIGHT_BODY)
#  undef TILEWRIGHT_BODY
}
template <int Rank>
TILEWRIGHT_DEVICE void tma_load(uint32_t dst, const TensorMap* map, uint32_t bar, const int32_t (&c)[Rank],
                                CachePolicy policy) {
#  define TILEWRIGHT_BODY(DIM, COORDS, ...)                                                         \
    TILEWRIGHT_TMA_ASM(TILEWRIGHT_TMA_LOAD_TEXT(DIM, COORDS, "", TILEWRIGHT_TMA_HINT, ", %4"), bar, \
                       uint16_t{0}, policy, dst, __VA_ARGS__)
  TILEWRIGHT_TMA_BY_RANK(TILEWRIGHT_BODY)
#  undef TILEWRIGHT_BODY
}
template <int Rank>
TILEWRIGHT_DEVICE void tma_load_multicast(uint32_t dst, const TensorMap* map, uint32_t bar, uint16_t mask,
                                          const int32_t (&c)[Rank]) {
#  define TILEWRIGHT_BODY(DIM, COORDS, ...)                                                              \
    TILEWRIGHT_TMA_ASM(TILEWRIGHT_TMA_LOAD_TEXT(DIM, COORDS, TILEWRIGHT_TMA_MULTICAST, "", ", %3"), bar, \
                       mask, 0, dst, __VA_ARGS__)
  TILEWRIGHT_TMA_BY_RANK(TILEWRIGHT_BODY)
#  undef TILEWRIGHT_BODY
}
template <int Rank>
TILEWRIGHT_DEVICE void tma_load_multicast(uint32_t dst, const TensorMap* map, uint32_t bar, uint16_t mask,
                                          const int32_t (&c)[Rank], CachePolicy policy) {
#  define TILEWRIGHT_BODY(DIM, COORDS, ...)                                                               \
    TILEWRIGHT_TMA_ASM(                                                                                   \
        TILEWRIGHT_TMA_LOAD_TEXT(DIM, COORDS, TILEWRIGHT_TMA_MULTICAST, TILEWRIGHT_TMA_HINT, ", %3, %4"), \
        bar, mask, policy, dst, __VA_ARGS__)
  TILEWRIGHT_TMA_BY_RANK(TILEWRIGHT_BODY)
#  undef TILEWRIGHT_BODY
}
template <int Rank>
TILEWRIGHT_DEVICE void tma_store(const TensorMap* map, uint32_t src, const int32_t (&c)[Rank]) {
#  define TILEWRIGHT_BODY(DIM, COORDS, ...) \
    TILEWRIGHT_TMA_ASM(TILEWRIGHT_TMA_STORE_TEXT(DIM, COORDS, "", ""), 0, uint16_t{0}, 0, src, __VA_ARGS__)
  TILEWRIGHT_TMA_BY_RANK(TILEWRIGHT_BODY)
#  undef TILEWRIGHT_BODY
}
template <int Rank>
TILEWRIGHT_DEVICE void tma_store(const TensorMap* map, uint32_t src, const int32_t (&c)[Rank],
                                 CachePolicy policy){
#  define TILEWRIGHT_BODY(DIM, COORDS, ...)                                                                 \
    TILEWRIGHT_TMA_ASM(TILEWRIGHT_TMA_STORE_TEXT(DIM, COORDS, TILEWRIGHT_TMA_HINT, ", %4"), 0, uint16_t{0}, \
                       policy, src, __VA_ARGS__)
    TILEWRIGHT_TMA_BY_RANK(TILEWRIGHT_BODY)
#  undef TILEWRIGHT_BODY
}

#  define TILEWRIGHT_TMA_REDUCE(OP)                                                                       \
    template <int Rank>                                                                                   \
    TILEWRIGHT_DEVICE void tma_reduce_##OP(const TensorMap* map, uint32_t src, const int32_t(&c)[Rank]) { \
      TILEWRIGHT_TMA_BY_RANK(TILEWRIGHT_BODY)                                                             \
    }
#  define TILEWRIGHT_REDUCE_BODY(OP, DIM, COORDS, ...)                              \
    TILEWRIGHT_TMA_ASM("cp.reduce.async.bulk.tensor." DIM ".global.shared::cta." OP \
                       ".tile.bulk_group [%1, " COORDS "], [%0];",                  \
                       0, uint16_t{0}, 0, src, __VA_ARGS__)
#  define TILEWRIGHT_BODY(...) TILEWRIGHT_REDUCE_BODY("add", __VA_ARGS__)
TILEWRIGHT_TMA_REDUCE(add)
#  undef TILEWRIGHT_BODY
#  define TILEWRIGHT_BODY(...) TILEWRIGHT_REDUCE_BODY("min", __VA_ARGS__)
    TILEWRIGHT_TMA_REDUCE(min)
#  undef TILEWRIGHT_BODY
#  define TILEWRIGHT_BODY(...) TILEWRIGHT_REDUCE_BODY("max", __VA_ARGS__)
        TILEWRIGHT_TMA_REDUCE(max)
#  undef TILEWRIGHT_BODY

            template <int Rank>
            TILEWRIGHT_DEVICE void tma_prefetch(const TensorMap* map, const int32_t (&c)[Rank]) {
#  define TILEWRIGHT_BODY(DIM, COORDS, ...)                                                         \
    TILEWRIGHT_TMA_ASM("cp.async.bulk.prefetch.tensor." DIM ".L2.global.tile [%1, " COORDS "];", 0, \
                       uint16_t{0}, 0, 0, __VA_ARGS__)
  TILEWRIGHT_TMA_BY_RANK(TILEWRIGHT_BODY)
#  undef TILEWRIGHT_BODY
}

#  undef TILEWRIGHT_TMA_BY_RANK
#  undef TILEWRIGHT_TMA_ASM
#  undef TILEWRIGHT_TMA_LOAD_TEXT
#  undef TILEWRIGHT_TMA_STORE_TEXT
#  undef TILEWRIGHT_TMA_HINT
#  undef TILEWRIGHT_TMA_MULTICAST
#  undef TILEWRIGHT_TMA_REDUCE
#  undef TILEWRIGHT_REDUCE_BODY

#endif

}  // namespace detail
}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
