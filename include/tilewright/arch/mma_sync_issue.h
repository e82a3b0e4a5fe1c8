// The asm statement behind every mma.sync of the GPU build; see mma_sync.h for what to call.
//
// Shape and types are compile-time text (constraint "C"), so that one statement for each number of registers
// serves all of them. For example instruction::value is "m16n8k16.row.col.f32.bf16.bf16.f32".
#pragma once

#include <cstdint>

#include "tilewright/config.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {
namespace detail {

#define TILEWRIGHT_MMA_1(C, V) C(V[0])
#define TILEWRIGHT_MMA_2(C, V) C(V[0]), C(V[1])
#define TILEWRIGHT_MMA_4(C, V) TILEWRIGHT_MMA_2(C, V), C(V[2]), C(V[3])
#define TILEWRIGHT_MMA_8(C, V) TILEWRIGHT_MMA_4(C, V), C(V[4]), C(V[5]), C(V[6]), C(V[7])
// IN, OUT: the constraint of an accumulator as input and as output; OP: that of an operand. LISTS names the
// registers of D, A, B, C in this order, TEXT is the number of the operand after them.
#define TILEWRIGHT_MMA_SYNC(OUT, IN, OP, D, A, B, LISTS, TEXT)                                      \
  if constexpr (DCount == D && ACount == A && BCount == B) {                                        \
    asm volatile("mma.sync.aligned.%" #TEXT " " LISTS ";"                                           \
                 : TILEWRIGHT_MMA_##D(OUT, d)                                                       \
                 : TILEWRIGHT_MMA_##A(OP, a), TILEWRIGHT_MMA_##B(OP, b), TILEWRIGHT_MMA_##D(IN, c), \
                   "C"(Text::instruction::value));                                                  \
  }
#define TILEWRIGHT_MMA_SYNC_4(OUT, IN, OP)                                                             \
  TILEWRIGHT_MMA_SYNC(OUT, IN, OP, 4, 2, 1, "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10}", 11) \
  TILEWRIGHT_MMA_SYNC(OUT, IN, OP, 4, 4, 2,                                                            \
                      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13}", 14)

template <class Text, int DCount, int ACount, int BCount>
TILEWRIGHT_DEVICE void issue_mma_sync(float (&d)[DCount], const uint32_t (&a)[ACount],
                                      const uint32_t (&b)[BCount], const float (&c)[DCount]) {
  TILEWRIGHT_MMA_SYNC_4("=f", "f", "r")
}

// s32, one value a register, or f16, two.
template <class Text, class Register, int DCount, int ACount, int BCount>
TILEWRIGHT_DEVICE void issue_mma_sync(Register (&d)[DCount], const uint32_t (&a)[ACount],
                                      const uint32_t (&b)[BCount], const Register (&c)[DCount]) {
  TILEWRIGHT_MMA_SYNC_4("=r", "r", "r")
  TILEWRIGHT_MMA_SYNC("=r", "r", "r", 2, 2, 1, "{%0, %1}, {%2, %3}, {%4}, {%5, %6}", 7)
  TILEWRIGHT_MMA_SYNC("=r", "r", "r", 2, 4, 2, "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9}", 10)
}

template <class Text, int DCount, int ACount, int BCount>
TILEWRIGHT_DEVICE void issue_mma_sync(double (&d)[DCount], const double (&a)[ACount],
                                      const double (&b)[BCount], const double (&c)[DCount]) {
  TILEWRIGHT_MMA_SYNC("=d", "d", "d", 2, 1, 1, "{%0, %1}, {%2}, {%3}, {%4, %5}", 6)
  TILEWRIGHT_MMA_SYNC_4("=d", "d", "d")
  TILEWRIGHT_MMA_SYNC("=d", "d", "d", 4, 8, 4,
                      "{%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, "
                      "{%16, %17, %18, %19}",
                      20)
}

#undef TILEWRIGHT_MMA_1
#undef TILEWRIGHT_MMA_2
#undef TILEWRIGHT_MMA_4
#undef TILEWRIGHT_MMA_8
#undef TILEWRIGHT_MMA_SYNC
#undef TILEWRIGHT_MMA_SYNC_4

}  // namespace detail
}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
