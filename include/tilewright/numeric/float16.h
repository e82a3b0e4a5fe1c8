// The two 16-bit floating-point formats.
#pragma once

#include <cstdint>

#include "tilewright/numeric/detail/codec.h"
#include "tilewright/numeric/traits.h"

namespace tilewright {

/// IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 mantissa bits.
struct f16 {
  static constexpr detail::Format format{5, 10, 0x7BFF, 0x7C00, 0x7FFF, true};

  uint16_t bits;

  f16() = default;
  /// Nearest even; 65520 and above become infinity. NaN becomes 0x7FFF. PTX `cvt.rn.f16.f32`.
  TILEWRIGHT_HOST_DEVICE constexpr explicit f16(float value)
      : bits(static_cast<uint16_t>(detail::encode<format>(value, false))) {}
  /// Nearest even; anything above 65504, infinity included, becomes 65504. NaN stays NaN.
  TILEWRIGHT_HOST_DEVICE static constexpr f16 saturate(float value) {
    return from_bits(detail::encode<format>(value, true));
  }
  TILEWRIGHT_HOST_DEVICE static constexpr f16 from_bits(uint32_t code) {
    f16 result{};
    result.bits = static_cast<uint16_t>(code);
    return result;
  }
  /// Exact.
  TILEWRIGHT_HOST_DEVICE constexpr explicit operator float() const { return detail::decode<format>(bits); }
};

/// bfloat16: the upper half of a float. 1 sign, 8 exponent (bias 127), 7 mantissa bits.
struct bf16 {
  static constexpr detail::Format format{8, 7, 0x7F7F, 0x7F80, 0x7FFF, true};

  uint16_t bits;

  bf16() = default;
  /// Nearest even; overflow becomes infinity. NaN becomes 0x7FFF. PTX `cvt.rn.bf16.f32`.
  TILEWRIGHT_HOST_DEVICE constexpr explicit bf16(float value)
      : bits(static_cast<uint16_t>(detail::encode<format>(value, false))) {}
  /// Nearest even; anything above the largest finite value, infinity included, becomes it. NaN stays NaN.
  TILEWRIGHT_HOST_DEVICE static constexpr bf16 saturate(float value) {
    return from_bits(detail::encode<format>(value, true));
  }
  TILEWRIGHT_HOST_DEVICE static constexpr bf16 from_bits(uint32_t code) {
    bf16 result{};
    result.bits = static_cast<uint16_t>(code);
    return result;
  }
  /// Exact.
  TILEWRIGHT_HOST_DEVICE constexpr explicit operator float() const {
    return detail::float_from_bits(static_cast<uint32_t>(bits) << 16);
  }
};

template <>
struct NumericTraits<f16> {
  static constexpr const char* name = "f16";
  static constexpr int bits = 16;
  static constexpr int mantissa_bits = 10;
  static constexpr double max = 65504;
  static constexpr double lowest = -65504;
  static constexpr double min_normal = 0x1p-14;
  static constexpr double min_subnormal = 0x1p-24;
  static constexpr double epsilon = 0x1p-10;
  static constexpr bool has_infinity = true;
  static constexpr bool has_nan = true;
};

template <>
struct NumericTraits<bf16> {
  static constexpr const char* name = "bf16";
  static constexpr int bits = 16;
  static constexpr int mantissa_bits = 7;
  static constexpr double max = 0x1.FEp127;
  static constexpr double lowest = -0x1.FEp127;
  static constexpr double min_normal = 0x1p-126;
  static constexpr double min_subnormal = 0x1p-133;
  static constexpr double epsilon = 0x1p-7;
  static constexpr bool has_infinity = true;
  static constexpr bool has_nan = true;
};

static_assert(sizeof(f16) == 2 && sizeof(bf16) == 2);

}  // namespace tilewright
