// The fused sums of tcgen05.mma, eight columns at a time; see the header for what is computed.
//
// Narrow products are exact in float, and a term scaled by 2^(F - E) is cut by its conversion to an integer.
// Sums of e2m1 products are integers, in units of a quarter.
#include "tilewright/emulator/tcgen05_core.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "tilewright/emulator/tensor_core.h"
#include "tilewright/numeric/e8m0.h"
#include "tilewright/numeric/float4.h"
#include "tilewright/numeric/float8.h"

namespace tilewright::emulator {
namespace {

constexpr int kRowBytes = 32;
constexpr int kMaxColumns = 256;
constexpr int kBlock = 8;         // columns done together
constexpr int kFraction = 25;     // F of the 8-bit kinds
constexpr int kFractionFp4 = 35;  // F of the packed kinds
constexpr int kFp4Depth = 64, kFp4Group = 16, kFp4Groups = kFp4Depth / kFp4Group;
constexpr int kZeroExponent = -126;
constexpr uint32_t kNan = 0x7FFFFFFF;

double power_of_two(int exponent) {
  return __builtin_bit_cast(double, static_cast<uint64_t>(std::clamp(exponent, -1022, 1023) + 1023) << 52);
}
float small_power_of_two(int exponent) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(std::clamp(exponent, -126, 127) + 127) << 23);
}

int exponent_of(float value, int least) {
  const int field = static_cast<int>(__builtin_bit_cast(uint32_t, value) >> 23 & 0xFF);
  return value == 0 ? kZeroExponent : std::max(field - 127, least);
}

// An f32 word cut towards zero; subnormals too.
uint32_t cut_to_f32(double value) {
  const double magnitude = std::fabs(value);
  uint32_t bits = 0;
  if (magnitude >= 0x1p128) {
    bits = 0x7F800000u;
  } else if (magnitude >= 0x1p-126) {
    const uint64_t kept = __builtin_bit_cast(uint64_t, magnitude) & ~((uint64_t{1} << 29) - 1);
    bits = __builtin_bit_cast(uint32_t, static_cast<float>(__builtin_bit_cast(double, kept)));
  } else {
    bits = static_cast<uint32_t>(magnitude * 0x1p149);
  }
  return bits | (value < 0 && bits != 0 ? 0x80000000u : 0u);
}

bool is_finite(uint32_t word) { return (word & 0x7F800000u) != 0x7F800000u; }

uint32_t special_word(double sum) {
  if (std::isnan(sum)) return kNan;
  return sum > 0 ? 0x7F800000u : 0xFF800000u;
}

// `sum` whole units of 2^unit.
uint32_t from_units(int64_t sum, int unit) {
  if (sum == 0) return 0;
  return cut_to_f32(static_cast<double>(sum) * power_of_two(unit));
}

// What is left of a finite D in units of 2^unit; unit is at least the exponent of D less 35.
int64_t in_units(float d, int unit) {
  return static_cast<int64_t>(static_cast<double>(d) * power_of_two(-unit));
}

// ---- 8-bit containers: f8f6f4 and mxf8f6f4

struct Factor {
  float value;  // also Inf and NaN
  int16_t exponent;
};

template <class T>
std::array<Factor, 256> make_table(int least_exponent) {
  std::array<Factor, 256> table;
  for (uint32_t code = 0; code < 256; ++code) {
    const float value = static_cast<float>(T::from_bits(code));
    const bool finite = value - value == 0;
    table[code] = {value, static_cast<int16_t>(finite ? exponent_of(value, least_exponent) : kZeroExponent)};
  }
  return table;
}

const std::array<Factor, 256>& table_of(Tcgen05Type type) {
  static const auto e4m3_table = make_table<e4m3>(-6);
  static const auto e5m2_table = make_table<e5m2>(-14);
  static const auto e2m1_table = make_table<e2m1>(0);
  return type == Tcgen05Type::e4m3 ? e4m3_table : type == Tcgen05Type::e5m2 ? e5m2_table : e2m1_table;
}

// Element k of a row: e2m1 lies in the first half of its 16-byte slot.
uint8_t code_at(Tcgen05Type type, const uint8_t* row, int k) {
  if (type != Tcgen05Type::e2m1) return row[k];
  const uint8_t byte = row[k / 16 * 16 + k % 16 / 2];
  return static_cast<uint8_t>(k % 2 == 0 ? byte & 0xF : byte >> 4);
}

