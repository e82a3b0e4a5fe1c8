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

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
