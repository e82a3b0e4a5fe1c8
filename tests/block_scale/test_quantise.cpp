#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tilewright/layout/scale_tensor.h"
#include "tilewright/numeric/element.h"

namespace tilewright {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr BlockFormat kFormats[] = {BlockFormat::mxfp8, BlockFormat::mxfp8_e5m2, BlockFormat::mxfp4,
                                    BlockFormat::nvfp4};

// The rule works in constant expressions.
static_assert(block_scale<BlockFormat::mxfp4>(6.0f).bits == 127);
static_assert(block_scale<BlockFormat::nvfp4>(6.0f).bits == e4m3(1.0f).bits);
static_assert(quantise_element<BlockFormat::mxfp4>(3.0f, e8m0::from_bits(127)).bits == 5);

BlockScaledTensor quantise_rows(const std::vector<float>& values, int64_t rows, BlockFormat format,
                                const QuantiseOptions& options = {}) {
  const int64_t k = static_cast<int64_t>(values.size()) / rows;
  auto made = quantise({values.data(), DType::f32, rows, k, 1, k, rows * k}, format, options);
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}

std::vector<float> ramp(int64_t count, float largest) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    const float sign = i % 3 == 1 ? -1.0f : 1.0f;
    values.push_back(sign * largest * static_cast<float>((i * 37 + 11) % 101) / 100);
  }
  return values;
}

// Half the distance between neighbours of x / factor in the element type, times factor.
double half_step(BlockFormat format, double x, double factor) {
  return with_type(element_type(format), [&](auto t) {
    using Traits = NumericTraits<decltype(t)>;
    const double scaled = std::max(std::fabs(x) / factor, Traits::min_normal);
    return factor * std::exp2(std::floor(std::log2(scaled)) - Traits::mantissa_bits - 1);
  });
}

TEST(Quantise, every_element_is_within_half_a_step_of_its_value) {
  for (BlockFormat format : kFormats) {
    for (float largest : {1e-30f, 0.01f, 1.0f, 447.0f, 3e5f}) {
      if (format == BlockFormat::nvfp4 && (largest < 1e-3f || largest > 2e3f)) continue;
      const auto values = ramp(2 * 320, largest);
      const auto q = quantise_rows(values, 2, format);
      const auto back = dequantise(q);
      ASSERT_EQ(back.size(), values.size());
      for (size_t i = 0; i < values.size(); ++i) {
        const auto row = static_cast<int64_t>(i) / 320, column = static_cast<int64_t>(i) % 320;
        double allowed = half_step(format, values[i], q.scale(0, row, column));
        // An e4m3 scale rounds to nearest, so that the largest of a block may lie 1/16 above 6 scales.
        if (format == BlockFormat::nvfp4) allowed = std::max(allowed, std::fabs(back[i]) / 15);
        ASSERT_LE(std::fabs(back[i] - static_cast<double>(values[i])), allowed * (1 + 1e-6))
            << name_of(format) << " " << values[i];
      }
    }
  }
}

TEST(Quantise, a_power_of_two_scale_is_the_least_that_avoids_saturation) {
  // For the largest value of each format the scale is 1, for the next float it is 2.
  EXPECT_EQ(block_scale<BlockFormat::mxfp8>(448.0f).bits, 127);
  EXPECT_EQ(block_scale<BlockFormat::mxfp8>(std::nextafter(448.0f, kInf)).bits, 128);
  EXPECT_EQ(block_scale<BlockFormat::mxfp8_e5m2>(57344.0f).bits, 127);
  EXPECT_EQ(block_scale<BlockFormat::mxfp8_e5m2>(std::nextafter(57344.0f, kInf)).bits, 128);
  EXPECT_EQ(block_scale<BlockFormat::mxfp4>(6.0f).bits, 127);
  EXPECT_EQ(block_scale<BlockFormat::mxfp4>(std::nextafter(6.0f, kInf)).bits, 128);
  EXPECT_EQ(block_scale<BlockFormat::mxfp4>(3.0f).bits, 126);
  // The ends of float: no overflow at the top, 2^-127 at the bottom.
  EXPECT_EQ(block_scale<BlockFormat::mxfp4>(std::numeric_limits<float>::max()).bits, 127 + 126);
  EXPECT_EQ(block_scale<BlockFormat::mxfp8>(std::numeric_limits<float>::denorm_min()).bits, 0);
}

