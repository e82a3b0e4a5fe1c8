// Blocks of one, two and four computing warpgroups, promoted parts, partial tiles, batches, empty products.
#include "tests/pipeline/gemm_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

class PipelineShapes : public OnMachine {};

TEST_F(PipelineShapes, two_warpgroups) {
  check_gemm<Tile<bf16, bf16, float, 128, 256, 64, 256>, 4, float>({256, 512, 192});
}
TEST_F(PipelineShapes, two_warpgroups_of_two_parts) {
  check_gemm<Tile<f16, f16, float, 256, 64, 64, 256>, 3, f16>({300, 128, 192});
}
TEST_F(PipelineShapes, four_warpgroups) {
  check_gemm<Tile<bf16, bf16, float, 128, 128, 64, 512>, 3, float>({256, 160, 128});
}
TEST_F(PipelineShapes, promoted_halves_share_a_temporary) {
  check_gemm<Tile<e4m3, e4m3, float, 128, 256, 128, 256>, 3, bf16>({128, 300, 400});
}
TEST_F(PipelineShapes, promotion_within_a_k_tile) {
  check_gemm<Tile<e4m3, e4m3, float, 128, 64, 128, 128, Accumulation<promoted<2>>>, 2, float>({128, 64, 384});
}
TEST_F(PipelineShapes, promotion_over_several_k_tiles) {
  check_gemm<Tile<e4m3, e4m3, float, 64, 64, 64, 128, Accumulation<promoted<6>>>, 2, float>({64, 64, 1000});
}

using Small = Tile<bf16, bf16, float, 64, 64, 64, 128>;

TEST_F(PipelineShapes, partial_tiles_in_every_direction) {
  for (const int64_t m : {1, 63, 64, 65}) {
    for (const int64_t n : {1, 8, 63, 65}) {
      for (const int64_t k : {1, 63, 64, 65}) check_gemm<Small, 2, float>({m, n, k});
    }
  }
}

TEST_F(PipelineShapes, k_tiles_around_the_depth) {
  for (const int64_t k_tiles : {0, 1, 2, 3, 4, 5, 9}) check_gemm<Small, 3, float>({128, 128, 64 * k_tiles});
}

TEST_F(PipelineShapes, one_stage) { check_gemm<Small, 1, float>({128, 128, 256}); }

TEST_F(PipelineShapes, padded_leading_dimensions) {
  check_gemm<Small, 2, float>({.m = 100, .n = 90, .k = 130, .pad = 3});
}

TEST_F(PipelineShapes, batches) {
  check_gemm<Small, 2, float>({.m = 100, .n = 70, .k = 100, .batches = 3, .pad = 1, .blocks = 2});
}

TEST_F(PipelineShapes, alpha_and_beta) {
  check_gemm<Small, 2, float>({.m = 90, .n = 70, .k = 64, .alpha = 2, .beta = -3});
  check_gemm<Small, 2, float>({.m = 90, .n = 70, .k = 0, .alpha = 2, .beta = 3});
}

TEST_F(PipelineShapes, empty_products_do_nothing) {
  check_gemm<Small, 2, float>({0, 70, 64});
  check_gemm<Small, 2, float>({70, 0, 64});
}

template <class D, class Out, class Handle>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    one_tile_kernel(Out c, const TILEWRIGHT_GRID_CONSTANT Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, blockIdx.x, blockIdx.y);
  tile.execute([&](auto& accumulator) {
    accumulator.partition_and_store(get_tile(c, D::c_shape, blockIdx.x, blockIdx.y));
  });
}
template <class Out, class Handle>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    run_small_kernel(schedule::TileSchedule tiles, Out c, const TILEWRIGHT_GRID_CONSTANT Handle pipeline) {
  pipeline.run(tiles, [&](auto& accumulator, schedule::TileCoord tile) {
    accumulator.partition_and_store(get_tile(c, Small::c_shape, tile.m, tile.n));
  });
}

