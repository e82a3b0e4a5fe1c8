#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <thread>

#include "tests/host/planning.h"

namespace tilewright::testing {
namespace {

RecordedLaunch run(const Plan& plan, const Buffers& buffers = fake_buffers()) {
  return run_once(launches(), plan, buffers);
}

RecordedLaunch run(const Problem& p, const Options& o = {}) { return run(planned(p, o)); }

/// The broken rule, or nothing.
std::string can_plan(const Problem& p) {
  const Expected<Plan> plan = plan_on(fake_gpu(), p, {});
  return plan ? "" : plan.error().rule;
}

TEST(Plan, launches_once_with_resident_ctas_whose_rounds_are_full) {
  Problem p = small_problem();
  p.m = p.n = p.k = 8192;
  const Plan plan = planned(p);
  EXPECT_EQ(plan.info().kernel, "fp8_128x256_e4m3_e4m3_o2_promoted");
  EXPECT_EQ(plan.info().path, "wgmma");
  EXPECT_EQ(plan.info().cluster, (Shape2{1, 1}));
  EXPECT_EQ(plan.info().raster, schedule::Raster::along_n);
  EXPECT_EQ(plan.info().swizzle, 16);
  EXPECT_EQ(plan.info().stages, 4);
  EXPECT_EQ(plan.workspace_bytes(), 0);
  const RecordedLaunch l = run(plan);
  EXPECT_EQ(plan.info().sms, 132);
  EXPECT_EQ(l.launch.grid_ctas, 128u);  // 16 rounds of 2048 tiles, as with 132
  EXPECT_NE(plan.info().why.find("on 128 of 132 SMs all rounds are full"), std::string::npos);
  EXPECT_EQ(l.arguments.tuning.cluster_m, 1u);
  EXPECT_EQ(l.arguments.tuning.cluster_n, 1u);
  EXPECT_EQ(l.arguments.tuning.stages, 4u);
  EXPECT_EQ(l.arguments.tiles.clusters_total, 64u * 32);
  EXPECT_TRUE(l.arguments.ops.bulk);
}

TEST(Plan, describes_operands_and_results_to_the_kernel) {
  Problem p = small_problem();
  p.a.ld = 2048;
  p.d.ld = 1000;
  p.d.type = DType::e5m2;
  p.d.ld = 1008;
  p.saturate = false;
  p.l = 3;
  const RecordedLaunch l = run(p);
  const auto& [a, b, d] = std::tie(l.arguments.a, l.arguments.b, l.arguments.d);
  EXPECT_EQ(a.data, reinterpret_cast<void*>(0x100000));
  EXPECT_EQ(std::tuple(a.rows, a.columns, a.batches), std::tuple(512, 1024, 3));
  EXPECT_EQ(std::tuple(a.row_stride, a.column_stride, a.batch_stride), std::tuple(2048, 1, 2048 * 512));
  EXPECT_EQ(std::tuple(b.rows, b.columns, b.batches), std::tuple(1024, 768, 3));
  EXPECT_EQ(std::tuple(b.row_stride, b.column_stride, b.batch_stride), std::tuple(1, 1024, 1024 * 768));
  EXPECT_EQ(std::tuple(d.rows, d.columns, d.batches), std::tuple(512, 768, 3));
  EXPECT_EQ(std::tuple(d.row_stride, d.column_stride, d.batch_stride), std::tuple(1008, 1, 1008 * 512));
  EXPECT_FALSE(l.arguments.ops.saturate);
  EXPECT_EQ(l.arguments.ops.d_type, DType::e5m2);
}

TEST(Plan, multiplies_the_factors_and_passes_the_device_ones_on) {
  Problem p = small_problem();
  p.alpha = 2;
  p.scale_a = 3;
  p.scale_b = 5;
  p.scale_d = 7;
  p.beta = 11;
  Buffers buffers = fake_buffers();
  const float device[5] = {};
  buffers.alpha = &device[0];
  buffers.scale_a = &device[1];
  buffers.scale_b = &device[2];
  buffers.scale_d = &device[3];
  buffers.beta = &device[4];
  const RecordedLaunch l = run(planned(p), buffers);
  EXPECT_EQ(l.arguments.ops.scale, 210);
  EXPECT_EQ(l.arguments.ops.beta, 77);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(l.arguments.ops.scale_device[i], &device[i]);
  EXPECT_EQ(l.arguments.ops.beta_device[0], &device[4]);
  EXPECT_EQ(l.arguments.ops.beta_device[1], &device[3]);
  EXPECT_EQ(l.arguments.c.data, buffers.c);
}

TEST(Plan, never_touches_c_when_beta_is_zero) {
  Problem p = small_problem();
  p.c.ld = -5;  // nor looks at what is said of it
  Buffers buffers = fake_buffers();
  const float factor = 0;
  buffers.beta = &factor;
  const RecordedLaunch with_pointer = run(planned(p), buffers);
  EXPECT_EQ(with_pointer.arguments.c.data, nullptr);
  EXPECT_EQ(with_pointer.arguments.ops.beta, 0);
  EXPECT_EQ(with_pointer.arguments.ops.beta_device[0], nullptr);
  buffers.c = nullptr;
  run(planned(p), buffers);
}

TEST(Plan, never_touches_a_and_b_when_alpha_or_k_is_zero) {
  for (const bool by_k : {false, true}) {
    Problem p = small_problem();
    p.beta = 1;
    if (by_k) {
      p.k = 0;
    } else {
      p.alpha = 0;
    }
    Buffers buffers = fake_buffers();
    buffers.a = buffers.b = nullptr;
    const float nan_on_device = 0;
    buffers.scale_a = &nan_on_device;
    const RecordedLaunch l = run(planned(p), buffers);
    EXPECT_EQ(l.arguments.a.columns, 0);
    EXPECT_GE(l.arguments.tuning.group_tiles, 1u);
    EXPECT_EQ(l.arguments.ops.scale, 0);
    for (const float* factor : l.arguments.ops.scale_device) EXPECT_EQ(factor, nullptr);
    EXPECT_EQ(l.arguments.a.data, nullptr);
    EXPECT_EQ(l.arguments.ops.beta, 1);
  }
}

/// Each way to make the factor of the product zero in a problem.
const std::function<void(Problem&)> kZeroScales[] = {
    [](Problem& p) { p.scale_a = 0; }, [](Problem& p) { p.scale_b = 0; }, [](Problem& p) { p.scale_d = 0; }};

TEST(Plan, a_zero_scale_reads_neither_operands_nor_factors_of_the_device) {
  Buffers buffers = fake_buffers();
  buffers.a = buffers.b = buffers.workspace = nullptr;
  const float infinite = std::numeric_limits<float>::infinity();
  buffers.alpha = &infinite;
  for (const auto& make_zero : kZeroScales) {
    Problem fp8 = small_problem();
    make_zero(fp8);
    const RecordedLaunch l = run(planned(fp8), buffers);
    EXPECT_EQ(l.arguments.a.columns, 0);
    EXPECT_EQ(l.arguments.ops.scale, 0);
    EXPECT_EQ(l.arguments.ops.scale_device[0], nullptr);
    Problem tensor = tensor_problem(DType::bf16, DType::bf16);
    make_zero(tensor);
    const RecordedTensorLaunch t = run_once(tensor_launches(), planned(tensor), buffers);
    EXPECT_EQ(t.arguments.k, 0);
    EXPECT_EQ(t.arguments.alpha, 0);
    EXPECT_EQ(t.arguments.alpha_device, nullptr);
    Problem f32 = simt_problem();
    make_zero(f32);
    const RecordedSimtLaunch s = run_once(simt_launches(), planned(f32), buffers);
    EXPECT_EQ(s.gemm.k_tiles, 0u);
    EXPECT_EQ(s.gemm.alpha, 0);
    EXPECT_EQ(s.gemm.alpha_device, nullptr);
  }
}

TEST(Plan, a_zero_scale_of_d_reads_no_c) {
  for (Problem p : {small_problem(), tensor_problem(DType::bf16, DType::bf16), simt_problem()}) {
    p.beta = 1;
    p.scale_d = 0;
    Buffers buffers = fake_buffers();
    buffers.c = nullptr;
    const Status s = planned(p).run(buffers);
    EXPECT_FALSE(s) << s->message;
  }
}

TEST(Case, C62_no_output_is_success_and_launches_nothing) {
  for (int which = 0; which < 3; ++which) {
    Problem p = small_problem();
    (which == 0 ? p.m : which == 1 ? p.n : p.l) = 0;
    const Plan plan = planned(p);
    EXPECT_EQ(plan.info().grid_ctas, 0);
    launches().clear();
    EXPECT_FALSE(plan.run({}));
    EXPECT_TRUE(launches().empty());
  }
}

TEST(Plan, counts_promotions_as_groups_the_first_included) {
  const auto promotions = [](int64_t k, int64_t interval,
                             Accumulation accumulation = Accumulation::promoted) {
    Problem p = small_problem();
    p.k = k;
    p.interval = interval;
    p.accumulation = accumulation;
    return planned(p).info().promotions;
  };
  EXPECT_EQ(promotions(1024, 4), 8);
  EXPECT_EQ(promotions(1024, 1), 32);
  EXPECT_EQ(promotions(1040, 4), 9);
  EXPECT_EQ(promotions(1040, 8), 5);
  EXPECT_EQ(promotions(1024, 4096), 1);  // an interval longer than K promotes once
  EXPECT_EQ(promotions(1024, std::numeric_limits<int64_t>::max() - 3), 1);
  EXPECT_EQ(promotions(0, 4), 0);
  EXPECT_EQ(promotions(1024, 4, Accumulation::fast), 1);
}

TEST(Plan, gives_long_intervals_to_kernels_whose_temporary_lasts) {
  Problem p = small_problem();
  p.m = p.n = p.k = 8192;
  p.interval = 16;
  const Plan plan = planned(p);
  EXPECT_NE(plan.info().tile, (Shape2{128, 256}));
  EXPECT_EQ(plan.info().group_tiles, 4);
  // One group over all of K: the temporary is never needed, every tile will do.
  p.interval = 256;
  EXPECT_EQ(planned(p).info().tile, (Shape2{128, 256}));
  EXPECT_EQ(planned(p).info().group_tiles, 64);
}

TEST(Plan, gives_a_group_that_covers_k_to_kernels_that_keep_it_in_the_accumulators) {
  Problem p = small_problem();
  p.k = 256;
  Options o;
  o.tile = Shape2{128, 256};
  EXPECT_EQ(planned(p, o).info().kernel, "fp8_128x256_e4m3_e4m3_o2_promoted");
  p.interval = 8;
  EXPECT_EQ(planned(p, o).info().kernel, "fp8_128x256_e4m3_e4m3_o2_fast");
  EXPECT_EQ(planned(p, o).info().promotions, 1);
  o.tile = Shape2{64, 256};
  EXPECT_EQ(planned(p, o).info().kernel, "fp8_64x256_e4m3_e4m3_o2_promoted");
  p.k = 128;  // a single K tile is one group everywhere
  p.interval = 4;
  p.accumulation = Accumulation::promoted;
  EXPECT_EQ(planned(p, o).info().promotions, 1);
}

TEST(Plan, has_an_unpromoted_kernel_beside_each_that_cannot_hold_a_group) {
  const kernels::Fp8KernelTable table = fake_gpu().fp8;
  int found = 0;
  for (int i = 0; i < table.count; ++i) {
    kernels::Fp8KernelId id = table.kernels[i].id;
    if (!kernels::fp8_begins_in_temporary(id)) continue;
    if (id.scales == kernels::Scales::blocks) continue;  // of one K tile a group, always
    ++found;
    id.promoted = false;
    const auto is_beside = [&](const kernels::Fp8Kernel& k) { return k.id == id; };
    EXPECT_TRUE(std::any_of(table.kernels, table.kernels + table.count, is_beside))
        << kernels::fp8_kernel_name(id);
  }
  EXPECT_GE(found, 7);
}

TEST(Plan, gives_short_intervals_to_their_own_kernels) {
  Problem p = small_problem();
  p.interval = 2;
  EXPECT_EQ(planned(p).info().kernel, "fp8_128x128_e4m3_e4m3_o2_promoted_i2");
  EXPECT_EQ(planned(p).info().group_tiles, 0);
}

TEST(Plan, prefers_kernels_without_a_temporary_for_fast_accumulation) {
  Problem p = small_problem();
  p.m = p.n = p.k = 8192;
  p.accumulation = Accumulation::fast;
  p.interval = 3;  // not looked at
  const Plan plan = planned(p);
  EXPECT_EQ(plan.info().kernel, "fp8_128x256_e4m3_e4m3_o2_fast");
  EXPECT_EQ(plan.info().cluster, (Shape2{1, 1}));
  EXPECT_EQ(plan.info().group_tiles, 64);
  p.a.ld = 8193;
  EXPECT_EQ(planned(p).info().kernel, "fp8_64x128_e4m3_e4m3_o2_promoted_copy");
  EXPECT_EQ(planned(p).info().group_tiles, 64);
}

TEST(Case, C37_a_base_off_by_bytes_takes_other_loads_or_is_refused_by_name) {
  for (const int past : {1, 2, 4, 8}) {
    Problem p = small_problem();
    p.b.alignment = past;
    const Plan plan = planned(p);
    EXPECT_FALSE(plan.info().tma_load);
    Buffers buffers = fake_buffers();
    buffers.b = reinterpret_cast<void*>(uintptr_t{0x200000} + static_cast<uintptr_t>(past));
    run(plan, buffers);
    const Status refused = planned(small_problem()).run(buffers);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code, ErrorCode::alignment);
    EXPECT_NE(refused->message.find("B: address is " + std::to_string(past) + " modulo 16"),
              std::string::npos);
  }
}

TEST(Case, C38_a_row_stride_off_16_bytes_takes_other_loads_and_stores) {
  Problem p = small_problem();
  p.k = 1000;  // packed rows of 1000 bytes
  EXPECT_FALSE(planned(p).info().tma_load);
  EXPECT_EQ(planned(p).info().tile, (Shape2{64, 128}));
  p = small_problem();
  p.n = 1733;
  p.d.type = DType::f32;
  EXPECT_TRUE(planned(p).info().tma_load);
  EXPECT_FALSE(planned(p).info().tma_store);
  EXPECT_EQ(run(p).arguments.d.row_stride, 1733);
}

// TMA cuts a store at the end of a row in units of 16 bytes: padding (or a neighbour's columns) would be
// overwritten.
TEST(Plan, stores_rows_that_do_not_end_on_16_bytes_element_by_element) {
  Problem p = small_problem();
  p.n = 260;
  p.d.ld = 264;
  EXPECT_FALSE(planned(p).info().tma_store);
  p.n = 264;
  EXPECT_TRUE(planned(p).info().tma_store);
  p.d.layout = Layout::column_major;
  p.d.ld = 0;
  p.m = 136;
  EXPECT_TRUE(planned(p).info().tma_store);
  p.m = 130, p.d.ld = 136;
  EXPECT_FALSE(planned(p).info().tma_store);
}

TEST(Case, C44_size_one_dimensions_have_any_stride) {
  Problem p = small_problem();
  p.l = 1;
  p.a.batch_stride = (int64_t{1} << 62);
  p.b.batch_stride = -3;
  p.d.batch_stride = 0;
  EXPECT_TRUE(planned(p).info().tma_load);
  p = small_problem();
  p.m = 1;
  p.a.ld = 7;
  p.d.ld = 3;
  const Plan row = planned(p);
  EXPECT_TRUE(row.info().tma_load);
  EXPECT_TRUE(row.info().tma_store);
  p = small_problem();
  p.k = 1;
  p.a.layout = Layout::column_major;  // a column of elements: K has one
  EXPECT_EQ(run(p).arguments.a.row_stride, 1);
}

TEST(Case, C46_tensor_maps_are_aligned_inside_what_holds_them) {
  static_assert(alignof(TensorMap) >= 64);
  static_assert(offsetof(blas::detail::PipelineParams, a_map) % 64 == 0);
  static_assert(offsetof(blas::detail::PipelineParams, b_map) % 64 == 0);
  struct AfterEightBytes {
    uint64_t first;
    TensorMap map;
  };
  static_assert(offsetof(AfterEightBytes, map) % 64 == 0);
}

TEST(Case, C47_one_of_four_operand_layouts_runs_and_the_others_say_so) {
  int runs = 0;
  for (const Layout a : {Layout::row_major, Layout::column_major})
    for (const Layout b : {Layout::row_major, Layout::column_major}) {
      Problem p = small_problem();
      p.a.layout = a;
      p.b.layout = b;
      const Expected<Plan> plan = plan_on(fake_gpu(), p, {});
      const bool k_major = a == Layout::row_major && b == Layout::column_major;
      EXPECT_EQ(plan.has_value(), k_major);
      if (!plan) {
        EXPECT_EQ(plan.error().rule, "layout.k_major");
        EXPECT_EQ(plan.error().code, ErrorCode::not_supported);
      }
      runs += plan.has_value();
    }
  EXPECT_EQ(runs, 1);
}

TEST(Case, C52_batch_strides_are_honoured_and_zero_broadcasts) {
  Problem p = small_problem();
  p.l = 4;
  p.a.batch_stride = 0;
  p.b.batch_stride = 2 * 768 * 1024;
  const RecordedLaunch l = run(p);
  EXPECT_EQ(l.arguments.a.batch_stride, 0);
  EXPECT_EQ(l.arguments.b.batches, 4);
  EXPECT_EQ(l.arguments.b.batch_stride, 2 * 768 * 1024);
  p.a.batch_stride = 100;  // not a multiple of 16: other loads, same stride
  EXPECT_EQ(run(p).arguments.a.batch_stride, 100);
  p.d.batch_stride = 0;
  EXPECT_EQ(can_plan(p), "batch_stride.d");
  p.d.ld = 4 * 768;  // batches side by side in one wide matrix
  p.d.batch_stride = 768;
  EXPECT_EQ(can_plan(p), "");
  p.d.batch_stride = 767;
  EXPECT_EQ(can_plan(p), "batch_stride.d");
}

TEST(Case, C43_batches_of_d_are_interleaved_by_rows_and_not_by_elements) {
  Problem p = small_problem();
  p.l = 3;
  p.d.ld = 3 * p.n;
  p.d.batch_stride = 1;  // D[m][n][batch]
  EXPECT_EQ(can_plan(p), "batch_stride.d");
  p.d.batch_stride = p.n;  // D[m][batch][n]
  const RecordedLaunch l = run(p);
  EXPECT_EQ(l.arguments.d.row_stride, 3 * p.n);
  EXPECT_EQ(l.arguments.d.batch_stride, p.n);
}

TEST(Plan, exchanges_the_operands_for_a_column_major_d) {
  Problem p = small_problem();
  p.a.type = DType::e5m2;
  p.d.layout = Layout::column_major;
  p.c = p.d;
  p.beta = 1;
  Options o;
  o.tile = Shape2{256, 128};
  o.cluster = Shape2{2, 1};
  o.raster = schedule::Raster::along_m;
  p.b.type = DType::e5m2;
  const Plan plan = planned(p, o);
  EXPECT_TRUE(plan.info().exchanged);
  EXPECT_EQ(plan.info().kernel, "fp8_128x256_e5m2_e5m2_o2_promoted");
  EXPECT_EQ(plan.info().tile, (Shape2{256, 128}));
  EXPECT_EQ(plan.info().cluster, (Shape2{2, 1}));
  EXPECT_EQ(plan.info().raster, schedule::Raster::along_m);
  const RecordedLaunch l = run(plan);
  EXPECT_EQ(l.arguments.a.rows, 768);
  EXPECT_EQ(l.arguments.b.columns, 512);
  EXPECT_EQ(l.arguments.a.data, fake_buffers().b);
  EXPECT_EQ(l.arguments.tiles.cluster_n, 2u);
  EXPECT_EQ(l.arguments.tiles.raster, schedule::Raster::along_n);
  EXPECT_EQ(l.arguments.d.row_stride, 512);
  EXPECT_EQ(l.arguments.c.row_stride, 512);
}

TEST(Plan, names_exchanged_operands_as_the_caller_knows_them) {
  Problem p = small_problem();
  p.d.layout = Layout::column_major;
  Buffers buffers = fake_buffers();
  buffers.a = reinterpret_cast<void*>(0x100004);
  const Status s = planned(p).run(buffers);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->message.substr(0, 2), "A:");
}