TEST(Quantise, overflow_of_an_nvfp4_scale_saturates_scale_and_elements) {
  std::vector<float> values(16, 0.0f);
  values[3] = 1e6f, values[4] = -1e6f, values[5] = 448.0f;
  const auto q = quantise_rows(values, 1, BlockFormat::nvfp4);
  EXPECT_EQ(q.scales[0], 0x7E);
  EXPECT_EQ(q.value(0, 0, 3), 448 * 6);
  EXPECT_EQ(q.value(0, 0, 4), -448 * 6);
  EXPECT_EQ(q.value(0, 0, 5), 448);
  // With the scale of the tensor it fits.
  const auto scaled = quantise_rows(values, 1, BlockFormat::nvfp4, {.tensor_scale = true});
  EXPECT_EQ(scaled.scales[0], 0x7E);
  EXPECT_NEAR(scaled.value(0, 0, 3), 1e6, 0.1);
}

TEST(Case, C10_a_zero_block_beside_small_data_has_no_nan_scale) {
  for (float largest : {0.01f, 6.0f, 5.8f, 1e-38f, 3e38f}) {
    for (bool tensor_scale : {false, true}) {
      std::vector<float> values(48, 0.0f);
      for (int i = 16; i < 32; ++i) values[static_cast<size_t>(i)] = largest / static_cast<float>(i - 15);
      const auto q = quantise_rows(values, 1, BlockFormat::nvfp4, {.tensor_scale = tensor_scale});
      EXPECT_EQ(q.scales[0], 0x38) << "a block of zeros has the scale 1";
      EXPECT_EQ(q.scales[2], 0x38);
      for (uint8_t scale : q.scales) EXPECT_NE(scale & 0x7F, 0x7F);
      EXPECT_GT(q.scales[1], 0);
      for (double value : dequantise(q)) EXPECT_TRUE(std::isfinite(value));
      if (tensor_scale && largest > 1e-30f) {
        EXPECT_EQ(q.scales[1], 0x7E);
      }
      for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(q.value(0, 0, i), 0);
    }
  }
}

TEST(Case, C10_5p8_gives_463p4_and_rounds_to_448) {
  // amax / 6 = 463.4 / 1: a tensor scale of 1 and data of 2780.4.
  EXPECT_EQ(block_scale<BlockFormat::nvfp4>(463.4f * 6).bits, 0x7E);
  EXPECT_EQ(block_scale<BlockFormat::nvfp4>(0.01f).bits, 1) << "0.00167 rounds to 2^-9";
  EXPECT_EQ(block_scale<BlockFormat::nvfp4>(1e-6f).bits, 1) << "never zero from data that are not";
}

TEST(Quantise, zeros_have_the_scale_of_their_rule_and_keep_their_sign) {
  for (BlockFormat format : kFormats) {
    std::vector<float> values(64, 0.0f);
    values[1] = -0.0f;
    const auto q = quantise_rows(values, 1, format);
    EXPECT_EQ(q.scale(0, 0, 0), format == BlockFormat::nvfp4 ? 1 : 0x1p-124) << name_of(format);
    EXPECT_FALSE(std::signbit(q.value(0, 0, 0)));
    EXPECT_TRUE(std::signbit(q.value(0, 0, 1)));
  }
}

