// Single-precision functions that a GPU approximates, and maxima that say what becomes of NaN. Any thread.
#pragma once

#include <cmath>

#include "tilewright/config.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

#if defined(TILEWRIGHT_EMULATE)
TILEWRIGHT_DEVICE float max_nan(float a, float b) { return a != a ? a : b != b ? b : a > b ? a : b; }
TILEWRIGHT_DEVICE float max_number(float a, float b) { return a != a ? b : b != b ? a : a > b ? a : b; }
// The nearest floats.
TILEWRIGHT_DEVICE float exp2_approx(float x) { return std::exp2(x); }
TILEWRIGHT_DEVICE float reciprocal_approx(float x) { return 1 / x; }
TILEWRIGHT_DEVICE float magnitude(float x) { return std::fabs(x); }
#else
/// PTX max.NaN.f32: NaN if either is.
TILEWRIGHT_DEVICE float max_nan(float a, float b) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
/// PTX max.f32: the other one if one is NaN.
TILEWRIGHT_DEVICE float max_number(float a, float b) {
  float result;
  asm("max.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
}
/// PTX ex2.approx.ftz.f32: 2^x within 2^-22 of it (PTX ISA); subnormal results are zero.
TILEWRIGHT_DEVICE float exp2_approx(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
/// PTX rcp.approx.ftz.f32: 1 / x within 2^-23 of it (PTX ISA).
TILEWRIGHT_DEVICE float reciprocal_approx(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
/// |x|; a NaN stays one. PTX abs.f32
TILEWRIGHT_DEVICE float magnitude(float x) { return fabsf(x); }
#endif

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
