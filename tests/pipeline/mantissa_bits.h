// FP32 on tensor cores (RequiredMantissaBits): every arrangement and alignment, accuracy beside a chain of
// FP32 sums, infinities and NaN, and the life of the parts.
#include <cmath>
#include <limits>

#include "tests/pipeline/run_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

class PipelineMantissa : public OnMachine {};

/// A tile whose operands are aligned to 4 bytes.
template <int Bits, int M, int N, int K, arrangement A = row_major, arrangement B = col_major,
          int Threads = 128>
using Split = decltype(Size<M, N, K>() + Precision<float>() + BlockDim<Threads>() + Arrangement<A, B>() +
                       RequiredMantissaBits<Bits>() + WithPipeline() + EnableInputStreaming() +
                       SM<900, arch_specific>() + RequirePath<path::wgmma>());

/// The same with parts of f16.
template <int Bits, int M, int N, int K, arrangement A = row_major, arrangement B = col_major,
          int Threads = 128>
using Halves = decltype(Split<Bits, M, N, K, A, B, Threads>() + SplitInto<f16>());

// ---- exact sums of small integers

TEST_F(PipelineMantissa, every_arrangement) {
  const GemmShape shape{.m = 70, .n = 50, .k = 75, .batches = 2, .alpha = 2, .beta = -1};
  check_gemm<Split<23, 64, 48, 32, row_major, col_major>, 2, float>(shape);
  check_gemm<Split<23, 64, 48, 32, row_major, row_major>, 2, float>(shape);
  check_gemm<Split<23, 64, 48, 32, col_major, col_major>, 2, float>(shape);
  check_gemm<Split<23, 64, 48, 32, col_major, row_major>, 2, float>(shape);
}
TEST_F(PipelineMantissa, k_tiles_of_every_kind) {
  const GemmShape shape{.m = 65, .n = 40, .k = 133};
  check_gemm<Split<23, 64, 32, 8>, 3, float>(shape);
  check_gemm<Split<23, 64, 32, 16>, 3, float>(shape);
  check_gemm<Split<23, 64, 32, 24>, 3, float>(shape);
  check_gemm<Split<23, 64, 32, 64>, 1, float>(shape);
}
TEST_F(PipelineMantissa, two_warpgroups_and_two_parts) {
  check_gemm<Split<23, 128, 128, 32, row_major, row_major, 256>, 2, float>({.m = 200, .n = 150, .k = 100});
  check_run<Split<23, 128, 64, 32, col_major, col_major, 256>, 2, float, false>(300, 100, 70);
  check_run<Split<23, 128, 64, 32, row_major, col_major, 256>, 2, float, true>(300, 100, 70);
}
TEST_F(PipelineMantissa, ten_bits_are_one_part) {
  using D = Split<10, 64, 32, 32>;
  static_assert(facts_of_v<D>.split_parts() == 1 && facts_of_v<Split<11, 64, 32, 32>>.split_parts() == 2);
  check_gemm<D, 4, float>({.m = 70, .n = 50, .k = 75, .batches = 2, .alpha = 2, .beta = -1});
}
TEST_F(PipelineMantissa, parts_of_f16) {
  const GemmShape shape{.m = 70, .n = 50, .k = 75, .batches = 2, .alpha = 2, .beta = -1};
  check_gemm<Halves<23, 64, 48, 64, row_major, col_major>, 2, float>(shape);
  check_gemm<Halves<23, 64, 48, 64, col_major, row_major>, 2, float>(shape);
  check_gemm<Halves<23, 64, 48, 16, row_major, row_major>, 3, float>(shape);
  check_gemm<Halves<9, 64, 48, 32, row_major, col_major>, 3, float>(shape);
  check_run<Halves<23, 128, 64, 64, row_major, col_major, 256>, 2, float, true>(300, 100, 70);
  check_gemm<Halves<23, 64, 32, 64>, 1, float>({.m = 33, .n = 20, .k = 0});
}
TEST_F(PipelineMantissa, rows_too_long_to_be_kept) {
  check_gemm<Halves<23, 64, 8, 64>, 2, float>({.m = 3, .n = 2, .k = mainloop::split_rows_max_k + 1}, 1);
  check_gemm<Halves<23, 64, 8, 64>, 2, float>({.m = 3, .n = 2, .k = mainloop::split_rows_max_k}, 1);
}
TEST_F(PipelineMantissa, zero_extents) {
  check_gemm<Split<23, 64, 32, 32>, 2, float>({.m = 33, .n = 20, .k = 0});
  check_gemm<Split<23, 64, 32, 32>, 2, float>({.m = 0, .n = 20, .k = 5});
}

