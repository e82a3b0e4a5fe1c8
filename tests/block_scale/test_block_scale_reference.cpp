#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "src/block_scale_random.h"
#include "src/block_scale_reference.h"
#include "tilewright/numeric/element.h"

namespace tilewright {
namespace {

constexpr BlockFormat kFormats[] = {BlockFormat::mxfp8, BlockFormat::mxfp8_e5m2, BlockFormat::mxfp4,
                                    BlockFormat::nvfp4};

BlockScaledTensor random(BlockFormat format, int64_t rows, int64_t k, BlockInit init, uint64_t seed = 1,
                         int64_t batches = 1) {
  return *random_block_scaled(format, rows, k, batches, init, seed);
}

TEST(RandomBlockScaled, moderate_tensors_have_e2m1_values_and_scales_from_2_to_the_minus_7_to_2) {
  for (BlockFormat format : kFormats) {
    const auto t = random(format, 64, 256, BlockInit::moderate);
    std::set<double> elements, scales;
    for (int64_t row = 0; row < 64; ++row) {
      for (int64_t column = 0; column < 256; ++column) {
        const double scale = t.scale(0, row, column);
        scales.insert(scale);
        elements.insert(t.value(0, row, column) / scale);
      }
    }
    std::set<double> expected;
    for (uint32_t code = 0; code < 16; ++code) {
      expected.insert(static_cast<double>(static_cast<float>(e2m1::from_bits(code))));
    }
    EXPECT_EQ(elements, expected) << name_of(format);
    EXPECT_EQ(scales.size(), 9u);
    EXPECT_EQ(*scales.begin(), 0x1p-7);
    EXPECT_EQ(*scales.rbegin(), 2);
  }
}

TEST(RandomBlockScaled, full_range_tensors_have_all_finite_codes_and_zero_blocks) {
  for (BlockFormat format : kFormats) {
    const auto t = random(format, 256, 512, BlockInit::full_range);
    const auto distinct = [](const std::vector<uint8_t>& bytes) {
      return std::set<uint8_t>(bytes.begin(), bytes.end()).size();
    };
    const size_t codes[] = {254, 248, 256, 256};  // without NaN and infinity; pairs of nibbles
    EXPECT_EQ(distinct(t.elements), codes[static_cast<int>(format)]) << name_of(format);
    EXPECT_EQ(distinct(t.scales), format == BlockFormat::nvfp4 ? 127u : 41u);
    int zero_blocks = 0;
    for (int64_t row = 0; row < 256; ++row) {
      for (int64_t column = 0; column < 512; column += scale_vector(format)) {
        bool zero = true;
        for (int64_t i = 0; i < scale_vector(format); ++i) {
          ASSERT_TRUE(std::isfinite(t.value(0, row, column + i)));
          zero = zero && t.value(0, row, column + i) == 0;
        }
        zero_blocks += zero ? 1 : 0;
      }
    }
    EXPECT_GT(zero_blocks, 100) << name_of(format);
  }
}

TEST(RandomBlockScaled, a_tensor_depends_on_its_seed_and_batches_differ) {
  const auto one = random(BlockFormat::mxfp8, 8, 128, BlockInit::full_range, 1, 2);
  EXPECT_EQ(one.elements, random(BlockFormat::mxfp8, 8, 128, BlockInit::full_range, 1, 2).elements);
  EXPECT_NE(one.elements, random(BlockFormat::mxfp8, 8, 128, BlockInit::full_range, 2, 2).elements);
  EXPECT_FALSE(
      std::equal(one.elements.begin(), one.elements.begin() + 8 * 128, one.elements.begin() + 8 * 128));
  EXPECT_FALSE(std::equal(one.scales.begin(), one.scales.begin() + 8 * 4, one.scales.begin() + 8 * 4));
}

TEST(BlockScaledReference, equals_the_textbook_sum_of_elements_times_scales) {
  const std::pair<BlockFormat, BlockFormat> pairs[] = {{BlockFormat::mxfp8, BlockFormat::mxfp8_e5m2},
                                                       {BlockFormat::mxfp8, BlockFormat::mxfp4},
                                                       {BlockFormat::mxfp4, BlockFormat::mxfp4},
                                                       {BlockFormat::nvfp4, BlockFormat::nvfp4}};
  for (const auto& [a_format, b_format] : pairs) {
    auto a = random(a_format, 33, 160, BlockInit::full_range, 1, 2);
    const auto b = random(b_format, 20, 160, BlockInit::full_range, 2, 2);
    if (a_format == BlockFormat::nvfp4) a.tensor_scale = 0.3f;
    std::vector<float> c(2 * 33 * 20, 3.0f);
    const auto r = reference_block_scaled(a, b, {c.data(), DType::f32, 20, 1, 33 * 20}, 1.5, -2);
    ASSERT_TRUE(r);
    const int va = scale_vector(a_format);
    for (int64_t batch = 0; batch < 2; ++batch) {
      for (int64_t i = 0; i < 33; ++i) {
        for (int64_t j = 0; j < 20; ++j) {
          double sum = 0, magnitude = 0;
          for (int64_t k = 0; k < 160; ++k) {
            // Straight from the bytes.
            const auto factor = [&](const BlockScaledTensor& t, int64_t row) {
              return load_element(t.elements.data(), element_type(t.format),
                                  (batch * t.rows + row) * t.padded_k + k) *
                     load_element(t.scales.data(), scale_type(t.format),
                                  (batch * t.rows + row) * (t.padded_k / va) + k / va) *
                     static_cast<double>(t.tensor_scale);
            };
            sum += factor(a, i) * factor(b, j);
            magnitude += std::fabs(factor(a, i) * factor(b, j));
          }
          const auto at = static_cast<size_t>((batch * 33 + i) * 20 + j);
          ASSERT_NEAR(r->d[at], 1.5 * sum - 6, 1e-12 * (magnitude + 6));
          ASSERT_GE(r->abs_sum[at], magnitude * (1 - 1e-12));
        }
      }
    }
  }
}

TEST(BlockScaledReference, an_fp4_zero_counts_where_sums_are_aligned_by_scales_alone) {
  const auto zeros = [](BlockFormat format) {
    auto t = *make_block_scaled(format, 1, 64, 1);
    t.scales.assign(t.scales.size(), 127);  // 1: not of the quantisers
    return t;
  };
  const auto some = [](BlockFormat format) {
    return *random_block_scaled(format, 1, 64, 1, BlockInit::moderate, 1);
  };
  const auto sum = [&](BlockFormat a, BlockFormat b) {
    return reference_block_scaled(some(a), zeros(b))->abs_sum[0];
  };
  EXPECT_LT(sum(BlockFormat::mxfp8, BlockFormat::mxfp4), 0x1p-110);
  EXPECT_GT(sum(BlockFormat::mxfp4, BlockFormat::mxfp4), 0x1p-1);
}

TEST(BlockScaledReference, a_nan_scale_reaches_the_row_it_belongs_to_and_no_other) {
  auto a = random(BlockFormat::mxfp4, 4, 128, BlockInit::moderate);
  const auto b = random(BlockFormat::mxfp4, 3, 128, BlockInit::moderate, 2);
  a.scales[2 * 4 + 1] = 0xFF;
  const auto r = *reference_block_scaled(a, b);
  for (size_t e = 0; e < 12; ++e) EXPECT_EQ(std::isnan(r.d[e]), e / 3 == 2);
}

TEST(BlockScaledReference, operands_that_do_not_belong_together_are_refused) {
  const auto a = random(BlockFormat::mxfp4, 4, 128, BlockInit::moderate);
  EXPECT_EQ(reference_block_scaled(a, random(BlockFormat::mxfp4, 4, 64, BlockInit::moderate)).error().rule,
            "reference.operands");
  EXPECT_EQ(reference_block_scaled(a, random(BlockFormat::nvfp4, 4, 128, BlockInit::moderate)).error().rule,
            "reference.scale_vector");
}

TEST(BlockScaledReference, the_bound_grows_with_k_and_is_tighter_for_packed_fp4) {
  const auto fp8 = block_scaled_bound(BlockFormat::mxfp8, BlockFormat::mxfp4, 8192);
  const auto fp4 = block_scaled_bound(BlockFormat::nvfp4, BlockFormat::nvfp4, 8192);
  EXPECT_NEAR(fp8.relative, 256 * 9 * 0x1p-23, 1e-9);
  EXPECT_NEAR(fp4.relative, 128 * 1.01 * 0x1p-23, 1e-9);
  EXPECT_LE(block_scaled_bound(BlockFormat::mxfp8, BlockFormat::mxfp8, int64_t{1} << 40).relative, 1.001);
}

}  // namespace
}  // namespace tilewright
