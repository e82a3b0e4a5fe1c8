#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

#include "tensor_core_scalar.h"
#include "tilewright/emulator/tensor_core.h"
#include "tilewright/numeric/float16.h"
#include "tilewright/numeric/float8.h"

namespace tilewright::emulator {
namespace {

using Bytes = std::vector<uint8_t>;
using Words = std::vector<uint32_t>;

// One instruction with its operands.
struct Mma {
  WgmmaInstruction instruction;
  Bytes a = Bytes(64 * 32), b;
  Words c;

  explicit Mma(const WgmmaInstruction& in) : instruction(in), b(in.n * 32), c(64 * in.n) {}
  Words run(bool accumulate = true) const {
    Words d = c;
    tensor_core_multiply(instruction, a.data(), b.data(), d.data(), accumulate);
    return d;
  }
  void expect_scalar_result(bool accumulate) const {
    const Words d = run(accumulate);
    for (int row = 0; row < 64; ++row) {
      for (int column = 0; column < instruction.n; ++column) {
        const size_t at = row * instruction.n + column;
        const uint32_t want =
            test::scalar_wgmma_element(instruction, &a[row * 32], &b[column * 32], c[at], accumulate);
        ASSERT_EQ(d[at], want) << std::hex << "row " << row << " column " << column << " c " << c[at];
      }
    }
  }
};

struct Combination {
  MmaType a, b;
  AccumulatorType d;
};
const Combination kFloating[] = {
    {MmaType::e4m3, MmaType::e4m3, AccumulatorType::f32},
    {MmaType::e4m3, MmaType::e5m2, AccumulatorType::f32},
    {MmaType::e5m2, MmaType::e4m3, AccumulatorType::f32},
    {MmaType::e5m2, MmaType::e5m2, AccumulatorType::f32},
    {MmaType::e4m3, MmaType::e4m3, AccumulatorType::f16},
    {MmaType::e5m2, MmaType::e5m2, AccumulatorType::f16},
    {MmaType::f16, MmaType::f16, AccumulatorType::f32},
    {MmaType::f16, MmaType::f16, AccumulatorType::f16},
    {MmaType::bf16, MmaType::bf16, AccumulatorType::f32},
    {MmaType::tf32, MmaType::tf32, AccumulatorType::f32},
};

int element_bytes(MmaType type) {
  if (type == MmaType::tf32) return 4;
  return type == MmaType::f16 || type == MmaType::bf16 ? 2 : 1;
}

// Numbers of about one size, as in a real problem.
void fill_ordinary(MmaType type, Bytes& bytes, std::mt19937& random) {
  std::normal_distribution<float> normal;
  const int step = element_bytes(type);
  for (size_t i = 0; i < bytes.size(); i += step) {
    const float value = normal(random);
    uint32_t code = std::bit_cast<uint32_t>(value);
    if (type == MmaType::e4m3) code = e4m3(value).bits;
    if (type == MmaType::e5m2) code = e5m2(value).bits;
    if (type == MmaType::f16) code = f16(value).bits;
    if (type == MmaType::bf16) code = bf16(value).bits;
    for (int byte = 0; byte < step; ++byte) bytes[i + byte] = static_cast<uint8_t>(code >> (8 * byte));
  }
}

// Any code at all: subnormals, zeros, the largest numbers; Inf and NaN only when asked for.
void fill_any(MmaType type, Bytes& bytes, std::mt19937& random, bool specials) {
  const int step = element_bytes(type);
  for (size_t i = 0; i < bytes.size(); i += step) {
    do {
      for (int byte = 0; byte < step; ++byte) bytes[i + byte] = static_cast<uint8_t>(random());
      if (random() % 4 == 0) std::fill_n(&bytes[i], step, uint8_t{0});
    } while (!specials && test::read_element(type, &bytes[i]).kind != test::Term::finite);
  }
}

class Floating : public testing::TestWithParam<Combination> {};
INSTANTIATE_TEST_SUITE_P(AllTypes, Floating, testing::ValuesIn(kFloating));

TEST_P(Floating, equals_the_scalar_model_on_ordinary_numbers) {
  const auto [a, b, d] = GetParam();
  std::mt19937 random(1);
  for (int n : {8, 24, 256}) {
    Mma mma({n, a, b, d});
    fill_ordinary(a, mma.a, random);
    fill_ordinary(b, mma.b, random);
    mma.expect_scalar_result(false);
    for (int step = 0; step < 4; ++step) {
      mma.c = mma.run(step != 0);
      mma.expect_scalar_result(true);
    }
  }
}

TEST_P(Floating, equals_the_scalar_model_on_any_finite_codes) {
  const auto [a, b, d] = GetParam();
  std::mt19937 random(2);
  for (int round = 0; round < 8; ++round) {
    Mma mma({64, a, b, d});
    fill_any(a, mma.a, random, false);
    fill_any(b, mma.b, random, false);
    for (uint32_t& word : mma.c) {
      word = random();
      if (d == AccumulatorType::f16) word &= 0xFBFFu;                         // finite
      if (d == AccumulatorType::f32 && round % 2 == 0) word &= ~0x40000000u;  // at most 2
    }
    mma.expect_scalar_result(true);
    mma.expect_scalar_result(false);
  }
}

TEST_P(Floating, equals_the_scalar_model_with_few_nonzero_terms) {
  const auto [a, b, d] = GetParam();
  std::mt19937 random(3);
  for (int round = 0; round < 8; ++round) {
    Mma mma({64, a, b, d});
    fill_any(a, mma.a, random, false);
    fill_any(b, mma.b, random, false);
    const int step = element_bytes(a);
    for (size_t i = 0; i < mma.a.size(); i += step) {
      if (random() % 16 != 0) std::fill_n(&mma.a[i], step, uint8_t{0});
    }
    for (uint32_t& word : mma.c) word = random() % 3 == 0 ? random() & 0x00FFFFFFu : 0;  // tiny
    mma.expect_scalar_result(true);
  }
}

TEST_P(Floating, equals_the_scalar_model_with_infinities_and_nans) {
  const auto [a, b, d] = GetParam();
  std::mt19937 random(4);
  Mma mma({128, a, b, d});
  // Specials in a few places only, so that all three of finite, Inf and NaN results occur.
  fill_any(a, mma.a, random, false);
  fill_any(b, mma.b, random, false);
  Bytes any_a(mma.a.size()), any_b(mma.b.size());
  fill_any(a, any_a, random, true);
  fill_any(b, any_b, random, true);
  const auto sprinkle = [&](Bytes& to, const Bytes& from, int step) {
    for (size_t i = 0; i < to.size(); i += step) {
      if (random() % 64 == 0) std::copy_n(&from[i], step, &to[i]);
    }
  };
  sprinkle(mma.a, any_a, element_bytes(a));
  sprinkle(mma.b, any_b, element_bytes(b));
  const uint32_t specials32[] = {0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0x80000000, 0x3F800000};
  const uint32_t specials16[] = {0x7C00, 0xFC00, 0x7E00, 0x7C01, 0x8000, 0x3C00};
  for (uint32_t& word : mma.c) {
    if (random() % 8 != 0) continue;
    word = d == AccumulatorType::f16 ? specials16[random() % 6] : specials32[random() % 6];
  }
  mma.expect_scalar_result(true);
  mma.expect_scalar_result(false);
}

TEST_P(Floating, negates_either_operand) {
  const auto [a, b, d] = GetParam();
  std::mt19937 random(5);
  Mma mma({32, a, b, d});
  fill_ordinary(a, mma.a, random);
  fill_ordinary(b, mma.b, random);
  for (int flags = 0; flags < 4; ++flags) {
    mma.instruction.negate_a = (flags & 1) != 0;
    mma.instruction.negate_b = (flags & 2) != 0;
    mma.expect_scalar_result(false);
  }
}

TEST_P(Floating, reads_the_accumulator_only_when_told_to) {
  const auto [a, b, d] = GetParam();
  Mma mma({16, a, b, d});
  mma.c.assign(mma.c.size(), 0xFFFFFFFFu);
  for (uint32_t word : mma.run(false)) ASSERT_EQ(word, 0u);
}

uint32_t accumulate_only(MmaType type, float c) {
  Mma mma({8, type, type, AccumulatorType::f32});
  mma.c.assign(mma.c.size(), std::bit_cast<uint32_t>(c));
  return mma.run()[0];
}

TEST(Case, C01_fp8_wgmma_cuts_the_accumulator_to_13_bits_with_nothing_added) {
  const uint32_t one = std::bit_cast<uint32_t>(1.0f);
  for (MmaType type : {MmaType::e4m3, MmaType::e5m2}) {
    EXPECT_EQ(accumulate_only(type, 1.0f + 0x1p-23f), one);
    EXPECT_EQ(accumulate_only(type, 1.0f + 0x1p-14f), one);
    EXPECT_EQ(accumulate_only(type, 2.0f - 0x1p-23f), std::bit_cast<uint32_t>(2.0f - 0x1p-13f));
    EXPECT_EQ(accumulate_only(type, 1.0f + 0x1p-13f), std::bit_cast<uint32_t>(1.0f + 0x1p-13f));
    EXPECT_EQ(accumulate_only(type, -1.0f - 0x1p-14f), std::bit_cast<uint32_t>(-1.0f));
  }
}

TEST(Case, C01_wider_types_keep_the_whole_accumulator) {
  for (MmaType type : {MmaType::f16, MmaType::bf16, MmaType::tf32}) {
    EXPECT_EQ(accumulate_only(type, 1.0f + 0x1p-23f), std::bit_cast<uint32_t>(1.0f + 0x1p-23f));
  }
}

TEST(TensorCore, zero_times_large_takes_part_in_the_greatest_exponent) {
  // bf16: 0 * 2^127 has exponent 1, so a lone 2^-25 stays and 2^-26 is cut away.
  Mma mma({8, MmaType::bf16, MmaType::bf16, AccumulatorType::f32});
  const auto set = [](uint8_t* at, float value) {
    const uint16_t bits = bf16(value).bits;
    at[0] = static_cast<uint8_t>(bits), at[1] = static_cast<uint8_t>(bits >> 8);
  };
  set(&mma.a[0], 0x1p127f);
  set(&mma.a[2], 1.0f);
  set(&mma.b[2], 0x1p-24f);
  EXPECT_EQ(mma.run(false)[0], std::bit_cast<uint32_t>(0x1p-24f));
  set(&mma.b[2], 0x1p-25f);
  EXPECT_EQ(mma.run(false)[0], 0u);
}

TEST(TensorCore, f16_results_are_rounded_to_nearest_even_and_overflow_to_infinity) {
  Mma mma({8, MmaType::f16, MmaType::f16, AccumulatorType::f16});
  const auto set = [](uint8_t* at, float value) {
    const uint16_t bits = f16(value).bits;
    at[0] = static_cast<uint8_t>(bits), at[1] = static_cast<uint8_t>(bits >> 8);
  };
  set(&mma.a[0], 1.0f);
  set(&mma.b[0], 0x1p-11f);
  mma.c.assign(mma.c.size(), f16(1.0f).bits);
  EXPECT_EQ(mma.run()[0], f16(1.0f).bits);  // tie to even
  mma.c.assign(mma.c.size(), f16(1.0f + 0x1p-10f).bits);
  EXPECT_EQ(mma.run()[0], f16(1.0f + 0x1p-9f).bits);  // tie to even, upwards
  set(&mma.b[0], 16.0f);
  mma.c.assign(mma.c.size(), f16(65504.0f).bits);
  EXPECT_EQ(mma.run()[0], 0x7C00u);
  set(&mma.b[0], 15.0f);
  EXPECT_EQ(mma.run()[0], 0x7BFFu);
}

uint32_t integer_element(const Mma& mma, int row, int column, bool accumulate) {
  const auto value = [](MmaType type, uint8_t raw) {
    return type == MmaType::s8 ? int64_t{static_cast<int8_t>(raw)} : int64_t{raw};
  };
  int64_t sum = accumulate ? static_cast<int32_t>(mma.c[row * mma.instruction.n + column]) : 0;
  for (int k = 0; k < 32; ++k) {
    sum += value(mma.instruction.a, mma.a[row * 32 + k]) * value(mma.instruction.b, mma.b[column * 32 + k]);
  }
  if (mma.instruction.saturate) sum = std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX);
  return static_cast<uint32_t>(sum);
}

TEST(TensorCore, integers_are_exact_and_wrap_or_saturate) {
  std::mt19937 random(6);
  for (MmaType a : {MmaType::s8, MmaType::u8}) {
    for (MmaType b : {MmaType::s8, MmaType::u8}) {
      for (bool saturate : {false, true}) {
        Mma mma({32, a, b, AccumulatorType::s32});
        mma.instruction.saturate = saturate;
        for (uint8_t& x : mma.a) x = random() % 4 == 0 ? 0xFF : static_cast<uint8_t>(random());
        for (uint8_t& x : mma.b) x = random() % 4 == 0 ? 0x80 : static_cast<uint8_t>(random());
        for (uint32_t& word : mma.c)
          word = random() % 2 == 0 ? 0x7FFFFFFFu - random() % 1000 : 0x80000000u + random() % 1000;
        for (bool accumulate : {false, true}) {
          const Words d = mma.run(accumulate);
          for (int e = 0; e < 64 * 32; ++e) ASSERT_EQ(d[e], integer_element(mma, e / 32, e % 32, accumulate));
        }
      }
    }
  }
}

TEST(Case, C19_unsigned_sums_above_2_to_24_lose_nothing) {
  Mma mma({8, MmaType::u8, MmaType::u8, AccumulatorType::s32});
  mma.a.assign(mma.a.size(), 1);
  mma.b[0] = 1;
  mma.c.assign(mma.c.size(), (1u << 24) + 1);
  EXPECT_EQ(mma.run()[0], (1u << 24) + 2);
  mma.a.assign(mma.a.size(), 255);
  mma.b.assign(mma.b.size(), 255);
  EXPECT_EQ(mma.run()[0], (1u << 24) + 1 + 32 * 65025);
}

}  // namespace
}  // namespace tilewright::emulator
