// Every type of 16 to 64 bits that the mma_sync path multiplies, in every arrangement.
#include "tests/pipeline/mma_sync_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

class PipelineMmaSync : public OnMachine {};

TEST_F(PipelineMmaSync, bf16) { check_arrangements<bf16, bf16, float, 64, 64, 32, 128, 3>({100, 90, 80}); }
TEST_F(PipelineMmaSync, f16_in_f32) {
  check_arrangements<f16, f16, float, 32, 48, 48, 96, 2>({70, 100, 130});
}
TEST_F(PipelineMmaSync, f16_in_f16) { check_arrangements<f16, f16, f16, 48, 24, 16, 32, 4>({100, 50, 70}); }
TEST_F(PipelineMmaSync, tf32) { check_arrangements<tf32, tf32, float, 64, 40, 24, 64, 2>({70, 90, 60}); }
TEST_F(PipelineMmaSync, f64) {
  check_arrangements<double, double, double, 32, 24, 8, 64, 3>({70, 50, 30});
  check_arrangements<double, double, double, 64, 64, 32, 128, 2>({70, 70, 70});
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