Buffers scaled_buffers() {
  Buffers buffers = fake_buffers();
  buffers.scale_a = reinterpret_cast<const float*>(0x600000);
  buffers.scale_b = reinterpret_cast<const float*>(0x700000);
  return buffers;
}

TEST(Scales, of_rows_and_columns_change_places_with_the_operands) {
  for (const Layout layout : {Layout::row_major, Layout::column_major}) {
    Problem p = scaled_problem(ScaleMode::per_row_column);
    p.l = 3;
    p.a_scales.batch_stride = 600;
    p.d.layout = layout;
    const Plan plan = planned(p);
    const RecordedLaunch l = run(plan, scaled_buffers());
    const bool exchanged = layout == Layout::column_major;
    EXPECT_EQ(plan.info().exchanged, exchanged);
    EXPECT_EQ(plan.info().scale_mode, ScaleMode::per_row_column);
    const auto& of_a = exchanged ? l.arguments.b_scales : l.arguments.a_scales;
    const auto& of_b = exchanged ? l.arguments.a_scales : l.arguments.b_scales;
    EXPECT_EQ(of_a.data, scaled_buffers().scale_a);
    EXPECT_EQ(of_b.data, scaled_buffers().scale_b);
    EXPECT_EQ(of_a.line_stride, 1);
    EXPECT_EQ(of_b.line_stride, 1);
    EXPECT_EQ(of_a.batch_stride, 600);
    EXPECT_EQ(of_b.batch_stride, 768);
    EXPECT_FALSE(l.arguments.block_scales);
    for (const float* factor : l.arguments.ops.scale_device) EXPECT_EQ(factor, nullptr);
  }
}

