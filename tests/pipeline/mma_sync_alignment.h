// Operands of the mma_sync path at every alignment: TMA, cp.async of 16, 8 and 4 bytes, stores.
#include "tests/pipeline/mma_sync_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

class PipelineMmaSyncAlignment : public OnMachine {};

/// Bases and leading dimensions are odd multiples of Bytes.
template <class A, class C, int K, int Bytes>
void check_alignment(GemmShape s) {
  s.alignment = Bytes;
  check_arrangements<A, A, C, 32, 32, K, 64, 3, Bytes>(s);
}
TEST_F(PipelineMmaSyncAlignment, copies_of_16_bytes) {
  check_alignment<e4m3, float, 32, 16>({.m = 40, .n = 56, .k = 72, .batches = 2, .pad = 1});
}
TEST_F(PipelineMmaSyncAlignment, copies_of_8_bytes) {
  check_alignment<bf16, float, 32, 8>({.m = 44, .n = 52, .k = 68, .batches = 2});
  check_alignment<int8_t, int32_t, 64, 8>({.m = 40, .n = 56, .k = 72});
  check_alignment<double, double, 16, 8>({.m = 43, .n = 51, .k = 37});
}
TEST_F(PipelineMmaSyncAlignment, copies_of_4_bytes) {
  check_alignment<bf16, float, 32, 4>({.m = 42, .n = 50, .k = 70});
  check_alignment<tf32, float, 16, 4>({.m = 43, .n = 51, .k = 37});
}
TEST_F(PipelineMmaSyncAlignment, stores_of_16_and_8_bits) {
  check_alignment<bf16, float, 32, 2>({.m = 43, .n = 51, .k = 69, .batches = 2});
  check_alignment<int8_t, int32_t, 64, 1>({.m = 43, .n = 51, .k = 69});
  check_alignment<e4m3, float, 32, 2>({.m = 42, .n = 50, .k = 70});
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
