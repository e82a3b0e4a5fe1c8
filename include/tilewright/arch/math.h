// Single-precision arithmetic that no compiler may contract or reorder, so that both machines give the same
// bits.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "tilewright/config.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

/// The bits of a float.
TILEWRIGHT_DEVICE uint32_t float_bits(float value) {
#if defined(TILEWRIGHT_EMULATE)
  return std::bit_cast<uint32_t>(value);
#else
  return __float_as_uint(value);
#endif
}

/// Gives a register an arbitrary value at no cost: what it held is dead from here on, on every path. No
/// instruction.
TILEWRIGHT_DEVICE void undefine(uint32_t& value) {
#if defined(TILEWRIGHT_EMULATE)
  value = 0xA5A5A5A5;
#else
  asm volatile("" : "=r"(value));
#endif
}

/// x, by way of the FP32 pipe (x + -0): the compiler is free to give the result another register than x, as
/// it is not for an assignment. An accumulator that wgmma does not write is then placed in the other bank
/// than what is added to it. Infinities and zeros keep their signs; a NaN stays one.
TILEWRIGHT_DEVICE float copy_rn(float x) {
#if defined(TILEWRIGHT_EMULATE)
  return x;
#else
  float copy;
  asm("add.rn.f32 %0, %1, 0f80000000;" : "=f"(copy) : "f"(x));
  return copy;
#endif
}

#if defined(TILEWRIGHT_EMULATE)
// Built with -ffp-contract=off.
TILEWRIGHT_DEVICE float add_rn(float a, float b) { return a + b; }
TILEWRIGHT_DEVICE float mul_rn(float a, float b) { return a * b; }
TILEWRIGHT_DEVICE float fma_rn(float a, float b, float c) { return std::fma(a, b, c); }
#else
/// PTX add.rn.f32
TILEWRIGHT_DEVICE float add_rn(float a, float b) { return __fadd_rn(a, b); }
/// PTX mul.rn.f32
TILEWRIGHT_DEVICE float mul_rn(float a, float b) { return __fmul_rn(a, b); }
/// PTX fma.rn.f32
TILEWRIGHT_DEVICE float fma_rn(float a, float b, float c) { return __fmaf_rn(a, b, c); }
#endif

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
