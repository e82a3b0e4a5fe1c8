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

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
