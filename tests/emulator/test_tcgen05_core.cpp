// The arithmetic of tcgen05.mma against a scalar model written from its description.
#include <cmath>
#include <random>
#include <vector>

#include "tests/emulator/micro.h"
#include "tilewright/emulator/tcgen05_core.h"
#include "tilewright/numeric/e8m0.h"
#include "tilewright/numeric/float4.h"
#include "tilewright/numeric/float8.h"

namespace tilewright::emulator {
namespace {

using Codes = std::array<uint8_t, 4>;

// An operand: 32 bytes a row, and the scales of a row.
struct Operand {
  std::vector<uint8_t> bytes;
  std::vector<Codes> scales;
  explicit Operand(int rows) : bytes(static_cast<size_t>(rows) * 32), scales(static_cast<size_t>(rows)) {}
};

struct Case {
  Tcgen05Kind kind;
  Tcgen05Type a, b;
  int depth() const { return kind == Tcgen05Kind::mxf4 || kind == Tcgen05Kind::mxf4nvf4 ? 64 : 32; }
  int scales() const {
    return kind == Tcgen05Kind::mxf8f6f4   ? 1
           : kind == Tcgen05Kind::mxf4     ? 2
           : kind == Tcgen05Kind::mxf4nvf4 ? 4
                                           : 0;
  }
};

constexpr Case kCases[] = {
    {Tcgen05Kind::f8f6f4, Tcgen05Type::e4m3, Tcgen05Type::e5m2},
    {Tcgen05Kind::mxf8f6f4, Tcgen05Type::e4m3, Tcgen05Type::e4m3},
    {Tcgen05Kind::mxf8f6f4, Tcgen05Type::e5m2, Tcgen05Type::e2m1},
    {Tcgen05Kind::mxf8f6f4, Tcgen05Type::e2m1, Tcgen05Type::e4m3},
    {Tcgen05Kind::mxf4, Tcgen05Type::e2m1, Tcgen05Type::e2m1},
    {Tcgen05Kind::mxf4nvf4, Tcgen05Type::e2m1, Tcgen05Type::e2m1},
};

float element(const Case& c, Tcgen05Type type, const uint8_t* row, int k) {
  if (type == Tcgen05Type::e4m3) return static_cast<float>(e4m3::from_bits(row[k]));
  if (type == Tcgen05Type::e5m2) return static_cast<float>(e5m2::from_bits(row[k]));
  if (c.depth() == 64) return static_cast<float>(load_e2m1(row, k));
  return static_cast<float>(load_e2m1(row + k / 16 * 16, k % 16));
}

double scale_value(const Case& c, uint8_t code) {
  return c.kind == Tcgen05Kind::mxf4nvf4 ? static_cast<float>(e4m3::from_bits(code & 0x7Fu))
                                         : static_cast<float>(e8m0::from_bits(code));
}

int least_exponent(Tcgen05Type type) {
  return type == Tcgen05Type::e4m3 ? -6 : type == Tcgen05Type::e5m2 ? -14 : 0;
}
int exponent(double value, int least) {
  return value == 0 ? -126 : std::max(static_cast<int>(std::floor(std::log2(std::fabs(value)))), least);
}
double cut(double value, int unit) { return std::ldexp(std::trunc(std::ldexp(value, -unit)), unit); }

// A finite result cut to 24 significant bits, as f32.
float round_to_f32(long double value) {
  if (value == 0) return 0;
  const int unit =
      std::max(static_cast<int>(std::floor(std::log2(std::fabs(static_cast<double>(value))))) - 23, -149);
  return static_cast<float>(cut(static_cast<double>(value), unit));
}

float model_8_bit(const Case& c, const uint8_t* a, const uint8_t* b, const Codes& sa, const Codes& sb,
                  float d) {
  const double scale = c.scales() == 0 ? 1 : scale_value(c, sa[0]) * scale_value(c, sb[0]);
  const int shift = static_cast<int>(std::log2(scale));
  int greatest = exponent(d, -126);
  for (int k = 0; k < 32; ++k) {
    greatest = std::max(greatest, exponent(element(c, c.a, a, k), least_exponent(c.a)) +
                                      exponent(element(c, c.b, b, k), least_exponent(c.b)) + shift);
  }
  long double sum = cut(d, greatest - 25);
  for (int k = 0; k < 32; ++k) {
    const double product =
        static_cast<double>(element(c, c.a, a, k)) * static_cast<double>(element(c, c.b, b, k));
    sum += cut(product * scale, greatest - 25);
  }
  return round_to_f32(sum);
}

float model_packed(const Case& c, const uint8_t* a, const uint8_t* b, const Codes& sa, const Codes& sb,
                   float d) {
  int greatest = exponent(d, -126);
  double sums[4] = {}, scale[4];
  for (int g = 0; g < 4; ++g) {
    const auto code = static_cast<size_t>(g * c.scales() / 4);
    const double x = scale_value(c, sa[code]), y = scale_value(c, sb[code]);
    // The exponent of a subnormal scale, and of zero, is the least one of its type.
    const int least = c.kind == Tcgen05Kind::mxf4nvf4 ? -6 : -127;
    greatest = std::max(greatest, std::max(x == 0 ? least : exponent(x, least), least) +
                                      std::max(y == 0 ? least : exponent(y, least), least));
    scale[g] = x * y;
    for (int k = 16 * g; k < 16 * (g + 1); ++k) {
      sums[g] += static_cast<double>(element(c, c.a, a, k)) * static_cast<double>(element(c, c.b, b, k));
    }
  }
  long double sum = cut(d, greatest - 35);
  for (int g = 0; g < 4; ++g) sum += cut(sums[g] * scale[g], greatest - 35);
  return round_to_f32(sum);
}

class Tcgen05Core : public testing::TestWithParam<int> {
 protected:
  static constexpr int kRows = 64, kColumns = 40;

