// Conversions between float registers and packed narrow formats (PTX `cvt`). Any thread; nothing is
// ordered.
//
// In every pack the first argument goes to the low half. Rounding is to nearest even. NaN becomes the
// positive NaN with all mantissa bits set (0x7FFF, 0x7F), and unpacking one gives the float 0x7FFFFFFF (bf16:
// its own bits).
#pragma once

#include <cstdint>

#include "tilewright/config.h"
#include "tilewright/numeric/float16.h"
#include "tilewright/numeric/float8.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

/// Two floats, named for the halves of the register they were packed in.
struct FloatPair {
  float lo, hi;
};

namespace detail {

template <class T>
TILEWRIGHT_HOST_DEVICE uint32_t pack_bits(T lo, T hi) {
  return static_cast<uint32_t>(lo.bits) | static_cast<uint32_t>(hi.bits) << (8 * sizeof(T));
}

/// The value of a code, its NaN as the hardware widens it.
template <class T>
TILEWRIGHT_HOST_DEVICE float unpack_bits(uint32_t code) {
  const float value = static_cast<float>(T::from_bits(code & ((1u << (8 * sizeof(T))) - 1)));
  return value == value ? value : tilewright::detail::float_from_bits(0x7FFFFFFFu);
}

}  // namespace detail

/// f16 pair; overflow becomes infinity. PTX `cvt.rn.f16x2.f32`.
TILEWRIGHT_DEVICE uint32_t pack_f16x2(float lo, float hi) {
#if defined(TILEWRIGHT_EMULATE)
  return detail::pack_bits(f16(lo), f16(hi));
#else
  uint32_t packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(hi), "f"(lo));
  return packed;
#endif
}

/// bf16 pair; overflow becomes infinity. PTX `cvt.rn.bf16x2.f32`.
TILEWRIGHT_DEVICE uint32_t pack_bf16x2(float lo, float hi) {
#if defined(TILEWRIGHT_EMULATE)
  return detail::pack_bits(bf16(lo), bf16(hi));
#else
  uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(hi), "f"(lo));
  return packed;
#endif
}

/// e4m3 pair; anything above 448, infinity included, becomes 448. PTX `cvt.rn.satfinite.e4m3x2.f32`.
TILEWRIGHT_DEVICE uint16_t pack_e4m3x2(float lo, float hi) {
#if defined(TILEWRIGHT_EMULATE)
  return static_cast<uint16_t>(detail::pack_bits(e4m3::saturate(lo), e4m3::saturate(hi)));
#else
  uint16_t packed;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(packed) : "f"(hi), "f"(lo));
  return packed;
#endif
}

/// e5m2 pair; anything above 57344, infinity included, becomes 57344. PTX `cvt.rn.satfinite.e5m2x2.f32`.
TILEWRIGHT_DEVICE uint16_t pack_e5m2x2(float lo, float hi) {
#if defined(TILEWRIGHT_EMULATE)
  return static_cast<uint16_t>(detail::pack_bits(e5m2::saturate(lo), e5m2::saturate(hi)));
#else
  uint16_t packed;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(packed) : "f"(hi), "f"(lo));
  return packed;
#endif
}

/// e4m3 pair without saturation: what rounds above 448 (|x| > 464) and infinity become NaN, which E4M3 has in
/// the place of infinity. The hardware only saturates; the out-of-range halves are replaced after it.
TILEWRIGHT_DEVICE uint16_t pack_e4m3x2_nonsaturating(float lo, float hi) {
#if defined(TILEWRIGHT_EMULATE)
  return static_cast<uint16_t>(detail::pack_bits(e4m3(lo), e4m3(hi)));
#else
  uint32_t packed = pack_e4m3x2(lo, hi);
  if (fabsf(lo) > 464.0f) packed |= 0x007Fu;
  if (fabsf(hi) > 464.0f) packed |= 0x7F00u;
  return static_cast<uint16_t>(packed);
#endif
}