TEST(Scales, of_blocks_are_packed_as_their_operands_come) {
  Problem p = scaled_problem(ScaleMode::block_1x128_128x128);
  p.k = 1000;  // 8 blocks
  p.n = 650;   // 6 blocks
  p.a.ld = p.b.ld = 1008;
  p.l = 2;
  const RecordedLaunch l = run(planned(p), scaled_buffers());
  EXPECT_TRUE(l.arguments.block_scales);
  EXPECT_EQ(l.arguments.a_scales.line_stride, 1);  // rows of A contiguous
  EXPECT_EQ(l.arguments.a_scales.k_stride, 512);
  EXPECT_EQ(l.arguments.a_scales.batch_stride, 512 * 8);
  EXPECT_EQ(l.arguments.b_scales.line_stride, 8);  // K contiguous
  EXPECT_EQ(l.arguments.b_scales.k_stride, 1);
  EXPECT_EQ(l.arguments.b_scales.batch_stride, 6 * 8);
  EXPECT_EQ(l.arguments.tuning.group_tiles, 1u);
  // One block of K: neighbouring lines are neighbours, as are those of K.
  p.k = 128;
  EXPECT_EQ(run(planned(p), scaled_buffers()).arguments.b_scales.batch_stride, 6);
  EXPECT_EQ(run(planned(p), scaled_buffers()).arguments.a_scales.batch_stride, 512);
  p.m = 1;
  p.k = 1000;
  EXPECT_EQ(run(planned(p), scaled_buffers()).arguments.a_scales.batch_stride, 8);
}