// ---- values

template <class Handle, class Out>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    store_kernel(Out out, const TILEWRIGHT_GRID_CONSTANT Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  using D = typename Handle::descriptor;
  auto tile = pipeline.get_tile(shared, blockIdx.x, blockIdx.y);
  tile.execute([&](auto& accumulator) {
    accumulator.partition_and_store(get_tile(out, D::c_shape, blockIdx.x, blockIdx.y));
  });
}

/// M x N x K floats on the machine, and their product.
template <class D>
struct Product {
  static constexpr arrangement kOrderA = arrangement_of_v_a<D>, kOrderB = arrangement_of_v_b<D>;
  int64_t m, n, k;
  Matrix<float, kOrderA> a;
  Matrix<float, kOrderB> b;
  Matrix<float, row_major> c;

  Product(int64_t rows, int64_t columns, int64_t depth)
      : m(rows),
        n(columns),
        k(depth),
        a(m, k, 1, 1, false, "A"),
        b(k, n, 1, 1, false, "B"),
        c(m, n, 1, 0, true, "C") {}

  template <class Fill>
  void fill(const Fill& value) {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t x = 0; x < k; ++x) a.at(i, x, 0) = value();
    for (int64_t x = 0; x < k; ++x)
      for (int64_t j = 0; j < n; ++j) b.at(x, j, 0) = value();
  }
  auto tensor_a() {
    return make_gmem_tensor<kOrderA>(static_cast<const float*>(a.buffer.data()), m, k, a.ld);
  }
  auto tensor_b() {
    return make_gmem_tensor<kOrderB>(static_cast<const float*>(b.buffer.data()), k, n, b.ld);
  }
  auto tensor_c() { return make_gmem_tensor<row_major>(c.buffer.data(), m, n, c.ld); }

  template <class Pipeline>
  void multiply(const Pipeline& p) {
    using Handle = std::decay_t<decltype(p.get_device_handle())>;
    run(store_kernel<Handle, decltype(tensor_c())>, p.launch_config(p.get_grid_dim()), tensor_c(),
        p.get_device_handle());
  }
  void multiply() {
    auto p = suggest_pipeline<2, D>(tensor_a(), tensor_b());
    ASSERT_TRUE(p) << p.error().message;
    multiply(*p);
  }
  double exact(int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t x = 0; x < k; ++x)
      sum += static_cast<double>(a.at(i, x, 0)) * static_cast<double>(b.at(x, j, 0));
    return sum;
  }
  /// A chain of FP32 fused multiply-adds in the order of K.
  float chain(int64_t i, int64_t j) {
    float sum = 0;
    for (int64_t x = 0; x < k; ++x) sum = std::fma(a.at(i, x, 0), b.at(x, j, 0), sum);
    return sum;
  }
  /// Sum of |a b|, which errors are relative to.
  double magnitude(int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t x = 0; x < k; ++x)
      sum += std::abs(static_cast<double>(a.at(i, x, 0)) * static_cast<double>(b.at(x, j, 0)));
    return sum;
  }
};

/// Every element within its bound, and from K = 512 on all together as near as FP32's chain. `of_parts`: the
/// error of a product of split numbers, in units of 2^-24 (two parts: 2^-23 of each factor, and low x low is
/// left out). Besides, 12 MMAs of a group drop less than two units each, and sums of groups are rounded.
template <class D, class Fill>
void check_accuracy(int64_t k, double of_parts, const Fill& value) {
  const double units = of_parts + 24 + static_cast<double>(k) / 64;
  Product<D> p(70, 40, k);
  p.fill(value);
  p.multiply();
  if (::testing::Test::HasFatalFailure()) return;
  double of_ours = 0, of_chain = 0;
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      const double exact = p.exact(i, j), found = p.c.at(i, j, 0);
      ASSERT_LE(std::abs(found - exact), units * 0x1p-24 * p.magnitude(i, j)) << i << ", " << j;
      of_ours += (found - exact) * (found - exact);
      of_chain += std::pow(static_cast<double>(p.chain(i, j)) - exact, 2);
    }
  }
  if (of_parts < 100 && k >= 512) {
    EXPECT_LE(std::sqrt(of_ours), 1.1 * std::sqrt(of_chain)) << "K = " << k;
  }
}

