// The fused sums of wgmma, eight columns at a time.
//
// A product of two factors and the cut to 2^(E - F) are done in floating point that holds every value
// exactly: float for FP8 (products of 8 bits, exponents within +-32), double for the other types. Converting
// a term, scaled by 2^(F - E), to an integer is the cut towards zero. Elements with an Inf or NaN among their
// terms are few and are redone one by one.
#include "tilewright/emulator/tensor_core.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "fused_sum.h"
#include "tilewright/numeric/float16.h"
#include "tilewright/numeric/float8.h"
#include "tilewright/numeric/tf32.h"

namespace tilewright::emulator {
namespace {

constexpr int kMaxRows = 64;
constexpr int kRowBytes = 32;
constexpr int kMaxColumns = 256;
constexpr int kBlock = 8;  // columns done together
constexpr int kZeroExponent = -126;

// A factor as the tensor core sees it.
struct Factor {
  float value;       // 0 when special
  int16_t exponent;  // not normalised: see tensor_core.h
  bool special;      // Inf or NaN
};

Factor factor_of(float value, int least_exponent) {
  const int field = static_cast<int>(__builtin_bit_cast(uint32_t, value) >> 23 & 0xFF);
  if (field == 0xFF) return {0.0f, kZeroExponent, true};
  if (value == 0.0f) return {0.0f, kZeroExponent, false};
  return {value, static_cast<int16_t>(std::max(field - 127, least_exponent)), false};
}

int element_bytes(MmaType type) {
  switch (type) {
    case MmaType::f16:
    case MmaType::bf16:
      return 2;
    case MmaType::tf32:
      return 4;
    default:
      return 1;
  }
}

float decode_value(MmaType type, const uint8_t* raw) {
  uint16_t half;
  uint32_t word;
  switch (type) {
    case MmaType::e4m3:
      return static_cast<float>(e4m3::from_bits(*raw));
    case MmaType::e5m2:
      return static_cast<float>(e5m2::from_bits(*raw));
    case MmaType::f16:
      std::memcpy(&half, raw, 2);
      return static_cast<float>(f16::from_bits(half));
    case MmaType::bf16:
      std::memcpy(&half, raw, 2);
      return static_cast<float>(bf16::from_bits(half));
    case MmaType::tf32:
      std::memcpy(&word, raw, 4);
      return static_cast<float>(tf32::from_bits(word));
    case MmaType::s8:
      return static_cast<float>(static_cast<int8_t>(*raw));
    case MmaType::u8:
      return static_cast<float>(*raw);
  }
  return 0.0f;
}

Factor decode_factor(MmaType type, const uint8_t* raw) {
  const float value = decode_value(type, raw);
  switch (type) {
    case MmaType::e4m3:
      return factor_of(value, -6);
    case MmaType::e5m2:
    case MmaType::f16:
      return factor_of(value, -14);
    default:
      return factor_of(value, -126);
  }
}

// Factors of all codes of an 8-bit type.
const std::array<Factor, 256>& factor_table(MmaType type) {
  static const auto make = [](MmaType t) {
    std::array<Factor, 256> table;
    for (int code = 0; code < 256; ++code) {
      const uint8_t raw = static_cast<uint8_t>(code);
      table[static_cast<size_t>(code)] = decode_factor(t, &raw);
    }
    return table;
  };
  static const auto e4m3_table = make(MmaType::e4m3);
  static const auto e5m2_table = make(MmaType::e5m2);
  return type == MmaType::e4m3 ? e4m3_table : e5m2_table;
}

// Decoded operands. Real: float or double, see the top of the file.
template <class Real>
struct Operands {
  int depth;  // K elements in a row
  std::array<std::array<Real, kRowBytes>, kMaxRows> a;
  std::array<std::array<int16_t, kRowBytes>, kMaxRows> a_exponent;
  std::array<bool, kMaxRows> a_special;
  std::array<std::array<Real, kMaxColumns>, kRowBytes> b;  // [k][column]
  std::array<std::array<int16_t, kMaxColumns>, kRowBytes> b_exponent;
  std::array<bool, kMaxColumns> b_special;
};

Factor load_factor(MmaType type, const std::array<Factor, 256>* table, const uint8_t* row, int k) {
  return table != nullptr ? (*table)[row[k]] : decode_factor(type, row + k * element_bytes(type));
}

template <class Real>
void decode_operands(const WgmmaInstruction& instruction, int rows, const uint8_t* a, const uint8_t* b,
                     Operands<Real>& out) {
  const bool narrow = element_bytes(instruction.a) == 1;
  const auto* a_table = narrow ? &factor_table(instruction.a) : nullptr;
  const auto* b_table = narrow ? &factor_table(instruction.b) : nullptr;
  // A negated product is a product of a negated factor.
  const Real sign = instruction.negate_a != instruction.negate_b ? Real(-1) : Real(1);
  out.depth = kRowBytes / element_bytes(instruction.a);
  for (int row = 0; row < rows; ++row) {
    out.a_special[row] = false;
    for (int k = 0; k < out.depth; ++k) {
      const Factor f = load_factor(instruction.a, a_table, a + row * kRowBytes, k);
      out.a[row][k] = sign * static_cast<Real>(f.value);
      out.a_exponent[row][k] = f.exponent;
      out.a_special[row] = out.a_special[row] || f.special;
    }
  }
  for (int column = 0; column < instruction.n; ++column) {
    out.b_special[column] = false;
    for (int k = 0; k < out.depth; ++k) {
      const Factor f = load_factor(instruction.b, b_table, b + column * kRowBytes, k);
      out.b[k][column] = static_cast<Real>(f.value);
      out.b_exponent[k][column] = f.exponent;
      out.b_special[column] = out.b_special[column] || f.special;
    }
  }
}

double power_of_two(int exponent) {
  return __builtin_bit_cast(double, static_cast<uint64_t>(exponent + 1023) << 52);
}

// Cut towards zero to `bits` fraction bits, to the subnormal grid of a float below 2^-126.
uint32_t to_f32_bits(double value, int bits) {
  const double magnitude = std::fabs(value);
  uint32_t result = 0;
  if (magnitude >= 0x1p128) {
    result = 0x7F800000u;
  } else if (magnitude >= 0x1p-126) {
    const uint64_t kept = __builtin_bit_cast(uint64_t, magnitude) & ~((uint64_t{1} << (52 - bits)) - 1);
    result = __builtin_bit_cast(uint32_t, static_cast<float>(__builtin_bit_cast(double, kept)));
  } else {
    const auto units = static_cast<uint32_t>(magnitude * power_of_two(126 + bits));
    result = units << (23 - bits);
  }
  return result | (value < 0 && result != 0 ? 0x80000000u : 0u);
}

// Nearest even.
uint32_t to_f16_bits(double value) {
  const double magnitude = std::fabs(value);
  if (magnitude >= 65520.0) return value < 0 ? 0xFC00u : 0x7C00u;
  const int exponent = magnitude < 0x1p-14 ? -14 : std::ilogb(magnitude);
  const double rounded =
      std::nearbyint(magnitude * power_of_two(10 - exponent)) * power_of_two(exponent - 10);
  const uint32_t result = f16(static_cast<float>(rounded)).bits;
  return result | (value < 0 && result != 0 ? 0x8000u : 0u);
}

// How the accumulator of an instruction is read and written.
struct AccumulatorFormat {
  AccumulatorType type;
  int cut_bits;  // fraction bits of an f32 result

