// Complex FP32 on the ordinary cores: exact sums in every arrangement, and the chains that it promises.
#include <cmath>
#include <cstring>

#include "tests/pipeline/complex_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

class PipelineSimtComplex : public OnMachine {};

template <int M, int K, arrangement A, arrangement B>
using Complex = decltype(Size<M, 128, K>() + Precision<float>() + Type<type::complex>() + BlockDim<128>() +
                         Arrangement<A, B>() + WithPipeline() + SM<900, arch_specific>());

TEST_F(PipelineSimtComplex, takes_the_ordinary_cores) {
  static_assert(path_of_v<Complex<64, 16, row_major, col_major>> == path::simt);
  static_assert(path_of_v<Complex<128, 16, row_major, col_major>> == path::none);
  static_assert(path_of_v<Complex<64, 20, row_major, col_major>> == path::none);
}
TEST_F(PipelineSimtComplex, every_arrangement) {
  check_complex<Complex<64, 16, row_major, col_major>, 3, float>({.m = 70, .n = 131, .k = 37, .batches = 2});
  check_complex<Complex<32, 8, col_major, col_major>, 2, float>({.m = 70, .n = 131, .k = 37, .alignment = 8});
  check_complex<Complex<32, 12, row_major, row_major>, 2, float>(
      {.m = 33, .n = 129, .k = 30, .alignment = 8});
  check_complex<Complex<64, 4, col_major, row_major>, 3, float>({.m = 70, .n = 131, .k = 37, .batches = 2});
}
TEST_F(PipelineSimtComplex, one_stage_and_narrow_results) {
  check_complex<Complex<32, 16, row_major, row_major>, 1, f16>({.m = 40, .n = 100, .k = 50});
}

template <class D, class Out, class Handle>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    complex_chain_kernel(Out out, const TILEWRIGHT_GRID_CONSTANT Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, blockIdx.x, blockIdx.y);
  tile.execute([&](auto& accumulator) {
    accumulator.partition_and_store(get_tile(out, D::c_shape, blockIdx.x, blockIdx.y));
  });
}

template <class D>
void check_complex_chain(int64_t m, int64_t n, int64_t k) {
  Matrix<complex<float>, arrangement_of_v_a<D>> a(m, k, 1, 0, false, "A");
  Matrix<complex<float>, arrangement_of_v_b<D>> b(k, n, 1, 0, false, "B");
  Matrix<complex<float>, row_major> c(m, n, 1, 0, true, "C");
  std::mt19937 random(5);
  std::uniform_real_distribution<float> values(-1, 1);
  const auto fill = [&](auto& matrix) {
    for (int64_t i = 0; i < matrix.rows; ++i) {
      for (int64_t j = 0; j < matrix.columns; ++j) {
        const float real = values(random);
        matrix.at(i, j, 0) = {real, values(random)};
      }
    }
  };
  fill(a);
  fill(b);
  const auto p = suggest_pipeline<3, D>(a.const_tensor(), b.const_tensor());
  ASSERT_TRUE(p) << p.error().message;
  using Handle = std::decay_t<decltype(p->get_device_handle())>;
  const auto out = get_batch(c.tensor(), 0);
  const Extent3 grid = p->get_grid_dim();
  run(complex_chain_kernel<D, std::remove_const_t<decltype(out)>, Handle>,
      p->launch_config({grid.x, grid.y, 1}), out, p->get_device_handle());
  if (::testing::Test::HasFatalFailure()) return;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      complex<float> sum{0, 0};
      for (int64_t x = 0; x < k; ++x) {
        const complex<float> l = a.at(i, x, 0), r = b.at(x, j, 0);
        sum.x = std::fma(-l.y, r.y, std::fma(l.x, r.x, sum.x));
        sum.y = std::fma(l.y, r.x, std::fma(l.x, r.y, sum.y));
      }
      ASSERT_EQ(std::memcmp(&sum, &c.at(i, j, 0), sizeof(sum)), 0) << i << ", " << j;
    }
  }
}

TEST_F(PipelineSimtComplex, sums_are_chains_of_fused_multiply_adds) {
  check_complex_chain<Complex<64, 16, row_major, col_major>>(70, 131, 45);
  check_complex_chain<Complex<32, 8, col_major, row_major>>(70, 131, 45);
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
