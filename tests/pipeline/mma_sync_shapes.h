// Tiles of the mma_sync path: grids of warps, partial tiles, rings, persistent loops, accumulators.
#include "tests/pipeline/accumulator_case.h"
#include "tests/pipeline/mma_sync_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

class PipelineMmaSyncShapes : public OnMachine {};

template <int M, int N, int K, int Threads>
using Bf16 = Sync<bf16, bf16, float, M, N, K, Threads, row_major, col_major>;
/// Copied by threads, with M and N contiguous.
using Copied = Sync<bf16, bf16, float, 48, 32, 32, 96, col_major, row_major, 8>;

// ---- grids of warps

template <class D, int M, int N>
constexpr bool has_warps() {
  constexpr tiles::MmaSyncPlan p = tiles::mma_sync_plan(facts_of_v<D>.mma_sync_shape());
  return p.warps_m == M && p.warps_n == N;
}

TEST_F(PipelineMmaSyncShapes, one_warp) {
  static_assert(has_warps<Bf16<16, 8, 16, 32>, 1, 1>());
  check_gemm<Bf16<16, 8, 16, 32>, 3, float>({40, 20, 50});
}
TEST_F(PipelineMmaSyncShapes, six_warps) {
  static_assert(has_warps<Bf16<96, 64, 32, 192>, 3, 2>());
  check_gemm<Bf16<96, 64, 32, 192>, 2, float>({100, 70, 80});
}
TEST_F(PipelineMmaSyncShapes, seven_warps_side_by_side) {
  static_assert(has_warps<Bf16<32, 56, 48, 224>, 1, 7>());
  check_gemm<Bf16<32, 56, 48, 224>, 2, float>({70, 120, 100});
}
TEST_F(PipelineMmaSyncShapes, sixteen_warps) {
  static_assert(has_warps<Bf16<128, 128, 32, 512>, 4, 4>());
  check_gemm<Bf16<128, 128, 32, 512>, 3, bf16>({200, 140, 70});
}
TEST_F(PipelineMmaSyncShapes, warps_of_an_odd_number_of_columns_of_mmas) {
  check_arrangements<f16, f16, float, 32, 40, 32, 32, 2>({50, 90, 70});
}

// ---- partial tiles, rings

TEST_F(PipelineMmaSyncShapes, partial_tiles_in_every_direction) {
  for (const int64_t m : {1, 47, 48, 49}) {
    for (const int64_t n : {1, 31, 33}) {
      for (const int64_t k : {1, 31, 32, 33}) check_gemm<Copied, 2, float>({m, n, k});
    }
  }
}
TEST_F(PipelineMmaSyncShapes, k_tiles_around_the_depth) {
  for (const int64_t k_tiles : {0, 1, 2, 3, 4, 5, 9}) {
    check_gemm<Copied, 3, float>({96, 64, 32 * k_tiles});
    check_gemm<Bf16<32, 32, 32, 64>, 3, float>({64, 64, 32 * k_tiles});
  }
}
TEST_F(PipelineMmaSyncShapes, one_stage_is_filled_again_after_its_release) {
  check_gemm<Copied, 1, float>({100, 70, 130});
  check_gemm<Bf16<32, 32, 32, 64>, 1, float>({70, 64, 130});
  check_gemm<Bf16<32, 32, 16, 64>, 1, float>({70, 64, 130});
}
TEST_F(PipelineMmaSyncShapes, batches_alpha_and_beta) {
  check_gemm<Copied, 2, float>({.m = 90, .n = 70, .k = 64, .batches = 3, .pad = 1, .alpha = 2, .beta = -3});
  check_gemm<Copied, 2, float>({.m = 90, .n = 70, .k = 0, .alpha = 2, .beta = 3});
}
TEST_F(PipelineMmaSyncShapes, empty_products_do_nothing) {
  check_gemm<Copied, 2, float>({0, 70, 64});
  check_gemm<Copied, 2, float>({70, 0, 64});
}
TEST_F(PipelineMmaSyncShapes, columns_of_c_and_narrow_elements) {
  check_gemm<Copied, 2, bf16, Finish::store, col_major>({100, 72, 128});
  check_gemm<Copied, 2, e4m3, Finish::store>({70, 72, 8});
}

// ---- persistent loops and accumulators

TEST_F(PipelineMmaSyncShapes, runs_a_schedule) {
  check_run<Copied, 3, float, false>(200, 150, 70, 2);
  check_run<Bf16<128, 64, 32, 256>, 2, bf16, false>(200, 150, 70);
}
TEST_F(PipelineMmaSyncShapes, runs_epilogues_of_two_phases) { check_two_pieces<Copied>(100, 90, 70); }
TEST_F(PipelineMmaSyncShapes, a_reusable_accumulator_adds_tiles_of_which_only_a_part_exists) {
  check_sum<Copied>();
  check_sum<Bf16<32, 32, 16, 64>>();
  check_sum<Sync<double, double, double, 32, 16, 8, 32, row_major, row_major>>();
}
TEST_F(PipelineMmaSyncShapes, what_lies_outside_is_zero) {
  check_outside<Copied>();
  check_outside<Bf16<32, 32, 16, 64>>();
  check_outside<Sync<e4m3, e4m3, float, 32, 32, 32, 64, col_major, row_major>>();
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