  const Case& the_case() const { return kCases[GetParam()]; }
  void fill(Operand& operand, Tcgen05Type type, bool full_range) {
    for (uint8_t& byte : operand.bytes) {
      byte = static_cast<uint8_t>(random_());
      // No NaN and no infinity.
      if (type == Tcgen05Type::e4m3 && (byte & 0x7F) == 0x7F) byte = 0;
      if (type == Tcgen05Type::e5m2 && (byte & 0x7F) >= 0x7C) byte = 0;
    }
    for (Codes& codes : operand.scales) {
      for (uint8_t& code : codes) {
        const auto bits = static_cast<uint8_t>(random_());
        if (the_case().kind == Tcgen05Kind::mxf4nvf4)
          code = (bits & 0x7F) == 0x7F ? 0 : bits;
        else
          code = full_range ? static_cast<uint8_t>(80 + bits % 96) : static_cast<uint8_t>(120 + bits % 9);
      }
    }
  }
  std::vector<uint32_t> multiply(const Operand& a, const Operand& b, const std::vector<uint32_t>& d,
                                 bool accumulate) const {
    const Case& c = the_case();
    const Tcgen05Product product{.kind = c.kind,
                                 .a_type = c.a,
                                 .b_type = c.b,
                                 .e4m3_scales = c.kind == Tcgen05Kind::mxf4nvf4,
                                 .scales = c.scales(),
                                 .rows = kRows,
                                 .columns = kColumns,
                                 .a = a.bytes.data(),
                                 .b = b.bytes.data(),
                                 .a_scales = a.scales.data(),
                                 .b_scales = b.scales.data()};
    std::vector<uint32_t> result = d;
    tcgen05_multiply(product, result.data(), kColumns, accumulate);
    return result;
  }
  static float value(uint32_t word) { return __builtin_bit_cast(float, word); }

