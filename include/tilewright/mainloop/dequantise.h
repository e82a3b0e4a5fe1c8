// From elements and scales to bf16, with few instructions: the bits of an element are moved to where bf16 has
// them, which gives the element times a power of two, subnormals included; two exact multiplications then
// give its value.
#pragma once

#include <cstdint>

#include "tilewright/arch/bf16x2.h"
#include "tilewright/arch/convert.h"
#include "tilewright/mainloop/dequantise_params.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// A power of two in both halves.
template <int Exponent>
inline constexpr uint32_t bf16x2_power = static_cast<uint32_t>(127 + Exponent) * 0x00800080u;

/// Scale codes of a format with which every element times its scale is a bf16.
template <BlockFormat F>
inline constexpr int lowest_code = kernels::exact_exponents(F).lowest + 127;
template <BlockFormat F>
inline constexpr int highest_code = kernels::exact_exponents(F).highest + 127;

/// Has the highest bit of each byte set where one of four e4m3 is NaN.
TILEWRIGHT_DEVICE uint32_t nan_of_e4m3x4(uint32_t bytes) {
  return ((bytes & 0x7F7F7F7Fu) + 0x01010101u) & 0x80808080u;
}

/// Four e4m3 as bf16 x 2^Exponent. `to`: two each. Nan: there may be one, which becomes NaN.
template <int Exponent, bool Nan>
TILEWRIGHT_DEVICE void widen_e4m3x4(uint32_t bytes, uint32_t (&to)[2]) {
  constexpr uint32_t kUnit = bf16x2_power<120 + Exponent>;  // the bias of bf16 less that of e4m3
  const auto widen = [&](uint32_t selector) {
    const uint32_t high = arch::permute_bytes(bytes, 0, selector);  // in the upper byte of each half
    return arch::mul_bf16x2(((high >> 4) & 0x07F007F0u) | (high & 0x80008000u), kUnit);
  };
  to[0] = widen(0x1404);
  to[1] = widen(0x3424);
  if constexpr (Nan) {
    const uint32_t all = (nan_of_e4m3x4(bytes) >> 7) * 0xFFu;
    to[0] |= arch::permute_bytes(all, 0, 0x1100);
    to[1] |= arch::permute_bytes(all, 0, 0x3322);
  }
}

/// Eight e2m1 as bf16 x 2^Exponent.
template <int Exponent>
TILEWRIGHT_DEVICE void widen_e2m1x8(uint32_t nibbles, uint32_t (&to)[4]) {
  constexpr uint32_t kUnit = bf16x2_power<126 + Exponent>;
  TILEWRIGHT_UNROLL
  for (int i = 0; i < 4; ++i) {
    // Both nibbles of a byte, seven bits up and twelve apart: magnitudes end on bits 8 and 24.
    const uint32_t both = (nibbles >> 8 * i & 0xFFu) * 0x40040u;
    to[i] = arch::mul_bf16x2((both & 0x01C001C0u) | (both << 6 & 0x80008000u), kUnit);
  }
}

/// What a format's elements are multiplied by first, so that every scale is a bf16 when it is multiplied by
/// the inverse: 2^-8 and 2^-2 bring the largest scale exponent that occurs to 127.
template <BlockFormat F>
inline constexpr int element_exponent = kernels::has_shifts(F) ? kernels::exact_exponents(F).highest - 127
                                                               : 0;

/// 2^(code - 127 - shift) / 2^element_exponent in both halves; NaN for code 255.
template <BlockFormat F>
TILEWRIGHT_DEVICE uint32_t widen_e8m0(uint32_t code, int shift) {
  const int exponent = static_cast<int>(code) - shift - element_exponent<F>;
  const uint32_t half = code == 0xFF    ? 0x7FFFu
                        : exponent == 0 ? 0x0040u
                                        : static_cast<uint32_t>(exponent) << 7;
  return half * 0x10001u;
}

/// The shift of a line whose scale codes lie between two (255, NaN, counts as 254): the least that brings
/// both into range. If they are too far apart the upper one is brought there, and bits are lost at the lower
/// one.
template <BlockFormat F>
TILEWRIGHT_DEVICE int shift_of(int least, int greatest) {
  constexpr int kLowest = lowest_code<F>, kHighest = highest_code<F>;
  if (greatest > kHighest) return greatest - kHighest;
  if (least >= kLowest) return 0;
  const int wanted = kLowest - least, room = kHighest - greatest;
  return -(wanted < room ? wanted : room);
}

/// Whether one of four scale codes is out of range (see exact_exponents).
template <BlockFormat F>
TILEWRIGHT_DEVICE bool has_outer_scale(uint32_t codes) {
  constexpr int kLowest = lowest_code<F>, kHighest = highest_code<F>;
  const uint32_t low_bits = codes & 0x7F7F7F7Fu;
  // A sum carries into bit 7 where the low bits are beyond the limit.
  uint32_t outer = (low_bits + static_cast<uint32_t>(255 - kHighest) * 0x01010101u) & codes;
  if constexpr (kLowest > 0)
    outer |= ~((low_bits + static_cast<uint32_t>(128 - kLowest) * 0x01010101u) | codes);
  return (outer & 0x80808080u) != 0;
}

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
