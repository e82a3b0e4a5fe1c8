// E8M0: the power-of-two scale of microscaling formats.
#pragma once

#include <cstdint>

#include "tilewright/numeric/detail/codec.h"
#include "tilewright/numeric/traits.h"

namespace tilewright {

/// UE8M0: 2^(bits - 127). No sign, no zero, no infinity; 0xFF is NaN. Code 0 is 2^-127, which is not zero.
/// There is no conversion without a named direction: half a binade off is a factor of two. The sign of the
/// value is ignored; zero and everything below 2^-127 become 2^-127.
struct e8m0 {
  uint8_t bits;

  e8m0() = default;
  e8m0(float) = delete;

  /// Least power of two not below |value|; above 2^127, infinity and NaN: NaN. PTX `cvt.rp.ue8m0x2`.
  TILEWRIGHT_HOST_DEVICE static constexpr e8m0 round_up(float value) { return convert(value, true, false); }
  /// As round_up, but 2^127 for anything above it, infinity included.
  TILEWRIGHT_HOST_DEVICE static constexpr e8m0 saturate_up(float value) { return convert(value, true, true); }
  /// Greatest power of two not above |value|; infinity and NaN: NaN. PTX `cvt.rz.ue8m0x2`.
  TILEWRIGHT_HOST_DEVICE static constexpr e8m0 round_down(float value) {
    return convert(value, false, false);
  }
  /// As round_down, but 2^127 for infinity.
  TILEWRIGHT_HOST_DEVICE static constexpr e8m0 saturate_down(float value) {
    return convert(value, false, true);
  }

  TILEWRIGHT_HOST_DEVICE static constexpr e8m0 from_bits(uint32_t code) {
    e8m0 result{};
    result.bits = static_cast<uint8_t>(code);
    return result;
  }
  /// Exact; code 0 is the subnormal float 2^-127.
  TILEWRIGHT_HOST_DEVICE constexpr explicit operator float() const {
    if (bits == 0) return detail::float_from_bits(0x00400000u);
    if (bits == 0xFF) return detail::float_from_bits(0x7FFFFFFFu);
    return detail::float_from_bits(static_cast<uint32_t>(bits) << 23);
  }

 private:
  TILEWRIGHT_HOST_DEVICE static constexpr e8m0 convert(float value, bool up, bool saturate) {
    const uint32_t magnitude = detail::float_bits(value) & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return from_bits(0xFF);
    if (magnitude == 0x7F800000u) return from_bits(saturate ? 0xFE : 0xFF);
    uint32_t code = magnitude >> 23;
    // Subnormal floats end at 2^-127 = 0x400000; the next power of two up is code 1.
    const bool above = code == 0 ? magnitude > 0x400000u : (magnitude & 0x7FFFFFu) != 0;
    if (up && above) ++code;
    return from_bits(code == 0xFF && saturate ? 0xFE : code);
  }
};

template <>
struct NumericTraits<e8m0> {
  static constexpr const char* name = "e8m0";
  static constexpr int bits = 8;
  static constexpr int mantissa_bits = 0;
  static constexpr double max = 0x1p127;
  static constexpr double lowest = 0x1p-127;
  static constexpr double min_normal = 0x1p-127;
  static constexpr double min_subnormal = 0x1p-127;
  static constexpr double epsilon = 1;
  static constexpr bool has_infinity = false;
  static constexpr bool has_nan = true;
};

static_assert(sizeof(e8m0) == 1);

}  // namespace tilewright