TEST(Scales, of_blocks_keep_the_operands_of_a_column_major_d_in_place) {
  Problem p = scaled_problem(ScaleMode::block_1x128_128x128);
  p.d.layout = Layout::column_major;
  p.d.ld = 520;
  const Plan plan = planned(p);
  const RecordedLaunch l = run(plan, scaled_buffers());
  EXPECT_FALSE(plan.info().exchanged);
  EXPECT_FALSE(l.arguments.ops.bulk);
  EXPECT_EQ(l.arguments.a.rows, 512);
  EXPECT_EQ(l.arguments.d.row_stride, 1);
  EXPECT_EQ(l.arguments.d.column_stride, 520);
  EXPECT_EQ(l.arguments.a_scales.data, scaled_buffers().scale_a);
}

TEST(Scales, take_the_kernels_that_are_built_for_them) {
  Problem p = scaled_problem(ScaleMode::block_1x128_128x128);
  p.m = p.n = p.k = 8192;
  EXPECT_EQ(planned(p).info().kernel, "fp8_128x256_e4m3_e4m3_o2_promoted_blocks");
  EXPECT_EQ(planned(p).info().stages, 4);
  p.scale_mode = ScaleMode::per_row_column;
  EXPECT_EQ(planned(p).info().kernel, "fp8_128x256_e4m3_e4m3_o2_promoted_vectors");
  p.m = 64;
  EXPECT_EQ(planned(p).info().kernel, "fp8_64x128_e4m3_e4m3_o2_promoted_blocks");  // takes vectors too
  Options o;
  o.tile = Shape2{128, 128};
  EXPECT_EQ(planned(p, o).info().kernel, "fp8_128x128_e4m3_e4m3_o2_promoted_blocks");
  p.m = 8192;
  p.accumulation = Accumulation::fast;
  EXPECT_EQ(planned(p).info().kernel, "fp8_128x256_e4m3_e4m3_o2_fast_vectors");
  EXPECT_EQ(planned(p, o).info().kernel, "fp8_128x128_e4m3_e4m3_o2_promoted_blocks");
  EXPECT_EQ(planned(p, o).info().promotions, 1);
  p.scale_mode = ScaleMode::per_tensor;
  EXPECT_EQ(planned(p).info().kernel.find("vectors"), std::string::npos);
  EXPECT_EQ(planned(p).info().kernel.find("blocks"), std::string::npos);
}

