// The fused sum of wgmma for one element, written with integers only and as close to its definition as
// possible. Slow; the emulated tensor core is checked against it.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tilewright/emulator/hooks.h"

namespace tilewright::test {

/// A number (-1)^negative * significand * 2^(exponent - place), or Inf, or NaN.
struct Term {
  enum Kind { finite, infinite, nan } kind = finite;
  bool negative = false;
  uint64_t significand = 0;
  int exponent = -126;
  int place = 0;  // fraction bits of the significand
};

/// Reads a code of a format with these field widths. `ieee`: the greatest exponent holds Inf and NaN;
/// otherwise only the code with all bits set is NaN.
inline Term read_code(uint32_t code, int exponent_bits, int mantissa_bits, bool ieee) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint32_t mantissa = code & ((1u << mantissa_bits) - 1);
  const uint32_t field = (code >> mantissa_bits) & ((1u << exponent_bits) - 1);
  const uint32_t last = (1u << exponent_bits) - 1;
  Term t;
  t.place = mantissa_bits;
  t.negative = ((code >> (exponent_bits + mantissa_bits)) & 1) != 0;
  if (ieee && field == last) {
    t.kind = mantissa == 0 ? Term::infinite : Term::nan;
  } else if (!ieee && field == last && mantissa == (1u << mantissa_bits) - 1) {
    t.kind = Term::nan;
  } else if (field != 0) {
    t.significand = mantissa | (1u << mantissa_bits);
    t.exponent = static_cast<int>(field) - bias;
  } else if (mantissa != 0) {
    t.significand = mantissa;
    t.exponent = 1 - bias;
  }
  return t;
}

inline Term read_element(emulator::MmaType type, const uint8_t* raw) {
  switch (type) {
    case emulator::MmaType::e4m3:
      return read_code(*raw, 4, 3, false);
    case emulator::MmaType::e5m2:
      return read_code(*raw, 5, 2, true);
    case emulator::MmaType::f16:
      return read_code(raw[0] | raw[1] << 8, 5, 10, true);
    case emulator::MmaType::bf16:
      return read_code(raw[0] | raw[1] << 8, 8, 7, true);
    default: {  // tf32: the word without its low 13 bits
      const uint32_t word = raw[0] | raw[1] << 8 | raw[2] << 16 | static_cast<uint32_t>(raw[3]) << 24;
      return read_code(word >> 13, 8, 10, true);
    }
  }
}

inline Term multiply(const Term& a, const Term& b) {
  Term p;
  p.negative = a.negative != b.negative;
  const auto zero = [](const Term& t) { return t.kind == Term::finite && t.significand == 0; };
  if (a.kind == Term::nan || b.kind == Term::nan) {
    p.kind = Term::nan;
  } else if (a.kind == Term::infinite || b.kind == Term::infinite) {
    p.kind = zero(a) || zero(b) ? Term::nan : Term::infinite;
  }
  p.significand = a.significand * b.significand;
  p.exponent = a.exponent + b.exponent;
  p.place = a.place + b.place;
  return p;
}

/// value * 2^shift towards zero, value a magnitude.
inline int64_t shifted(uint64_t value, int shift) {
  if (shift >= 0) return static_cast<int64_t>(value << shift);
  return shift <= -64 ? 0 : static_cast<int64_t>(value >> -shift);
}

/// |sum| * 2^unit as float bits without sign, cut to `bits` fraction bits.
inline uint32_t write_f32(uint64_t sum, int unit, int bits) {
  if (sum == 0) return 0;
  int exponent = 63 - __builtin_clzll(sum) + unit;
  if (exponent > 127) return 0x7F800000u;
  if (exponent < -126) exponent = -126;
  const auto kept = static_cast<uint64_t>(shifted(sum, unit - exponent + bits)) << (23 - bits);
  const bool normal = (kept >> 23) != 0;
  return static_cast<uint32_t>((kept & 0x7FFFFF) |
                               (normal ? static_cast<uint64_t>(exponent + 127) << 23 : 0));
}

/// |sum| * 2^unit as f16 bits without sign, nearest even.
inline uint32_t write_f16(uint64_t sum, int unit) {
  if (sum == 0) return 0;
  int exponent = 63 - __builtin_clzll(sum) + unit;
  if (exponent > 15) return 0x7C00u;
  if (exponent < -14) exponent = -14;
  const int drop = exponent - 10 - unit;  // bits below the last place
  uint64_t kept = static_cast<uint64_t>(shifted(sum, -drop));
  if (drop > 0 && drop < 64) {
    const uint64_t rest = sum - (kept << drop), half = uint64_t{1} << (drop - 1);
    if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  }
  // Counting the hidden bit as one step of the exponent lets a carry move up by itself; the last one is Inf.
  return static_cast<uint32_t>(kept + (static_cast<uint64_t>(exponent + 14) << 10));
}

inline Term read_accumulator(uint32_t c, bool half) {
  return half ? read_code(c & 0xFFFF, 5, 10, true) : read_code(c, 8, 23, true);
}

/// The sum of terms that are cut to `fraction` bits below the greatest exponent, as f16 or as f32 of `bits`
/// bits.
inline uint32_t fused_sum(const std::vector<Term>& terms, int fraction, bool half, int bits) {
  int greatest = -126;  // of an accumulator that is zero or not there
  bool nan = false, plus = false, minus = false;
  for (const Term& t : terms) {
    if (t.exponent > greatest) greatest = t.exponent;
    nan = nan || t.kind == Term::nan;
    if (t.kind == Term::infinite) (t.negative ? minus : plus) = true;
  }
  if (nan || (plus && minus)) return half ? 0x7FFF : 0x7FFFFFFF;
  if (plus) return half ? 0x7C00 : 0x7F800000;
  if (minus) return half ? 0xFC00 : 0xFF800000;

  int64_t sum = 0;
  for (const Term& t : terms) {
    const int64_t kept = shifted(t.significand, t.exponent - t.place - greatest + fraction);
    sum += t.negative ? -kept : kept;
  }
  const auto magnitude = static_cast<uint64_t>(std::llabs(sum));
  const int unit = greatest - fraction;
  const uint32_t result = half ? write_f16(magnitude, unit) : write_f32(magnitude, unit, bits);
  return result != 0 && sum < 0 ? result | (half ? 0x8000u : 0x80000000u) : result;
}

inline uint32_t scalar_wgmma_element(const emulator::WgmmaInstruction& in, const uint8_t* a, const uint8_t* b,
                                     uint32_t c, bool accumulate) {
  using emulator::MmaType;
  const bool half = in.d == emulator::AccumulatorType::f16;
  const bool fp8 = in.a == MmaType::e4m3 || in.a == MmaType::e5m2;
  const int bytes = fp8 ? 1 : in.a == MmaType::tf32 ? 4 : 2;
  std::vector<Term> terms;
  if (accumulate) terms.push_back(read_accumulator(c, half));
  for (int k = 0; k < 32; k += bytes) {
    Term p = multiply(read_element(in.a, a + k), read_element(in.b, b + k));
    if (in.negate_a) p.negative = !p.negative;
    if (in.negate_b) p.negative = !p.negative;
    terms.push_back(p);
  }
  return fused_sum(terms, fp8 ? 13 : 25, half, fp8 ? 13 : 23);
}

}  // namespace tilewright::test
