// Making pipelines: sizes, every rule of the tensors, rebinding, mdspans. Emulated build; no kernel runs.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"
#include "tilewright/pipeline/fused_store.h"
#include "tilewright/pipeline/linear_epilogue.h"

namespace tilewright::blas::testing {
namespace {

using D = Bf16Tile;  // 128 x 256 x 64, row_major A, col_major B

/// Enough memory for the tensors below, aligned to 1024 bytes.
bf16* memory() {
  alignas(1024) static std::array<bf16, 1 << 16> data{};
  return data.data();
}

auto tensor_a(int64_t m, int64_t k, int64_t ld, int64_t shift = 0) {
  return make_gmem_tensor<row_major>(memory() + shift, m, k, ld);
}
auto tensor_b(int64_t k, int64_t n, int64_t ld, int64_t shift = 0) {
  return make_gmem_tensor<col_major>(memory() + shift, k, n, ld);
}

TEST(SuggestPipeline, gives_what_a_launch_needs) {
  const auto p = suggest_pipeline<4, D>(tensor_a(300, 100, 104), tensor_b(100, 600, 104));
  ASSERT_TRUE(p) << p.error().message;
  EXPECT_EQ(p->buffer_size(), 196672u);  // 4 stages of 48 KiB and 16 bytes of barriers
  EXPECT_EQ(p->buffer_alignment(), 1024u);
  EXPECT_EQ(p->get_block_dim(), (Extent3{384, 1, 1}));
  EXPECT_EQ(p->get_cluster_dim(), (Extent3{1, 1, 1}));
  EXPECT_EQ(p->get_grid_dim(), (Extent3{3, 3, 1}));
  EXPECT_EQ(p->max_threads_per_block, 384u);
  EXPECT_FALSE(p->uses_cluster);
  EXPECT_FALSE(p->uses_multicast);
  const auto shared =
      make_shared_storage_calculator().add(p->buffer_alignment(), p->buffer_size()).add(16, 100);
  EXPECT_EQ(shared.get(), 196772u);
  const arch::LaunchConfig config = p->launch_config({9, 1, 1}, 100);
  EXPECT_EQ(config.shared_bytes, 196772u);
  EXPECT_EQ(config.block.x, 384u);
}

TEST(SuggestPipeline, gives_an_empty_product_an_empty_grid) {
  using Pair = decltype(D() + BlocksPerCluster<1, 2>());
  for (const auto& [m, n] : {std::pair{0, 600}, std::pair{300, 0}}) {
    const auto p = suggest_pipeline<2, Pair>(tensor_a(m, 100, 104), tensor_b(100, n, 104));
    ASSERT_TRUE(p) << p.error().message;
    EXPECT_EQ(p->get_grid_dim(), (Extent3{0, 0, 1}));
    EXPECT_TRUE(p->require_whole_clusters());
  }
}

TEST(SuggestPipeline, takes_a_stage_and_its_barriers_for_each_of_its_depth) {
  const auto p = make_pipeline<3, D, internal_accumulator>(tensor_a(128, 64, 64), tensor_b(64, 256, 64));
  ASSERT_TRUE(p);
  EXPECT_EQ(p->buffer_size(), 3 * (2 * (D::a_size + D::b_size) + sizeof(pipeline_stage_scratch_t)));
  EXPECT_EQ(pipeline_error{}.code, pipeline_error_code::none);
}

TEST(SuggestPipeline, takes_the_largest_depth_that_fits_and_no_more_than_16) {
  const auto p = suggest_pipeline<D>(tensor_a(128, 64, 64), tensor_b(64, 256, 64));
  ASSERT_TRUE(p);
  EXPECT_EQ(p->depth, 4);
  using Small = decltype(Size<64, 8, 16>() + Precision<bf16, bf16, float>() + Hopper());
  const auto small = suggest_pipeline<Small>(tensor_a(64, 16, 16), tensor_b(16, 8, 16));
  ASSERT_TRUE(small);
  EXPECT_EQ(small->depth, 16);
}

TEST(SuggestPipeline, gives_what_a_launch_of_fp32_needs) {
  using Fp32 = decltype(Size<128, 128, 32>() + Precision<float>() + WithPipeline() + EnableInputStreaming() +
                        SM<900, arch_specific>());
  auto* const data = reinterpret_cast<float*>(memory());
  const auto a = make_gmem_tensor<row_major>(static_cast<const float*>(data) + 1, 130, 33, 35);
  const auto b = make_gmem_tensor<col_major>(static_cast<const float*>(data) + 3, 33, 257, 33);
  const auto p = suggest_pipeline<4, Fp32>(a, b);
  ASSERT_TRUE(p) << p.error().message;
  EXPECT_EQ(p->buffer_size(), 4u * (2 * 32 * 132 * 4 + 16));  // rows of 128 floats and 4 of padding
  EXPECT_EQ(p->get_block_dim(), (Extent3{256, 1, 1}));
  EXPECT_EQ(p->get_grid_dim(), (Extent3{2, 3, 1}));
  EXPECT_EQ((suggest_pipeline<Fp32>(a, b)->depth), 6);
  const auto wrong = suggest_pipeline<4, decltype(Fp32() + MaxAlignment())>(a, b);
  EXPECT_EQ(wrong.error().code, pipeline_error_code::alignment_unfulfilled);
}

TEST(SuggestPipeline, accepts_and_ignores_a_stream) {
  void* stream = nullptr;
  EXPECT_TRUE((suggest_pipeline<2, D>(tensor_a(128, 64, 64), tensor_b(64, 256, 64), stream)));
  EXPECT_TRUE(
      (suggest_pipeline<D, internal_accumulator>(tensor_a(128, 64, 64), tensor_b(64, 256, 64), stream)));
  using Narrow = decltype(Size<128, 128, 64>() + Precision<bf16, bf16, float>() + BlockDim<256>() + Hopper());
  EXPECT_TRUE(
      (make_pipeline<2, Narrow, reusable_accumulator>(tensor_a(128, 64, 64), tensor_b(64, 256, 64), stream)));
}

template <class A, class B>
pipeline_error error_of(const A& a, const B& b) {
  const auto p = suggest_pipeline<2, D>(a, b);
  return p ? pipeline_error{} : p.error();
}

void expect_error(const pipeline_error& error, pipeline_error_code code,
                  std::initializer_list<std::string> pieces) {
  EXPECT_EQ(error.code, code) << error.message;
  for (const std::string& piece : pieces)
    EXPECT_NE(error.message.find(piece), std::string::npos) << error.message;
  EXPECT_EQ(error.get_cuda_error(), 0);
}

TEST(SuggestPipeline, names_the_rule_the_operand_and_the_nearest_legal_value) {
  using Code = pipeline_error_code;
  const auto a = tensor_a(128, 64, 64);
  const auto b = tensor_b(64, 256, 64);
  expect_error(error_of(a, tensor_b(72, 256, 72)), Code::incompatible_k, {"64 columns", "72 rows"});
  expect_error(error_of(tensor_a(-1, 64, 64), b), Code::negative_extent, {"A: -1 rows"});
  expect_error(error_of(tensor_a(int64_t{1} << 31, 64, 64), b), Code::extent_out_of_range,
               {"A: 2147483648 rows"});
  expect_error(error_of(tensor_a(128, 64, 56), b), Code::leading_dimension_too_small,
               {"A: leading dimension 56", "64"});
  expect_error(error_of(a, tensor_b(64, 256, 68)), Code::alignment_unfulfilled,
               {"B: leading dimension 68 (136 bytes)", "nearest legal value is 72"});
  expect_error(error_of(tensor_a(128, 64, 64, 1), b), Code::alignment_unfulfilled,
               {"A: base address", "2 modulo 16"});
  expect_error(error_of(make_gmem_tensor<row_major>(static_cast<bf16*>(nullptr), 128, 64, 64), b),
               Code::alignment_unfulfilled, {"A: base address", "null"});
  expect_error(error_of(tensor_a(128, 64, int64_t{1} << 39), b), Code::stride_out_of_range, {"2^40"});
  expect_error(error_of(make_gmem_tensor_batched<row_major>(memory(), 128, 64, 3),
                        make_gmem_tensor_batched<col_major>(memory(), 64, 256, 2)),
               Code::incompatible_batches, {"3 matrices", "2"});
  expect_error(error_of(make_gmem_tensor_batched<row_major>(memory(), 128, 64, 2, 64, 128 * 64 + 1), b),
               Code::alignment_unfulfilled, {"A: batch stride"});
}

TEST(SuggestPipeline, refuses_a_tuning_with_the_nearest_legal_one) {
  using Code = pipeline_error_code;
  using Wide =
      decltype(Size<128, 256, 128>() + Precision<e4m3, e4m3, float>() + BlockDim<256>() + MaxAlignment() +
               WithPipeline() + EnableInputStreaming() + SM<900, arch_specific>() + Tunable<2, 1>());
  const auto a = make_gmem_tensor<row_major>(static_cast<e4m3*>(static_cast<void*>(memory())), 128, 128, 128);
  const auto b = make_gmem_tensor<col_major>(static_cast<e4m3*>(static_cast<void*>(memory())), 128, 256, 128);
  const auto error = [&](const Tuning& tuning) { return suggest_pipeline<Wide>(a, b, tuning).error(); };
  expect_error(error({.cluster_m = 4}), Code::invalid_tuning, {"4 x 1", "up to 2 x 1"});
  expect_error(error({.cluster_n = 2}), Code::invalid_tuning, {"1 x 2", "up to 2 x 1"});
  expect_error(error({.cluster_m = 0}), Code::invalid_tuning, {"0 x 1"});
  expect_error(error({.stages = 1}), Code::invalid_tuning,
               {"1 stages of 49152 bytes", "nearest legal number is 2"});
  expect_error(error({.stages = 5}), Code::invalid_tuning, {"5 stages", "nearest legal number is 4"});
  expect_error(error({.stages = 4, .scratch = 60000}), Code::invalid_tuning, {"60000 of scratch", "is 3"});
  expect_error(error({.scratch = 200000}), Code::invalid_tuning,
               {"200000 bytes of scratch", "2 stages", "nearest legal number is 133120"});
  EXPECT_TRUE(suggest_pipeline<Wide>(a, b, Tuning{.scratch = 133120}));
  expect_error(error({.scratch = 0xFFFFFFF0u}), Code::invalid_tuning, {"4294967280 bytes of scratch"});
  expect_error(error({.group_tiles = 2}), Code::invalid_tuning, {"2 K tiles", "nearest legal number is 1"});
  const auto shallow = [&](uint32_t stages) {
    return suggest_pipeline<3, Wide>(a, b, Tuning{.stages = stages});
  };
  expect_error(shallow(4).error(), Code::invalid_tuning, {"4 stages", "nearest legal number is 3"});
  ASSERT_TRUE(shallow(0));
  EXPECT_EQ(shallow(0)->get_device_handle().stages(), 3u);
  const auto tuned = suggest_pipeline<Wide>(a, b, Tuning{.cluster_m = 2, .stages = 3});
  ASSERT_TRUE(tuned);
  EXPECT_EQ(tuned->get_device_handle().stages(), 3u);
  EXPECT_EQ(tuned->get_cluster_dim(), (Extent3{2, 1, 1}));
  EXPECT_EQ(tuned->buffer_size(), 3u * (49152 + 16));
  EXPECT_EQ(tuned->launch_config({2, 1, 1}).shared_bytes, 3u * (49152 + 16));
}

template <int M, int N, int Threads, class... More>
using Tunable8 =
    decltype(((Size<M, N, 128>() + Precision<e4m3, e4m3, float>() + BlockDim<Threads>() + MaxAlignment() +
               WithPipeline() + EnableInputStreaming() + SM<900, arch_specific>() + Tunable<2, 2>()) +
              ... + More()));

auto bytes_a(int64_t m, int64_t k) {
  return make_gmem_tensor<row_major>(static_cast<e4m3*>(static_cast<void*>(memory())), m, k, k);
}
auto bytes_b(int64_t k, int64_t n) {
  return make_gmem_tensor<col_major>(static_cast<e4m3*>(static_cast<void*>(memory())), k, n, k);
}

TEST(SuggestPipeline, refuses_groups_that_would_lose_scales) {
  using Scaled = Tunable8<64, 128, 128, ScaledPromotion>;
  const auto a = bytes_a(64, 512);
  const auto b = bytes_b(512, 64);
  auto p = suggest_pipeline<Scaled>(a, b, Tuning{.group_tiles = 2});  // no scales yet
  ASSERT_TRUE(p) << p.error().message;
  const float scale = 1;
  const tiles::ScaleLines some{&scale, 1, 1, 0};
  const auto expect_refused = [](const pipeline_status& status) {
    expect_error(status.error(), pipeline_error_code::invalid_tuning,
                 {"2 K tiles", "its own scales", "nearest legal number is 1"});
  };
  expect_refused(p->set_scales(some, some));
  ASSERT_TRUE(p->rebind(a, b, Tuning{}));
  ASSERT_TRUE(p->set_scales(some, some));
  expect_refused(p->rebind(a, b, Tuning{.group_tiles = 2}));
}

TEST(SuggestPipeline, refuses_groups_of_some_k_tiles_where_parts_share_the_temporary) {
  using Parts = Tunable8<128, 128, 128>;
  static_assert(tiles::wgmma_tile_plan(facts_of_v<Parts>.wgmma_shape()).parts() == 2);
  const auto a = bytes_a(64, 640);
  const auto b = bytes_b(640, 64);
  for (const auto& [group, nearest] : {std::pair{2u, "number is 1"}, {4u, "number is 5"}}) {
    expect_error(suggest_pipeline<Parts>(a, b, Tuning{.group_tiles = group}).error(),
                 pipeline_error_code::invalid_tuning, {"of 5 K tiles", nearest});
  }
  for (const uint32_t group : {1u, 5u, 6u})
    EXPECT_TRUE(suggest_pipeline<Parts>(a, b, Tuning{.group_tiles = group}));
}

TEST(SuggestPipeline, suggests_a_schedule_for_the_tuned_cluster) {
  using Tile = decltype(Size<64, 128, 128>() + Precision<e4m3, e4m3, float>() + BlockDim<128>() +
                        MaxAlignment() + WithPipeline() + EnableInputStreaming() + SM<900, arch_specific>());
  constexpr int64_t kM = 16384, kN = 8192, kK = 512;
  const auto expect_choice = [&](uint32_t m, uint32_t n, const ScheduleChoice& choice) {
    const auto p = suggest_pipeline<Tunable8<64, 128, 128>>(bytes_a(kM, kK), bytes_b(kK, kN),
                                                            Tuning{.cluster_m = m, .cluster_n = n});
    ASSERT_TRUE(p) << p.error().message;
    EXPECT_EQ(p->suggest_schedule().strip, p->make_schedule(1, choice.raster, choice.strip).strip);
    EXPECT_EQ(p->suggest_schedule().raster, choice.raster);
  };
  expect_choice(1, 1, suggest_schedule<Tile>(kM, kN, kK));
  expect_choice(2, 1, suggest_schedule<decltype(Tile() + BlocksPerCluster<2, 1>())>(kM, kN, kK));
  expect_choice(2, 2, suggest_schedule<decltype(Tile() + BlocksPerCluster<2, 2>())>(kM, kN, kK));
  EXPECT_NE((suggest_schedule<Tile>(kM, kN, kK)),
            (suggest_schedule<Tunable8<64, 128, 128>>(kM, kN, kK)));  // of the largest
}

TEST(SetScales, takes_those_of_both_operands_or_where_it_can_of_neither) {
  const float scale = 1;
  const tiles::ScaleLines some{&scale, 1, 1, 0}, none;
  const auto code_of = [&](auto& p, const tiles::ScaleLines& of_a, const tiles::ScaleLines& of_b) {
    return p.set_scales(of_a, of_b).error().code;
  };
  constexpr auto kNone = pipeline_error_code::none, kMismatch = pipeline_error_code::scale_mismatch;
  auto one = suggest_pipeline<Tunable8<64, 128, 128, ScaledPromotion>>(bytes_a(64, 128), bytes_b(128, 64));
  auto two = suggest_pipeline<Tunable8<128, 256, 256, ScaledPromotion>>(bytes_a(64, 128), bytes_b(128, 64));
  ASSERT_TRUE(one && two);
  EXPECT_EQ(code_of(*one, some, some), kNone);
  EXPECT_EQ(code_of(*one, none, none), kNone);
  EXPECT_EQ(code_of(*one, some, none), kMismatch);
  EXPECT_EQ(code_of(*one, none, some), kMismatch);
  EXPECT_EQ(code_of(*two, some, some), kNone);
  EXPECT_EQ(code_of(*two, none, none), kMismatch);
  expect_error(two->set_scales(some, none).error(), kMismatch, {"B: its scales are null", "both A and B"});
  expect_error(two->set_scales(none, some).error(), kMismatch, {"A: its scales are null"});
}

TEST(SuggestPipeline, refuses_lines_whose_bytes_cannot_be_counted_where_they_are_copied) {
  using Copied = decltype(Size<64, 64, 64>() + Precision<bf16, bf16, float>() + BlockDim<128>() +
                          WithPipeline() + CopiedInput() + SM<900, arch_specific>());
  const auto bind = [](int64_t k) {
    return suggest_pipeline<Copied>(make_gmem_tensor<row_major>(memory(), 1, k, k),
                                    make_gmem_tensor<col_major>(memory(), k, 1, k));
  };
  constexpr int64_t kMost = (int64_t{1} << 31) - 129;
  EXPECT_TRUE(bind(kMost));
  expect_error(bind(kMost + 1).error(), pipeline_error_code::extent_out_of_range,
               {"2147483520 columns of 2 bytes", "nearest legal value is 2147483519"});
}

TEST(SuggestPipeline, refuses_strides_whose_bytes_do_not_fit_64_bits) {
  using Fp64 = decltype(Size<32, 32, 16>() + Precision<double>() + WithPipeline() + SM<900>());
  auto* const data = reinterpret_cast<double*>(memory());
  const auto b = make_gmem_tensor<col_major>(data, 16, 32, 16);
  const auto bind = [&](int64_t ld, int64_t batch_stride) {
    return suggest_pipeline<2, Fp64>(make_gmem_tensor_batched<row_major>(data, 32, 16, 2, ld, batch_stride),
                                     b);
  };
  constexpr int64_t kMost = (int64_t{1} << 37) - 1;  // elements of 8 bytes below 2^40 bytes
  EXPECT_TRUE(bind(kMost, kMost));
  for (const int64_t elements : {kMost + 1, int64_t{1} << 60, int64_t{1} << 61, int64_t{1} << 62}) {
    expect_error(bind(elements, 512).error(), pipeline_error_code::stride_out_of_range,
                 {"A: leading dimension " + std::to_string(elements), "nearest legal value is 137438953471"});
    expect_error(bind(16, elements).error(), pipeline_error_code::stride_out_of_range,
                 {"A: batch stride " + std::to_string(elements)});
  }
}

TEST(SuggestPipeline, has_a_text_for_every_code) {
  for (int code = 0; code <= static_cast<int>(pipeline_error_code::cuda); ++code) {
    EXPECT_STRNE(pipeline_error_string(static_cast<pipeline_error_code>(code)), "unknown");
  }
}

TEST(SuggestPipeline, does_not_look_at_strides_that_are_never_used) {
  // One row (or column): its leading dimension moves nobody.
  EXPECT_TRUE((suggest_pipeline<2, D>(tensor_a(1, 64, 3), tensor_b(64, 1, 7))));
}

TEST(SuggestPipeline, takes_any_extent_zero_included) {
  for (const int64_t m : {0, 1, 127, 129}) {
    for (const int64_t k : {0, 1, 65}) {
      const auto p = suggest_pipeline<2, D>(tensor_a(m, k, 72), tensor_b(k, 5, 72));
      EXPECT_TRUE(p) << p.error().message;
    }
  }
}

TEST(SuggestPipeline, a_matrix_serves_all_batches_of_the_other_operand) {
  EXPECT_TRUE((
      suggest_pipeline<2, D>(make_gmem_tensor_batched<row_major>(memory(), 64, 64, 3), tensor_b(64, 8, 64))));
  EXPECT_TRUE((suggest_pipeline<2, D>(make_gmem_tensor_batched<row_major>(memory(), 64, 64, 3, 64, 0),
                                      make_gmem_tensor_batched<col_major>(memory(), 64, 8, 3))));
}

TEST(Rebind, keeps_the_tuning) {
  using Tile = Tunable8<64, 128, 128>;
  auto p = suggest_pipeline<Tile>(bytes_a(64, 512), bytes_b(512, 64),
                                  Tuning{.cluster_m = 2, .stages = 3, .group_tiles = 2});
  ASSERT_TRUE(p) << p.error().message;
  const auto expect_tuned = [&](uint32_t cluster_n, uint32_t stages, uint32_t groups) {
    EXPECT_EQ(p->get_cluster_dim(), (Extent3{2, cluster_n, 1}));
    EXPECT_EQ(p->get_device_handle().stages(), stages);
    EXPECT_EQ(p->get_device_handle().group_tiles(), groups);
  };
  ASSERT_TRUE(p->rebind(bytes_a(128, 256), bytes_b(256, 128)));
  expect_tuned(1, 3, 2);
  EXPECT_EQ(p->get_tile_count(), (Extent3{2, 1, 1}));
  // A tuning that is refused is not kept either.
  EXPECT_FALSE(p->rebind(bytes_a(128, 256), bytes_b(256, 128), Tuning{.stages = 1}));
  ASSERT_TRUE(p->rebind(bytes_a(64, 256), bytes_b(256, 128)));
  expect_tuned(1, 3, 2);
  ASSERT_TRUE(p->rebind(bytes_a(64, 256), bytes_b(256, 128),
                        Tuning{.cluster_m = 2, .cluster_n = 2, .stages = 4, .group_tiles = 3}));
  ASSERT_TRUE(p->rebind(bytes_a(64, 256), bytes_b(256, 128)));
  expect_tuned(2, 4, 3);
}

TEST(Rebind, points_a_pipeline_at_other_tensors_or_leaves_it_as_it_was) {
  auto p = suggest_pipeline<2, D>(tensor_a(128, 64, 64), tensor_b(64, 256, 64));
  ASSERT_TRUE(p);
  EXPECT_TRUE(p->rebind(tensor_a(300, 128, 128), tensor_b(128, 100, 128)));
  EXPECT_EQ(p->get_grid_dim(), (Extent3{3, 1, 1}));
  const pipeline_status status = p->rebind(tensor_a(500, 128, 128), tensor_b(64, 100, 64));
  EXPECT_FALSE(status);
  EXPECT_EQ(status.error().code, pipeline_error_code::incompatible_k);
  EXPECT_EQ(p->get_grid_dim(), (Extent3{3, 1, 1}));
}

/// What std::mdspan offers of a strided matrix.
template <class T, size_t Rank>
struct Span {
  T* data;
  std::array<int64_t, Rank> extents, strides;
  static constexpr size_t rank() { return Rank; }
  T* data_handle() const { return data; }
  int64_t extent(size_t i) const { return extents[i]; }
  int64_t stride(size_t i) const { return strides[i]; }
};

TEST(SuggestPipeline, takes_an_mdspan_whose_contiguous_index_is_the_arrangement_s) {
  const Span<bf16, 2> a{memory(), {100, 64}, {64, 1}};
  const Span<const bf16, 2> b{memory(), {64, 50}, {1, 64}};
  const auto p = suggest_pipeline<2, D>(a, b);
  EXPECT_TRUE(p) << p.error().message;
  EXPECT_EQ(p->get_grid_dim(), (Extent3{1, 1, 1}));
  const Span<bf16, 3> batched{memory(), {100, 64, 4}, {64, 1, 6400}};
  EXPECT_TRUE((suggest_pipeline<2, D>(batched, b)));
  const Span<bf16, 2> columns{memory(), {100, 64}, {1, 104}};
  expect_error(error_of(columns, b), pipeline_error_code::arrangement_mismatch,
               {"A: neighbouring columns are 104"});
}

TEST(StaticLeadingDimension, is_accepted_and_its_alignment_explained) {
  const auto a = make_gmem_tensor<row_major>(memory(), 128, 64, static_ld<72>);
  const auto b = tensor_b(64, 256, 64);
  static_assert(decltype(a)::static_leading_dimension == 72);
  EXPECT_TRUE((suggest_pipeline<2, D>(a, b)));
  // An odd one leaves 2 bytes of the promised 16: no wgmma. (That it does not compile is a test of its own.)
  const auto odd = make_gmem_tensor<row_major>(memory(), 128, 64, static_ld<65>);
  const std::string text = explain<D>(odd, b);
  EXPECT_NE(text.find("wgmma.alignment: found A 2, B 16 bytes"), std::string::npos) << text;
  EXPECT_NE(explain<D>(a, b).find("wgmma    taken"), std::string::npos);
}

TEST(Tensor, knows_its_extents_strides_and_tiles) {
  const auto t = make_gmem_tensor_batched<col_major>(memory(), 100, 30, 4, 104, 4000);
  EXPECT_EQ(cosize(t.layout()), 99 + 29 * 104 + 3 * 4000 + 1);
  EXPECT_EQ(&t(2, 3, 1) - memory(), 2 + 3 * 104 + 4000);
  const auto tile = get_tile(t, Shape<64, 16>{}, 1, 1, 2);
  EXPECT_EQ(tile.rows(), 36u);
  EXPECT_EQ(tile.columns(), 14u);
  EXPECT_EQ(&tile(1, 1) - memory(), 8000 + 65 + 17 * 104);
  const auto outside = get_tile(t, Shape<64, 16>{}, 2, 0, 0);
  EXPECT_EQ(outside.rows(), 0u);
  // Offsets are 64-bit.
  const auto large = make_gmem_tensor<row_major>(memory(), 1 << 20, 1 << 20, int64_t{1} << 20);
  EXPECT_EQ(&large((1 << 20) - 1, 5) - memory(), (int64_t{1} << 40) - (1 << 20) + 5);
}

TEST(Clusters, pad_the_grid_and_say_so_when_asked) {
  using Clustered = decltype(D() + BlocksPerCluster<2, 1>());
  auto p = suggest_pipeline<2, Clustered>(tensor_a(300, 64, 64), tensor_b(64, 300, 64));
  ASSERT_TRUE(p);
  EXPECT_EQ(p->get_tile_count(), (Extent3{3, 2, 1}));
  EXPECT_EQ(p->get_grid_dim(), (Extent3{4, 2, 1}));
  EXPECT_EQ(p->get_cluster_dim(), (Extent3{2, 1, 1}));
  expect_error(p->require_whole_clusters().error(), pipeline_error_code::cluster_grid_divisibility,
               {"3 x 2 tiles", "4 x 2"});
  ASSERT_TRUE(p->rebind(tensor_a(500, 64, 64), tensor_b(64, 300, 64)));
  EXPECT_TRUE(p->require_whole_clusters());
}

TEST(SuggestPipeline, takes_its_tiles_in_the_planners_order) {
  using Fp8 = decltype(Size<64, 64, 128>() + Precision<e4m3, e4m3, float>() + Hopper());
  const auto* bytes = reinterpret_cast<const e4m3*>(memory());
  const auto p = suggest_pipeline<2, Fp8>(make_gmem_tensor<row_major>(bytes, 6400, 5000, 5008),
                                          make_gmem_tensor<col_major>(bytes, 5000, 6400, 5008));
  ASSERT_TRUE(p) << p.error().message;
  const schedule::TileSchedule tiles = p->suggest_schedule(3);
  EXPECT_EQ(tiles.clusters_total, 100u * 100 * 3);
  EXPECT_EQ(tiles.raster, schedule::Raster::along_n);
  EXPECT_EQ(tiles.strip, 32u) << "K decides: 2048 rows";
  const auto shallow = suggest_pipeline<2, Fp8>(make_gmem_tensor<row_major>(bytes, 6400, 128, 128),
                                                make_gmem_tensor<col_major>(bytes, 128, 6400, 128));
  ASSERT_TRUE(shallow);
  EXPECT_EQ(shallow->suggest_schedule().strip, 64u);
}

TEST(StoreThroughSmem, needs_rows_of_c_that_end_on_16_bytes) {
  const auto c = make_gmem_tensor<row_major>(memory(), 128, 100, 104);
  const auto refused = make_store_through_smem<D>(c);
  ASSERT_FALSE(refused);
  expect_error(refused.error(), pipeline_error_code::alignment_unfulfilled, {"C: rows of 100", "104"});
  EXPECT_TRUE(make_store_through_smem<D>(make_gmem_tensor<row_major>(memory(), 128, 104, 104)));
}

// Of T, by LinearStore: alone, and as a source.
template <class Descriptor, class T, arrangement Order>
pipeline_error linear_error(const Tensor<T, Order>& c, const Tensor<T, Order>& source, float beta,
                            bool bulk = true) {
  const auto made = make_linear_store<Descriptor>(c, source, LinearFactors{1, beta}, bulk);
  return made ? pipeline_error{} : made.error();
}

TEST(LinearStore, refuses_matrices_that_cannot_be_stored_or_read) {
  using Code = pipeline_error_code;
  const auto matrix = [](int64_t rows, int64_t columns, int64_t ld, int64_t shift = 0) {
    auto* const data = reinterpret_cast<bf16*>(reinterpret_cast<std::byte*>(memory()) + shift);
    return make_gmem_tensor<row_major>(data, rows, columns, ld);
  };
  const auto good = matrix(128, 128, 128);
  const auto null = make_gmem_tensor<row_major>(static_cast<bf16*>(nullptr), 128, 128, 128);
  for (const bool bulk : {true, false}) {
    const auto refused = [&](const auto& c, Code code, const char* words) {
      expect_error(linear_error<D>(c, c, 0, bulk), code, {"C: ", words});
      expect_error(linear_error<D>(good, c, 1, bulk), code, {"source: ", words});
      EXPECT_EQ(linear_error<D>(good, c, 0, bulk).code, Code::none) << "a source that is not read";
    };
    EXPECT_EQ(linear_error<D>(good, good, 1, bulk).code, Code::none);
    EXPECT_EQ(linear_error<D>(matrix(128, 127, 129, 2), good, 0, bulk).code, Code::none) << "elements";
    refused(matrix((int64_t{1} << 32) + 5, 128, 128), Code::extent_out_of_range, "4294967301 rows");
    refused(matrix(-3, 128, 128), Code::negative_extent, "-3 rows");
    refused(matrix(128, 128, 4), Code::leading_dimension_too_small, "leading dimension 4");
    refused(matrix(128, 128, int64_t{1} << 50), Code::stride_out_of_range, "leading dimension");
    refused(matrix(128, 128, 128, 1), Code::alignment_unfulfilled, "1 modulo 2");
    refused(null, Code::alignment_unfulfilled, "null");
  }
  const auto batched = make_gmem_tensor_batched<row_major>(memory(), 8, 8, 2, 8, -64);
  const auto made = make_linear_store<D>(batched, batched, LinearFactors{});
  ASSERT_FALSE(made);
  expect_error(made.error(), Code::stride_out_of_range, {"C: batch stride -64"});
}

TEST(LinearEpilogue, refuses_matrices_that_cannot_be_stored_or_read) {
  using Code = pipeline_error_code;
  using blas::detail::OperandView;
  using Fp8 = decltype(Size<64, 64, 128>() + Precision<e4m3, e4m3, float>() + Hopper() + Tunable<2, 2>());
  const OperandView good{memory(), 64, 64, 64, 1};
  const auto error = [&](const OperandView& d, const OperandView& c, bool bulk, float beta) {
    LinearEpilogueOps ops;
    ops.c_type = ops.d_type = DType::bf16;
    ops.beta = beta;
    ops.bulk = bulk;
    const auto made = make_linear_epilogue<Fp8, 2>(d, c, ops);
    return made ? pipeline_error{} : made.error();
  };
  for (const bool bulk : {true, false}) {
    const auto refused = [&](const OperandView& view, Code code, const char* words) {
      expect_error(error(view, good, bulk, 0), code, {"D: ", words});
      expect_error(error(good, view, bulk, 1), code, {"C: ", words});
      EXPECT_EQ(error(good, view, bulk, 0).code, Code::none) << "a C that is not read";
    };
    EXPECT_EQ(error(good, good, bulk, 1).code, Code::none);
    refused({memory(), (int64_t{1} << 32) + 5, 64, 64, 1}, Code::extent_out_of_range, "4294967301 rows");
    refused({memory(), -3, 64, 64, 1}, Code::negative_extent, "-3 rows");
    refused({memory(), 64, 64, 4, 1}, Code::leading_dimension_too_small, "leading dimension 4");
    refused({memory(), 64, 64, 1, 64}, Code::arrangement_mismatch, "64 elements apart");
    refused({nullptr, 64, 64, 64, 1}, Code::alignment_unfulfilled, "null");
    refused({reinterpret_cast<std::byte*>(memory()) + 1, 64, 64, 64, 1}, Code::alignment_unfulfilled,
            "1 modulo 2");
  }
}

TEST(FusedStore, refuses_operands_that_cannot_be_stored_or_read) {
  using Code = pipeline_error_code;
  auto* const bytes = reinterpret_cast<std::byte*>(memory());
  const auto c = make_gmem_tensor<row_major>(memory(), 64, 128, 128);
  const FusedOps usual{.bias_kind = BiasKind::column, .bias = bytes, .aux = bytes, .aux_ld = 128};
  const auto error = [&](const FusedOps& ops, DType target = DType::bf16, DType source = DType::bf16) {
    const auto made = make_fused_store<D>(c, c, LinearFactors{1, 1}, ops, true, target, source);
    return made ? pipeline_error{} : made.error();
  };
  const auto with = [&](auto change) {
    FusedOps ops = usual;
    change(ops);
    return error(ops);
  };
  EXPECT_EQ(error(usual).code, Code::none) << error(usual).message;
  EXPECT_EQ(error(usual, DType::f16, DType::f32).code, Code::none);
  expect_error(error(usual, DType::e4m3), Code::unsupported_element,
               {"C: elements are e4m3", "f16 and bf16"});
  expect_error(error(usual, DType::f32), Code::unsupported_element, {"C: elements are f32"});
  expect_error(error(usual, DType::bf16, DType::e5m2), Code::unsupported_element,
               {"source: elements are e5m2"});
  expect_error(with([](FusedOps& o) { o.aux_type = DType::f64; }), Code::unsupported_element,
               {"aux: elements are f64"});
  expect_error(with([](FusedOps& o) { o.bias_type = DType::e4m3; }), Code::unsupported_element,
               {"bias: elements are e4m3"});
  expect_error(with([&](FusedOps& o) { o.bias = bytes + 2; }), Code::alignment_unfulfilled,
               {"bias: ", "2 modulo 4"});
  expect_error(with([&](FusedOps& o) { o.aux = bytes + 1; }), Code::alignment_unfulfilled,
               {"aux: ", "1 modulo 4"});
  expect_error(with([](FusedOps& o) { o.aux_ld = 127; }), Code::leading_dimension_too_small,
               {"aux: leading dimension 127", "128"});
}

TEST(SharedStorage, aligns_each_piece) {
  EXPECT_EQ(make_shared_storage_calculator().add(16, 3).add(8, 4).add(128, 4, 10).get(), 168u);
}

}  // namespace
}  // namespace tilewright::blas::testing