TEST(Plan, updates_c_in_place) {
  Problem p = small_problem();
  p.beta = 1;
  Buffers buffers = fake_buffers();
  buffers.c = buffers.d;
  EXPECT_EQ(run(planned(p), buffers).arguments.c.data, buffers.d);
}

TEST(Case, C94_the_multiprocessor_limit_is_honoured_in_whole_clusters_that_fit) {
  Problem p = small_problem();
  p.m = p.n = 8192;  // 2048 tiles; as K is short all multiprocessors work
  Options o;
  o.max_sms = 101;
  EXPECT_EQ(run(p, o).launch.grid_ctas, 101u);
  o.cluster = Shape2{2, 1};
  EXPECT_EQ(run(p, o).launch.grid_ctas, 100u);
  o.max_sms = 1;
  o.cluster.reset();
  EXPECT_EQ(run(p, o).launch.grid_ctas, 1u);
  o.max_sms = 1000;
  EXPECT_EQ(run(p, o).launch.grid_ctas, 132u);

  o = {};
  o.cluster = Shape2{2, 2};
  EXPECT_EQ(run(p, o).launch.grid_ctas, 120u);  // 30 clusters of four are resident
  fake_resident(2) = 0;
  const Plan alone = planned(p);
  o.cluster = Shape2{2, 1};
  const Expected<Plan> pairs = plan_on(fake_gpu(), p, o);
  fake_resident(2) = 66;
  EXPECT_EQ(alone.info().cluster, (Shape2{1, 1}));
  ASSERT_FALSE(pairs);
  EXPECT_EQ(pairs.error().rule, "cluster.resident");
}

