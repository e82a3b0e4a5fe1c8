#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "tilewright/numeric/e8m0.h"
#include "tilewright/numeric/float4.h"
#include "tilewright/numeric/float8.h"

namespace tilewright {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

static_assert(std::is_trivially_copyable_v<e2m1> && std::is_trivially_default_constructible_v<e2m1>);
static_assert(std::is_trivially_copyable_v<e8m0> && std::is_trivially_default_constructible_v<e8m0>);

TEST(Float4, the_sixteen_codes) {
  const float values[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (int code = 0; code < 8; ++code) {
    EXPECT_EQ(static_cast<float>(e2m1::from_bits(code)), values[code]);
    EXPECT_EQ(static_cast<float>(e2m1::from_bits(code | 8)), -values[code]);
    EXPECT_EQ(e2m1(values[code]).bits, code);
    EXPECT_EQ(e2m1(-values[code]).bits, code | 8);
  }
}

TEST(Float4, ties_go_to_even_and_everything_above_saturates) {
  const std::pair<float, int> cases[] = {{0.25f, 0}, {0.75f, 2}, {1.25f, 2}, {1.75f, 4},  {2.5f, 4},
                                         {3.5f, 6},  {5.0f, 6},  {5.01f, 7}, {100.0f, 7}, {kInf, 7},
                                         {kNan, 7},  {-kNan, 7}, {-0.0f, 8}, {-kInf, 15}};
  for (const auto& [value, code] : cases) {
    EXPECT_EQ(e2m1(value).bits, code) << value;
    EXPECT_EQ(e2m1::saturate(value).bits, code) << value;
  }
}

TEST(Case, C34_even_index_is_the_low_nibble) {
  std::array<uint8_t, 8> row{};
  for (int i = 0; i < 16; ++i) store_e2m1(row.data(), i, e2m1::from_bits(i));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(row[i], (2 * i) | (2 * i + 1) << 4);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(load_e2m1(row.data(), i).bits, i);
  EXPECT_EQ(pack_e2m1(e2m1(0.5f), e2m1(6.0f)), 0x71);
}

TEST(Case, C34_transpose_moves_nibbles) {
  std::array<uint8_t, 12> in{}, out{}, back{};
  for (int i = 0; i < 24; ++i) store_e2m1(in.data(), i, e2m1::from_bits(i * 7));
  transpose_e2m1(in.data(), 4, 6, out.data());
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < 6; ++c) {
      EXPECT_EQ(load_e2m1(out.data(), c * 4 + r).bits, load_e2m1(in.data(), r * 6 + c).bits);
    }
  }
  transpose_e2m1(out.data(), 6, 4, back.data());
  EXPECT_EQ(back, in);
}

TEST(Case, C11_e8m0_codes) {
  EXPECT_EQ(static_cast<float>(e8m0::from_bits(0)), 0x1p-127f);
  EXPECT_EQ(std::bit_cast<uint32_t>(static_cast<float>(e8m0::from_bits(0))), 0x00400000u);
  EXPECT_EQ(static_cast<float>(e8m0::from_bits(1)), 0x1p-126f);
  EXPECT_EQ(static_cast<float>(e8m0::from_bits(126)), 0.5f);
  EXPECT_EQ(static_cast<float>(e8m0::from_bits(127)), 1.0f);
  EXPECT_EQ(static_cast<float>(e8m0::from_bits(128)), 2.0f);
  EXPECT_EQ(static_cast<float>(e8m0::from_bits(254)), 0x1p127f);
  EXPECT_TRUE(std::isnan(static_cast<float>(e8m0::from_bits(255))));
  // An E4M3 one times each scale is the scale.
  EXPECT_EQ(static_cast<float>(e4m3(1.0f)) * static_cast<float>(e8m0::from_bits(0)), 0x1p-127f);
}

TEST(E8m0, every_code_survives_the_round_trip_in_both_directions) {
  for (int code = 0; code < 256; ++code) {
    const float value = static_cast<float>(e8m0::from_bits(code));
    EXPECT_EQ(e8m0::round_up(value).bits, code);
    EXPECT_EQ(e8m0::round_down(value).bits, code);
  }
}

TEST(E8m0, rounds_in_the_named_direction_and_ignores_the_sign) {
  EXPECT_EQ(e8m0::round_up(1.5f).bits, 0x80);
  EXPECT_EQ(e8m0::round_up(-1.5f).bits, 0x80);
  EXPECT_EQ(e8m0::round_down(1.5f).bits, 0x7F);
  EXPECT_EQ(e8m0::round_up(0.75f).bits, 0x7F);
  EXPECT_EQ(e8m0::round_up(0.0f).bits, 0x00);
  EXPECT_EQ(e8m0::round_up(0x1p-128f).bits, 0x00);
  EXPECT_EQ(e8m0::round_up(0x1.8p-127f).bits, 0x01);
  EXPECT_EQ(e8m0::round_down(0x1.8p-127f).bits, 0x00);
  EXPECT_EQ(e8m0::round_up(0x1.8p127f).bits, 0xFF);
  EXPECT_EQ(e8m0::round_down(0x1.8p127f).bits, 0xFE);
  EXPECT_EQ(e8m0::saturate_up(0x1.8p127f).bits, 0xFE);
  EXPECT_EQ(e8m0::saturate_up(kInf).bits, 0xFE);
  EXPECT_EQ(e8m0::saturate_down(kInf).bits, 0xFE);
  EXPECT_EQ(e8m0::round_up(kInf).bits, 0xFF);
  EXPECT_EQ(e8m0::saturate_up(kNan).bits, 0xFF);
}

}  // namespace
}  // namespace tilewright
