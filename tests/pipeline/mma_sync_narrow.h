// Every type of 8 bits that the mma_sync path multiplies, in every arrangement.
#include "tests/pipeline/mma_sync_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

class PipelineMmaSyncNarrow : public OnMachine {};

TEST_F(PipelineMmaSyncNarrow, s8) {
  check_arrangements<int8_t, int8_t, int32_t, 64, 48, 64, 96, 2>({70, 100, 130}, 127);
}
TEST_F(PipelineMmaSyncNarrow, u8_s8) {
  check_arrangements<uint8_t, int8_t, int32_t, 16, 32, 32, 32, 3>({50, 40, 100}, 100);
}
TEST_F(PipelineMmaSyncNarrow, e4m3) {
  check_arrangements<e4m3, e4m3, float, 128, 64, 96, 128, 2>({130, 70, 200}, 2);
}
TEST_F(PipelineMmaSyncNarrow, e5m2_e4m3_in_f16) {
  check_arrangements<e5m2, e4m3, f16, 32, 64, 32, 64, 3>({40, 100, 100}, 2);
}

/// Where FP8 may have tensor cores of its own, which keep less of a sum than FP32.
template <arrangement OrderA, arrangement OrderB, class... More>
using Ada = decltype(((Size<32, 32, 64>() + Precision<e4m3, e5m2, float>() + BlockDim<64>() +
                       Arrangement<OrderA, OrderB>() + WithPipeline() + SM<890>()) +
                      ... + More()));
TEST_F(PipelineMmaSyncNarrow, fp8_on_other_architectures_is_promoted_by_the_loop) {
  static_assert(facts_of_v<Ada<row_major, col_major>>.mma_sync_shape().promote);
  static_assert(!facts_of_v<Ada<row_major, col_major, Accumulation<fast>>>.mma_sync_shape().promote);
  static_assert(
      !facts_of_v<Sync<e4m3, e4m3, float, 32, 32, 32, 64, row_major, col_major>>.mma_sync_shape().promote);
  check_gemm<Ada<row_major, col_major>, 2, float>({.m = 43, .n = 51, .k = 100, .alignment = 1});
  check_gemm<Ada<col_major, row_major, Accumulation<fast>>, 2, float>(
      {.m = 43, .n = 51, .k = 100, .alignment = 1});
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
