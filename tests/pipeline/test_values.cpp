// Arithmetic of the wgmma path on random data: FP8 equals the model of the tensor core bit for bit, the
// others stay within the bounds of their accumulators; special values go where they belong.
#include <cmath>
#include <limits>
#include <vector>

#include "tests/pipeline/product_case.h"
#include "tilewright/emulator/tensor_core.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

/// A row-major times a column-major matrix of random values.
template <class D>
struct RandomProduct : Product<D, float> {
  using typename Product<D, float>::A;
  using typename Product<D, float>::B;

  RandomProduct(int64_t rows, int64_t columns, int64_t depth) : Product<D, float>(rows, columns, depth) {
    std::uniform_real_distribution<float> values(-1, 1);
    this->fill([&](std::mt19937& random) { return A(values(random)); },
               [&](std::mt19937& random) { return B(values(random)); });
  }
  /// Sum of a b and of its absolute values.
  std::pair<double, double> exact(int64_t i, int64_t j) {
    double sum = 0, magnitude = 0;
    for (int64_t x = 0; x < this->k; ++x) {
      const double product = value_of(this->a.at(i, x, 0)) * value_of(this->b.at(x, j, 0));
      sum += product;
      magnitude += std::abs(product);
    }
    return {sum, magnitude};
  }
};

// ---- FP8

template <class D>
void expect_model(int64_t k, int64_t interval) {
  SCOPED_TRACE(::testing::Message() << "K " << k << ", interval " << interval);
  RandomProduct<D> product(70, 72, k);
  product.multiply();
  if (::testing::Test::HasFatalFailure()) return;
  emulator::ModelGemm model;
  model.m = product.m;
  model.n = product.n;
  model.k = k;
  model.a = reinterpret_cast<const uint8_t*>(product.a.buffer.data());
  model.lda = product.a.ld;
  model.b = reinterpret_cast<const uint8_t*>(product.b.buffer.data());
  model.ldb = product.b.ld;
  model.interval = interval;
  model.fast = interval == 0;
  model.threads = 1;
  std::vector<float> expected(static_cast<size_t>(product.m * product.n));
  ASSERT_FALSE(emulator::model_gemm_fp8(model, expected.data(), product.n));
  for (int64_t i = 0; i < product.m; ++i) {
    for (int64_t j = 0; j < product.n; ++j) {
      ASSERT_EQ(product.c.at(i, j, 0), expected[static_cast<size_t>(i * product.n + j)]) << i << ", " << j;
    }
  }
}

template <int K, class... More>
using Fp8 = Tile<e4m3, e4m3, float, 64, 64, K, 128, More...>;

TEST(PipelineValues, fp8_is_promoted_as_the_model_says) {
  for (const int64_t k : {32, 128, 160, 500, 1024}) expect_model<Fp8<128>>(k, 4);
  expect_model<Fp8<128, Accumulation<promoted<1>>>>(500, 1);
  expect_model<Fp8<128, Accumulation<promoted<2>>>>(500, 2);
  expect_model<Fp8<64, Accumulation<promoted<4>>>>(500, 4);
  expect_model<Fp8<64, Accumulation<promoted<8>>>>(1000, 8);
  expect_model<Fp8<128, Accumulation<fast>>>(1024, 0);
}

TEST(PipelineValues, fp8_of_two_parts_is_promoted_as_the_model_says) {
  expect_model<Tile<e4m3, e4m3, float, 64, 256, 128, 128>>(500, 4);
}

// ---- the others: every MMA of `depth` products adds (depth + 1) terms cut at 2^-25 of the largest one and
// cuts the sum at 2^-23; both are at most the sum of magnitudes.
template <class D>
void expect_bound(int depth) {
  RandomProduct<D> product(70, 72, 1000);
  product.multiply();
  if (::testing::Test::HasFatalFailure()) return;
  const double steps = std::ceil(1000.0 / depth);
  const double unit = steps * (2 * (depth + 1) * 0x1p-25 + 0x1p-23);
  for (int64_t i = 0; i < product.m; ++i) {
    for (int64_t j = 0; j < product.n; ++j) {
      const auto [sum, magnitude] = product.exact(i, j);
      ASSERT_LE(std::abs(product.c.at(i, j, 0) - sum), unit * magnitude) << i << ", " << j;
    }
  }
}

TEST(PipelineValues, bf16_f16_and_tf32_stay_within_the_bound_of_their_accumulator) {
  expect_bound<Tile<bf16, bf16, float, 64, 64, 64>>(16);
  expect_bound<Tile<f16, f16, float, 64, 64, 64>>(16);
  expect_bound<Tile<tf32, tf32, float, 64, 64, 32>>(8);
}

TEST(PipelineValues, promotion_of_bf16_takes_the_cut_out_of_long_sums) {
  expect_bound<Tile<bf16, bf16, float, 64, 64, 64, 128, Accumulation<promoted<4>>>>(16);
}

// An f16 accumulator is rounded to 2^-11 of the running sum at every step.
TEST(PipelineValues, f16_accumulators_stay_within_their_own_bound) {
  using D = Tile<f16, f16, f16, 64, 64, 64>;
  RandomProduct<D> product(64, 64, 256);
  product.multiply();
  for (int64_t i = 0; i < 64; ++i) {
    for (int64_t j = 0; j < 64; ++j) {
      const auto [sum, magnitude] = product.exact(i, j);
      ASSERT_LE(std::abs(product.c.at(i, j, 0) - sum), 16 * 1.01 * 0x1p-11 * magnitude) << i << ", " << j;
    }
  }
}

// ---- special values

template <class Out, class Handle>
void zeros_outside_kernel(Out flags, const Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, 0, 0);
  tile.execute([&](auto& accumulator) {
    const auto results = accumulator.get_results();
    results.for_each([&](int i, const float& value) {
      const auto [m, n] = accumulator.map_fragment_index(i);
      flags(m, n) = accumulator.is_index_in_bounds(i) ? (value == value ? 1 : 2) : (value == 0 ? 3 : 4);
    });
  });
}

TEST(PipelineValues, nan_and_infinity_do_not_leak_into_what_lies_outside) {
  using D = Tile<bf16, bf16, float, 64, 64, 64>;
  RandomProduct<D> product(40, 50, 64);
  for (int64_t x = 0; x < 64; ++x) product.b.at(x, 7, 0) = bf16(std::numeric_limits<float>::infinity());
  product.a.at(9, 0, 0) = bf16(std::numeric_limits<float>::quiet_NaN());
  const auto p = suggest_pipeline<D>(product.a.const_tensor(), product.b.const_tensor());
  Matrix<int32_t, row_major> flags(64, 64, 1, 0, true, "flags");
  const auto out = get_batch(flags.tensor(), 0);
  using Handle = std::decay_t<decltype(p->get_device_handle())>;
  run(zeros_outside_kernel<std::remove_const_t<decltype(out)>, Handle>, p->launch_config({1, 1, 1}), out,
      p->get_device_handle());
  for (int64_t i = 0; i < 64; ++i) {
    for (int64_t j = 0; j < 64; ++j) {
      // Column 7 sums infinities of both signs, row 9 a NaN.
      const int expected = i >= 40 || j >= 50 ? 3 : i == 9 || j == 7 ? 2 : 1;
      ASSERT_EQ(flags.at(i, j, 0), expected) << i << ", " << j;
    }
  }
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