struct Scale {
  int exponent = 0;
  float significand = 1;  // of e4m3: below 1 for subnormals
  bool nan = false;
};

Scale decode_scale(bool is_e4m3, uint8_t code) {
  if (!is_e4m3) return {code - 127, 1, code == 0xFF};
  const float value =
      static_cast<float>(e4m3::from_bits(code & 0x7Fu));  // unsigned: the sign is not looked at
  if (value != value) return {0, 1, true};
  const int exponent = std::max(exponent_of(value, -6), -6);
  return {exponent, value * small_power_of_two(-exponent), false};
}

// B of one instruction, decoded: [k][column].
struct WideOperand {
  std::array<std::array<float, kMaxColumns>, kRowBytes> value;
  std::array<std::array<int16_t, kMaxColumns>, kRowBytes> exponent;
  std::array<int, kMaxColumns> scale;
  std::array<bool, kMaxColumns> special, nan_scale;
};

struct WideRow {
  std::array<float, kRowBytes> value;
  std::array<int16_t, kRowBytes> exponent;
  int scale = 0;
  bool special = false;
};

void load_row(Tcgen05Type type, const uint8_t* bytes, WideRow& row) {
  const auto& table = table_of(type);
  row.special = false;
  for (int k = 0; k < kRowBytes; ++k) {
    const Factor& factor = table[code_at(type, bytes, k)];
    const bool finite = factor.value - factor.value == 0;
    row.special = row.special || !finite;
    row.value[static_cast<size_t>(k)] = finite ? factor.value : 0.0f;
    row.exponent[static_cast<size_t>(k)] = factor.exponent;
  }
}

Scale row_scale(const Tcgen05Product& product, const std::array<uint8_t, 4>* scales, int row) {
  return product.scales == 0 ? Scale{} : decode_scale(false, scales[row][0]);
}

void load_wide(const Tcgen05Product& product, WideOperand& out) {
  WideRow row;
  for (int column = 0; column < product.columns; ++column) {
    const auto c = static_cast<size_t>(column);
    load_row(product.b_type, product.b + column * kRowBytes, row);
    for (size_t k = 0; k < kRowBytes; ++k) {
      out.value[k][c] = row.value[k];
      out.exponent[k][c] = row.exponent[k];
    }
    const Scale scale = row_scale(product, product.b_scales, column);
    out.scale[c] = scale.exponent;
    out.special[c] = row.special;
    out.nan_scale[c] = scale.nan;
  }
}

// An element with an Inf or a NaN among its terms: what IEEE 754 makes of them.
uint32_t special_sum(const Tcgen05Product& product, int row, int column, float d, bool nan_scale) {
  if (nan_scale) return kNan;
  double sum = static_cast<double>(d);
  for (int k = 0; k < kRowBytes; ++k) {
    const uint8_t a = code_at(product.a_type, product.a + row * kRowBytes, k);
    const uint8_t b = code_at(product.b_type, product.b + column * kRowBytes, k);
    sum += static_cast<double>(table_of(product.a_type)[a].value) *
           static_cast<double>(table_of(product.b_type)[b].value);
  }
  return special_word(sum);
}

