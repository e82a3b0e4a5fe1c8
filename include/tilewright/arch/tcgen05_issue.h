// The asm statements (or emulator calls) behind tcgen05.h; see there for what to call.
#pragma once

#include <cstdint>

#include "tilewright/arch/tcgen05_descriptor.h"
#include "tilewright/config.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/tcgen05.h"
#else
#  include "tilewright/arch/wgmma_operands.h"
#endif

// Whether this pass of the compiler can take kernels that use the header's functions. Another architecture
// compiles the header and must not call them.
#if defined(TILEWRIGHT_EMULATE) || defined(__CUDA_ARCH_FEAT_SM100_ALL)
#  define TILEWRIGHT_HAS_TCGEN05 1
#else
#  define TILEWRIGHT_HAS_TCGEN05 0
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {
namespace detail {

template <int CtaGroup>
TILEWRIGHT_HOST_DEVICE constexpr void check_cta_group() {
  static_assert(CtaGroup == 1 || CtaGroup == 2, "a tcgen05 instruction works for one block or for a pair");
}

#if defined(TILEWRIGHT_EMULATE)

template <Tcgen05Kind Kind>
inline constexpr emulator::Tcgen05Kind emulated_kind = static_cast<emulator::Tcgen05Kind>(Kind);
static_assert(emulated_kind<Tcgen05Kind::mxf4nvf4> == emulator::Tcgen05Kind::mxf4nvf4);
static_assert(emulated_kind<Tcgen05Kind::mxf8f6f4> == emulator::Tcgen05Kind::mxf8f6f4);

template <Tcgen05Kind Kind, int CtaGroup>
inline void issue_mma(uint32_t d, uint64_t a, uint64_t b, uint32_t instruction, bool accumulate) {
  check_cta_group<CtaGroup>();
  emulator::tcgen05_mma({emulated_kind<Kind>, CtaGroup}, {d, a, b, instruction, 0, 0, accumulate});
}

template <Tcgen05Kind Kind, int CtaGroup>
inline void issue_mma_block_scaled(uint32_t d, uint64_t a, uint64_t b, uint32_t instruction,
                                   uint32_t a_scales, uint32_t b_scales, bool accumulate) {
  check_cta_group<CtaGroup>();
  emulator::tcgen05_mma({emulated_kind<Kind>, CtaGroup},
                        {d, a, b, instruction, a_scales, b_scales, accumulate});
}

#else

// BODY gets the qualifier of the group.
#  define TILEWRIGHT_TCGEN05_BY_GROUP(BODY) \
    if constexpr (CtaGroup == 1) {          \
      BODY(".cta_group::1");                \
    } else {                                \
      BODY(".cta_group::2");                \
    }

#  define TILEWRIGHT_TCGEN05_MMA(GROUP, KIND)                                  \
    asm volatile(                                                              \
        "{ .reg .pred p;\n"                                                    \
        "setp.ne.u32 p, %4, 0;\n"                                              \
        "tcgen05.mma" GROUP ".kind::" KIND " [%0], %1, %2, %3, p; }" ::"r"(d), \
        "l"(a), "l"(b), "r"(instruction), "r"(accumulate ? 1u : 0u)            \
        : "memory")

template <Tcgen05Kind Kind, int CtaGroup>
TILEWRIGHT_DEVICE void issue_mma(uint32_t d, uint64_t a, uint64_t b, uint32_t instruction, bool accumulate) {
  check_cta_group<CtaGroup>();
#  define TILEWRIGHT_BODY(GROUP)                        \
    if constexpr (Kind == Tcgen05Kind::f16) {           \
      TILEWRIGHT_TCGEN05_MMA(GROUP, "f16");             \
    } else if constexpr (Kind == Tcgen05Kind::tf32) {   \
      TILEWRIGHT_TCGEN05_MMA(GROUP, "tf32");            \
    } else if constexpr (Kind == Tcgen05Kind::f8f6f4) { \
      TILEWRIGHT_TCGEN05_MMA(GROUP, "f8f6f4");          \
    } else {                                            \
      TILEWRIGHT_TCGEN05_MMA(GROUP, "i8");              \
    }
  TILEWRIGHT_TCGEN05_BY_GROUP(TILEWRIGHT_BODY)
#  undef TILEWRIGHT_BODY
}

#  define TILEWRIGHT_TCGEN05_MMA_SCALED(GROUP, KIND)                                              \
    asm volatile(                                                                                 \
        "{ .reg .pred p;\n"                                                                       \
        "setp.ne.u32 p, %6, 0;\n"                                                                 \
        "tcgen05.mma" GROUP ".kind::" KIND " [%0], %1, %2, %3, [%4], [%5], p; }" ::"r"(d),        \
        "l"(a), "l"(b), "r"(instruction), "r"(a_scales), "r"(b_scales), "r"(accumulate ? 1u : 0u) \
        : "memory")

template <Tcgen05Kind Kind, int CtaGroup>
TILEWRIGHT_DEVICE void issue_mma_block_scaled(uint32_t d, uint64_t a, uint64_t b, uint32_t instruction,
                                              uint32_t a_scales, uint32_t b_scales, bool accumulate) {
  check_cta_group<CtaGroup>();
#  define TILEWRIGHT_BODY(GROUP)                                            \
    if constexpr (Kind == Tcgen05Kind::mxf8f6f4) {                          \
      TILEWRIGHT_TCGEN05_MMA_SCALED(GROUP, "mxf8f6f4.block_scale.block32"); \
    } else if constexpr (Kind == Tcgen05Kind::mxf4) {                       \
      TILEWRIGHT_TCGEN05_MMA_SCALED(GROUP, "mxf4.block_scale.block32");     \
    } else {                                                                \
      TILEWRIGHT_TCGEN05_MMA_SCALED(GROUP, "mxf4nvf4.block_scale.block16"); \
    }
  TILEWRIGHT_TCGEN05_BY_GROUP(TILEWRIGHT_BODY)
#  undef TILEWRIGHT_BODY
}

#  undef TILEWRIGHT_TCGEN05_MMA
#  undef TILEWRIGHT_TCGEN05_MMA_SCALED

// X(registers, number of the operand that follows) for every count of a 32x32b move beyond 1.
#  define TILEWRIGHT_TCGEN05_COUNTS(X) X(2) X(4) X(8) X(16) X(32) X(64) X(128)

TILEWRIGHT_DEVICE void issue_ld_32x32b(uint32_t (&d)[1], uint32_t address) {
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(d[0]) : "r"(address));
}
TILEWRIGHT_DEVICE void issue_ld_32x32b(float (&d)[1], uint32_t address) {
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=f"(d[0]) : "r"(address));
}
TILEWRIGHT_DEVICE void issue_st_32x32b(const uint32_t (&d)[1], uint32_t address) {
  asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%1], {%0};" ::"r"(d[0]), "r"(address) : "memory");
}
#  define TILEWRIGHT_LD(N, WORD, CONSTRAINT)                                                         \
    TILEWRIGHT_DEVICE void issue_ld_32x32b(WORD(&d)[N], uint32_t address) {                          \
      asm volatile("tcgen05.ld.sync.aligned.32x32b.x" #N ".b32 {" TILEWRIGHT_PTX_##N "}, [%" #N "];" \
                   : TILEWRIGHT_ACC_##N(CONSTRAINT)                                                  \
                   : "r"(address));                                                                  \
    }
#  define TILEWRIGHT_X(N)                                                                       \
    TILEWRIGHT_LD(N, uint32_t, "=r")                                                            \
    TILEWRIGHT_LD(N, float, "=f")                                                               \
    TILEWRIGHT_DEVICE void issue_st_32x32b(const uint32_t(&d)[N], uint32_t address) {           \
      asm volatile("tcgen05.st.sync.aligned.32x32b.x" #N ".b32 [%" #N "], {" TILEWRIGHT_PTX_##N \
                   "};" ::TILEWRIGHT_ACC_##N("r"),                                              \
                   "r"(address)                                                                 \
                   : "memory");                                                                 \
    }
TILEWRIGHT_TCGEN05_COUNTS(TILEWRIGHT_X)
#  undef TILEWRIGHT_X
#  undef TILEWRIGHT_LD
#  undef TILEWRIGHT_TCGEN05_COUNTS

#endif

}  // namespace detail
}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
