// Products of one block, of every type and in every arrangement.
#include "tests/pipeline/block_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

class BlockValues : public OnMachine {};

TEST_F(BlockValues, bf16) {
  using D = InBlock<bf16, bf16, float, 64, 48, 32, 64>;
  static_assert(path_of_v<D> == path::mma_sync);
  static_assert(
      AnyPermutedView<decltype(make_tensor(static_cast<bf16*>(nullptr), D::suggest_layout_smem_a()))>);
  check_block_arrangements<bf16, bf16, float, 64, 48, 32, 64>({100, 70, 104});
}
TEST_F(BlockValues, f16_in_f16) {
  check_block_arrangements<f16, f16, f16, 32, 32, 16, 64, 8>({.m = 41, .n = 70, .k = 37, .batches = 2});
}
TEST_F(BlockValues, tf32) {
  check_block_arrangements<tf32, tf32, float, 32, 24, 16, 96, 4>({.m = 50, .n = 30, .k = 21, .pad = 1});
}
TEST_F(BlockValues, s8) {
  check_block_arrangements<int8_t, int8_t, int32_t, 32, 32, 64, 64, 1>({35, 50, 70}, 100);
}
TEST_F(BlockValues, u8_with_s8) {
  check_block<InBlock<uint8_t, int8_t, int32_t, 32, 16, 32, 32>, Lie::suggested>({35, 50, 70}, {0, 1, 1},
                                                                                 100);
}
TEST_F(BlockValues, e4m3_with_e5m2) {
  check_block_arrangements<e4m3, e5m2, float, 32, 32, 32, 64>({35, 50, 96});
}
TEST_F(BlockValues, f64) {
  check_block_arrangements<double, double, double, 32, 32, 8, 64, 8>(
      {.m = 43, .n = 51, .k = 21, .batches = 2});
}
TEST_F(BlockValues, f32_is_fp32) {
  using D = InBlock<float, float, float, 32, 64, 16, 64>;
  static_assert(path_of_v<D> == path::simt);
  check_block_arrangements<float, float, float, 32, 64, 16, 64>({.m = 50, .n = 100, .k = 37, .pad = 1});
  check_block_arrangements<float, float, float, 20, 36, 7, 96, 4>({50, 100, 37});
}
TEST_F(BlockValues, of_sm_80_and_sm_89) {
  check_block<InBlock<double, double, double, 32, 16, 8, 32, row_major, col_major, 8, 800>, Lie::suggested>(
      {33, 20, 9});
  check_block<InBlock<e4m3, e4m3, float, 32, 16, 32, 32, row_major, col_major, 16, 890>, Lie::suggested>(
      {33, 20, 33});
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