TEST(Case, C13_infinity_in_one_lane_makes_the_scale_of_its_block_nan) {
  for (BlockFormat format : kFormats) {
    for (float special : {kInf, -kInf, kNan, -kNan}) {
      const int64_t vector = scale_vector(format);
      std::vector<float> values = ramp(3 * vector, 1.0f);
      values[static_cast<size_t>(vector + 5)] = special;
      const auto q = quantise_rows(values, 1, format, {.tensor_scale = format == BlockFormat::nvfp4});
      EXPECT_EQ(q.scales[1], format == BlockFormat::nvfp4 ? 0x7F : 0xFF) << name_of(format);
      for (int64_t i = 0; i < 3 * vector; ++i) {
        EXPECT_EQ(std::isnan(q.value(0, 0, i)), i / vector == 1) << name_of(format) << " " << i;
      }
      EXPECT_TRUE(std::isfinite(q.tensor_scale));
    }
  }
}

TEST(Case, C14_fp32_scales_that_are_no_powers_of_two_are_refused) {
  const float good[] = {1.0f, 0.5f, 0x1p-127f, 0x1p127f, 4.0f};
  const auto codes = exact_e8m0_scales(good, 5);
  ASSERT_TRUE(codes);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(static_cast<float>((*codes)[i]), good[i]);
  for (float bad : {0.3f, 1.7f, 0.0f, -1.0f, kInf, kNan, 0x1p-128f}) {
    const float scales[] = {0.5f, bad};
    const auto refused = exact_e8m0_scales(scales, 2);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().rule, "scales.power_of_two");
    EXPECT_NE(refused.error().message.find("scale 1"), std::string::npos);
  }
}

TEST(Case, C34_the_even_element_of_a_quantised_row_is_the_low_nibble) {
  // All sixteen codes in order, with the scale 1.
  std::vector<float> values;
  for (uint32_t code = 0; code < 16; ++code) values.push_back(static_cast<float>(e2m1::from_bits(code)));
  for (BlockFormat format : {BlockFormat::mxfp4, BlockFormat::nvfp4}) {
    const auto q = quantise_rows(values, 1, format);
    EXPECT_EQ(q.scale(0, 0, 0), 1);
    for (size_t i = 0; i < 8; ++i) EXPECT_EQ(q.elements[i], 2 * i | (2 * i + 1) << 4);
  }
}

TEST(Quantise, k_is_padded_with_blocks_of_zeros) {
  for (BlockFormat format : kFormats) {
    const auto q = quantise_rows(ramp(3 * 100, 5.0f), 3, format);
    EXPECT_EQ(q.k, 100);
    EXPECT_EQ(q.padded_k, 128);
    EXPECT_EQ(q.row_bytes(), is_fp4(format) ? 64 : 128);
    for (int64_t row = 0; row < 3; ++row) {
      for (int64_t column = 100; column < 128; ++column) EXPECT_EQ(q.value(0, row, column), 0);
      EXPECT_EQ(q.scale(0, row, 112), format == BlockFormat::nvfp4 ? 1.0 : q.scale(0, row, 96));
    }
    // Whole blocks of padding.
    const auto wide = quantise_rows(ramp(3 * 20, 5.0f), 3, format);
    EXPECT_EQ(wide.scale(0, 2, 64), format == BlockFormat::nvfp4 ? 1 : 0x1p-124);
    const auto tight = quantise_rows(ramp(3 * 96, 5.0f), 3, format, {.k_multiple = 32});
    EXPECT_EQ(tight.padded_k, 96);
  }
}

