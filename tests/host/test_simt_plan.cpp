#include <gtest/gtest.h>

#include <set>
#include <string>

#include "src/simt_plan.h"
#include "tests/host/planning.h"

namespace tilewright::testing {
namespace {

using Kernel = RecordedSimtLaunch::Kernel;

/// Everything a run launches; its number is what the plan says.
std::vector<RecordedSimtLaunch> run(const Plan& plan, const Buffers& buffers = fake_buffers()) {
  const std::vector<RecordedSimtLaunch> all = run_and_list(simt_launches(), plan, buffers);
  EXPECT_EQ(static_cast<int>(all.size()), plan.info().launches);
  return all;
}

/// The launch of the product.
kernels::SimtGemmParams gemm(const std::vector<RecordedSimtLaunch>& launches) {
  for (const RecordedSimtLaunch& l : launches)
    if (l.kernel == Kernel::gemm) return l.gemm;
  ADD_FAILURE() << "no product";
  return {};
}

std::vector<Kernel> kinds(const std::vector<RecordedSimtLaunch>& launches) {
  std::vector<Kernel> out;
  for (const RecordedSimtLaunch& l : launches) out.push_back(l.kernel);
  return out;
}

Options tiled_unsplit(int64_t m, int64_t n) {
  Options o = tiled(m, n);
  o.splits = 1;
  return o;
}

TEST(SimtPlan, launches_one_kernel_where_bulk_copies_reach_everything) {
  const Plan plan = planned(simt_problem(4096, 4096, 4096), tiled_unsplit(128, 128));
  EXPECT_EQ(plan.info().kernel, "simt_128x128_tma_tma_whole");
  EXPECT_EQ(plan.info().path, "simt");
  EXPECT_EQ(plan.info().tile, (Shape2{128, 128}));
  EXPECT_EQ(plan.info().tile_k, 32);
  EXPECT_EQ(plan.info().splits, 1);
  EXPECT_EQ(plan.info().launches, 1);
  EXPECT_EQ(plan.workspace_bytes(), 0);
  Buffers buffers = fake_buffers();
  buffers.workspace = nullptr;
  const auto launched = run(plan, buffers);
  EXPECT_EQ(kinds(launched), (std::vector{Kernel::gemm}));
  EXPECT_EQ(launched[0].launch.grid_ctas, 264u);  // two CTAs an SM
  const kernels::SimtGemmParams p = gemm(launched);
  EXPECT_EQ(p.tiles.clusters_total, 1024u);
  EXPECT_EQ(p.whole_tiles, 1024u);
  EXPECT_EQ(p.piece_k_tiles, 0u);
  EXPECT_EQ(p.k_tiles, 128u);
}

TEST(SimtPlan, describes_operands_to_the_copy_unit_rows_first) {
  Problem problem = simt_problem(500, 760, 1000);
  problem.a.ld = 504;
  problem.l = 3;
  const kernels::SimtGemmParams p = gemm(run(planned(problem, tiled_unsplit(128, 128))));
  const TensorMapSpec a = decode_for_emulator(p.a_map), b = decode_for_emulator(p.b_map);
  EXPECT_EQ(a.base, reinterpret_cast<void*>(0x100000));
  EXPECT_EQ(a.type, TmaType::f32);
  EXPECT_EQ(a.extent, (std::array<uint64_t, 5>{500, 1000, 3}));
  EXPECT_EQ(a.strides, (std::array<uint64_t, 4>{4 * 504, 4 * 504 * 1000}));
  EXPECT_EQ(a.box, (std::array<uint32_t, 5>{128, 32, 1}));
  EXPECT_EQ(a.swizzle, Swizzle::none);
  EXPECT_EQ(b.extent, (std::array<uint64_t, 5>{760, 1000, 3}));
  EXPECT_EQ(b.strides, (std::array<uint64_t, 4>{4 * 760, 4 * 760 * 1000}));
}

TEST(SimtPlan, gathers_what_must_not_be_repacked) {
  for (const Layout a : {Layout::row_major, Layout::column_major}) {
    for (const Layout b : {Layout::row_major, Layout::column_major}) {
      Problem problem = simt_problem(516, 516, 512);
      problem.a.layout = a;
      problem.b.layout = b;
      Options o = tiled_unsplit(128, 128);
      o.max_workspace = 0;
      const Plan plan = planned(problem, o);
      const bool gather_a = a == Layout::row_major, gather_b = b == Layout::column_major;
      EXPECT_EQ(plan.info().kernel, std::string("simt_128x128") + (gather_a ? "_gather" : "_tma") +
                                        (gather_b ? "_gather" : "_tma"));
      EXPECT_EQ(plan.info().launches, 1);
      EXPECT_EQ(plan.info().tma_load, !gather_a && !gather_b);
      const kernels::SimtGemmParams p = gemm(run(plan));
      EXPECT_EQ(p.a_row_stride, gather_a ? 512 : 1);
      EXPECT_EQ(p.a_k_stride, gather_a ? 1 : 516);
      EXPECT_EQ(p.b_row_stride, gather_b ? 512 : 1);
      EXPECT_EQ(p.b_k_stride, gather_b ? 1 : 516);
    }
  }
}

TEST(SimtPlan, repacks_operands_that_bulk_copies_cannot_address) {
  Problem problem = simt_problem(500, 4095, 1000);
  problem.a.layout = Layout::row_major;  // K-major
  Options o = tiled_unsplit(128, 128);
  o.load = LoadKind::tma;
  const Plan plan = planned(problem, o);
  EXPECT_TRUE(plan.info().repack_a);
  EXPECT_TRUE(plan.info().repack_b);  // rows of 4095 floats
  EXPECT_NE(plan.info().why.find("A repacked (K-major)"), std::string::npos) << plan.info().why;
  EXPECT_NE(plan.info().why.find("B repacked (leading dimension 4095 of 4 bytes)"), std::string::npos)
      << plan.info().why;
  const int64_t a_bytes = 4 * 512 * 1000, b_bytes = 4 * 4096 * 1000;
  EXPECT_EQ(plan.workspace_bytes(), a_bytes + b_bytes);
  const auto launched = run(plan);
  ASSERT_EQ(kinds(launched), (std::vector{Kernel::repack, Kernel::gemm}));
  const kernels::SimtRepackParams& r = launched[0].repack;
  const auto* workspace = static_cast<const std::byte*>(fake_buffers().workspace);
  EXPECT_EQ(static_cast<const void*>(r.operand[0].from), fake_buffers().a);
  EXPECT_EQ(static_cast<const void*>(r.operand[0].to), workspace);
  EXPECT_EQ(r.operand[0].row_stride, 1000);
  EXPECT_EQ(r.operand[0].k_stride, 1);
  EXPECT_EQ(r.operand[0].ld, 512);
  EXPECT_EQ(r.operand[0].tiles_rows, 8u);
  EXPECT_EQ(r.operand[0].tiles_k, 16u);
  EXPECT_EQ(static_cast<const void*>(r.operand[1].to), workspace + a_bytes);
  EXPECT_EQ(r.operand[1].row_stride, 1);
  EXPECT_EQ(r.operand[1].k_stride, 4095);
  const TensorMapSpec a = decode_for_emulator(gemm(launched).a_map);
  EXPECT_EQ(a.base, workspace);
  EXPECT_EQ(a.extent, (std::array<uint64_t, 5>{500, 1000, 1}));
  EXPECT_EQ(a.strides[0], 4u * 512);
}

TEST(SimtPlan, repacks_a_matrix_that_every_batch_reads_once) {
  Problem problem = simt_problem(128, 128, 64);
  problem.a.layout = Layout::row_major;
  problem.l = 5;
  problem.a.batch_stride = 0;
  Options o = tiled_unsplit(128, 128);
  o.load = LoadKind::tma;
  const auto launched = run(planned(problem, o));
  EXPECT_EQ(launched[0].repack.operand[0].batches, 1u);
  EXPECT_EQ(launched[0].repack.operand[1].from, nullptr);
  EXPECT_EQ(gemm(launched).a_batch_step, 0u);
  EXPECT_EQ(decode_for_emulator(gemm(launched).a_map).extent[2], 1u);
}

TEST(SimtPlan, cuts_k_into_the_parts_asked_for) {
  Options o = tiled_unsplit(128, 128);
  o.splits = 4;
  const Plan plan = planned(simt_problem(256, 256, 65536), o);
  EXPECT_EQ(plan.info().splits, 4);
  EXPECT_EQ(plan.info().shared_tiles, 4);
  EXPECT_EQ(plan.info().grid_ctas, 16);
  EXPECT_EQ(plan.workspace_bytes(), 16 * 2 * 128 * 128 * 4);
  const auto launched = run(plan);
  ASSERT_EQ(kinds(launched), (std::vector{Kernel::gemm, Kernel::fixup}));
  const kernels::SimtGemmParams p = gemm(launched);
  EXPECT_EQ(p.whole_tiles, 0u);
  EXPECT_EQ(p.piece_k_tiles, 512u);
  EXPECT_EQ(p.longer_pieces, 0u);
  EXPECT_EQ(static_cast<void*>(p.partials), fake_buffers().workspace);
  EXPECT_EQ(launched[1].launch.grid_ctas, 4u);
  EXPECT_EQ(launched[1].gemm.partials, p.partials);
}

TEST(SimtPlan, never_makes_more_parts_than_k_tiles_or_pieces_without_work) {
  for (const int64_t k : {0, 1, 32, 33, 100, 1000}) {
    for (const int64_t splits : {1, 2, 3, 64, 1000}) {
      for (const int64_t m : {1, 128, 500, 5000}) {
        Options o = tiled_unsplit(128, 128);
        o.splits = splits;
        const Plan plan = planned(simt_problem(m, 300, k), o);
        const kernels::SimtGemmParams p = gemm(run(plan));
        EXPECT_LE(plan.info().splits, std::max<int64_t>(1, p.k_tiles));
        const uint64_t pieces =
            uint64_t{p.piece_k_tiles} * static_cast<uint64_t>(plan.info().grid_ctas) + p.longer_pieces;
        const uint32_t shared = p.tiles.clusters_total - p.whole_tiles;
        EXPECT_EQ(pieces, uint64_t{shared} * p.k_tiles);
        if (shared > 0) {
          EXPECT_GE(p.piece_k_tiles, 1u);
        }
      }
    }
  }
}

TEST(SimtPlan, shares_tiles_where_a_few_are_left_over) {
  // 13 x 21 tiles of 128 x 128 on 264 CTAs: nine would run alone.
  const Problem problem = simt_problem(13 * 128, 21 * 128, 8192);
  Options o;
  o.tile = Shape2{128, 128};
  const Plan plan = planned(problem, o);
  EXPECT_GT(plan.info().shared_tiles, 0);
  EXPECT_EQ(plan.info().grid_ctas, 264);
  EXPECT_EQ(plan.info().launches, 2);
  o.max_workspace = 0;
  EXPECT_EQ(planned(problem, o).info().shared_tiles, 0);
}

TEST(SimtPlan, takes_every_layout_of_a_b_c_and_d) {
  constexpr Layout kBoth[] = {Layout::row_major, Layout::column_major};
  int plans = 0;
  for (const Layout a : kBoth)
    for (const Layout b : kBoth)
      for (const Layout c : kBoth)
        for (const Layout d : kBoth) {
          Problem problem = simt_problem(300, 200, 100);
          problem.a.layout = a;
          problem.b.layout = b;
          problem.c.layout = c;
          problem.d.layout = d;
          problem.beta = 1;
          const Plan plan = planned(problem);
          const bool exchanged = d == Layout::column_major;
          EXPECT_EQ(plan.info().exchanged, exchanged);
          const kernels::SimtGemmParams p = gemm(run(plan));
          EXPECT_EQ(p.m, exchanged ? 200u : 300u);
          EXPECT_EQ(p.d_row_stride, exchanged ? 300 : 200);
          EXPECT_EQ(p.c_row_stride, c == d ? p.d_row_stride : 1);
          EXPECT_EQ(p.c_column_stride, c == d ? 1 : exchanged ? 200 : 300);
          ++plans;
        }
  EXPECT_EQ(plans, 16);
}

TEST(SimtPlan, exchanges_the_operands_for_a_column_major_d) {
  Problem problem = simt_problem(512, 768, 1024);
  problem.d.layout = Layout::column_major;
  problem.a.layout = Layout::row_major;
  Options o = tiled_unsplit(128, 64);  // 64 x 128 of D^T
  o.load = LoadKind::tma;
  const Plan plan = planned(problem, o);
  EXPECT_EQ(plan.info().kernel, "simt_64x128_tma_tma_whole");
  EXPECT_EQ(plan.info().tile, (Shape2{128, 64}));
  EXPECT_TRUE(plan.info().repack_a);
  EXPECT_FALSE(plan.info().repack_b);
  const auto launched = run(plan);
  EXPECT_EQ(launched[0].repack.operand[0].from, nullptr);
  EXPECT_EQ(static_cast<const void*>(launched[0].repack.operand[1].from), fake_buffers().a);
  EXPECT_EQ(decode_for_emulator(gemm(launched).a_map).base, fake_buffers().b);
}

TEST(SimtPlan, never_touches_a_and_b_when_alpha_or_k_is_zero) {
  for (const bool by_k : {false, true}) {
    Problem problem = simt_problem();
    problem.a.layout = Layout::row_major;
    problem.beta = 2;
    (by_k ? problem.k : problem.m) = by_k ? 0 : 512;
    if (!by_k) problem.alpha = 0;
    Buffers buffers = fake_buffers();
    buffers.a = buffers.b = nullptr;
    buffers.workspace = nullptr;
    const float factor = 1;
    buffers.alpha = buffers.beta = &factor;
    const auto launched = run(planned(problem), buffers);
    ASSERT_EQ(kinds(launched), (std::vector{Kernel::gemm}));
    const kernels::SimtGemmParams p = gemm(launched);
    EXPECT_EQ(p.k_tiles, 0u);
    EXPECT_EQ(p.a, nullptr);
    EXPECT_EQ(p.alpha, 0);
    EXPECT_EQ(p.alpha_device, nullptr);
    EXPECT_EQ(p.beta, 2);
    EXPECT_EQ(p.beta_device, &factor);
  }
}

TEST(SimtPlan, never_touches_c_when_beta_is_zero) {
  Problem problem = simt_problem();
  problem.c.ld = -5;  // nor looks at what is said of it
  problem.c.type = DType::s32;
  Buffers buffers = fake_buffers();
  const float factor = 1;
  buffers.beta = &factor;
  const kernels::SimtGemmParams p = gemm(run(planned(problem), buffers));
  EXPECT_EQ(p.c, nullptr);
  EXPECT_EQ(p.beta_device, nullptr);
}

TEST(SimtPlan, folds_the_host_scales_into_alpha_and_beta) {
  Problem problem = simt_problem();
  problem.alpha = 2, problem.scale_a = 3, problem.scale_b = 5, problem.scale_d = 7, problem.beta = 11;
  const kernels::SimtGemmParams p = gemm(run(planned(problem)));
  EXPECT_EQ(p.alpha, 210);
  EXPECT_EQ(p.beta, 77);
}

TEST(SimtPlan, no_output_is_success_and_launches_nothing) {
  for (int which = 0; which < 3; ++which) {
    Problem problem = simt_problem();
    problem.a.layout = Layout::row_major;
    (which == 0 ? problem.m : which == 1 ? problem.n : problem.l) = 0;
    const Plan plan = planned(problem);
    EXPECT_EQ(plan.info().grid_ctas, 0);
    EXPECT_EQ(plan.workspace_bytes(), 0);
    EXPECT_TRUE(run(plan, {}).empty());
  }
}

TEST(SimtPlan, accepts_four_byte_alignment_and_odd_strides) {
  Problem problem = simt_problem(129, 131, 127);
  problem.a.alignment = problem.b.alignment = problem.d.alignment = 4;
  Options o;
  o.max_workspace = 0;
  const Plan plan = planned(problem, o);
  EXPECT_FALSE(plan.info().tma_load);
  Buffers buffers = fake_buffers();
  buffers.a = reinterpret_cast<void*>(0x100004);
  buffers.b = reinterpret_cast<void*>(0x200008);
  buffers.d = reinterpret_cast<void*>(0x40000c);
  run(plan, buffers);
}

TEST(SimtPlan, an_unaligned_operand_is_not_bulk_copied) {
  for (const auto& change : {+[](Problem& p) { p.a.alignment = 8; }, +[](Problem& p) { p.a.ld = 514; },
                             +[](Problem& p) { p.a.batch_stride = 512 * 1024 + 1; }}) {
    Problem problem = simt_problem();
    problem.l = 2;
    EXPECT_TRUE(planned(problem, tiled_unsplit(128, 128)).info().tma_load);
    change(problem);
    Options o = tiled_unsplit(128, 128);
    o.max_workspace = 0;
    EXPECT_EQ(planned(problem, o).info().kernel, "simt_128x128_gather_tma");
  }
}

TEST(SimtPlan, size_one_dimensions_have_any_stride) {
  Problem problem = simt_problem(1, 768, 1024);
  problem.a.ld = 8;
  Options o = tiled_unsplit(32, 128);
  o.load = LoadKind::tma;
  EXPECT_FALSE(planned(problem, o).info().repack_a);  // k stride 8: whole 16 bytes
  problem = simt_problem(512, 768, 1);
  problem.a.layout = Layout::row_major;  // a column of elements 1 apart
  problem.a.ld = 1;
  EXPECT_FALSE(planned(problem, o).info().repack_a);
}

TEST(SimtPlan, honours_the_multiprocessor_limit) {
  Options o = tiled_unsplit(128, 128);
  o.max_sms = 100;
  EXPECT_EQ(planned(simt_problem(4096, 4096, 64), o).info().grid_ctas, 200);
  o.max_sms = 1;
  EXPECT_EQ(planned(simt_problem(4096, 4096, 64), o).info().grid_ctas, 2);
  o.max_sms.reset();
  EXPECT_EQ(planned(simt_problem(4096, 4096, 64), o, fake_emulator()).info().grid_ctas, 264);
  EXPECT_EQ(planned(simt_problem(512, 384, 64), o, fake_emulator()).info().grid_ctas, 12 / 3);
}

TEST(SimtPlan, every_kernel_of_the_list_can_be_asked_for) {
  std::set<std::string> names;
  for (int i = 0; i < fake_simt_kernels().count; ++i) {
    const kernels::SimtKernelId& id = fake_simt_kernels().kernels[i].id;
    Problem problem = id.whole ? simt_problem() : simt_problem(508, 764, 1024);
    if (id.a == kernels::SimtLoad::gather) problem.a.layout = Layout::row_major;
    if (id.b == kernels::SimtLoad::gather) problem.b.layout = Layout::column_major;
    Options o = tiled_unsplit(id.tile_m, id.tile_n);
    o.max_workspace = 0;
    if (id.pipeline == kernels::SimtPipeline::async) o.pipeline = PipelineKind::async;
    const std::string name = planned(problem, o).info().kernel;
    EXPECT_EQ(name, kernels::simt_kernel_name(id));
    names.insert(name);
  }
  EXPECT_EQ(static_cast<int>(names.size()), fake_simt_kernels().count);
}

std::string choice(int64_t m, int64_t n, int64_t k) {
  Problem problem = simt_problem(m, n, k);
  problem.a.layout = Layout::row_major;
  problem.b.layout = Layout::column_major;  // both K-major
  const PlanInfo info = planned(problem).info();
  return info.kernel + (info.repack_a ? " a" : "") + (info.repack_b ? " b" : "") +
         (info.shared_tiles > 0 ? " cut" : "");
}

// Golden: the shapes that are measured. A change here is a change of what users get, and wants a measurement.
TEST(SimtPlan, picks_the_measured_kernels) {
  EXPECT_EQ(choice(1024, 1024, 1024), "simt_128x128_gather_gather_whole cut");
  EXPECT_EQ(choice(2048, 2048, 2048), "simt_128x128_tma_tma_whole a b");
  EXPECT_EQ(choice(4096, 4096, 4096), "simt_128x128_tma_tma_whole a b cut");
  EXPECT_EQ(choice(128, 7168, 2048), "simt_128x128_gather_gather_whole cut");
  EXPECT_EQ(choice(64, 24576, 1536), "simt_64x128_gather_gather cut");
  EXPECT_EQ(choice(256, 256, 65536), "simt_128x128_gather_gather_whole cut");
}

TEST(SimtPlan, flips_problems_of_few_columns_onto_low_tiles) {
  const Plan plan = planned(simt_problem(4096, 20, 512));
  EXPECT_TRUE(plan.info().exchanged);
  EXPECT_LE(plan.info().tile.n, 32);
  const kernels::SimtGemmParams p = gemm(run(plan));
  EXPECT_EQ(p.m, 20u);
  EXPECT_EQ(p.n, 4096u);
  EXPECT_EQ(p.d_row_stride, 1);
  EXPECT_EQ(p.d_column_stride, 20);
  EXPECT_EQ(gemm(run(planned(simt_problem(20, 4096, 512)))).d_column_stride, 1);
}

TEST(SimtPlan, other_gpus_than_sm_90_run_the_pipeline_without_a_producer) {
  Target ampere = fake_gpu();
  ampere.capability = 80;
  const Plan plan = planned(simt_problem(), {}, ampere);
  EXPECT_NE(plan.info().kernel.find("_async"), std::string::npos) << plan.info().kernel;
  EXPECT_FALSE(run(plan)[0].launch.dependent_launch);
  Options o;
  o.pipeline = PipelineKind::async;
  o.splits = 1;
  o.tile = Shape2{128, 128};
  Problem problem = simt_problem();
  problem.b.layout = Layout::column_major;
  const kernels::SimtGemmParams p = gemm(run(planned(problem, o)));
  EXPECT_TRUE(p.a_vector);
  EXPECT_FALSE(p.b_vector);
  o.pipeline = PipelineKind::producer;
  EXPECT_EQ(planned(problem, o).info().kernel.find("_async"), std::string::npos);
}

TEST(SimtPlan, a_static_shape_takes_kernels_without_checks) {
  Options o;
  o.static_shape = true;
  const std::string name = planned(simt_problem(512, 768, 999), o).info().kernel;
  EXPECT_NE(name.find("_whole"), std::string::npos) << name;
  const std::string dynamic = planned(simt_problem(512, 767, 999)).info().kernel;
  EXPECT_EQ(dynamic.find("_whole"), std::string::npos) << dynamic;
}

TEST(SimtPlan, counts_and_addresses_beyond_2_to_the_31_are_refused_or_64_bit) {
  Problem problem = simt_problem(2147483647, 4, 64);
  problem.a.ld = 2147483648;
  Options o = tiled_unsplit(128, 128);
  const kernels::SimtGemmParams p = gemm(run(planned(problem, o)));
  EXPECT_EQ(decode_for_emulator(p.a_map).strides[0], uint64_t{4} << 31);
  problem.l = 256;
  problem.a.batch_stride = problem.b.batch_stride = 0;
  expect_refused(problem, o, "tiles.count", "2^31 tiles");
}

}  // namespace
}  // namespace tilewright::testing
