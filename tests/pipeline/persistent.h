// run(): a whole persistent loop, with epilogues of one and of two phases.
#include "tests/pipeline/run_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

class PipelineRun : public OnMachine {};

using Wide = Tile<bf16, bf16, float, 128, 256, 64, 256>;
using Small = Tile<bf16, bf16, float, 64, 64, 64>;
template <int M, int N>
using Clustered = Tile<bf16, bf16, float, 64, 64, 64, 128, BlocksPerCluster<M, N>>;

TEST_F(PipelineRun, one_phase) { check_run<Small, 3, float, false>(200, 150, 200); }
TEST_F(PipelineRun, one_phase_of_batches) { check_run<Small, 3, bf16, false>(100, 72, 128, 3); }
TEST_F(PipelineRun, one_phase_in_clusters) { check_run<Clustered<2, 2>, 2, float, false>(200, 150, 200); }
TEST_F(PipelineRun, two_phases) { check_run<Small, 3, bf16, true>(200, 152, 200); }
TEST_F(PipelineRun, two_phases_of_f32) { check_run<Small, 3, float, true>(200, 152, 200); }
TEST_F(PipelineRun, two_phases_of_batches) { check_run<Small, 3, f16, true>(100, 72, 128, 3); }
TEST_F(PipelineRun, two_phases_in_clusters) { check_run<Clustered<2, 1>, 2, bf16, true>(300, 152, 200); }
TEST_F(PipelineRun, two_phases_with_few_k_tiles) {
  for (const int64_t k : {8, 64, 192, 640}) check_run<Small, 3, bf16, true>(130, 136, k);
}
TEST_F(PipelineRun, stores_in_the_shadow_of_the_next_tile) {
  check_run<Wide, 4, bf16, true>(300, 520, 700, 1, 1);
}
// ---- promoted tiles: pieces are stored under the first group and under the fourth K tile, parts are packed
// one by one under the last one. All numbers of K tiles around these, with several tiles a block.
template <int M, int N, int K, int Threads, int Interval>
using Promoted = Tile<e4m3, e4m3, float, M, N, K, Threads, Accumulation<promoted<Interval>>>;

TEST_F(PipelineRun, promoted_tiles_of_two_parts) {
  for (const int64_t k : {0, 16, 128, 144, 384, 512, 528, 704})
    check_run<Promoted<64, 256, 128, 128, 4>, 3, bf16, true>(130, 264, k, 1, 1);
}
// Here the steps of storing are spread over the groups of MMAs around the switch to the next tile.
TEST_F(PipelineRun, promoted_tiles_stored_in_steps) {
  for (const int64_t k : {384, 512, 528, 704})
    check_run<Promoted<128, 256, 128, 256, 4>, 4, bf16, true, Twice>(300, 520, k, 1, 1);
  check_run<Promoted<256, 128, 128, 256, 4>, 2, f16, true, Twice>(520, 264, 640, 1, 1);
}
TEST_F(PipelineRun, promoted_tiles_in_a_ring_of_one_stage) {
  for (const int64_t k : {16, 256, 704})
    check_run<Promoted<64, 256, 128, 128, 4>, 1, f16, true>(130, 264, k, 1, 1);
}
TEST_F(PipelineRun, promoted_tiles_of_two_warpgroups) {
  check_run<Promoted<128, 256, 128, 256, 4>, 3, bf16, true>(256, 264, 512, 2, 1);
}
TEST_F(PipelineRun, promoted_tiles_in_clusters) {
  check_run<Tile<e4m3, e4m3, float, 128, 128, 128, 256, BlocksPerCluster<2, 1>>, 2, f16, true>(500, 136, 656,
                                                                                               1, 1);
}
TEST_F(PipelineRun, promoted_tiles_of_groups_in_a_k_tile) {
  for (const int64_t k : {16, 144, 704})
    check_run<Promoted<64, 64, 128, 128, 1>, 3, bf16, true>(130, 72, k, 1, 1);
}
TEST_F(PipelineRun, promoted_tiles_of_groups_of_k_tiles) {
  for (const int64_t k : {16, 64, 80, 640})
    check_run<Promoted<64, 64, 64, 128, 4>, 3, float, true>(130, 72, k, 1, 1);
}
TEST_F(PipelineRun, promoted_tiles_whose_results_do_not_fit_beside_them) {
  check_run<Promoted<64, 256, 128, 128, 4>, 3, float, true>(130, 264, 528, 1, 1);
}
TEST_F(PipelineRun, promoted_bf16) {
  check_run<Tile<bf16, bf16, float, 64, 256, 64, 128, Accumulation<promoted<4>>>, 3, bf16, true>(130, 264,
                                                                                                 352, 1, 1);
}
TEST_F(PipelineRun, integers_keep_a_part_of_their_results_for_the_next_tile) {
  check_run<Tile<int8_t, int8_t, int32_t, 128, 256, 128, 256>, 3, int32_t, true>(260, 264, 1300, 1, 1);
}
TEST_F(PipelineRun, narrow_parts) {
  check_run<Tile<f16, f16, float, 64, 48, 32, 128>, 3, bf16, true>(130, 96, 96);
}
TEST_F(PipelineRun, a_zero_factor_is_one_whatever_lies_in_device_memory) {
  // Buffers hold NaN where nothing was written.
  Matrix<bf16, row_major> a(70, 64, 1, 0, false, "A");
  Matrix<bf16, col_major> b(64, 72, 1, 0, false, "B");
  Matrix<float, row_major> c(70, 72, 1, 0, true, "C");
  Buffer<float> factors(2, false, "factors");
  const auto null = make_gmem_tensor_batched<row_major>(static_cast<float*>(nullptr), 70, 72, 1);
  const auto epilogue =
      make_linear_store<Small>(c.tensor(), null, LinearFactors{0, 0, factors.data(), factors.data() + 1});
  ASSERT_TRUE(epilogue) << epilogue.error().message;
  using Epilogue = std::decay_t<decltype(*epilogue)>;
  const auto p = suggest_pipeline<3, Small>(a.const_tensor(), b.const_tensor());
  ASSERT_TRUE(p) << p.error().message;
  using Handle = std::decay_t<decltype(p->get_device_handle())>;
  const schedule::TileSchedule tiles = p->make_schedule();
  const auto config = p->persistent_config(run_kernel<Handle, Epilogue>, tiles, Epilogue::scratch_bytes());
  ASSERT_TRUE(config) << config.error().message;
  run(run_kernel<Handle, Epilogue>, *config, tiles, p->get_device_handle(), *epilogue);
  if (::testing::Test::HasFatalFailure()) return;
  for (int64_t m = 0; m < 70; ++m) {
    for (int64_t n = 0; n < 72; ++n) ASSERT_EQ(value_of(c.at(m, n, 0)), 0);
  }
}
TEST_F(PipelineRun, nothing_to_do) { check_run<Small, 3, bf16, true>(64, 64, 0); }

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