TEST_F(PipelineMantissa, is_as_accurate_as_fp32) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> positive(0, 1);
  using D = Split<23, 64, 32, 32>;
  for (const int64_t k : {64, 512, 1500}) {
    check_accuracy<D>(k, 8, [&] { return normal(random); });
    check_accuracy<D>(k, 8, [&] { return positive(random); });
  }
  check_accuracy<D>(512, 8, [&] { return std::ldexp(normal(random), static_cast<int>(random() % 41) - 20); });
  check_accuracy<D>(200, 8, [&] { return std::ldexp(normal(random), random() % 2 == 0 ? 60 : -60); });
}
TEST_F(PipelineMantissa, halves_are_as_accurate_where_rows_have_one_magnitude) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> positive(0, 1);
  using D = Halves<23, 64, 32, 64>;
  for (const int64_t k : {512, 1500}) {
    check_accuracy<D>(k, 8, [&] { return normal(random); });
    check_accuracy<D>(k, 8, [&] { return positive(random); });
  }
}
TEST_F(PipelineMantissa, rows_and_columns_of_any_magnitude_in_halves) {
  using D = Halves<23, 64, 32, 64>;
  Product<D> p(70, 40, 130);
  std::mt19937 random(15);
  std::normal_distribution<float> normal;
  p.fill([&] { return normal(random); });
  // Row i times 2^e, column j times 2^-e or less: both scales far beyond what f16 holds.
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t x = 0; x < p.k; ++x)
      p.a.at(i, x, 0) = std::ldexp(p.a.at(i, x, 0), static_cast<int>(i % 5 * 50 - 125));
  for (int64_t j = 0; j < p.n; ++j)
    for (int64_t x = 0; x < p.k; ++x)
      p.b.at(x, j, 0) = std::ldexp(p.b.at(x, j, 0), static_cast<int>(j % 4 * 30 - 60));
  p.multiply();
  if (HasFatalFailure()) return;
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      const double exact = p.exact(i, j), found = p.c.at(i, j, 0);
      ASSERT_LE(std::abs(found - exact), 40 * 0x1p-24 * p.magnitude(i, j) + 0x1p-148) << i << ", " << j;
    }
  }
}
TEST_F(PipelineMantissa, halves_lose_what_is_small_in_its_row) {
  // Documented: magnitudes that vary over 2^40 along K, oppositely in A and B, are not FP32 in halves.
  std::mt19937 random(16);
  Product<Halves<23, 64, 32, 64>> halves(64, 32, 64);
  Product<Split<23, 64, 32, 64>> words(64, 32, 64);
  for (int64_t x = 0; x < 64; ++x) {
    const int e = static_cast<int>(random() % 41) - 20;
    for (int64_t i = 0; i < 64; ++i)
      words.a.at(i, x, 0) = halves.a.at(i, x, 0) = std::ldexp(1.0f + 0x1p-20f * static_cast<float>(i), e);
    for (int64_t j = 0; j < 32; ++j)
      words.b.at(x, j, 0) = halves.b.at(x, j, 0) = std::ldexp(1.0f + 0x1p-20f * static_cast<float>(j), -e);
  }
  halves.multiply();
  words.multiply();
  if (HasFatalFailure()) return;
  double worst = 0;
  for (int64_t i = 0; i < 64; ++i) {
    for (int64_t j = 0; j < 32; ++j) {
      const double exact = words.exact(i, j);
      EXPECT_NEAR(words.c.at(i, j, 0), exact, 40 * 0x1p-24 * exact);
      worst = std::max(worst, std::abs(halves.c.at(i, j, 0) - exact) / exact);
    }
  }
  EXPECT_GT(worst, 1e-5);
}
TEST_F(PipelineMantissa, eleven_bits_of_input_with_ten_required) {
  std::mt19937 random(6);
  std::normal_distribution<float> normal;
  check_accuracy<Split<10, 64, 32, 32>>(500, 0x1p13, [&] { return normal(random); });
}
TEST_F(PipelineMantissa, the_largest_and_the_smallest_numbers) {
  using D = Split<23, 64, 32, 32>;
  constexpr float kMax = std::numeric_limits<float>::max();
  Product<D> p(4, 5, 3);
  p.fill([] { return 0.0f; });
  const float rows[] = {kMax, -kMax, 0x1.FFEp127f, 0x1p-120f}, columns[] = {1, -0.5f, 0x1p-100f, 0x1p-20f, 0};
  for (int64_t i = 0; i < p.m; ++i) p.a.at(i, i % 3, 0) = rows[i];
  for (int64_t j = 0; j < p.n; ++j)
    for (int64_t x = 0; x < p.k; ++x) p.b.at(x, j, 0) = columns[j];
  p.multiply();
  if (HasFatalFailure()) return;
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      const double exact = p.exact(i, j);
      EXPECT_NEAR(p.c.at(i, j, 0), exact, 0x1p-22 * std::abs(exact) + 0x1p-149) << i << ", " << j;
    }
  }
}

