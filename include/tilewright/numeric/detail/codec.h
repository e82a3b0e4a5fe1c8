// Conversion between float and any small binary floating-point format, with integer arithmetic only, so that
// the host, the GPU and constant expressions agree bit for bit.
#pragma once

#include <cstdint>

#include "tilewright/config.h"

namespace tilewright::detail {

TILEWRIGHT_HOST_DEVICE constexpr uint32_t float_bits(float value) {
  return __builtin_bit_cast(uint32_t, value);
}
TILEWRIGHT_HOST_DEVICE constexpr float float_from_bits(uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}

/// A sign-magnitude format: sign, exponent, mantissa from the highest bit down. Codes are given without the
/// sign.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  uint32_t max_finite;  // code of the largest finite value
  uint32_t overflow;  // code of what a non-saturating conversion makes of anything larger, infinity included
  uint32_t nan;       // code a NaN converts to; max_finite where the format has none
  bool has_infinity;  // the all-ones exponent holds infinity and NaN

  /// Binades between the least normal exponents of float and of this format.
  TILEWRIGHT_HOST_DEVICE constexpr int rebias() const { return 127 - ((1 << (exponent_bits - 1)) - 1); }
  TILEWRIGHT_HOST_DEVICE constexpr uint32_t sign() const { return 1u << (exponent_bits + mantissa_bits); }
};

/// value >> shift, rounded to nearest even. 0 <= shift <= 31.
TILEWRIGHT_HOST_DEVICE constexpr uint32_t shift_right_nearest_even(uint32_t value, int shift) {
  if (shift == 0) return value;
  const uint32_t quotient = value >> shift;
  const uint32_t remainder = value & ((1u << shift) - 1);
  const uint32_t half = 1u << (shift - 1);
  return quotient + ((remainder > half || (remainder == half && (quotient & 1) != 0)) ? 1u : 0u);
}

/// Rounds to nearest even. A value whose rounded magnitude is above the largest finite one becomes that one
/// when `saturate`, the format's `overflow` otherwise. NaN becomes the positive `nan`.
template <Format kFormat>
TILEWRIGHT_HOST_DEVICE constexpr uint32_t encode(float value, bool saturate) {
  constexpr uint32_t sign = kFormat.sign();
  constexpr uint32_t max_finite = kFormat.max_finite;
  constexpr int drop = 23 - kFormat.mantissa_bits;
  constexpr int rebias = kFormat.rebias();
  const uint32_t bits = float_bits(value);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return kFormat.nan;

  const int exponent = static_cast<int>(magnitude >> 23) - rebias;
  uint32_t code = 0;
  if (exponent >= 1 || rebias == 0) {
    // A carry out of the mantissa moves into the exponent, as it should.
    code = shift_right_nearest_even(magnitude - (static_cast<uint32_t>(rebias) << 23), drop);
  } else {
    const int shift = drop + 1 - exponent;
    if (shift <= 25) code = shift_right_nearest_even((magnitude & 0x7FFFFFu) | 0x800000u, shift);
  }
  if (code > max_finite) code = saturate ? max_finite : kFormat.overflow;
  return code | ((bits >> 31) != 0 ? sign : 0u);
}

/// The value of a code. Exact.
template <Format kFormat>
TILEWRIGHT_HOST_DEVICE constexpr float decode(uint32_t code) {
  constexpr uint32_t sign_bit = kFormat.sign();
  constexpr int mantissa_bits = kFormat.mantissa_bits;
  constexpr int drop = 23 - mantissa_bits;
  constexpr int rebias = kFormat.rebias();
  const uint32_t sign = (code & sign_bit) != 0 ? 0x80000000u : 0u;
  const uint32_t magnitude = code & (sign_bit - 1);
  if (magnitude > kFormat.max_finite) {
    const uint32_t payload = magnitude & ((1u << mantissa_bits) - 1);
    if (kFormat.has_infinity && payload == 0) return float_from_bits(sign | 0x7F800000u);
    return float_from_bits(sign | 0x7FC00000u | (payload << drop));
  }
  if ((magnitude >> mantissa_bits) != 0 || rebias == 0) {
    return float_from_bits(sign | ((magnitude << drop) + (static_cast<uint32_t>(rebias) << 23)));
  }
  if (magnitude == 0) return float_from_bits(sign);
  // Subnormal: the mantissa as a float, moved down to the exponent of its last place.
  constexpr uint32_t down = static_cast<uint32_t>(126 - rebias + mantissa_bits);
  return float_from_bits(sign | (float_bits(static_cast<float>(magnitude)) - (down << 23)));
}

}  // namespace tilewright::detail
