// The sum of operators, its traits, and the path it resolves to.
#include <gtest/gtest.h>

#include <type_traits>

#include "tests/pipeline/descriptors.h"

namespace tilewright::blas::testing {
namespace {

// The descriptor of the documentation, in two orders.
using Written = decltype(Size<128, 256, 64>() + Precision<bf16, bf16, float>() + Type<type::real>() +
                         Function<function::MM>() + Arrangement<row_major, col_major, col_major>() + Block() +
                         BlockDim<32, 4, 2>() + StaticBlockDim() + Alignment<16, 16, 8>() + WithPipeline() +
                         EnableInputStreaming() + SM<900, arch_specific>() + BlocksPerCluster<2, 4>());
using Reversed =
    decltype(BlocksPerCluster<2, 4>() + (SM<900, arch_specific>() + EnableInputStreaming()) +
             (WithPipeline() + Alignment<16, 16, 8>() + StaticBlockDim() + BlockDim<32, 4, 2>()) + Block() +
             Arrangement<row_major, col_major, col_major>() + Function<function::MM>() + Type<type::real>() +
             Precision<bf16, bf16, float>() + Size<128, 256, 64>());

TEST(Descriptor, does_not_depend_on_the_order_of_its_operators) {
  static_assert(std::is_same_v<Written, Reversed>);
  static_assert(std::is_empty_v<Written>);
}

TEST(Descriptor, answers_for_every_operator) {
  static_assert(is_blas_v<Written> && is_complete_blas_v<Written> && !is_blas_v<int>);
  static_assert(size_of_v_m<Written> == 128 && size_of_v_n<Written> == 256 && size_of_v_k<Written> == 64);
  static_assert(size_of<Written>::m == 128 && size_of<Written>::n == 256 && size_of<Written>::k == 64);
  static_assert(std::is_same_v<precision_of<Written>::a_type, bf16>);
  static_assert(std::is_same_v<Written::a_value_type, bf16> && std::is_same_v<Written::b_value_type, bf16> &&
                std::is_same_v<Written::c_value_type, float>);
  static_assert(type_of_v<Written> == type::real && function_of_v<Written> == function::MM);
  static_assert(arrangement_of_v_a<Written> == row_major && arrangement_of_v_b<Written> == col_major &&
                arrangement_of_v_c<Written> == col_major && arrangement_of<Written>::c == col_major);
  static_assert(alignment_of_v_a<Written> == 16 && alignment_of_v_b<Written> == 16 &&
                alignment_of_v_c<Written> == 8);
  static_assert(Written::block_dim == Extent3{32, 4, 2} && block_dim_of_v<Written>.count() == 256);
  static_assert(Written::max_threads_per_block == 256 && has_static_block_dim_v<Written>);
  static_assert(is_with_pipeline_v<Written> && is_input_streaming_enabled_v<Written>);
  static_assert(sm_of_v<Written> == 900 && sm_modifier_of_v<Written> == arch_specific);
  static_assert(required_mantissa_bits_of_v<decltype(Written() + RequiredMantissaBits<21>())> == 21);
  static_assert(Written::a_shape.rows == 128 && Written::a_shape.columns == 64);
  static_assert(Written::b_shape.rows == 64 && Written::b_shape.columns == 256);
  static_assert(Written::c_shape.rows == 128 && Written::c_shape.columns == 256);
  static_assert(Written::a_size == 128 * 64 && Written::b_size == 64 * 256 && Written::c_size == 128 * 256);
  static_assert(blocks_per_cluster_of_v_m<Written> == 2 && blocks_per_cluster_of_v_n<Written> == 4 &&
                blocks_per_cluster_of_v_k<Written> == 1);
}

TEST(Descriptor, has_defaults) {
  using Short = decltype(Size<64, 64, 64>() + Precision<f16>() + SM<900>());
  static_assert(std::is_same_v<Short::b_value_type, f16> && std::is_same_v<Short::c_value_type, f16>);
  static_assert(arrangement_of_v_a<Short> == row_major && arrangement_of_v_b<Short> == col_major &&
                arrangement_of_v_c<Short> == row_major);
  static_assert(alignment_of_v_a<Short> == 2 && alignment_of_v_c<Short> == 2);
  static_assert(Short::max_threads_per_block == 128 && sm_modifier_of_v<Short> == generic);
  static_assert(!is_with_pipeline_v<Short> && !is_input_streaming_enabled_v<Short>);
  static_assert(!has_blocks_per_cluster_v<Short>);
  static_assert(required_mantissa_bits_of_v<Short> == 0);
}

TEST(Descriptor, uses_a_cluster_only_with_a_pipeline_and_more_than_one_block) {
  using One = decltype(Bf16Tile() + BlocksPerCluster<1>());
  using NoPipeline = decltype(Size<64, 64, 64>() + BlocksPerCluster<2, 1>());
  static_assert(has_blocks_per_cluster_v<Written> && uses_blocks_per_cluster_v<Written>);
  static_assert(has_blocks_per_cluster_v<One> && !uses_blocks_per_cluster_v<One>);
  static_assert(has_blocks_per_cluster_v<NoPipeline> && !uses_blocks_per_cluster_v<NoPipeline>);
  static_assert(!has_blocks_per_cluster_v<Bf16Tile> && !uses_blocks_per_cluster_v<Bf16Tile>);
}

TEST(Descriptor, has_complex_values_for_a_complex_type) {
  using Complex = decltype(Precision<float>() + Type<type::complex>() + Size<64, 64, 16>() + SM<900>());
  static_assert(std::is_same_v<Complex::a_value_type, complex<float>>);
  static_assert(alignment_of_v_a<Complex> == 8);
  static_assert(sizeof(complex<f16>) == 4 && alignof(complex<f16>) == 4);
}

TEST(Descriptor, counts_the_toolkit_s_types_as_ours) {
  using Theirs = decltype(Precision<__half, __half, float>() + Size<64, 64, 64>() + Hopper());
  static_assert(std::is_same_v<Theirs::a_value_type, __half>);
  static_assert(path_of_v<Theirs> == path::wgmma);
  static_assert(element_of_v<__nv_bfloat16> == Element::bf16 && element_of_v<__nv_fp8_e4m3> == Element::e4m3);
  static_assert(element_of_v<__nv_fp8_e5m2> == Element::e5m2);
  static_assert(is_same_element_v<__half, f16> && is_same_element_v<__nv_bfloat16, bf16>);
  // The same size is not the same element.
  struct Imitation {
    uint16_t bits;
  };
  static_assert(element_of_v<Imitation> == Element::other && !is_same_element_v<Imitation, bf16>);
  static_assert(!is_same_element_v<f16, bf16> && !is_same_element_v<float, tf32>);
}

TEST(Path, fp32_is_fp32) {
  using Fp32 = decltype(Precision<float>() + Size<128, 128, 8>() + BlockDim<128>() + Hopper());
  static_assert(path_of_v<Fp32> == path::simt && is_path_built(path::simt));
  EXPECT_NE(explain<Fp32>().find("simt     taken\n"), std::string::npos) << explain<Fp32>();
  // A tile that the ordinary cores are not cut for has no path: never TF32 in its place.
  static_assert(path_of_v<decltype(Precision<float>() + Size<128, 256, 8>() + Hopper())> == path::none);
  using Tf32 = decltype(Precision<tf32, tf32, float>() + Size<128, 128, 32>() + BlockDim<256>() + Hopper());
  static_assert(path_of_v<Tf32> == path::wgmma);
  static_assert(choose_path([] {
                  Facts f = facts_of_v<Fp32>;
                  f.allowed &= ~(1u << static_cast<int>(path::simt));
                  return f;
                }()) == path::none);
}

template <class A, class B, class C>
using Tile = decltype(Precision<A, B, C>() + Size<64, 64, 64>() + Hopper());

template <class A, class B, int Vector, class Scale, int K>
using Scaled =
    decltype(Size<256, 256, K>() + Precision<A, B, float>() + BlockScale<Vector, Scale>() + MaxAlignment() +
             WithPipeline() + EnableInputStreaming() + SM<1000, arch_specific>() + BlocksPerCluster<2, 1>());

TEST(Path, tcgen05_takes_elements_with_scales) {
  using Nvfp4 = Scaled<e2m1, e2m1, 16, e4m3, 256>;
  static_assert(path_of_v<Nvfp4> == path::tcgen05 && is_path_built(path::tcgen05, true));
  static_assert(path_of_v<decltype(Nvfp4() + RequirePath<path::tcgen05>())> == path::tcgen05);
  static_assert(path_of_v<Scaled<e4m3, e4m3, 32, e8m0, 128>> == path::tcgen05);
  static_assert(path_of_v<Scaled<e4m3, e2m1, 32, e8m0, 128>> == path::tcgen05);
  static_assert(path_of_v<Scaled<e2m1, e2m1, 32, e8m0, 256>> == path::tcgen05);
  static_assert(path_of_v<Scaled<e5m2, e4m3, 32, e8m0, 128>> == path::tcgen05);
  // Scales that tensor cores do not have, and a tile of another depth: no path, and nothing runs in its
  // place.
  static_assert(path_of_v<Scaled<e4m3, e4m3, 16, e4m3, 128>> == path::none);
  static_assert(path_of_v<Scaled<e2m1, e2m1, 16, e8m0, 256>> == path::none);
  static_assert(path_of_v<Scaled<e2m1, e2m1, 16, e4m3, 128>> == path::none);
  const std::string text = explain<Nvfp4>();
  EXPECT_NE(text.find("e2m1 x e2m1 in f32 with a scale for 16"), std::string::npos) << text;
  EXPECT_NE(text.find("tcgen05  taken\n"), std::string::npos) << text;
  EXPECT_NE(text.find("wgmma.block_scale: found BlockScale<16, e4m3>()"), std::string::npos) << text;
}

TEST(Descriptor, knows_its_scales) {
  using Nvfp4 = Scaled<e2m1, e2m1, 16, e4m3, 256>;
  static_assert(has_block_scale_v<Nvfp4> && scale_vector_of_v<Nvfp4> == 16);
  static_assert(std::is_same_v<scale_type_of<Nvfp4>, e4m3>);
  static_assert(!has_block_scale_v<Bf16Tile> && scale_vector_of_v<Bf16Tile> == 0);
  static_assert(std::is_void_v<scale_type_of<Bf16Tile>>);
  static_assert(promotion_interval_of_v<Scaled<e4m3, e4m3, 32, e8m0, 128>> == 0);
  static_assert(element_of_v<__nv_fp4_e2m1> == Element::e2m1 && element_of_v<__nv_fp8_e8m0> == Element::e8m0);
  EXPECT_STREQ(name_of(Element::e2m1), "e2m1");
  EXPECT_STREQ(name_of(Element::other), "another type");
}

TEST(Path, wgmma_takes_every_pairing_that_it_multiplies) {
  static_assert(path_of_v<Tile<f16, f16, f16>> == path::wgmma &&
                path_of_v<Tile<f16, f16, float>> == path::wgmma);
  static_assert(path_of_v<Tile<bf16, bf16, float>> == path::wgmma);
  static_assert(path_of_v<Tile<tf32, tf32, float>> == path::wgmma);
  static_assert(path_of_v<Tile<int8_t, int8_t, int32_t>> == path::wgmma &&
                path_of_v<Tile<uint8_t, int8_t, int32_t>> == path::wgmma);
  static_assert(path_of_v<Tile<e4m3, e5m2, float>> == path::wgmma &&
                path_of_v<Tile<e5m2, e5m2, f16>> == path::wgmma);
  static_assert(path_of_v<Tile<double, double, double>> == path::mma_sync);
  static_assert(path_of_v<Tile<f16, bf16, float>> == path::none);
  static_assert(path_of_v<Tile<e4m3, int8_t, float>> == path::none);
}

TEST(Path, half_types_reach_wgmma_in_either_majorness) {
  using MnMajor = decltype(Tile<f16, f16, float>() + Arrangement<col_major, row_major>());
  static_assert(path_of_v<MnMajor> == path::wgmma);
  using Fp8 = decltype(Tile<e4m3, e4m3, float>() + Arrangement<row_major, row_major>());
  static_assert(path_of_v<Fp8> == path::mma_sync);
}

TEST(Path, the_alignment_of_c_never_changes_the_path) {
  using Base = decltype(Precision<bf16, bf16, float>() + Size<64, 64, 64>() + WithPipeline() +
                        EnableInputStreaming() + SM<900, arch_specific>());
  static_assert(path_of_v<decltype(Base() + Alignment<16, 16, 4>())> == path::wgmma);
  static_assert(path_of_v<decltype(Base() + Alignment<8, 16, 16>())> == path::mma_sync);
  static_assert(path_of_v<decltype(Base() + Alignment<16, 8, 16>())> == path::mma_sync);
}

TEST(Path, fp8_is_promoted_by_default) {
  static_assert(promotion_interval_of_v<Tile<e4m3, e4m3, float>> == 4);
  static_assert(promotion_interval_of_v<Tile<e4m3, e4m3, f16>> == 0);
  static_assert(promotion_interval_of_v<Tile<bf16, bf16, float>> == 0);
  static_assert(promotion_interval_of_v<decltype(Tile<e4m3, e4m3, float>() + Accumulation<fast>())> == 0);
  static_assert(promotion_interval_of_v<decltype(Tile<bf16, bf16, float>() + Accumulation<promoted<2>>())> ==
                2);
}

TEST(Path, can_be_required_and_restricted) {
  static_assert(path_of_v<decltype(Bf16Tile() + RequirePath<path::wgmma>())> == path::wgmma);
  using Square = decltype(Size<128, 128, 64>() + Precision<bf16, bf16, float>() + BlockDim<256>() + Hopper());
  static_assert(path_of_v<Square> == path::wgmma);
  static_assert(path_of_v<decltype(Square() + RequirePath<path::mma_sync>())> == path::mma_sync);
  static_assert(path_of_v<decltype(Square() + AllowPaths<path::mma_sync, path::simt>())> == path::mma_sync);
  static_assert(path_of_v<decltype(Bf16Tile() + AllowPaths<path::simt>())> == path::none);
}

TEST(Explain, names_what_is_taken_and_what_else_would_be_possible) {
  const std::string text = explain<Bf16Tile>();
  EXPECT_NE(text.find("128 x 256 x 64, bf16 x bf16 in f32, 256 threads, SM<900, arch_specific>(): wgmma\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("wgmma    taken\n"), std::string::npos) << text;
  EXPECT_NE(
      text.find("mma_sync.registers: found 160 registers: 128 accumulators and 32 of operands; 128 may"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("tcgen05.arch: found SM<900, arch_specific>(); needed SM<1000, arch_specific>()"),
            std::string::npos)
      << text;
}

TEST(Explain, names_what_would_be_possible_but_comes_later) {
  using D = decltype(Size<128, 128, 64>() + Precision<bf16, bf16, float>() + BlockDim<256>() + Hopper());
  EXPECT_NE(explain<D>().find("mma_sync possible, but wgmma comes first\n"), std::string::npos)
      << explain<D>();
}

TEST(Explain, gives_found_and_needed_for_every_broken_rule) {
  using D = decltype(Size<96, 100, 64>() + Precision<bf16, bf16, float>() + BlockDim<128>() +
                     Alignment<8, 16, 16>() + WithPipeline() + SM<900>());
  const std::string text = explain<D>();
  for (const char* line :
       {"wgmma.streaming: found no EnableInputStreaming()", "wgmma.arch: found SM<900, generic>()",
        "wgmma.alignment: found A 8, B 16 bytes; needed A and B aligned to 16 bytes",
        "wgmma.tile_m: found M = 96 (nearest: 128)", "wgmma.tile_n: found N = 100 (nearest: 104)",
        "mma_sync.tile_n: found N = 100 (nearest: 104)"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

TEST(Explain, gives_the_nearest_legal_value_on_either_side) {
  const auto expect = [](const std::string& text, std::initializer_list<const char*> pieces) {
    for (const char* piece : pieces) EXPECT_NE(text.find(piece), std::string::npos) << piece << "\n" << text;
  };
  using Odd = decltype(Size<65, 97, 65>() + Precision<bf16, bf16, float>() + BlockDim<128>() + Hopper());
  expect(explain<Odd>(),
         {"wgmma.tile_m: found M = 65 (nearest: 64)", "wgmma.tile_n: found N = 97 (nearest: 96)",
          "wgmma.tile_k: found K = 65 (nearest: 64)"});
  using Fp32 = decltype(Size<40, 300, 13>() + Precision<float>() + Hopper());
  expect(explain<Fp32>(),
         {"simt.tile_m: found M = 40 (nearest: 32)", "simt.tile_n: found N = 300 (nearest: 128)",
          "simt.tile_k: found K = 13 (nearest: 16)"});
  expect(explain<decltype(Fp32() + Type<type::complex>())>(), {"simt.tile_k: found K = 13 (nearest: 12)"});
  using Copied = decltype(Size<128, 128, 32>() + Precision<bf16, bf16, float>() + WithPipeline() +
                          CopiedInput() + SM<900, arch_specific>());
  expect(explain<Copied>(), {"wgmma.copied_input: found 128 x 128 x 32 (nearest K of 128 bytes: 64), "});
  using Tuned = decltype(Size<256, 256, 128>() + Precision<e4m3, e4m3, float>() + BlockDim<256>() +
                         Tunable<2, 1>() + Products<2>() + Hopper());
  expect(explain<Tuned>(), {"wgmma.tunable: found 256 x 256 x 128, BlocksPerCluster<2, 1>()"});
}

TEST(Explain, leaves_out_what_follows_from_another_rule) {
  using Threads = decltype(Size<64, 64, 64>() + Precision<bf16, bf16, float>() + BlockDim<33>() + Hopper());
  const std::string text = explain<Threads>();
  EXPECT_NE(text.find("wgmma.block_dim: found 33 threads"), std::string::npos) << text;
  EXPECT_EQ(text.find("wgmma.tile_m"), std::string::npos) << text;
  EXPECT_EQ(text.find("wgmma.tile_n"), std::string::npos) << text;
  EXPECT_EQ(explain<Hopper>().find("no Size, "), 0u) << explain<Hopper>();
}

TEST(Explain, says_when_a_path_is_not_built_yet) {
  using D = decltype(Size<128, 256, 64>() + Precision<bf16, bf16, float>() + MaxAlignment() + WithPipeline() +
                     EnableInputStreaming() + SM<1000, arch_specific>() + RequirePath<path::tcgen05>());
  EXPECT_NE(explain<D>().find("tcgen05  taken by the rules, but not built yet"), std::string::npos)
      << explain<D>();
}

TEST(Explain, speaks_of_descriptors_that_do_not_compile) {
  using D =
      decltype(Tile<e4m3, e4m3, float>() + Arrangement<col_major, row_major>() + RequirePath<path::wgmma>());
  const std::string text = explain<D>();
  EXPECT_NE(text.find("RequirePath<path::wgmma> cannot be had"), std::string::npos) << text;
  EXPECT_NE(text.find("wgmma.arrangement: found col_major A and row_major B of e4m3"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace tilewright::blas::testing