TEST(Plan, launches_no_more_ctas_than_tiles) {
  Problem p = small_problem();
  p.m = p.n = 100;
  Options o;
  o.tile = Shape2{128, 128};
  EXPECT_EQ(run(p, o).launch.grid_ctas, 1u);
  o.cluster = Shape2{2, 1};  // larger than useful: the other CTA computes nothing that is stored
  EXPECT_EQ(run(p, o).launch.grid_ctas, 2u);
}

TEST(Plan, sizes_the_emulated_chip_for_three_tiles_a_cta) {
  Problem p = small_problem();
  Options o;
  o.tile = Shape2{128, 128};
  Plan plan = planned(p, o, fake_emulator());
  EXPECT_EQ(plan.info().tiles, 24);
  EXPECT_EQ(plan.info().grid_ctas, 8);
  o.max_sms = 5;
  EXPECT_EQ(planned(p, o, fake_emulator()).info().grid_ctas, 5);
  p.m = p.n = 128;
  o.max_sms.reset();
  EXPECT_EQ(planned(p, o, fake_emulator()).info().grid_ctas, 1);
}

TEST(Case, C50_plans_keep_the_strides_of_2_to_the_31_elements) {
  const struct {
    int64_t rows, columns;
  } shapes[] = {{131072, 16384}, {4194305, 512}, {175000, 12288}, {536870913, 4}, {2147483647, 1}};
  for (const auto& shape : shapes) {
    for (const bool tall_d : {false, true}) {
      Problem p = small_problem();
      p.m = shape.rows;
      p.n = tall_d ? shape.columns : 16;
      p.k = tall_d ? 16 : shape.columns;
      p.a.ld = tall_d ? 16 : (shape.columns + 15) / 16 * 16;
      p.b.ld = p.a.ld;
      p.d.ld = (p.n + 7) / 8 * 8;
      Options o;
      o.tile = Shape2{128, 128};
      o.cluster = Shape2{1, 1};
      const RecordedLaunch l = run(p, o);
      EXPECT_EQ(l.arguments.a.rows, shape.rows);
      EXPECT_EQ(l.arguments.a.row_stride, p.a.ld);
      EXPECT_EQ(l.arguments.ops.bulk, p.n % 8 == 0);
      EXPECT_EQ(l.arguments.d.row_stride, p.d.ld);
      EXPECT_EQ(l.arguments.tiles.clusters_total,
                static_cast<uint64_t>((shape.rows + 127) / 128 * ((p.n + 127) / 128)));
    }
  }
}

