#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <type_traits>

#include "tilewright/numeric/float8.h"

namespace tilewright {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

static_assert(std::is_trivially_copyable_v<e4m3> && std::is_trivially_default_constructible_v<e4m3>);
static_assert(std::is_trivially_copyable_v<e5m2> && std::is_trivially_default_constructible_v<e5m2>);
static_assert(float(e4m3(1.5f)) == 1.5f && e5m2::saturate(1e9f).bits == 0x7B,
              "usable in constant expressions");

// The value of a code by its definition.
double value_of(int code, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int field = code >> mantissa_bits & ((1 << exponent_bits) - 1);
  const int mantissa = code & ((1 << mantissa_bits) - 1);
  const double sign = (code & 0x80) != 0 ? -1 : 1;
  const double significand = field == 0 ? mantissa : mantissa + (1 << mantissa_bits);
  return sign * std::ldexp(significand, std::max(field, 1) - bias - mantissa_bits);
}

TEST(Float8, every_code_has_the_value_its_fields_say) {
  for (int code = 0; code < 256; ++code) {
    const float v4 = static_cast<float>(e4m3::from_bits(code));
    if ((code & 0x7F) == 0x7F) {
      EXPECT_TRUE(std::isnan(v4));
    } else {
      EXPECT_EQ(v4, value_of(code, 4, 3));
      EXPECT_EQ(std::signbit(v4), code >= 0x80);
    }
    const float v5 = static_cast<float>(e5m2::from_bits(code));
    if ((code & 0x7F) > 0x7C) {
      EXPECT_TRUE(std::isnan(v5));
    } else if ((code & 0x7F) == 0x7C) {
      EXPECT_EQ(v5, code < 0x80 ? kInf : -kInf);
    } else {
      EXPECT_EQ(v5, value_of(code, 5, 2));
      EXPECT_EQ(std::signbit(v5), code >= 0x80);
    }
  }
}

template <class T>
void expect_round_trip() {
  for (int code = 0; code < 256; ++code) {
    const float value = static_cast<float>(T::from_bits(code));
    if (std::isnan(value)) {
      EXPECT_EQ(T(value).bits, 0x7F);
      EXPECT_EQ(T::saturate(value).bits, 0x7F);
      continue;
    }
    EXPECT_EQ(T(value).bits, code);
    if (std::isfinite(value)) {
      EXPECT_EQ(T::saturate(value).bits, code);
    }
  }
}

TEST(Float8, every_code_survives_the_round_trip) {
  expect_round_trip<e4m3>();
  expect_round_trip<e5m2>();
}

// Between two neighbours: below the middle goes down, above it up, the middle to the even code.
template <class T>
void expect_nearest_even(int largest) {
  for (int code = 0; code < largest; ++code) {
    const float low = static_cast<float>(T::from_bits(code)),
                high = static_cast<float>(T::from_bits(code + 1));
    const float middle = (low + high) / 2;
    EXPECT_EQ(T(middle).bits, code % 2 == 0 ? code : code + 1);
    EXPECT_EQ(T(std::nextafter(middle, 0.0f)).bits, code);
    EXPECT_EQ(T(std::nextafter(middle, kInf)).bits, code + 1);
    EXPECT_EQ(T(-middle).bits, T(middle).bits | 0x80);
  }
}

TEST(Float8, rounds_to_nearest_and_ties_to_even_everywhere) {
  expect_nearest_even<e4m3>(0x7E);
  expect_nearest_even<e5m2>(0x7B);
}

TEST(Float8, e4m3_boundaries_saturating) {
  EXPECT_EQ(e4m3::saturate(464.0f).bits, 0x7E);
  EXPECT_EQ(e4m3::saturate(464.1f).bits, 0x7E);
  EXPECT_EQ(e4m3::saturate(kInf).bits, 0x7E);
  EXPECT_EQ(e4m3::saturate(-kInf).bits, 0xFE);
  EXPECT_EQ(e4m3::saturate(kNan).bits, 0x7F);
  EXPECT_EQ(e4m3::saturate(-kNan).bits, 0x7F);
}

TEST(Float8, e4m3_boundaries_without_saturation) {
  EXPECT_EQ(e4m3(464.0f).bits, 0x7E);
  EXPECT_EQ(e4m3(464.1f).bits, 0x7F);
  EXPECT_EQ(e4m3(-465.0f).bits, 0xFF);
  EXPECT_EQ(e4m3(kInf).bits, 0x7F);
  EXPECT_EQ(e4m3(0x1p-10f).bits, 0x00);
  EXPECT_EQ(e4m3(1.5f * 0x1p-10f).bits, 0x01);
  EXPECT_EQ(e4m3(-0.0f).bits, 0x80);
  EXPECT_EQ(e4m3(std::numeric_limits<float>::denorm_min()).bits, 0x00);
}

TEST(Case, C07_fp32_to_e5m2_saturates_only_when_asked) {
  EXPECT_EQ(e5m2(57344.0f).bits, 0x7B);
  EXPECT_EQ(e5m2(58000.0f).bits, 0x7B);
  EXPECT_EQ(e5m2(61439.0f).bits, 0x7B);
  EXPECT_EQ(e5m2(61440.0f).bits, 0x7C);
  EXPECT_EQ(e5m2(65536.0f).bits, 0x7C);
  EXPECT_EQ(e5m2(kInf).bits, 0x7C);
  EXPECT_EQ(e5m2(-kInf).bits, 0xFC);
  EXPECT_EQ(e5m2(kNan).bits, 0x7F);
  for (float value : {57344.0f, 58000.0f, 61440.0f, 65536.0f, kInf}) {
    EXPECT_EQ(e5m2::saturate(value).bits, 0x7B);
    EXPECT_EQ(e5m2::saturate(-value).bits, 0xFB);
  }
  EXPECT_EQ(e5m2::saturate(kNan).bits, 0x7F);
  EXPECT_EQ(e5m2(0x1p-17f).bits, 0x00);
  EXPECT_EQ(e5m2(1.5f * 0x1p-17f).bits, 0x01);
}

template <class T>
void expect_traits() {
  using Traits = NumericTraits<T>;
  EXPECT_EQ(static_cast<float>(T(static_cast<float>(Traits::max))), Traits::max);
  EXPECT_EQ(static_cast<float>(T::from_bits(1)), Traits::min_subnormal);
  EXPECT_EQ(static_cast<float>(T::from_bits(1u << Traits::mantissa_bits)), Traits::min_normal);
  EXPECT_EQ(static_cast<float>(T::from_bits(T(1.0f).bits + 1u)) - 1.0f, Traits::epsilon);
  EXPECT_EQ(std::isinf(static_cast<float>(T(kInf))), Traits::has_infinity);
}

TEST(Float8, traits_agree_with_the_codes) {
  expect_traits<e4m3>();
  expect_traits<e5m2>();
}

}  // namespace
}  // namespace tilewright
