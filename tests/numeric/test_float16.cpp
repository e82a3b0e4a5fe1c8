#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tilewright/numeric/float16.h"
#include "tilewright/numeric/tf32.h"

namespace tilewright {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

static_assert(std::is_trivially_copyable_v<f16> && std::is_trivially_default_constructible_v<f16>);
static_assert(std::is_trivially_copyable_v<bf16> && std::is_trivially_default_constructible_v<bf16>);
static_assert(std::is_trivially_copyable_v<tf32> && std::is_trivially_default_constructible_v<tf32>);

template <class T>
void expect_all_codes_round_trip() {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const float value = static_cast<float>(T::from_bits(code));
    if (std::isnan(value)) {
      ASSERT_EQ(T(value).bits, 0x7FFF);
    } else {
      ASSERT_EQ(T(value).bits, code);
    }
  }
}

TEST(Float16, every_code_survives_the_round_trip) {
  expect_all_codes_round_trip<f16>();
  expect_all_codes_round_trip<bf16>();
}

TEST(Float16, every_f16_code_has_the_value_its_fields_say) {
  for (int code = 0; code < 0x7C00; ++code) {
    const int field = code >> 10, mantissa = code & 0x3FF;
    const double value = std::ldexp(field == 0 ? mantissa : mantissa + 1024, std::max(field, 1) - 25);
    ASSERT_EQ(static_cast<float>(f16::from_bits(code)), value);
    ASSERT_EQ(static_cast<float>(f16::from_bits(code | 0x8000)), -value);
  }
  EXPECT_EQ(static_cast<float>(f16::from_bits(0x7C00)), kInf);
  EXPECT_TRUE(std::isnan(static_cast<float>(f16::from_bits(0x7C01))));
}

template <class T>
void expect_nearest_even(uint32_t largest) {
  for (uint32_t code = 0; code < largest; ++code) {
    const double low = static_cast<float>(T::from_bits(code)),
                 high = static_cast<float>(T::from_bits(code + 1));
    const float middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(T(middle).bits, code % 2 == 0 ? code : code + 1);
    ASSERT_EQ(T(std::nextafter(middle, 0.0f)).bits, code);
    ASSERT_EQ(T(std::nextafter(middle, kInf)).bits, code + 1);
  }
}

TEST(Float16, rounds_to_nearest_and_ties_to_even_everywhere) {
  expect_nearest_even<f16>(0x7BFF);
  expect_nearest_even<bf16>(0x7F7F);
}

TEST(Float16, overflow_is_infinity_unless_saturating) {
  EXPECT_EQ(f16(65519.996f).bits, 0x7BFF);
  EXPECT_EQ(f16(65520.0f).bits, 0x7C00);
  EXPECT_EQ(f16(-kInf).bits, 0xFC00);
  EXPECT_EQ(f16::saturate(65520.0f).bits, 0x7BFF);
  EXPECT_EQ(f16::saturate(-kInf).bits, 0xFBFF);
  EXPECT_EQ(f16::saturate(kNan).bits, 0x7FFF);
  EXPECT_EQ(bf16(std::numeric_limits<float>::max()).bits, 0x7F80);
  EXPECT_EQ(bf16::saturate(std::numeric_limits<float>::max()).bits, 0x7F7F);
  EXPECT_EQ(bf16::saturate(kInf).bits, 0x7F7F);
  EXPECT_EQ(bf16(-kNan).bits, 0x7FFF);
}

TEST(Float16, nan_with_a_payload_in_the_low_bits_stays_nan) {
  const float low_payload = std::bit_cast<float>(0x7F800001u);
  EXPECT_TRUE(std::isnan(static_cast<float>(bf16(low_payload))));
  EXPECT_TRUE(std::isnan(static_cast<float>(f16(low_payload))));
  EXPECT_TRUE(std::isnan(static_cast<float>(tf32(low_payload))));
}

TEST(Float16, f16_converts_like_the_compilers_type) {
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) {
    // Exponents around the range of f16, any mantissa.
    const uint32_t bits = (random() & 0x807FFFFFu) | (100 + random() % 45) << 23;
    const float value = std::bit_cast<float>(bits);
    ASSERT_EQ(f16(value).bits, std::bit_cast<uint16_t>(static_cast<_Float16>(value))) << value;
  }
}

TEST(Tf32, rounds_to_ten_bits_and_truncate_drops_them) {
  EXPECT_EQ(static_cast<float>(tf32(1.0f + 0x1p-11f)), 1.0f);
  EXPECT_EQ(static_cast<float>(tf32(1.0f + 3 * 0x1p-11f)), 1.0f + 0x1p-9f);
  EXPECT_EQ(static_cast<float>(tf32(1.0f + 0x1p-11f + 0x1p-23f)), 1.0f + 0x1p-10f);
  EXPECT_EQ(static_cast<float>(tf32::truncate(1.0f + 0x1p-10f - 0x1p-23f)), 1.0f);
  EXPECT_EQ(static_cast<float>(tf32::from_bits(std::bit_cast<uint32_t>(1.0f) | 0x1FFF)), 1.0f);
  EXPECT_EQ(tf32(std::numeric_limits<float>::max()).bits, std::bit_cast<uint32_t>(kInf));
  EXPECT_EQ(static_cast<float>(tf32::saturate(kInf)), NumericTraits<tf32>::max);
  EXPECT_EQ(static_cast<float>(tf32(0x1p-137f)), 0.0f);
  EXPECT_EQ(static_cast<float>(tf32(0x1p-136f)), 0x1p-136f);
}

TEST(Float16, traits_agree_with_the_codes) {
  EXPECT_EQ(static_cast<float>(f16::from_bits(0x7BFF)), NumericTraits<f16>::max);
  EXPECT_EQ(static_cast<float>(f16::from_bits(0x0400)), NumericTraits<f16>::min_normal);
  EXPECT_EQ(static_cast<float>(f16::from_bits(0x0001)), NumericTraits<f16>::min_subnormal);
  EXPECT_EQ(static_cast<float>(bf16::from_bits(0x7F7F)), NumericTraits<bf16>::max);
  EXPECT_EQ(static_cast<float>(bf16::from_bits(0x0080)), NumericTraits<bf16>::min_normal);
  EXPECT_EQ(static_cast<float>(bf16::from_bits(0x0001)), NumericTraits<bf16>::min_subnormal);
}

}  // namespace
}  // namespace tilewright