  float load(uint32_t word) const {
    return type == AccumulatorType::f16 ? static_cast<float>(f16::from_bits(word & 0xFFFFu))
                                        : __builtin_bit_cast(float, word);
  }
  int exponent(float value) const {
    return factor_of(value, type == AccumulatorType::f16 ? -14 : -126).exponent;
  }
  uint32_t store(double value) const {
    return type == AccumulatorType::f16 ? to_f16_bits(value) : to_f32_bits(value, cut_bits);
  }
  // `sum` is Inf or NaN.
  uint32_t store_special(double sum) const {
    const bool half = type == AccumulatorType::f16;
    if (std::isnan(sum)) return half ? 0x7FFFu : 0x7FFFFFFFu;
    if (sum > 0) return half ? 0x7C00u : 0x7F800000u;
    return half ? 0xFC00u : 0xFF800000u;
  }
};

// One row of A times kBlock columns of B.
template <class Real, int kDepth, int kFraction>
void multiply_block(const Operands<Real>& operands, int row, int column, const AccumulatorFormat& format,
                    uint32_t* d, bool accumulate) {
  std::array<int16_t, kBlock> greatest;
  greatest.fill(std::numeric_limits<int16_t>::min());
  for (int k = 0; k < kDepth; ++k) {
    const int16_t ea = operands.a_exponent[row][k];
    const int16_t* eb = &operands.b_exponent[k][column];
    for (int j = 0; j < kBlock; ++j) {
      const int16_t e = static_cast<int16_t>(ea + eb[j]);
      greatest[j] = std::max(greatest[j], e);
    }
  }

  std::array<float, kBlock> c{};
  std::array<int, kBlock> unit;  // exponent of the place that terms are cut to
  std::array<Real, kBlock> scale;
  for (int j = 0; j < kBlock; ++j) {
    if (accumulate) c[j] = format.load(d[j]);
    unit[j] = std::max<int>(greatest[j], format.exponent(c[j])) - kFraction;
    // A unit that Real cannot invert occurs only when all products are zero.
    scale[j] =
        static_cast<Real>(power_of_two(std::min(-unit[j], std::numeric_limits<Real>::max_exponent - 1)));
  }

  std::array<int32_t, kBlock> sum{};
  for (int k = 0; k < kDepth; ++k) {
    const Real a = operands.a[row][k];
    const Real* b = &operands.b[k][column];
    for (int j = 0; j < kBlock; ++j) sum[j] += static_cast<int32_t>(a * b[j] * scale[j]);
  }

  for (int j = 0; j < kBlock; ++j) {
    if (!std::isfinite(c[j])) continue;  // special_sum's
    const auto kept = static_cast<int64_t>(static_cast<double>(c[j]) * power_of_two(-unit[j]));
    d[j] = format.store(static_cast<double>(sum[j] + kept) * power_of_two(unit[j]));
  }
}

// One element with Inf or NaN among its terms: the Inf or NaN that IEEE 754 makes of them.
double special_sum(const WgmmaInstruction& instruction, const uint8_t* a, const uint8_t* b, float c) {
  double sum = static_cast<double>(c);
  const double sign = instruction.negate_a != instruction.negate_b ? -1.0 : 1.0;
  const int bytes = element_bytes(instruction.a);
  for (int k = 0; k < kRowBytes; k += bytes) {
    sum += sign * static_cast<double>(decode_value(instruction.a, a + k)) *
           static_cast<double>(decode_value(instruction.b, b + k));
  }
  return sum;
}

template <class Real, int kDepth, int kFraction>
void multiply_floating(const WgmmaInstruction& instruction, int rows, const uint8_t* a, const uint8_t* b,
                       uint32_t* d, bool accumulate) {
  // Too large for the stack of a fiber.
  static thread_local const auto operands = std::make_unique<Operands<Real>>();
  decode_operands(instruction, rows, a, b, *operands);
  const AccumulatorFormat format{instruction.d, kFraction == 13 ? 13 : 23};
  std::array<uint32_t, kBlock> before{};
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < instruction.n; column += kBlock) {
      uint32_t* block = d + row * instruction.n + column;
      if (accumulate) std::copy_n(block, kBlock, before.begin());
      multiply_block<Real, kDepth, kFraction>(*operands, row, column, format, block, accumulate);
      for (int j = 0; j < kBlock; ++j) {
        const float c = accumulate ? format.load(before[j]) : 0.0f;
        if (!operands->a_special[row] && !operands->b_special[column + j] && std::isfinite(c)) continue;
        block[j] = format.store_special(
            special_sum(instruction, a + row * kRowBytes, b + (column + j) * kRowBytes, c));
      }
    }
  }
}