/// e5m2 pair without saturation: what rounds above 57344 (|x| >= 61440) becomes infinity. As
/// pack_e4m3x2_nonsaturating.
TILEWRIGHT_DEVICE uint16_t pack_e5m2x2_nonsaturating(float lo, float hi) {
#if defined(TILEWRIGHT_EMULATE)
  return static_cast<uint16_t>(detail::pack_bits(e5m2(lo), e5m2(hi)));
#else
  // The saturated code 0x7B plus one is the infinity, 0x7C.
  uint32_t packed = pack_e5m2x2(lo, hi);
  if (fabsf(lo) >= 61440.0f) packed += 0x0001u;
  if (fabsf(hi) >= 61440.0f) packed += 0x0100u;
  return static_cast<uint16_t>(packed);
#endif
}

/// Exact. PTX `cvt.f32.f16`.
TILEWRIGHT_DEVICE FloatPair unpack_f16x2(uint32_t packed) {
#if defined(TILEWRIGHT_EMULATE)
  return {detail::unpack_bits<f16>(packed), detail::unpack_bits<f16>(packed >> 16)};
#else
  FloatPair pair;
  asm("{ .reg .b16 lo, hi;\n"
      "mov.b32 {lo, hi}, %2;\n"
      "cvt.f32.f16 %0, lo;\n"
      "cvt.f32.f16 %1, hi; }"
      : "=f"(pair.lo), "=f"(pair.hi)
      : "r"(packed));
  return pair;
#endif
}

/// Exact: bf16 is the upper half of a float.
TILEWRIGHT_DEVICE FloatPair unpack_bf16x2(uint32_t packed) {
  return {tilewright::detail::float_from_bits(packed << 16),
          tilewright::detail::float_from_bits(packed & 0xFFFF0000u)};
}

/// Exact. PTX `cvt.rn.f16x2.e4m3x2`, then `cvt.f32.f16`.
TILEWRIGHT_DEVICE FloatPair unpack_e4m3x2(uint16_t packed) {
#if defined(TILEWRIGHT_EMULATE)
  return {detail::unpack_bits<e4m3>(packed), detail::unpack_bits<e4m3>(static_cast<uint32_t>(packed) >> 8)};
#else
  uint32_t halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(packed));
  return unpack_f16x2(halves);
#endif
}

/// Exact. PTX `cvt.rn.f16x2.e5m2x2`, then `cvt.f32.f16`.
TILEWRIGHT_DEVICE FloatPair unpack_e5m2x2(uint16_t packed) {
#if defined(TILEWRIGHT_EMULATE)
  return {detail::unpack_bits<e5m2>(packed), detail::unpack_bits<e5m2>(static_cast<uint32_t>(packed) >> 8)};
#else
  uint32_t halves;
  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(packed));
  return unpack_f16x2(halves);
#endif
}

/// Four of the eight bytes of `low` (0 to 3) and `high` (4 to 7), numbered by the hexadecimal digits of
/// `selector`, the lowest digit for the lowest byte. PTX `prmt`.
TILEWRIGHT_DEVICE uint32_t permute_bytes(uint32_t low, uint32_t high, uint32_t selector) {
#if defined(TILEWRIGHT_EMULATE)
  const uint64_t bytes = low | static_cast<uint64_t>(high) << 32;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    result |= static_cast<uint32_t>(bytes >> 8 * (selector >> 4 * i & 7) & 0xFF) << 8 * i;
  }
  return result;
#else
  return __byte_perm(low, high, selector);
#endif
}

/// The tf32 nearest to a float, ties away from zero, low 13 bits zero. PTX `cvt.rna.tf32.f32`.
TILEWRIGHT_DEVICE uint32_t to_tf32(float value) {
#if defined(TILEWRIGHT_EMULATE)
  const uint32_t bits = tilewright::detail::float_bits(value);
  if (value != value) return 0x7FFFFFFFu & ~0x1FFFu;
  return (bits + 0x1000u) & ~0x1FFFu;
#else
  uint32_t word;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(word) : "f"(value));
  return word & ~0x1FFFu;
#endif
}

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
