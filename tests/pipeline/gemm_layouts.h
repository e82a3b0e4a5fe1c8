// Tiles whose extents lead to every kind of shared layout: all swizzle widths, several slabs, boxes that are
// split, odd numbers of parts.
#include "tests/pipeline/gemm_case.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

class PipelineLayouts : public OnMachine {};

template <class D>
constexpr tiles::OperandLayout kA = tiles::wgmma_layout_a(facts_of_v<D>.wgmma_shape());
template <class D>
constexpr tiles::OperandLayout kB = tiles::wgmma_layout_b(facts_of_v<D>.wgmma_shape());
using Mn = Arrangement<col_major, row_major>;

TEST_F(PipelineLayouts, k_of_32_bytes) {
  using D = Tile<bf16, bf16, float, 64, 24, 16>;
  static_assert(kA<D>.swizzle == Swizzle::b32 && kB<D>.slabs == 1);
  check_gemm<D, 5, float>({70, 50, 100});
}
TEST_F(PipelineLayouts, k_of_96_bytes_in_three_slabs) {
  using D = Tile<f16, f16, float, 64, 40, 48>;
  static_assert(kA<D>.swizzle == Swizzle::b32 && kA<D>.slabs == 3);
  check_gemm<D, 2, float>({70, 50, 110});
}
TEST_F(PipelineLayouts, k_of_192_bytes_in_three_slabs) {
  using D = Tile<e4m3, e4m3, float, 64, 72, 192, 128, Accumulation<promoted<3>>>;
  static_assert(kA<D>.swizzle == Swizzle::b64 && kA<D>.slabs == 3);
  check_gemm<D, 2, float>({70, 80, 400}, 1);
}
TEST_F(PipelineLayouts, k_of_256_bytes_in_two_slabs) {
  using D = Tile<bf16, bf16, float, 64, 136, 128>;
  static_assert(kA<D>.swizzle == Swizzle::b128 && kA<D>.slabs == 2);
  check_gemm<D, 2, float>({70, 140, 260});
}
TEST_F(PipelineLayouts, rows_of_two_boxes) {
  using D = Tile<bf16, bf16, float, 384, 16, 64, 256>;
  static_assert(kA<D>.boxes_per_slab() == 2 && kA<D>.box_rows == 192);
  check_gemm<D, 2, float>({400, 20, 128});
}
TEST_F(PipelineLayouts, three_parts_of_m) {
  check_gemm<Tile<bf16, bf16, float, 192, 64, 64>, 2, bf16>({200, 70, 128});
}
TEST_F(PipelineLayouts, parts_of_both_m_and_n) {
  using D = Tile<e4m3, e4m3, float, 128, 192, 128, 128, Accumulation<fast>>;
  check_gemm<D, 2, float>({130, 200, 256}, 1);
}
TEST_F(PipelineLayouts, integer_parts_of_legal_width) {
  using D = Tile<int8_t, uint8_t, int32_t, 64, 40, 64>;
  check_gemm<D, 2, int32_t>({70, 50, 130}, 100);
}
TEST_F(PipelineLayouts, tf32_of_two_slabs) {
  check_gemm<Tile<tf32, tf32, float, 64, 64, 64>, 2, float>({70, 70, 140});
}

TEST_F(PipelineLayouts, mn_major_slabs_of_64_bytes) {
  using D = Tile<f16, f16, float, 64, 96, 32, 128, Mn>;
  static_assert(kA<D>.swizzle == Swizzle::b128 && kB<D>.swizzle == Swizzle::b64 && kB<D>.slabs == 3);
  check_gemm<D, 3, float>({128, 104, 80});
}
TEST_F(PipelineLayouts, mn_major_slabs_of_32_bytes) {
  using D = Tile<bf16, bf16, float, 128, 48, 64, 128, Mn>;
  static_assert(kA<D>.slabs == 2 && kB<D>.swizzle == Swizzle::b32);
  check_gemm<D, 2, float>({136, 56, 130});
}
TEST_F(PipelineLayouts, mn_major_without_swizzle) {
  using D = Tile<bf16, bf16, float, 64, 24, 48, 128, Mn>;
  static_assert(kB<D>.swizzle == Swizzle::none && kB<D>.slabs == 3);
  check_gemm<D, 2, float>({64, 32, 100});
}
TEST_F(PipelineLayouts, mn_major_over_four_warpgroups) {
  using D = Tile<bf16, bf16, float, 128, 128, 64, 512, Mn>;
  check_gemm<D, 3, bf16>({264, 136, 128});
}
TEST_F(PipelineLayouts, mn_major_a_alone_and_b_alone) {
  check_gemm<Tile<bf16, bf16, float, 128, 128, 64, 256, Arrangement<col_major, col_major>>, 2, float>(
      {136, 130, 128});
  check_gemm<Tile<bf16, bf16, float, 128, 128, 64, 256, Arrangement<row_major, row_major>>, 2, float>(
      {130, 136, 128});
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