// Products and their sum over K = 32 stay below 2^24, exact in float.
void multiply_integer(const WgmmaInstruction& instruction, int rows, const uint8_t* a, const uint8_t* b,
                      uint32_t* d, bool accumulate) {
  static thread_local const auto columns =
      std::make_unique<std::array<std::array<float, kMaxColumns>, kRowBytes>>();
  for (int column = 0; column < instruction.n; ++column) {
    for (int k = 0; k < kRowBytes; ++k) {
      (*columns)[k][column] = decode_value(instruction.b, b + column * kRowBytes + k);
    }
  }
  for (int row = 0; row < rows; ++row) {
    std::array<float, kRowBytes> factors;
    for (int k = 0; k < kRowBytes; ++k) factors[k] = decode_value(instruction.a, a + row * kRowBytes + k);
    for (int column = 0; column < instruction.n; column += kBlock) {
      std::array<float, kBlock> sum{};
      for (int k = 0; k < kRowBytes; ++k) {
        const float* other = &(*columns)[k][column];
        for (int j = 0; j < kBlock; ++j) sum[j] += factors[k] * other[j];
      }
      uint32_t* block = d + row * instruction.n + column;
      for (int j = 0; j < kBlock; ++j) {
        int64_t total = static_cast<int64_t>(sum[j]);
        if (accumulate) total += static_cast<int32_t>(block[j]);
        if (instruction.saturate) {
          total = std::clamp<int64_t>(total, std::numeric_limits<int32_t>::min(),
                                      std::numeric_limits<int32_t>::max());
        }
        block[j] = static_cast<uint32_t>(total);
      }
    }
  }
}

}  // namespace

void multiply_rows(const WgmmaInstruction& instruction, int rows, const uint8_t* a, const uint8_t* b,
                   uint32_t* d, bool accumulate) {
  switch (instruction.a) {
    case MmaType::e4m3:
    case MmaType::e5m2:
      return multiply_floating<float, 32, 13>(instruction, rows, a, b, d, accumulate);
    case MmaType::f16:
    case MmaType::bf16:
      return multiply_floating<double, 16, 25>(instruction, rows, a, b, d, accumulate);
    case MmaType::tf32:
      return multiply_floating<double, 8, 25>(instruction, rows, a, b, d, accumulate);
    case MmaType::s8:
    case MmaType::u8:
      return multiply_integer(instruction, rows, a, b, d, accumulate);
  }
}

void tensor_core_multiply(const WgmmaInstruction& instruction, const uint8_t* a, const uint8_t* b,
                          uint32_t* d, bool accumulate) {
  multiply_rows(instruction, kMaxRows, a, b, d, accumulate);
}

}  // namespace tilewright::emulator
