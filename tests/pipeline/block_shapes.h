// Products of one block, of any extents, into registers and into shared memory.
#include "tests/pipeline/block_case.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tests/pipeline/under_schedules.h"
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

class BlockShapes : public OnMachine {};

TEST_F(BlockShapes, of_any_extents) {
  check_block<InBlock<f16, f16, float, 1, 1, 1, 32, row_major, col_major, 2>, Lie::suggested>({5, 3, 4});
  check_block<InBlock<f16, f16, float, 17, 9, 5, 128, col_major, row_major, 2>, Lie::plain>({40, 20, 12});
  check_block<InBlock<int8_t, int8_t, int32_t, 48, 40, 33, 64, col_major, row_major, 1>, Lie::suggested>(
      {50, 50, 70});
  check_block<InBlock<float, float, float, 3, 5, 2, 32, row_major, row_major, 4>, Lie::suggested>({8, 8, 5});
}

TEST_F(BlockShapes, in_shared_memory) {
  using D = InBlock<f16, f16, float, 32, 48, 40, 64>;
  const GemmShape s{.m = 50, .n = 100, .k = 37, .batches = 2, .pad = 1, .alpha = 2, .beta = -3};
  check_block<D, Lie::suggested, Into::memory>(s);
  check_block<D, Lie::plain, Into::memory>(s);
  check_block<InBlock<float, float, float, 16, 32, 8, 32>, Lie::suggested, Into::memory>(
      {.m = 20, .n = 50, .k = 7, .alpha = 3, .beta = 2});
  check_block<InBlock<int8_t, int8_t, int32_t, 16, 32, 64, 32>, Lie::suggested, Into::memory>(
      {.m = 20, .n = 50, .k = 50, .alpha = 3, .beta = -2}, {0, 1, 1}, 100);
}
// C is not there when beta is zero: the machine would report a read of what nobody has written.
TEST_F(BlockShapes, with_beta_of_zero_do_not_read_c) {
  check_block<InBlock<f16, f16, float, 32, 16, 16, 32>, Lie::suggested, Into::memory>({32, 16, 16});
}
TEST_F(BlockShapes, with_column_major_c) {
  using D = decltype(Size<32, 16, 16>() + Precision<f16, f16, float>() + BlockDim<32>() + SM<900>() +
                     Arrangement<col_major, row_major, col_major>() + Alignment<16, 16, 16>());
  check_block<D, Lie::suggested, Into::memory>({.m = 40, .n = 20, .k = 9, .alpha = 2, .beta = 3});
}
TEST_F(BlockShapes, with_leading_dimensions) {
  using D = decltype(Size<24, 16, 20>() + Precision<f16, f16, float>() + BlockDim<64>() + SM<900>() +
                     LeadingDimension<28, 33, 19>());
  static_assert(cosize(D::get_layout_smem_a()) == 23 * 28 + 20 &&
                cosize(D::get_layout_smem_b()) == 15 * 33 + 20 &&
                cosize(D::get_layout_smem_c()) == 23 * 19 + 16);
  check_block<D, Lie::plain, Into::memory>(
      {.m = 40, .n = 20, .k = 19, .alpha = 2, .beta = 3, .alignment = 2});
}
TEST_F(BlockShapes, in_blocks_of_other_shapes) {
  using D = decltype(Size<32, 32, 16>() + Precision<f16, f16, float>() + BlockDim<16, 4>() + MaxAlignment() +
                     SM<900>());
  static_assert(D::max_threads_per_block == 64);
  const GemmShape s{.m = 40, .n = 50, .k = 16, .alpha = 2, .beta = 3};
  check_block<D, Lie::suggested, Into::memory>(s, {16, 4, 1});
  check_block<D, Lie::suggested, Into::memory>(s, {4, 8, 2});
#if defined(TILEWRIGHT_EMULATE)  // launch bounds of a GPU are those of the descriptor
  check_block<D, Lie::suggested, Into::memory>(s, {32, 2, 2});
  check_block<D, Lie::plain>({40, 50, 40}, {96, 1, 1});
#endif
}

#if defined(TILEWRIGHT_EMULATE)
TEST_F(BlockShapes, under_every_schedule) {
  under_schedules([] {
    check_block<InBlock<f16, f16, float, 32, 16, 16, 64>, Lie::suggested>({.m = 40, .n = 20, .k = 40});
    check_block<InBlock<float, float, float, 32, 32, 8, 64>, Lie::suggested, Into::memory>(
        {.m = 40, .n = 20, .k = 7, .alpha = 2, .beta = 3});
  });
}
#endif

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