  std::mt19937 random_{42};
};

INSTANTIATE_TEST_SUITE_P(Kinds, Tcgen05Core, testing::Range(0, 6));

TEST_P(Tcgen05Core, every_element_is_the_fused_sum_of_its_description) {
  const Case& c = the_case();
  for (int round = 0; round < 6; ++round) {
    Operand a(kRows), b(kColumns);
    fill(a, c.a, round % 2 != 0);
    fill(b, c.b, round % 2 != 0);
    std::vector<uint32_t> d(size_t{kRows} * kColumns);
    for (uint32_t& word : d) {
      const float magnitude = std::ldexp(1.0f + static_cast<float>(random_() % 4096) / 4096,
                                         static_cast<int>(random_() % 60) - 30);
      word = __builtin_bit_cast(uint32_t, random_() % 2 == 0 ? magnitude : -magnitude);
    }
    for (const bool accumulate : {false, true}) {
      const auto got = multiply(a, b, d, accumulate);
      for (size_t i = 0; i < d.size(); ++i) {
        const size_t row = i / kColumns, column = i % kColumns;
        const float old = accumulate ? value(d[i]) : 0.0f;
        const auto& model = c.depth() == 64 ? model_packed : model_8_bit;
        const float want =
            model(c, &a.bytes[row * 32], &b.bytes[column * 32], a.scales[row], b.scales[column], old);
        ASSERT_EQ(value(got[i]), want) << "round " << round << " row " << row << " column " << column;
      }
    }
  }
}

TEST_P(Tcgen05Core, a_nan_scale_makes_its_row_nan_and_no_other) {
  const Case& c = the_case();
  if (c.scales() == 0) return;  // the next test looks at such kinds
  Operand a(kRows), b(kColumns);
  fill(a, c.a, false);
  fill(b, c.b, false);
  const uint8_t nan = c.kind == Tcgen05Kind::mxf4nvf4 ? 0x7F : 0xFF;
  a.scales[3][static_cast<size_t>(c.scales() - 1)] = nan;
  b.scales[7][0] = nan;
  const auto got = multiply(a, b, std::vector<uint32_t>(size_t{kRows} * kColumns), false);
  for (size_t i = 0; i < got.size(); ++i) {
    const bool expected = i / kColumns == 3 || i % kColumns == 7;
    ASSERT_EQ(got[i] == 0x7FFFFFFFu, expected) << i;
    ASSERT_EQ(std::isnan(value(got[i])), expected) << i;
  }
}

TEST_P(Tcgen05Core, a_kind_without_scales_does_not_look_at_any) {
  const Case& c = the_case();
  Operand a(kRows), b(kColumns);
  fill(a, c.a, false);
  fill(b, c.b, false);
  const std::vector<uint32_t> zeros(size_t{kRows} * kColumns);
  const auto before = multiply(a, b, zeros, false);
  for (Codes& codes : a.scales) codes.fill(0xFF);
  EXPECT_EQ(multiply(a, b, zeros, false) == before, c.scales() == 0);
}

TEST_P(Tcgen05Core, specials_of_elements_and_of_the_accumulator_follow_ieee) {
  const Case& c = the_case();
  Operand a(kRows), b(kColumns);
  fill(a, c.a, false);
  fill(b, c.b, false);
  std::vector<uint32_t> d(size_t{kRows} * kColumns, 0);
  d[5] = 0x7F800000u;                                        // Inf
  d[6] = 0xFF800000u;                                        // -Inf
  d[7] = 0x7FC00001u;                                        // a NaN
  if (c.a == Tcgen05Type::e4m3) a.bytes[32 * 2 + 4] = 0x7F;  // row 2
  if (c.b == Tcgen05Type::e5m2) {
    for (int k = 0; k < 32; ++k)
      b.bytes[32 * 9 + static_cast<size_t>(k)] = k == 0 ? 0x7C : 0;  // column 9: Inf
    a.bytes[32 * 0] = 0x38, a.bytes[32 * 1] = 0xB8, a.bytes[32 * 3] = 0;
  }
  const auto got = multiply(a, b, d, true);
  EXPECT_EQ(got[5], 0x7F800000u);
  EXPECT_EQ(got[6], 0xFF800000u);
  EXPECT_EQ(got[7], 0x7FFFFFFFu);
  for (size_t column = 0; column < kColumns && c.a == Tcgen05Type::e4m3; ++column) {
    EXPECT_EQ(got[2 * kColumns + column], 0x7FFFFFFFu);
  }
  if (c.b == Tcgen05Type::e5m2 && c.a == Tcgen05Type::e4m3) {
    EXPECT_EQ(got[0 * kColumns + 9], 0x7F800000u);
    EXPECT_EQ(got[1 * kColumns + 9], 0xFF800000u);
    EXPECT_EQ(got[3 * kColumns + 9], 0x7FFFFFFFu) << "0 x Inf";
  }
}

// Sums of FP8 keep 25 fraction bits, of packed FP4 35, where those of Hopper's FP8 wgmma keep 13.
TEST_P(Tcgen05Core, C05_width_of_the_accumulator) {
  const Case& c = the_case();
  const auto one = [&](Tcgen05Type type) -> uint8_t {
    return type == Tcgen05Type::e4m3 ? 0x38 : type == Tcgen05Type::e5m2 ? 0x3C : 0x22;
  };
  Operand a(kRows), b(kColumns);
  for (Operand* operand : {&a, &b})
    for (Codes& codes : operand->scales) codes.fill(c.kind == Tcgen05Kind::mxf4nvf4 ? 0x38 : 127);
  const auto sum = [&](float d) {
    const std::vector<uint32_t> from(size_t{kRows} * kColumns, __builtin_bit_cast(uint32_t, d));
    return value(multiply(a, b, from, true).front());
  };
  EXPECT_EQ(sum(1 + 0x1p-23f), 1 + 0x1p-23f);  // nothing is added
  a.bytes.assign(a.bytes.size(), one(c.a));
  b.bytes.assign(b.bytes.size(), one(c.b));
  const auto products = static_cast<float>(c.depth());
  const bool packed = c.depth() == 64;
  EXPECT_EQ(sum(0x1p25f), 0x1p25f + products);
  EXPECT_EQ(sum(0x1p26f), packed ? 0x1p26f + products : 0x1p26f);
}

TEST_P(Tcgen05Core, columns_may_be_done_a_few_at_a_time) {
  const Case& c = the_case();
  Operand a(kRows), b(kColumns);
  fill(a, c.a, false);
  fill(b, c.b, false);
  const auto whole = multiply(a, b, std::vector<uint32_t>(size_t{kRows} * kColumns), false);
  std::vector<uint32_t> parts(whole.size());
  for (int first = 0; first < kColumns; first += 8) {
    const Tcgen05Product product{.kind = c.kind,
                                 .a_type = c.a,
                                 .b_type = c.b,
                                 .e4m3_scales = c.kind == Tcgen05Kind::mxf4nvf4,
                                 .scales = c.scales(),
                                 .rows = kRows,
                                 .columns = 8,
                                 .a = a.bytes.data(),
                                 .b = b.bytes.data() + first * 32,
                                 .a_scales = a.scales.data(),
                                 .b_scales = b.scales.data() + first};
    tcgen05_multiply(product, parts.data() + first, kColumns, false);
  }
  EXPECT_EQ(parts, whole);
}

}  // namespace
}  // namespace tilewright::emulator
