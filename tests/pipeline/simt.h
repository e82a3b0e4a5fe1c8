// FP32 tiles on the ordinary cores: every tile, arrangement and alignment of the simt path, against exact
// sums and against the chain of fused multiply-adds that it promises.
#include <cmath>
#include <cstring>

#include "tests/pipeline/accumulator_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

class PipelineSimt : public OnMachine {};

/// A tile of the simt path whose operands are aligned to `Bytes`.
template <int M, int K, arrangement A, arrangement B, int Bytes = 16>
using Fp32 = decltype(Size<M, 128, K>() + Precision<float>() + BlockDim<128>() + Arrangement<A, B>() +
                      Alignment<Bytes, Bytes, 4>() + WithPipeline() + EnableInputStreaming() +
                      SM<900, arch_specific>() + RequirePath<path::simt>());

// ---- exact sums

TEST_F(PipelineSimt, mn_major_operands_come_by_tma) {
  using D = Fp32<128, 32, col_major, row_major>;
  static_assert(facts_of_v<D>.simt_shape().bulk_a && facts_of_v<D>.simt_shape().bulk_b);
  check_gemm<D, 3, float>({.m = 200, .n = 140, .k = 100, .batches = 2, .pad = 1, .alpha = 2, .beta = -1});
}
TEST_F(PipelineSimt, k_major_operands_come_element_by_element) {
  using D = Fp32<128, 32, row_major, col_major>;
  static_assert(!facts_of_v<D>.simt_shape().bulk_a && !facts_of_v<D>.simt_shape().bulk_b);
  check_gemm<D, 3, float>({.m = 200, .n = 140, .k = 101, .batches = 2, .pad = 1});
}
TEST_F(PipelineSimt, one_operand_of_each_kind) {
  check_gemm<Fp32<64, 24, col_major, col_major>, 2, float>({.m = 70, .n = 130, .k = 99, .batches = 2});
  check_gemm<Fp32<64, 24, row_major, row_major>, 4, float>({.m = 64, .n = 256, .k = 96});
}
TEST_F(PipelineSimt, low_tiles_of_short_k_and_columns_of_c) {
  using D = Fp32<32, 8, row_major, row_major, 4>;
  check_gemm<D, 16, bf16, Finish::store, col_major>({.m = 70, .n = 129, .k = 37});
}
TEST_F(PipelineSimt, one_stage_is_filled_again_after_its_release) {
  check_gemm<Fp32<32, 16, row_major, col_major>, 1, float>({.m = 40, .n = 128, .k = 90});
  check_gemm<Fp32<32, 16, col_major, row_major>, 1, float>({.m = 40, .n = 128, .k = 90});
}
TEST_F(PipelineSimt, k_of_zero_is_a_product_of_zero) {
  check_gemm<Fp32<32, 8, col_major, row_major>, 2, float>({.m = 33, .n = 20, .k = 0});
}

// ---- persistent loops

TEST_F(PipelineSimt, runs_a_schedule) {
  check_run<Fp32<64, 32, row_major, col_major>, 3, float, false>(200, 300, 70, 2);
  check_run<Fp32<64, 32, col_major, row_major>, 3, float, false>(200, 300, 70);
}

TEST_F(PipelineSimt, runs_epilogues_of_two_phases) {
  check_two_pieces<Fp32<32, 16, row_major, row_major>>(70, 150, 40);
}

// ---- the chain of fused multiply-adds, at any 4-byte alignment

template <class D, class Out, class Handle>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    chain_kernel(Out out, const TILEWRIGHT_GRID_CONSTANT Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, blockIdx.x, blockIdx.y);
  tile.execute([&](auto& accumulator) {
    const auto view = get_tile(out, D::c_shape, blockIdx.x, blockIdx.y);
    const auto results = accumulator.get_results();
    accumulator.partition_and_copy(results, view);
  });
}

/// Leading dimensions are odd and bases one element past a multiple of 16 bytes.
template <arrangement OrderA, arrangement OrderB, int Bytes>
void check_chain(int64_t m, int64_t n, int64_t k) {
  using D = Fp32<64, 32, OrderA, OrderB, Bytes>;
  constexpr int64_t kShift = Bytes == 4 ? 1 : 0;
  const auto ld = [](int64_t extent) { return Bytes == 4 ? extent | 1 : (extent + 3) / 4 * 4; };
  const int64_t lda = ld(OrderA == row_major ? k : m), ldb = ld(OrderB == row_major ? n : k);
  Buffer<float> a(static_cast<size_t>(kShift + lda * (OrderA == row_major ? m : k)), false, "A");
  Buffer<float> b(static_cast<size_t>(kShift + ldb * (OrderB == row_major ? k : n)), false, "B");
  Buffer<float> c(static_cast<size_t>(m * n), true, "C");
  const auto at_a = [&](int64_t i, int64_t x) -> float& {
    return a[static_cast<size_t>(kShift + (OrderA == row_major ? i * lda + x : x * lda + i))];
  };
  const auto at_b = [&](int64_t x, int64_t j) -> float& {
    return b[static_cast<size_t>(kShift + (OrderB == row_major ? x * ldb + j : j * ldb + x))];
  };
  std::mt19937 random(5);
  std::uniform_real_distribution<float> values(-1, 1);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t x = 0; x < k; ++x) at_a(i, x) = values(random);
  }
  for (int64_t x = 0; x < k; ++x) {
    for (int64_t j = 0; j < n; ++j) at_b(x, j) = values(random);
  }
  const auto p = suggest_pipeline<3, D>(make_gmem_tensor<OrderA>(a.data() + kShift, m, k, lda),
                                        make_gmem_tensor<OrderB>(b.data() + kShift, k, n, ldb));
  ASSERT_TRUE(p) << p.error().message;
  using Handle = std::decay_t<decltype(p->get_device_handle())>;
  const auto out = make_gmem_tensor<row_major>(c.data(), m, n, n);
  const Extent3 grid = p->get_grid_dim();
  run(chain_kernel<D, std::remove_const_t<decltype(out)>, Handle>, p->launch_config({grid.x, grid.y, 1}), out,
      p->get_device_handle());
  if (::testing::Test::HasFatalFailure()) return;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t x = 0; x < k; ++x) sum = std::fma(at_a(i, x), at_b(x, j), sum);
      ASSERT_EQ(std::memcmp(&sum, &c[static_cast<size_t>(i * n + j)], sizeof(sum)), 0) << i << ", " << j;
    }
  }
  EXPECT_TRUE(c.guards_are_intact());
}

TEST_F(PipelineSimt, sums_are_the_chain_of_fused_multiply_adds_in_every_arrangement) {
  check_chain<row_major, col_major, 4>(70, 131, 77);
  check_chain<col_major, col_major, 4>(70, 131, 77);
  check_chain<row_major, row_major, 4>(70, 131, 77);
  check_chain<col_major, row_major, 4>(70, 131, 77);
  check_chain<col_major, row_major, 16>(70, 131, 77);
}

// ---- a reusable accumulator

TEST_F(PipelineSimt, a_reusable_accumulator_adds_tiles_of_which_only_a_part_exists) {
  check_sum<Fp32<32, 16, row_major, col_major>>();
  check_sum<Fp32<32, 16, col_major, row_major, 4>>();
  check_sum<Fp32<32, 16, col_major, row_major>>();
}

// ---- what does not exist

TEST_F(PipelineSimt, what_lies_outside_is_zero) {
  check_outside<Fp32<32, 16, row_major, col_major>>();
  check_outside<Fp32<32, 16, col_major, row_major>>();
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
