// Tiles of the mma_sync path for sm_80: without TMA, register reallocation or waits that sleep.
#include "tests/pipeline/accumulator_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

class PipelineAmpere : public OnMachine {};

template <class A, class B, class C, int M, int N, int K, int Threads, arrangement OrderA, arrangement OrderB>
using Ampere = decltype(Size<M, N, K>() + Precision<A, B, C>() + BlockDim<Threads>() +
                        Arrangement<OrderA, OrderB>() + MaxAlignment() + WithPipeline() + SM<800>());

TEST_F(PipelineAmpere, takes_mma_sync_and_copies_with_cp_async) {
  using D = Ampere<bf16, bf16, float, 128, 128, 32, 256, row_major, col_major>;
  static_assert(path_of_v<D> == path::mma_sync);
  constexpr tiles::MmaSyncShape shape = facts_of_v<D>.mma_sync_shape();
  static_assert(!tiles::mma_sync_layout_a(shape).bulk && !tiles::mma_sync_layout_b(shape).bulk);
  static_assert(impl::PathPlan<D>::max_depth == 166912 / (16384 + 16));
  check_gemm<D, 4, float>({.m = 200, .n = 140, .k = 104, .batches = 2, .pad = 1});
}
TEST_F(PipelineAmpere, f16_in_f16) {
  check_gemm<Ampere<f16, f16, f16, 64, 32, 32, 64, col_major, row_major>, 3, f16>({100, 70, 104});
}
TEST_F(PipelineAmpere, tf32) {
  check_gemm<Ampere<tf32, tf32, float, 32, 32, 16, 64, row_major, row_major>, 3, float>({70, 52, 60});
}
TEST_F(PipelineAmpere, s8) {
  check_gemm<Ampere<int8_t, uint8_t, int32_t, 32, 32, 64, 64, col_major, col_major>, 2, int32_t>(
      {70, 50, 144}, 100);
}
TEST_F(PipelineAmpere, f64_in_the_small_shape) {
  check_gemm<Ampere<double, double, double, 32, 32, 8, 64, row_major, row_major>, 3, double>({70, 50, 30});
}
TEST_F(PipelineAmpere, runs_a_schedule) {
  check_run<Ampere<bf16, bf16, float, 64, 64, 32, 128, row_major, col_major>, 3, float, false>(200, 150, 72,
                                                                                               2);
}
TEST_F(PipelineAmpere, a_reusable_accumulator) {
  check_sum<Ampere<bf16, bf16, float, 32, 32, 16, 64, row_major, col_major>>();
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