TEST_F(PipelineShapes, empty_products_are_launched_as_all_others_are) {
  for (const auto& [m, n] : {std::pair{0, 70}, {70, 0}, {0, 0}}) {
    SCOPED_TRACE(::testing::Message() << m << " x " << n);
    Matrix<bf16, row_major> a(m, 64, 1, 0, false, "A");
    Matrix<bf16, col_major> b(64, n, 1, 0, false, "B");
    Matrix<float, row_major> c(m, n, 1, 0, true, "C");
    const auto p = suggest_pipeline<2, Small>(a.const_tensor(), b.const_tensor());
    ASSERT_TRUE(p) << p.error().message;
    using Handle = std::decay_t<decltype(p->get_device_handle())>;
    const auto out = get_batch(c.tensor(), 0);
    using Out = std::decay_t<decltype(out)>;
    Status failed = launch(one_tile_kernel<Small, Out, Handle>, *p, p->launch_config(p->get_grid_dim()), out,
                           p->get_device_handle());
    EXPECT_FALSE(failed) << failed->message;
    const schedule::TileSchedule tiles = p->make_schedule();
    const auto config = p->persistent_config(run_small_kernel<Out, Handle>, tiles);
    ASSERT_TRUE(config) << config.error().message;
    failed = launch(run_small_kernel<Out, Handle>, *p, *config, tiles, out, p->get_device_handle());
    EXPECT_FALSE(failed) << failed->message;
    finish();
    expect_padding_untouched(c);
  }
}

TEST_F(PipelineShapes, launches_of_another_block_cluster_or_less_shared_memory_are_refused) {
  using Pair = Tile<bf16, bf16, float, 64, 64, 64, 128, BlocksPerCluster<2, 1>>;
  Matrix<bf16, row_major> a(128, 64, 1, 0, false, "A");
  Matrix<bf16, col_major> b(64, 64, 1, 0, false, "B");
  Matrix<float, row_major> c(128, 64, 1, 0, true, "C");
  const auto p = suggest_pipeline<2, Pair>(a.const_tensor(), b.const_tensor());
  ASSERT_TRUE(p) << p.error().message;
  using Handle = std::decay_t<decltype(p->get_device_handle())>;
  const auto out = get_batch(c.tensor(), 0);
  const auto launch_with = [&](auto&& change) {
    arch::LaunchConfig config = p->launch_config({2, 1, 1});
    change(config);
    const Status failed = launch(one_tile_kernel<Pair, std::decay_t<decltype(out)>, Handle>, *p, config, out,
                                 p->get_device_handle());
    finish();
    return failed;
  };
  const auto expect_refused = [&](const char* rule, const char* sentence, auto&& change) {
    const Status refused = launch_with(change);
    ASSERT_TRUE(refused) << rule;
    EXPECT_EQ(refused->rule, rule) << refused->message;
    EXPECT_NE(refused->message.find(sentence), std::string::npos) << refused->message;
  };
  EXPECT_FALSE(launch_with([](arch::LaunchConfig& config) { config.block = {256, 0, 0}; }));
  EXPECT_FALSE(launch_with([](arch::LaunchConfig& config) { config.shared_bytes += 16; }));
  expect_refused("pipeline.block", "128 x 1 x 1 threads; its pipeline needs get_block_dim(), 256 x 1 x 1",
                 [](arch::LaunchConfig& config) { config.block.x = 128; });
  expect_refused("pipeline.block", "64 x 4 x 1", [](arch::LaunchConfig& config) {
    config.block = {64, 4, 1};
  });
  expect_refused("pipeline.cluster", "1 x 1 x 1 blocks; its pipeline needs get_cluster_dim(), 2 x 1 x 1",
                 [](arch::LaunchConfig& config) {
                   config.cluster = {1, 1, 1};
                 });
  expect_refused("pipeline.shared", "needs buffer_size(), ",
                 [](arch::LaunchConfig& config) { config.shared_bytes -= 16; });
  // An empty grid does not hide a wrong launch.
  expect_refused("pipeline.block", "128", [](arch::LaunchConfig& config) {
    config.grid.x = 0;
    config.block.x = 128;
  });
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
