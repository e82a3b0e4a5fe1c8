// tf32: the 32-bit word that tf32 tensor-core instructions read.
#pragma once

#include <cstdint>

#include "tilewright/numeric/detail/codec.h"
#include "tilewright/numeric/traits.h"

namespace tilewright {

/// 1 sign, 8 exponent, 10 mantissa bits in the upper 19 bits of a word laid out like a float. The tensor core
/// drops the low 13 bits (towards zero); the conversions here leave them zero.
struct tf32 {
  // Of the upper 19 bits.
  static constexpr detail::Format format{8, 10, 0x3FBFF, 0x3FC00, 0x3FFFF, true};

  uint32_t bits;

  tf32() = default;
  /// Nearest even; overflow becomes infinity. PTX `cvt.rn.tf32.f32`.
  TILEWRIGHT_HOST_DEVICE constexpr explicit tf32(float value)
      : bits(detail::encode<format>(value, false) << 13) {}
  /// Nearest even; anything above the largest finite value, infinity included, becomes it. NaN stays NaN.
  TILEWRIGHT_HOST_DEVICE static constexpr tf32 saturate(float value) {
    return from_bits(detail::encode<format>(value, true) << 13);
  }
  /// What the tensor core makes of a float that was not rounded first. A NaN whose payload lies in the low 13
  /// bits alone turns into an infinity, as it does there.
  TILEWRIGHT_HOST_DEVICE static constexpr tf32 truncate(float value) {
    return from_bits(detail::float_bits(value) & ~0x1FFFu);
  }
  TILEWRIGHT_HOST_DEVICE static constexpr tf32 from_bits(uint32_t word) {
    tf32 result{};
    result.bits = word;
    return result;
  }
  /// The value the tensor core sees.
  TILEWRIGHT_HOST_DEVICE constexpr explicit operator float() const {
    return detail::float_from_bits(bits & ~0x1FFFu);
  }
};

template <>
struct NumericTraits<tf32> {
  static constexpr const char* name = "tf32";
  static constexpr int bits = 32;
  static constexpr int mantissa_bits = 10;
  static constexpr double max = 0x1.FFCp127;
  static constexpr double lowest = -0x1.FFCp127;
  static constexpr double min_normal = 0x1p-126;
  static constexpr double min_subnormal = 0x1p-136;
  static constexpr double epsilon = 0x1p-10;
  static constexpr bool has_infinity = true;
  static constexpr bool has_nan = true;
};

static_assert(sizeof(tf32) == 4);

}  // namespace tilewright