TEST_F(PipelineMantissa, a_factor_of_22_bits_is_exact) {
  using D = Split<23, 64, 32, 32>;
  Product<D> p(64, 32, 4);
  std::mt19937 random(7);
  p.fill([&] { return static_cast<float>(random() % 2); });
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t x = 0; x < p.k; ++x) p.a.at(i, x, 0) = static_cast<float>(random() % (1 << 22)) - 0x1p21f;
  p.multiply();
  if (HasFatalFailure()) return;
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) ASSERT_EQ(p.c.at(i, j, 0), p.exact(i, j)) << i << ", " << j;
}

// ---- infinities and NaN, as a chain of FP32 sums has them

template <class D>
void check_special(int64_t m, int64_t n, int64_t k) {
  constexpr float kInf = std::numeric_limits<float>::infinity(),
                  kNan = std::numeric_limits<float>::quiet_NaN();
  Product<D> p(m, n, k);
  std::mt19937 random(8);
  std::uniform_int_distribution<int> small(-3, 3);
  p.fill([&] { return static_cast<float>(small(random)); });
  p.a.at(3, 1, 0) = kInf;
  p.a.at(5, k - 1, 0) = -kInf;
  p.a.at(5, 0, 0) = kInf;
  p.a.at(m - 1, 2, 0) = kNan;
  p.b.at(4, 2, 0) = kInf;
  p.b.at(k - 1, n - 1, 0) = -kInf;
  p.b.at(1, 7, 0) = kNan;
  p.multiply();
  if (::testing::Test::HasFatalFailure()) return;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const float expected = p.chain(i, j), found = p.c.at(i, j, 0);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(found)) << i << ", " << j << ": " << found;
      } else {
        EXPECT_EQ(found, expected) << i << ", " << j;
      }
    }
  }
}

TEST_F(PipelineMantissa, C20_infinities_and_nan_follow_ieee_rules) {
  check_special<Split<23, 64, 32, 32>>(70, 40, 45);
  check_special<Split<23, 64, 32, 32, col_major, row_major>>(70, 40, 45);
  check_special<Split<10, 64, 32, 32>>(70, 40, 45);
  check_special<Halves<23, 64, 32, 64>>(70, 40, 45);
}

// ---- the pipeline on the host

TEST_F(PipelineMantissa, rebinding_splits_anew) {
  using D = Split<23, 64, 32, 32>;
  Product<D> first(70, 40, 45), second(30, 64, 100);
  std::mt19937 random(9);
  std::uniform_int_distribution<int> small(-3, 3);
  const auto value = [&] { return static_cast<float>(small(random)); };
  first.fill(value);
  second.fill(value);
  first.a.at(2, 2, 0) = std::numeric_limits<float>::infinity();  // its flags must not survive
  auto p = suggest_pipeline<2, D>(first.tensor_a(), first.tensor_b(), nullptr);
  ASSERT_TRUE(p) << p.error().message;
  const auto status = p->rebind(second.tensor_a(), second.tensor_b());
  ASSERT_TRUE(status) << status.error().message;
  second.multiply(*p);
  for (int64_t i = 0; i < second.m; ++i)
    for (int64_t j = 0; j < second.n; ++j)
      ASSERT_EQ(second.c.at(i, j, 0), second.chain(i, j)) << i << ", " << j;

  const auto refused = p->rebind(second.tensor_a(), first.tensor_b());
  EXPECT_EQ(refused.error().code, pipeline_error_code::incompatible_k);
  auto moved = std::move(*p);
  second.a.at(0, 0, 0) += 1;  // not seen: the parts are copies
  second.multiply(moved);
  second.a.at(0, 0, 0) -= 1;
  ASSERT_EQ(second.c.at(0, 0, 0), second.chain(0, 0));
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
