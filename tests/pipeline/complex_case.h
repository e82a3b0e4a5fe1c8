// D = alpha A B + beta C of complex numbers, against exact sums.
#pragma once

#include <complex>

#include "tests/pipeline/gemm_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {

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

}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
