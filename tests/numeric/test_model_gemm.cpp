#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "tensor_core_scalar.h"
#include "tilewright/emulator/tensor_core.h"
#include "tilewright/numeric/float8.h"

namespace tilewright::emulator {
namespace {

using Codes = std::vector<uint8_t>;

// D[0][0] of a 1 x 1 x k problem; interval 0: fast.
float model_element(const Codes& a, const Codes& b, int64_t interval) {
  ModelGemm gemm;
  gemm.m = gemm.n = 1;
  gemm.k = gemm.lda = gemm.ldb = static_cast<int64_t>(a.size());
  gemm.a = a.data();
  gemm.b = b.data();
  gemm.fast = interval == 0;
  gemm.interval = interval;
  gemm.threads = 1;
  float d = -1;
  EXPECT_FALSE(model_gemm_fp8(gemm, &d, 1));
  return d;
}

Codes filled(size_t count, float value) { return Codes(count, e4m3(value).bits); }

TEST(Case, C02_fast_promoted_and_exact_are_told_apart) {
  Codes a = filled(2080, 0.125f), b = filled(2080, 1.0f);
  std::fill_n(a.begin(), 32, uint8_t{0});
  a[0] = b[0] = e4m3(256.0f).bits;
  EXPECT_EQ(model_element(a, b, 0), 65536);
  EXPECT_EQ(model_element(a, b, 1), 65792);
  EXPECT_EQ(model_element(a, b, 4), 65780);
  EXPECT_EQ(model_element(a, b, 8), 65764);
  EXPECT_EQ(model_element(a, b, 16), 65732);
}

TEST(Case, C02_a_long_sum_of_ones_stalls_without_promotion) {
  const Codes ones = filled(1 << 20, 1.0f);
  // From 2^14 on a term of 1 is less than the last of the 13 places: each of the 32 terms is cut to nothing.
  // (Were only their sum cut, it would stall at 2^19.)
  EXPECT_EQ(model_element(ones, ones, 0), 16384);
  EXPECT_EQ(model_element(ones, ones, 4), 1048576);
}

// The same sum by the scalar model, one group after the other.
float scalar_element(const Codes& a, const Codes& b, size_t interval) {
  const WgmmaInstruction mma{8, MmaType::e4m3, MmaType::e4m3, AccumulatorType::f32};
  float total = 0;
  bool first = true;
  for (size_t start = 0; start < a.size(); start += 32 * interval) {
    uint32_t c = 0;
    for (size_t k = start; k < std::min(a.size(), start + 32 * interval); k += 32) {
      Codes step_a(32), step_b(32);
      const size_t depth = std::min<size_t>(32, a.size() - k);
      std::copy_n(a.begin() + static_cast<long>(k), depth, step_a.begin());
      std::copy_n(b.begin() + static_cast<long>(k), depth, step_b.begin());
      c = test::scalar_wgmma_element(mma, step_a.data(), step_b.data(), c, k != start);
    }
    const float group = std::bit_cast<float>(c);
    total = first ? group : total + group;
    first = false;
  }
  return total;
}

TEST(Case, C04_the_residue_of_the_interval_is_promoted_exactly_once) {
  std::mt19937 random(7);
  for (size_t k :
       {size_t{0}, size_t{1}, size_t{32}, size_t{96}, size_t{128}, size_t{160}, size_t{161}, size_t{4128}}) {
    Codes a(k), b(k);
    for (uint8_t& code : a) code = e4m3(std::normal_distribution<float>()(random)).bits;
    for (uint8_t& code : b) code = e4m3(std::normal_distribution<float>()(random)).bits;
    for (size_t interval : {size_t{1}, size_t{3}, size_t{4}, size_t{1000}}) {
      const float want = scalar_element(a, b, interval);
      EXPECT_EQ(std::bit_cast<uint32_t>(model_element(a, b, static_cast<int64_t>(interval))),
                std::bit_cast<uint32_t>(want))
          << "K " << k << " interval " << interval;
    }
  }
}

TEST(Case, C04_an_interval_longer_than_K_is_fast_accumulation) {
  const Codes a = filled(4096, 0.3f), b = filled(4096, 1.75f);
  EXPECT_EQ(model_element(a, b, 128), model_element(a, b, 0));
  EXPECT_EQ(model_element(a, b, 1000), model_element(a, b, 0));
}

TEST(Case, C04_zero_and_negative_intervals_are_refused) {
  ModelGemm gemm;
  float d = 0;
  for (int64_t interval : {0, -1, -4}) {
    gemm.interval = interval;
    const Status status = model_gemm_fp8(gemm, &d, 1);
    ASSERT_TRUE(status);
    EXPECT_EQ(status->rule, "accumulation.interval");
    EXPECT_NE(status->message.find(std::to_string(interval)), std::string::npos);
  }
}

// Each group of 128 is a product of its own; the scales' product is rounded once, and so is each
// multiply-add.
TEST(ModelGemm, scales_multiply_the_groups_as_they_are_added) {
  const int64_t m = 3, n = 260, k = 128 * 3 + 40, blocks = 4;
  std::mt19937 random(9);
  Codes a(m * k), b(n * k);
  for (uint8_t& code : a) code = static_cast<uint8_t>(random() % 0x70);
  for (uint8_t& code : b) code = static_cast<uint8_t>(random() % 0x70);
  std::vector<float> sa(m * blocks), sb(3 * blocks);  // A: rows contiguous; B: blocks along K contiguous
  for (float& s : sa) s = 0.1f + static_cast<float>(random() % 1000) / 700;
  for (float& s : sb) s = -2.0f + static_cast<float>(random() % 1000) / 300;
  ModelGemm gemm{MmaType::e4m3, MmaType::e4m3, m, n, k, a.data(), k, b.data(), k, 4, false, 1};
  gemm.a_scales = {sa.data(), 1, m};
  gemm.b_scales = {sb.data(), blocks, 1, 128};
  std::vector<float> d(m * n);
  ASSERT_FALSE(model_gemm_fp8(gemm, d.data(), n));
  for (const int64_t column : {0, 127, 128, 255, 256, 259}) {
    for (int64_t row = 0; row < m; ++row) {
      float want = 0;
      for (int64_t block = 0; block < blocks; ++block) {
        const int64_t first = 128 * block, last = std::min(k, first + 128);
        const float group = scalar_element({&a[row * k + first], &a[row * k + last]},
                                           {&b[column * k + first], &b[column * k + last]}, 4);
        const float scale = sa[block * m + row] * sb[column / 128 * blocks + block];
        want = block == 0 ? group * scale : std::fma(group, scale, want);
      }
      EXPECT_EQ(d[row * n + column], want) << row << ", " << column;
    }
  }
}

TEST(ModelGemm, ragged_shapes_with_padded_rows_agree_with_single_elements) {
  const int64_t m = 67, n = 261, k = 77, lda = 80, ldb = 79, ldd = 263;
  std::mt19937 random(8);
  // Padding is NaN: reading it would show.
  Codes a(m * lda, 0x7F), b(n * ldb, 0x7F);
  for (int64_t r = 0; r < m; ++r) {
    for (int64_t x = 0; x < k; ++x) a[r * lda + x] = static_cast<uint8_t>(random() % 0x70);
  }
  for (int64_t r = 0; r < n; ++r) {
    for (int64_t x = 0; x < k; ++x) b[r * ldb + x] = static_cast<uint8_t>(random() % 0x70);
  }
  ModelGemm gemm{MmaType::e4m3, MmaType::e4m3, m, n, k, a.data(), lda, b.data(), ldb, 2, false, 2};
  std::vector<float> d(m * ldd, -1.0f);
  int calls = 0, last = 0;
  ASSERT_FALSE(model_gemm_fp8(gemm, d.data(), ldd, [&](int done, int total) {
    ++calls;
    last = done;
    EXPECT_EQ(total, 2);
  }));
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(last, 2);
  for (int64_t r = 0; r < m; ++r) {
    for (int64_t c = 0; c < ldd; ++c) {
      if (c >= n) {
        ASSERT_EQ(d[r * ldd + c], -1.0f) << "written past the row";
        continue;
      }
      if ((r + c) % 17 != 0) continue;
      const Codes row_a(&a[r * lda], &a[r * lda + k]), row_b(&b[c * ldb], &b[c * ldb + k]);
      ASSERT_EQ(d[r * ldd + c], scalar_element(row_a, row_b, 2)) << r << ", " << c;
    }
  }
}

// On U(0,1) data of K = 16384 the model has the errors that promotion is chosen by.
TEST(ModelGemm, promotion_interval_sets_the_error_on_uniform_data) {
  const int64_t m = 16, n = 16, k = 16384;
  std::mt19937 random(9);
  std::uniform_real_distribution<float> uniform(0, 1);
  Codes a(m * k), b(n * k);
  for (uint8_t& code : a) code = e4m3(uniform(random)).bits;
  for (uint8_t& code : b) code = e4m3(uniform(random)).bits;
  const auto error = [&](int64_t interval) {
    ModelGemm gemm{MmaType::e4m3, MmaType::e4m3, m, n, k, a.data(), k, b.data(), k,
                   interval,      interval == 0, 1};
    std::vector<float> d(m * n);
    EXPECT_FALSE(model_gemm_fp8(gemm, d.data(), n));
    double difference = 0, norm = 0;
    for (int64_t e = 0; e < m * n; ++e) {
      double exact = 0;
      for (int64_t x = 0; x < k; ++x) {
        exact += static_cast<double>(float(e4m3::from_bits(a[e / n * k + x]))) *
                 static_cast<double>(float(e4m3::from_bits(b[e % n * k + x])));
      }
      difference += (d[e] - exact) * (d[e] - exact);
      norm += exact * exact;
    }
    return std::sqrt(difference / norm);
  };
  EXPECT_LE(error(4), 5.5e-4);
  EXPECT_GE(error(4), 3e-4);
  EXPECT_LE(error(1), 6e-5);
  EXPECT_GE(error(0), 0.2);
}

}  // namespace
}  // namespace tilewright::emulator