// One row of A with eight columns of B. Columns with special terms come out meaningless.
void multiply_wide_block(const WideRow& a, const WideOperand& b, size_t column, uint32_t* d,
                         bool accumulate) {
  std::array<int16_t, kBlock> greatest;
  greatest.fill(std::numeric_limits<int16_t>::min());
  for (size_t k = 0; k < kRowBytes; ++k) {
    const int16_t* exponent = &b.exponent[k][column];
    for (int j = 0; j < kBlock; ++j) {
      const auto e = static_cast<int16_t>(a.exponent[k] + exponent[j]);
      greatest[static_cast<size_t>(j)] = std::max(greatest[static_cast<size_t>(j)], e);
    }
  }
  std::array<float, kBlock> c{}, scale;
  std::array<int, kBlock> unit;
  for (size_t j = 0; j < kBlock; ++j) {
    if (accumulate && is_finite(d[j])) c[j] = __builtin_bit_cast(float, d[j]);
    const int shift = a.scale + b.scale[column + j];
    unit[j] = std::max(greatest[j] + shift, exponent_of(c[j], -126)) - kFraction;
    scale[j] = small_power_of_two(shift - unit[j]);
  }
  // Terms stay below 3.5 * 2^25: sixteen of them fit.
  std::array<int64_t, kBlock> sum{};
  for (size_t half = 0; half < kRowBytes; half += 16) {
    std::array<int32_t, kBlock> part{};
    for (size_t k = half; k < half + 16; ++k) {
      const float* other = &b.value[k][column];
      for (size_t j = 0; j < kBlock; ++j) part[j] += static_cast<int32_t>(a.value[k] * other[j] * scale[j]);
    }
    for (size_t j = 0; j < kBlock; ++j) sum[j] += part[j];
  }
  for (size_t j = 0; j < kBlock; ++j) d[j] = from_units(sum[j] + in_units(c[j], unit[j]), unit[j]);
}

void multiply_wide(const Tcgen05Product& product, uint32_t* d, int64_t ldd, bool accumulate) {
  // Too large for the stack of a fiber.
  static thread_local const auto b = std::make_unique<WideOperand>();
  load_wide(product, *b);
  WideRow a;
  for (int row = 0; row < product.rows; ++row) {
    load_row(product.a_type, product.a + row * kRowBytes, a);
    const Scale scale = row_scale(product, product.a_scales, row);
    a.scale = scale.exponent;
    uint32_t* line = d + row * ldd;
    for (int column = 0; column < product.columns; column += kBlock) {
      std::array<uint32_t, kBlock> before{};
      if (accumulate) std::copy_n(line + column, kBlock, before.begin());
      multiply_wide_block(a, *b, static_cast<size_t>(column), line + column, accumulate);
      for (int j = 0; j < kBlock; ++j) {
        const auto c = static_cast<size_t>(column + j);
        const uint32_t old = before[static_cast<size_t>(j)];
        const bool nan_scale = scale.nan || b->nan_scale[c];
        if (!a.special && !b->special[c] && !nan_scale && is_finite(old)) continue;
        line[c] = special_sum(product, row, column + j, __builtin_bit_cast(float, old), nan_scale);
      }
    }
  }
}

// ---- packed e2m1: mxf4 and mxf4nvf4

struct PackedOperand {
  std::array<std::array<int16_t, kMaxColumns>, kFp4Depth> twice;  // 2 * element, [k][column]
  std::array<std::array<Scale, kFp4Groups>, kMaxColumns> scale;   // of each group of 16
};

// 2 * element, exact.
int16_t twice_e2m1(const uint8_t* row, int k) {
  return static_cast<int16_t>(2 * static_cast<float>(load_e2m1(row, k)));
}

std::array<Scale, kFp4Groups> group_scales(const Tcgen05Product& product,
                                           const std::array<uint8_t, 4>& codes) {
  std::array<Scale, kFp4Groups> scales;
  for (size_t g = 0; g < kFp4Groups; ++g) {
    scales[g] =
        decode_scale(product.e4m3_scales, codes[g * static_cast<size_t>(product.scales) / kFp4Groups]);
  }
  return scales;
}

// One element from its four exact sums (in quarters).
uint32_t add_groups(const std::array<int32_t, kFp4Groups>& sums, const std::array<Scale, kFp4Groups>& a,
                    const std::array<Scale, kFp4Groups>& b, uint32_t word, bool accumulate) {
  const float c = accumulate ? __builtin_bit_cast(float, word) : 0.0f;
  int greatest = exponent_of(c, -126);
  bool nan = c != c;
  for (size_t g = 0; g < kFp4Groups; ++g) {
    nan = nan || a[g].nan || b[g].nan;
    greatest = std::max(greatest, a[g].exponent + b[g].exponent);
  }
  if (nan) return kNan;
  if (c - c != 0) return word;
  const int unit = greatest - kFractionFp4;
  int64_t total = in_units(c, unit);
  for (size_t g = 0; g < kFp4Groups; ++g) {
    const double significand = static_cast<double>(a[g].significand) * static_cast<double>(b[g].significand);
    const int exponent = a[g].exponent + b[g].exponent;
    total += static_cast<int64_t>(0.25 * sums[g] * significand * power_of_two(exponent - unit));
  }
  return from_units(total, unit);
}

