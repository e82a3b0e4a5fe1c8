// The two 8-bit floating-point formats of the tensor cores (OCP FP8).
#pragma once

#include <cstdint>

#include "tilewright/numeric/detail/codec.h"
#include "tilewright/numeric/traits.h"

namespace tilewright {

/// E4M3 (FN): 1 sign, 4 exponent (bias 7), 3 mantissa bits. Largest 448; no infinity; NaN is 0x7F and 0xFF
/// only.
struct e4m3 {
  static constexpr detail::Format format{4, 3, 0x7E, 0x7F, 0x7F, false};

  uint8_t bits;

  e4m3() = default;
  /// Nearest even. 464 is a tie and becomes 448; anything larger, infinity and NaN become NaN.
  TILEWRIGHT_HOST_DEVICE constexpr explicit e4m3(float value)
      : bits(static_cast<uint8_t>(detail::encode<format>(value, false))) {}
  /// Nearest even; anything above 448, infinity included, becomes 448. NaN stays NaN. PTX
  /// `cvt.rn.satfinite.e4m3x2`.
  TILEWRIGHT_HOST_DEVICE static constexpr e4m3 saturate(float value) {
    return from_bits(detail::encode<format>(value, true));
  }
  TILEWRIGHT_HOST_DEVICE static constexpr e4m3 from_bits(uint32_t code) {
    e4m3 result{};
    result.bits = static_cast<uint8_t>(code);
    return result;
  }
  /// Exact.
  TILEWRIGHT_HOST_DEVICE constexpr explicit operator float() const { return detail::decode<format>(bits); }
};

/// E5M2: 1 sign, 5 exponent (bias 15), 2 mantissa bits. Largest 57344; infinity 0x7C; NaN 0x7D to 0x7F.
struct e5m2 {
  static constexpr detail::Format format{5, 2, 0x7B, 0x7C, 0x7F, true};

  uint8_t bits;

  e5m2() = default;
  /// Nearest even; 61440 and above become infinity. NaN becomes 0x7F.
  TILEWRIGHT_HOST_DEVICE constexpr explicit e5m2(float value)
      : bits(static_cast<uint8_t>(detail::encode<format>(value, false))) {}
  /// Nearest even; anything above 57344, infinity included, becomes 57344. NaN stays NaN. PTX
  /// `cvt.rn.satfinite.e5m2x2`.
  TILEWRIGHT_HOST_DEVICE static constexpr e5m2 saturate(float value) {
    return from_bits(detail::encode<format>(value, true));
  }
  TILEWRIGHT_HOST_DEVICE static constexpr e5m2 from_bits(uint32_t code) {
    e5m2 result{};
    result.bits = static_cast<uint8_t>(code);
    return result;
  }
  /// Exact.
  TILEWRIGHT_HOST_DEVICE constexpr explicit operator float() const { return detail::decode<format>(bits); }
};

template <>
struct NumericTraits<e4m3> {
  static constexpr const char* name = "e4m3";
  static constexpr int bits = 8;
  static constexpr int mantissa_bits = 3;
  static constexpr double max = 448;
  static constexpr double lowest = -448;
  static constexpr double min_normal = 0x1p-6;
  static constexpr double min_subnormal = 0x1p-9;
  static constexpr double epsilon = 0x1p-3;
  static constexpr bool has_infinity = false;
  static constexpr bool has_nan = true;
};

template <>
struct NumericTraits<e5m2> {
  static constexpr const char* name = "e5m2";
  static constexpr int bits = 8;
  static constexpr int mantissa_bits = 2;
  static constexpr double max = 57344;
  static constexpr double lowest = -57344;
  static constexpr double min_normal = 0x1p-14;
  static constexpr double min_subnormal = 0x1p-16;
  static constexpr double epsilon = 0x1p-2;
  static constexpr bool has_infinity = true;
  static constexpr bool has_nan = true;
};

static_assert(sizeof(e4m3) == 1 && sizeof(e5m2) == 1);

}  // namespace tilewright
