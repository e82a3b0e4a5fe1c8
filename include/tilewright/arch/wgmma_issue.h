// The asm statement behind every wgmma of the GPU build; see wgmma.h for what to call.
//
// Shape, types and immediates are compile-time text (constraint "C"), so that one statement for each register
// count serves all types. For example instruction::value is "m64n128k32.f32.e4m3.e4m3", and immediates::value
// ", 1, 1".
#pragma once

#include <cstdint>

#include "tilewright/arch/wgmma_operands.h"
#include "tilewright/config.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {
namespace detail {

// Without this, ptxas refuses the code of plain sm_90 by lines of PTX. Code of other architectures is let
// pass: a kernel that is compiled for several does not reach it there.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900 && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
template <int>
inline constexpr bool compiled_for_wgmma = false;
#else
template <int>
inline constexpr bool compiled_for_wgmma = true;
#endif
#define TILEWRIGHT_WGMMA_NEEDS_SM_90A                                                 \
  static_assert(compiled_for_wgmma<Count>,                                            \
                "wgmma needs sm_90a, this is compiled for sm_90: give nvcc -gencode " \
                "arch=compute_90a,code=sm_90a (-arch=sm_90a alone makes PTX of compute_90 too)")

// The predicate comes from an integer, in a scope of its own. When `accumulate` is a constant ptxas folds it,
// and a false one turns the accumulator input into RZ.
#define TILEWRIGHT_WGMMA_SHARED(c, COUNT, A, B, P, T, I, ...)                                   \
  if constexpr (Count == COUNT) {                                                               \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #P ", 0; wgmma.mma_async.sync.aligned.%" #T \
                 " {" TILEWRIGHT_PTX_##COUNT "}, %" #A ", %" #B ", p%" #I "; }"                 \
                 : TILEWRIGHT_ACC_##COUNT(c)                                                    \
                 : "l"(a), "l"(b), "r"(accumulate), "C"(Text::instruction::value),              \
                   "C"(Text::immediates::value));                                               \
  }
// D = A B: the registers are outputs alone, so that the compiler carries no old value into them.
#define TILEWRIGHT_WGMMA_OVERWRITE(COUNT, A, B, P, T, I, ...)                                            \
  if constexpr (Count == COUNT) {                                                                        \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #P ", 0; wgmma.mma_async.sync.aligned.%" #T          \
                 " {" TILEWRIGHT_PTX_##COUNT "}, %" #A ", %" #B ", p%" #I "; }"                          \
                 : TILEWRIGHT_ACC_##COUNT("=f")                                                          \
                 : "l"(a), "l"(b), "r"(0), "C"(Text::instruction::value), "C"(Text::immediates::value)); \
  }
#define TILEWRIGHT_WGMMA_REGISTERS(c, COUNT, A0, A1, A2, A3, B, P, T, I)                                   \
  if constexpr (Count == COUNT) {                                                                          \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #P ", 0; wgmma.mma_async.sync.aligned.%" #T            \
                 " {" TILEWRIGHT_PTX_##COUNT "}, {%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 "}, %" #B ", p%" #I \
                                             "; }"                                                         \
                 : TILEWRIGHT_ACC_##COUNT(c)                                                               \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate),                    \
                   "C"(Text::instruction::value), "C"(Text::immediates::value));                           \
  }
#define TILEWRIGHT_WGMMA_SHARED_F(...) TILEWRIGHT_WGMMA_SHARED("+f", __VA_ARGS__)
#define TILEWRIGHT_WGMMA_SHARED_R(...) TILEWRIGHT_WGMMA_SHARED("+r", __VA_ARGS__)
#define TILEWRIGHT_WGMMA_REGISTERS_F(...) TILEWRIGHT_WGMMA_REGISTERS("+f", __VA_ARGS__)
#define TILEWRIGHT_WGMMA_REGISTERS_R(...) TILEWRIGHT_WGMMA_REGISTERS("+r", __VA_ARGS__)

template <class Text, int Count>
TILEWRIGHT_DEVICE void issue_wgmma(float (&d)[Count], uint64_t a, uint64_t b, uint32_t accumulate) {
  TILEWRIGHT_WGMMA_NEEDS_SM_90A;
  TILEWRIGHT_COUNTS_BOTH(TILEWRIGHT_WGMMA_SHARED_F)
  TILEWRIGHT_COUNTS_32_BIT(TILEWRIGHT_WGMMA_SHARED_F)
}

template <class Text, int Count>
TILEWRIGHT_DEVICE void issue_wgmma_overwrite(float (&d)[Count], uint64_t a, uint64_t b) {
  TILEWRIGHT_WGMMA_NEEDS_SM_90A;
  TILEWRIGHT_COUNTS_BOTH(TILEWRIGHT_WGMMA_OVERWRITE)
  TILEWRIGHT_COUNTS_32_BIT(TILEWRIGHT_WGMMA_OVERWRITE)
}

template <class Text, int Count>
TILEWRIGHT_DEVICE void issue_wgmma(float (&d)[Count], const uint32_t (&a)[4], uint64_t b,
                                   uint32_t accumulate) {
  TILEWRIGHT_WGMMA_NEEDS_SM_90A;
  TILEWRIGHT_COUNTS_BOTH(TILEWRIGHT_WGMMA_REGISTERS_F)
  TILEWRIGHT_COUNTS_32_BIT(TILEWRIGHT_WGMMA_REGISTERS_F)
}

// s32, one value a register, or f16, two.
template <class Text, class Register, int Count>
TILEWRIGHT_DEVICE void issue_wgmma(Register (&d)[Count], uint64_t a, uint64_t b, uint32_t accumulate) {
  TILEWRIGHT_WGMMA_NEEDS_SM_90A;
  TILEWRIGHT_COUNTS_BOTH(TILEWRIGHT_WGMMA_SHARED_R)
  TILEWRIGHT_COUNTS_32_BIT(TILEWRIGHT_WGMMA_SHARED_R)
  TILEWRIGHT_COUNTS_F16(TILEWRIGHT_WGMMA_SHARED_R)
}

template <class Text, class Register, int Count>
TILEWRIGHT_DEVICE void issue_wgmma(Register (&d)[Count], const uint32_t (&a)[4], uint64_t b,
                                   uint32_t accumulate) {
  TILEWRIGHT_WGMMA_NEEDS_SM_90A;
  TILEWRIGHT_COUNTS_BOTH(TILEWRIGHT_WGMMA_REGISTERS_R)
  TILEWRIGHT_COUNTS_32_BIT(TILEWRIGHT_WGMMA_REGISTERS_R)
  TILEWRIGHT_COUNTS_F16(TILEWRIGHT_WGMMA_REGISTERS_R)
}

#undef TILEWRIGHT_WGMMA_NEEDS_SM_90A
#undef TILEWRIGHT_WGMMA_SHARED
#undef TILEWRIGHT_WGMMA_OVERWRITE
#undef TILEWRIGHT_WGMMA_REGISTERS
#undef TILEWRIGHT_WGMMA_SHARED_F
#undef TILEWRIGHT_WGMMA_SHARED_R
#undef TILEWRIGHT_WGMMA_REGISTERS_F
#undef TILEWRIGHT_WGMMA_REGISTERS_R

}  // namespace detail
}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
