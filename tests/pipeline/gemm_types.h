// Every type that the wgmma path multiplies, in every arrangement it may have.
#include "tests/pipeline/gemm_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

class PipelineTypes : public OnMachine {};

TEST_F(PipelineTypes, bf16) { check_gemm<Tile<bf16, bf16, float, 64, 64, 64>, 3, float>({130, 96, 200}); }
TEST_F(PipelineTypes, f16_in_f32) { check_gemm<Tile<f16, f16, float, 128, 64, 32>, 2, f16>({200, 70, 96}); }
TEST_F(PipelineTypes, f16_in_f16) { check_gemm<Tile<f16, f16, f16, 64, 32, 64>, 2, f16>({100, 64, 128}); }
TEST_F(PipelineTypes, tf32) { check_gemm<Tile<tf32, tf32, float, 64, 48, 32>, 2, float>({70, 90, 100}); }
TEST_F(PipelineTypes, s8) {
  check_gemm<Tile<int8_t, int8_t, int32_t, 64, 64, 128>, 2, int32_t>({65, 64, 256}, 127);
}
TEST_F(PipelineTypes, u8_s8) {
  check_gemm<Tile<uint8_t, int8_t, int32_t, 64, 24, 32>, 3, int32_t>({64, 30, 70}, 100);
}
TEST_F(PipelineTypes, e4m3) { check_gemm<Tile<e4m3, e4m3, float, 64, 64, 128>, 2, float>({100, 64, 300}); }
TEST_F(PipelineTypes, e5m2_e4m3) { check_gemm<Tile<e5m2, e4m3, float, 64, 64, 64>, 2, bf16>({64, 80, 200}); }
TEST_F(PipelineTypes, e4m3_in_f16) { check_gemm<Tile<e4m3, e5m2, f16, 64, 64, 128>, 2, f16>({64, 64, 130}); }
TEST_F(PipelineTypes, e4m3_fast) {
  check_gemm<Tile<e4m3, e4m3, float, 64, 64, 128, 128, Accumulation<fast>>, 2, float>({64, 64, 256});
}

template <arrangement A, arrangement B>
using Bf16In = Tile<bf16, bf16, float, 128, 96, 64, 128, Arrangement<A, B>>;
TEST_F(PipelineTypes, mn_major_a) { check_gemm<Bf16In<col_major, col_major>, 2, float>({200, 100, 136}); }
TEST_F(PipelineTypes, mn_major_b) { check_gemm<Bf16In<row_major, row_major>, 2, float>({200, 100, 136}); }
TEST_F(PipelineTypes, mn_major_both) { check_gemm<Bf16In<col_major, row_major>, 2, float>({200, 100, 136}); }
TEST_F(PipelineTypes, mn_major_narrow) {
  using D = Tile<f16, f16, float, 64, 8, 16, 128, Arrangement<col_major, row_major>>;
  check_gemm<D, 4, float>({64, 24, 80});
}

TEST_F(PipelineTypes, col_major_c) {
  check_gemm<Tile<bf16, bf16, float, 64, 64, 64>, 2, bf16, Finish::store, col_major>({100, 72, 128});
}
TEST_F(PipelineTypes, fp8_c) {
  check_gemm<Tile<bf16, bf16, float, 64, 64, 64>, 2, e4m3, Finish::store>({70, 72, 8});
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
