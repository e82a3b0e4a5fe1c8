// Complex products of the mma_sync path, in every arrangement, against exact sums.
#include <complex>

#include "tests/pipeline/mma_sync_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

class PipelineMmaSyncComplex : public OnMachine {};

template <class T, class C, int M, int N, int K, int Threads, arrangement OrderA, arrangement OrderB,
          int Bytes>
using Complex = decltype(Sync<T, T, C, M, N, K, Threads, OrderA, OrderB, Bytes>() + Type<type::complex>());

template <class T>
std::complex<double> complex_of(const complex<T>& x) {
  return {value_of(x.x), value_of(x.y)};
}
template <class T, arrangement Order>
void fill_complex(Matrix<complex<T>, Order>& matrix, std::mt19937& random) {
  std::uniform_int_distribution<int> values(-3, 3);
  for (int64_t b = 0; b < matrix.batches; ++b) {
    for (int64_t r = 0; r < matrix.rows; ++r) {
      for (int64_t c = 0; c < matrix.columns; ++c) {
        matrix.at(r, c, b) = {element_from<T>(values(random)), element_from<T>(values(random))};
      }
    }
  }
}

/// D = alpha A B + beta C with complex factors. Elements of D are of type complex<Out>.
template <class D, int Depth, class Out>
void check_complex(const GemmShape& s) {
  SCOPED_TRACE(::testing::Message() << s.m << " x " << s.n << " x " << s.k);
  using T = canonical_t<typename D::a_value_type>;
  using Scalar = std::conditional_t<std::is_same_v<typename D::c_value_type, complex<double>>,
                                    complex<double>, complex<float>>;
  const Scalar alpha{2, -1}, beta{-1, 3};
  std::mt19937 random(static_cast<uint32_t>(s.m + s.n + s.k));
  Matrix<T, arrangement_of_v_a<D>> a(s.m, s.k, s.batches, 0, false, "A", s.alignment);
  Matrix<T, arrangement_of_v_b<D>> b(s.k, s.n, s.batches, 0, false, "B", s.alignment);
  Matrix<complex<Out>, row_major> c(s.m, s.n, s.batches, 1, true, "C");
  fill_complex(a, random);
  fill_complex(b, random);
  fill_complex(c, random);
  std::vector<std::complex<double>> expected;
  for (int64_t i = 0; i < s.batches; ++i) {
    for (int64_t m = 0; m < s.m; ++m) {
      for (int64_t n = 0; n < s.n; ++n) {
        std::complex<double> sum = 0;
        for (int64_t k = 0; k < s.k; ++k) sum += complex_of(a.at(m, k, i)) * complex_of(b.at(k, n, i));
        expected.push_back(complex_of(alpha) * sum + complex_of(beta) * complex_of(c.at(m, n, i)));
      }
    }
  }
  const auto p = suggest_pipeline<Depth, D>(a.const_tensor(), b.const_tensor());
  ASSERT_TRUE(p) << p.error().message;
  using Handle = std::decay_t<decltype(p->get_device_handle())>;
  const Extent3 grid = p->get_grid_dim();
  const uint32_t tiles = grid.x * grid.y * static_cast<uint32_t>(s.batches);
  run(gemm_kernel<D, Finish::axpby, Scalar, decltype(c.tensor()), Handle>,
      p->launch_config({std::min(s.blocks, tiles), 1, 1}), alpha, beta, c.tensor(), grid.x, grid.y, tiles,
      p->get_device_handle());
  if (::testing::Test::HasFatalFailure()) return;
  size_t next = 0;
  for (int64_t i = 0; i < s.batches; ++i) {
    for (int64_t m = 0; m < s.m; ++m) {
      for (int64_t n = 0; n < s.n; ++n) {
        ASSERT_EQ(complex_of(c.at(m, n, i)), expected[next++]) << m << ", " << n << ", " << i;
      }
    }
  }
  expect_padding_untouched(c);
  EXPECT_TRUE(c.buffer.guards_are_intact());
}

template <class T, class C, int M, int N, int K, int Threads, int Bytes, class Out>
void check_complex_arrangements(GemmShape s) {
  s.alignment = Bytes;
  check_complex<Complex<T, C, M, N, K, Threads, row_major, col_major, Bytes>, 3, Out>(s);
  check_complex<Complex<T, C, M, N, K, Threads, col_major, col_major, Bytes>, 2, Out>(s);
  check_complex<Complex<T, C, M, N, K, Threads, row_major, row_major, Bytes>, 2, Out>(s);
  check_complex<Complex<T, C, M, N, K, Threads, col_major, row_major, Bytes>, 3, Out>(s);
}

TEST_F(PipelineMmaSyncComplex, f16) {
  check_complex_arrangements<f16, float, 64, 48, 24, 64, 16, float>({70, 100, 52});
}
TEST_F(PipelineMmaSyncComplex, f16_in_f16) {
  check_complex_arrangements<f16, f16, 32, 24, 16, 32, 8, f16>({.m = 42, .n = 30, .k = 18, .batches = 2});
}
TEST_F(PipelineMmaSyncComplex, bf16) {
  check_complex_arrangements<bf16, float, 32, 40, 16, 64, 4, float>(
      {.m = 43, .n = 51, .k = 37, .batches = 2});
}
TEST_F(PipelineMmaSyncComplex, tf32) {
  check_complex_arrangements<tf32, float, 32, 24, 8, 64, 8, float>({43, 51, 37});
}
TEST_F(PipelineMmaSyncComplex, f64) {
  check_complex_arrangements<double, double, 32, 32, 8, 64, 16, double>(
      {.m = 43, .n = 51, .k = 37, .batches = 2});
  check_complex_arrangements<double, double, 32, 8, 4, 64, 8, double>({43, 51, 37});
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