void multiply_packed(const Tcgen05Product& product, uint32_t* d, int64_t ldd, bool accumulate) {
  static thread_local const auto b = std::make_unique<PackedOperand>();
  for (int column = 0; column < product.columns; ++column) {
    for (int k = 0; k < kFp4Depth; ++k) {
      b->twice[static_cast<size_t>(k)][static_cast<size_t>(column)] =
          twice_e2m1(product.b + column * kRowBytes, k);
    }
    b->scale[static_cast<size_t>(column)] = group_scales(product, product.b_scales[column]);
  }
  for (int row = 0; row < product.rows; ++row) {
    std::array<int16_t, kFp4Depth> a;
    for (int k = 0; k < kFp4Depth; ++k)
      a[static_cast<size_t>(k)] = twice_e2m1(product.a + row * kRowBytes, k);
    const auto scale = group_scales(product, product.a_scales[row]);
    uint32_t* line = d + row * ldd;
    for (size_t column = 0; column < static_cast<size_t>(product.columns); column += kBlock) {
      // At most 16 * 144 in a group.
      std::array<std::array<int16_t, kBlock>, kFp4Groups> sums{};
      for (size_t k = 0; k < kFp4Depth; ++k) {
        const int16_t* other = &b->twice[k][column];
        auto& sum = sums[k / kFp4Group];
        for (size_t j = 0; j < kBlock; ++j) sum[j] = static_cast<int16_t>(sum[j] + a[k] * other[j]);
      }
      for (size_t j = 0; j < kBlock; ++j) {
        const std::array<int32_t, kFp4Groups> mine{sums[0][j], sums[1][j], sums[2][j], sums[3][j]};
        line[column + j] = add_groups(mine, scale, b->scale[column + j], line[column + j], accumulate);
      }
    }
  }
}

// ---- f16, tf32 and i8: as on Hopper

MmaType hopper_type(Tcgen05Type type) {
  switch (type) {
    case Tcgen05Type::f16:
      return MmaType::f16;
    case Tcgen05Type::bf16:
      return MmaType::bf16;
    case Tcgen05Type::tf32:
      return MmaType::tf32;
    case Tcgen05Type::s8:
      return MmaType::s8;
    default:
      return MmaType::u8;
  }
}

void multiply_as_hopper(const Tcgen05Product& product, uint32_t* d, int64_t ldd, bool accumulate) {
  constexpr int kRows = 64;
  const auto columns = static_cast<size_t>(product.columns);
  const WgmmaInstruction instruction{
      .n = product.columns,
      .a = hopper_type(product.a_type),
      .b = hopper_type(product.b_type),
      .d = product.kind == Tcgen05Kind::i8 ? AccumulatorType::s32 : AccumulatorType::f32};
  std::vector<uint32_t> dense(kRows * columns);
  for (int first = 0; first < product.rows; first += kRows) {
    for (int row = 0; row < kRows; ++row) {
      std::copy_n(d + (first + row) * ldd, columns, dense.data() + static_cast<size_t>(row) * columns);
    }
    tensor_core_multiply(instruction, product.a + first * kRowBytes, product.b, dense.data(), accumulate);
    for (int row = 0; row < kRows; ++row) {
      std::copy_n(dense.data() + static_cast<size_t>(row) * columns, columns, d + (first + row) * ldd);
    }
  }
}

}  // namespace

void tcgen05_multiply(const Tcgen05Product& product, uint32_t* d, int64_t ldd, bool accumulate) {
  switch (product.kind) {
    case Tcgen05Kind::f16:
    case Tcgen05Kind::tf32:
    case Tcgen05Kind::i8:
      return multiply_as_hopper(product, d, ldd, accumulate);
    case Tcgen05Kind::f8f6f4:
    case Tcgen05Kind::mxf8f6f4:
      return multiply_wide(product, d, ldd, accumulate);
    case Tcgen05Kind::mxf4:
    case Tcgen05Kind::mxf4nvf4:
      return multiply_packed(product, d, ldd, accumulate);
  }
}

}  // namespace tilewright::emulator