TEST(Plan, runs_from_many_threads_at_once) {
  const Plan plan = planned(small_problem());
  std::vector<std::thread> threads;
  std::vector<size_t> counts(8);
  for (size_t t = 0; t < counts.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i)
        if (plan.run(fake_buffers())) return;
      counts[t] = launches().size();
    });
  }
  for (std::thread& t : threads) t.join();
  for (const size_t count : counts) EXPECT_EQ(count, 200u);
}

TEST(Plan, every_kernel_of_the_list_can_be_asked_for) {
  for (int i = 0; i < fake_kernels().count; ++i) {
    const kernels::Fp8KernelId& id = fake_kernels().kernels[i].id;
    Problem p = small_problem();
    p.a.type = id.a;
    p.b.type = id.b;
    p.d.type = id.out_bytes == 1 ? DType::e4m3 : id.out_bytes == 2 ? DType::bf16 : DType::f32;
    p.accumulation = id.promoted ? Accumulation::promoted : Accumulation::fast;
    p.interval = id.interval == 0 ? 4 : id.interval;
    if (id.scales == kernels::Scales::vectors) p.scale_mode = ScaleMode::per_row_column;
    if (id.scales == kernels::Scales::blocks) p.scale_mode = ScaleMode::block_1x128_128x128;
    Options o;
    o.tile = Shape2{id.tile_m, id.tile_n};
    o.load = id.load == kernels::Load::copy ? LoadKind::copy : LoadKind::tma;
    EXPECT_EQ(planned(p, o).info().kernel, kernels::fp8_kernel_name(id));
  }
}

}  // namespace
}  // namespace tilewright::testing
