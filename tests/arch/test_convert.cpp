// The emulated conversions give the bits that the GPU's instructions give.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tilewright/arch/bf16x2.h"
#include "tilewright/arch/convert.h"

namespace tilewright {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Convert, PutsTheFirstArgumentInTheLowHalf) {
  EXPECT_EQ(arch::pack_f16x2(1.0f, -2.0f), 0xC0003C00u);
  EXPECT_EQ(arch::pack_bf16x2(1.0f, -2.0f), 0xC0003F80u);
  EXPECT_EQ(arch::pack_e4m3x2(1.0f, -2.0f), 0xC038u);
  EXPECT_EQ(arch::pack_e5m2x2(1.0f, -2.0f), 0xC03Cu);
}

TEST(Convert, SaturatesE4m3OnlyWhereItSaysSo) {
  EXPECT_EQ(arch::pack_e4m3x2(464.0f, 464.1f), 0x7E7Eu);
  EXPECT_EQ(arch::pack_e4m3x2(kInfinity, -kInfinity), 0xFE7Eu);
  EXPECT_EQ(arch::pack_e4m3x2_nonsaturating(464.0f, 464.1f), 0x7F7Eu);
  EXPECT_EQ(arch::pack_e4m3x2_nonsaturating(kInfinity, -kInfinity), 0xFF7Fu);
}

TEST(Convert, SaturatesE5m2OnlyWhereItSaysSo) {
  EXPECT_EQ(arch::pack_e5m2x2(61439.0f, 61440.0f), 0x7B7Bu);
  EXPECT_EQ(arch::pack_e5m2x2(kInfinity, -kInfinity), 0xFB7Bu);
  EXPECT_EQ(arch::pack_e5m2x2_nonsaturating(61439.0f, 61440.0f), 0x7C7Bu);
  EXPECT_EQ(arch::pack_e5m2x2_nonsaturating(kInfinity, -61440.0f), 0xFC7Cu);
}

TEST(Convert, MakesTheHardwaresNan) {
  EXPECT_EQ(arch::pack_f16x2(kNan, -kNan), 0x7FFF7FFFu);
  EXPECT_EQ(arch::pack_bf16x2(kNan, -kNan), 0x7FFF7FFFu);
  EXPECT_EQ(arch::pack_e4m3x2(kNan, -kNan), 0x7F7Fu);
  EXPECT_EQ(arch::pack_e4m3x2_nonsaturating(kNan, -kNan), 0x7F7Fu);
  EXPECT_EQ(arch::pack_e5m2x2(kNan, -kNan), 0x7F7Fu);
  EXPECT_EQ(arch::pack_e5m2x2_nonsaturating(kNan, -kNan), 0x7F7Fu);
  EXPECT_TRUE(std::isnan(arch::unpack_e4m3x2(0x7FFF).lo));
  EXPECT_TRUE(std::isnan(arch::unpack_f16x2(0x7E00).lo));
}

TEST(Convert, UnpacksWhatItPacked) {
  for (uint32_t code = 0; code < 256; ++code) {
    const uint16_t both = static_cast<uint16_t>(code | code << 8);
    const arch::FloatPair e4 = arch::unpack_e4m3x2(both), e5 = arch::unpack_e5m2x2(both);
    if (!std::isnan(e4.lo)) {
      EXPECT_EQ(arch::pack_e4m3x2(e4.lo, e4.hi), both) << code;
      EXPECT_EQ(arch::pack_e4m3x2_nonsaturating(e4.lo, e4.hi), both) << code;
    }
    if (!std::isnan(e5.lo)) {
      EXPECT_EQ(arch::pack_e5m2x2_nonsaturating(e5.lo, e5.hi), both) << code;
    }
  }
  const arch::FloatPair f = arch::unpack_f16x2(arch::pack_f16x2(0.333251953125f, -65504.0f));
  EXPECT_EQ(f.lo, 0.333251953125f);
  EXPECT_EQ(f.hi, -65504.0f);
  const arch::FloatPair b = arch::unpack_bf16x2(0x00013F80u);
  EXPECT_EQ(b.lo, 1.0f);
  EXPECT_EQ(b.hi, 0x1p-133f);
}

TEST(Convert, RoundsTf32TiesAwayFromZero) {
  EXPECT_EQ(arch::to_tf32(1.0f), 0x3F800000u);
  EXPECT_EQ(arch::to_tf32(1.0f + 0x1p-11f), 0x3F802000u);
  EXPECT_EQ(arch::to_tf32(-1.0f - 0x1p-11f), 0xBF802000u);
  EXPECT_EQ(arch::to_tf32(1.0f + 0x1p-12f), 0x3F800000u);
  EXPECT_EQ(arch::to_tf32(kInfinity), 0x7F800000u);
}

/// The bf16 nearest to a double, of which a 16-bit significand is the most.
double nearest_bf16(double exact) {
  if (std::isnan(exact) || std::isinf(exact) || exact == 0) return exact;
  const double unit = std::max(0x1p-133, std::ldexp(1.0, std::ilogb(exact) - 7));
  const double rounded = std::nearbyint(exact / unit) * unit;
  return std::fabs(rounded) >= 0x1p128 ? std::copysign(kInfinity, exact) : rounded;
}

TEST(Convert, MultipliesBf16WithOneRounding) {
  const auto value = [](uint32_t code) { return static_cast<float>(bf16::from_bits(code & 0xFFFFu)); };
  for (uint32_t a = 0; a < 0x10000; a += 97) {
    for (uint32_t b = 0; b < 0x10000; b += 131) {
      const uint32_t product = arch::mul_bf16x2(a | 0x3F80u << 16, b | a << 16);
      const double want = nearest_bf16(double{value(a)} * value(b)), got = value(product);
      if (std::isnan(want)) {
        ASSERT_EQ(product & 0xFFFFu, 0x7FFFu) << a << ' ' << b;
      } else {
        ASSERT_EQ(got, want) << a << ' ' << b;
        ASSERT_EQ(std::signbit(got), std::signbit(want)) << a << ' ' << b;
      }
      ASSERT_TRUE(std::isnan(value(a)) || product >> 16 == a);
    }
  }
}

}  // namespace
}  // namespace tilewright