TEST(Quantise, sixteen_bit_sources_batches_and_strides) {
  const int64_t rows = 5, k = 48, batches = 2, row_stride = 50, batch_stride = 260;
  std::vector<bf16> halves(static_cast<size_t>(batches * batch_stride), bf16(1e30f));
  std::vector<float> floats(halves.size(), 1e30f);
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < k; ++c) {
        const auto at = static_cast<size_t>(b * batch_stride + r * row_stride + c);
        halves[at] = bf16(static_cast<float>((b * 31 + r * 7 + c * 3) % 23 - 11));
        floats[at] = static_cast<float>(halves[at]);
      }
    }
  }
  for (BlockFormat format : kFormats) {
    const auto from_bf16 =
        *quantise({halves.data(), DType::bf16, rows, k, batches, row_stride, batch_stride}, format);
    const auto from_f32 =
        *quantise({floats.data(), DType::f32, rows, k, batches, row_stride, batch_stride}, format);
    EXPECT_EQ(from_bf16.elements, from_f32.elements);
    EXPECT_EQ(from_bf16.scales, from_f32.scales);
    // Another batch alone gives the same.
    const auto alone =
        *quantise({floats.data() + batch_stride, DType::f32, rows, k, 1, row_stride, batch_stride}, format);
    EXPECT_TRUE(std::equal(alone.elements.begin(), alone.elements.end(),
                           from_f32.elements.begin() + static_cast<int64_t>(alone.elements.size())));
  }
}

TEST(Quantise, what_cannot_be_is_refused_by_rule) {
  const float value = 1;
  const auto rule = [](const Expected<BlockScaledTensor>& made) {
    return made ? std::string("accepted") : made.error().rule;
  };
  EXPECT_EQ(rule(quantise({&value, DType::f64, 1, 1, 1, 1, 1}, BlockFormat::mxfp8)), "quantise.source_type");
  EXPECT_EQ(rule(quantise({&value, DType::f32, 1, 1, 1, 1, 1}, BlockFormat::mxfp8, {.tensor_scale = true})),
            "quantise.tensor_scale");
  EXPECT_EQ(rule(quantise({&value, DType::f32, 1, -1, 1, 1, 1}, BlockFormat::mxfp8)), "block_scaled.extent");
  const auto odd = make_block_scaled(BlockFormat::mxfp8, 1, 1, 1, 48);
  EXPECT_EQ(rule(odd), "block_scaled.k_multiple");
  EXPECT_NE(odd.error().message.find("64"), std::string::npos) << odd.error().message;
  EXPECT_EQ(rule(make_block_scaled(BlockFormat::nvfp4, 1, 1, 1, 0)), "block_scaled.k_multiple");
  EXPECT_EQ(rule(make_block_scaled(BlockFormat::nvfp4, 0, 0, 0)), "accepted");
  const auto q = quantise_rows({1.0f}, 1, BlockFormat::nvfp4);
  EXPECT_TRUE(q.linear_scales<e4m3>());
  EXPECT_EQ(q.linear_scales<e8m0>().error().rule, "scales.type");
}

TEST(Quantise, packed_scales_hold_the_tensors_scales_and_the_padding_asked_for) {
  const auto q = quantise_rows(ramp(130 * 256, 3.0f), 130, BlockFormat::nvfp4);
  const auto bytes = packed_scale_bytes(q, 0x7F);
  const ScaleShape shape = q.scale_shape();
  ASSERT_EQ(bytes.size(), 256u * 16u);
  for (int64_t offset = 0; offset < 4096; ++offset) {
    const ScalePlace place = packed_scale_place(shape, offset);
    const double got = load_element(bytes.data(), DType::e4m3, offset);
    if (place.row < 130) {
      ASSERT_EQ(got, q.scale(0, place.row, place.column * 16));
    } else {
      ASSERT_TRUE(std::isnan(got));
    }
  }
  EXPECT_EQ(packed_scale_bytes(q)[static_cast<size_t>(scale_offset<ScaleLayout::packed>(shape, {0, 131, 0}))],
            0x38);
}

TEST(BlockFormat, names_parse) {
  for (BlockFormat format : kFormats) EXPECT_EQ(*parse_block_format(name_of(format)), format);
  const auto wrong = parse_block_format("mxfp6");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().rule, "block_format.name");
}

}  // namespace
}  // namespace tilewright
