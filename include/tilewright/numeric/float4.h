// E2M1, and how two of them share a byte.
#pragma once

#include <cstdint>

#include "tilewright/numeric/detail/codec.h"
#include "tilewright/numeric/traits.h"

namespace tilewright {

/// E2M1 (FP4): 1 sign, 2 exponent (bias 1), 1 mantissa bit, in the low nibble. Values 0 0.5 1 1.5 2 3 4 6;
/// neither infinity nor NaN.
struct e2m1 {
  static constexpr detail::Format format{2, 1, 7, 7, 7, false};

  uint8_t bits;

  e2m1() = default;
  /// Nearest even; anything above 5, infinity included, becomes 6; NaN becomes +6 (PTX
  /// `cvt.rn.satfinite.e2m1x2`). The format has no other way, so this and `saturate` are the same.
  TILEWRIGHT_HOST_DEVICE constexpr explicit e2m1(float value)
      : bits(static_cast<uint8_t>(detail::encode<format>(value, true))) {}
  TILEWRIGHT_HOST_DEVICE static constexpr e2m1 saturate(float value) { return e2m1(value); }
  /// The low nibble of `code`.
  TILEWRIGHT_HOST_DEVICE static constexpr e2m1 from_bits(uint32_t code) {
    e2m1 result{};
    result.bits = static_cast<uint8_t>(code & 0xFu);
    return result;
  }
  /// Exact.
  TILEWRIGHT_HOST_DEVICE constexpr explicit operator float() const {
    return detail::decode<format>(bits & 0xFu);
  }
};

/// Two elements in one byte: the even index is the low nibble.
TILEWRIGHT_HOST_DEVICE constexpr uint8_t pack_e2m1(e2m1 even, e2m1 odd) {
  return static_cast<uint8_t>((even.bits & 0xFu) | ((odd.bits & 0xFu) << 4));
}

/// Element `index` of a packed array.
TILEWRIGHT_HOST_DEVICE constexpr e2m1 load_e2m1(const uint8_t* packed, int64_t index) {
  const uint32_t byte = packed[index / 2];
  return e2m1::from_bits((index & 1) != 0 ? byte >> 4 : byte);
}

/// Sets element `index` of a packed array; the other half of the byte is kept.
TILEWRIGHT_HOST_DEVICE constexpr void store_e2m1(uint8_t* packed, int64_t index, e2m1 value) {
  uint8_t& byte = packed[index / 2];
  byte = (index & 1) != 0 ? static_cast<uint8_t>((byte & 0x0Fu) | ((value.bits & 0xFu) << 4))
                          : static_cast<uint8_t>((byte & 0xF0u) | (value.bits & 0xFu));
}

/// out[cols][rows] = in[rows][cols], both packed row by row with rows and cols even (a row is whole bytes).
/// Moves nibbles: moving bytes would pair the wrong elements. `out` must not overlap `in`.
TILEWRIGHT_HOST_DEVICE constexpr void transpose_e2m1(const uint8_t* in, int64_t rows, int64_t cols,
                                                     uint8_t* out) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) store_e2m1(out, c * rows + r, load_e2m1(in, r * cols + c));
  }
}

template <>
struct NumericTraits<e2m1> {
  static constexpr const char* name = "e2m1";
  static constexpr int bits = 4;
  static constexpr int mantissa_bits = 1;
  static constexpr double max = 6;
  static constexpr double lowest = -6;
  static constexpr double min_normal = 1;
  static constexpr double min_subnormal = 0.5;
  static constexpr double epsilon = 0.5;
  static constexpr bool has_infinity = false;
  static constexpr bool has_nan = false;
};

static_assert(sizeof(e2m1) == 1);

}  // namespace tilewright
