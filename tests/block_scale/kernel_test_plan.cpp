// Block-scaled problems through plan() and Plan::run().
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "src/gemm_plan.h"
#include "tests/block_scale/kernel_case.h"
#include "tilewright/gemm.h"

namespace tilewright {
namespace {

/// A KernelCase as a Problem, its options and its buffers.
struct Planned {
  explicit Planned(const KernelCase& c) : run(c) {
    const BlockScaledProblem p = run.problem();
    problem.m = c.m, problem.n = c.n, problem.k = c.k, problem.l = c.batches;
    problem.a = operand(p.a);
    problem.b = operand(p.b);
    problem.b.layout = Layout::column_major;
    problem.c.type = p.c_type;
    problem.d = {.type = c.d_type, .ld = p.d_ld, .batch_stride = p.d_batch_stride};
    problem.alpha = c.alpha, problem.beta = c.beta;
    problem.scale_a = run.a.tensor_scale, problem.scale_b = run.b.tensor_scale;
    options.device = Device::emulator;
    options.overlap = c.overlap;
    buffers = {.a = p.a.elements,
               .b = p.b.elements,
               .c = p.c,
               .d = p.d,
               .a_scales = p.a.scales,
               .b_scales = p.b.scales};
    std::fill(run.d.begin(), run.d.end(), uint8_t{0xA5});
  }

  static Operand operand(const BlockScaledOperand& o) {
    return {.type = element_type(o.format),
            .ld = o.ld,
            .batch_stride = o.batch_stride,
            .alignment = 128,
            .block = o.format};
  }

  Status launch() {
    const Expected<Plan> planned = plan(problem, options);
    if (!planned) return planned.error();
    info = planned->info();
    emulator::Machine machine;
    return planned->run(buffers, &machine);
  }

  KernelRun run;
  Problem problem;
  Options options;
  Buffers buffers;
  PlanInfo info;
};

TEST(BlockScaledPlan, every_format_is_right_with_all_that_a_problem_has) {
  for (const auto& [a, b] : kFormatPairs) {
    for (const bool overlap : {true, false}) {
      Planned p({.a = a,
                 .b = b,
                 .overlap = overlap,
                 .m = 140,
                 .n = 296,
                 .k = 256,
                 .batches = 2,
                 .alpha = 0.5f,
                 .beta = -2,
                 .d_padding = 8});
      const Status failed = p.launch();
      ASSERT_FALSE(failed) << failed->message;
      EXPECT_TRUE(p.run.is_right());
      EXPECT_EQ(p.info.path, "tcgen05");
      EXPECT_EQ(p.info.overlap, overlap);
      EXPECT_EQ(p.info.tiles, 4);  // pairs of CTAs: 1 x 2 in each batch
      EXPECT_EQ(p.info.grid_ctas, 2);
      EXPECT_EQ(p.info.tile_k, is_fp4(a) ? 256 : 128);
      EXPECT_TRUE(p.info.tma_store);
      EXPECT_NE(p.info.kernel.find(overlap ? "_overlap" : "_single"), std::string::npos);
    }
  }
}

TEST(BlockScaledPlan, the_scale_of_d_multiplies_product_and_c) {
  Planned p({.m = 40, .n = 48, .k = 128, .d_type = DType::f32, .alpha = 3, .beta = 1.5f});
  p.problem.alpha = 6, p.problem.beta = 3, p.problem.scale_d = 0.5f;
  ASSERT_FALSE(p.launch());
  EXPECT_TRUE(p.run.is_right());
}

TEST(BlockScaledPlan, options_change_the_launch_and_not_the_result) {
  const KernelCase c{.m = 512, .n = 768, .k = 128};
  Planned usual(c);
  ASSERT_FALSE(usual.launch());
  ASSERT_TRUE(usual.run.is_right());
  const auto with = [&](const std::function<void(Options&)>& change) {
    auto p = std::make_unique<Planned>(c);
    change(p->options);
    const Status failed = p->launch();
    EXPECT_FALSE(failed) << failed->message;
    EXPECT_EQ(p->run.result(), usual.run.result());
    return p->info;
  };
  EXPECT_EQ(usual.info.sms, 4);  // three tiles for each pair, of six tiles
  EXPECT_EQ(with([](Options& o) { o.max_sms = 7; }).grid_ctas, 6);
  const PlanInfo controlled =
      with([](Options& o) { o.scheduler = schedule::TileScheduler::cluster_launch_control; });
  EXPECT_EQ(controlled.grid_ctas, 12);
  EXPECT_EQ(controlled.scheduler, schedule::TileScheduler::cluster_launch_control);
  EXPECT_EQ(usual.info.scheduler, schedule::TileScheduler::static_persistent);
  EXPECT_FALSE(with([](Options& o) { o.store = StoreKind::direct; }).tma_store);
  EXPECT_TRUE(with([](Options& o) { o.store = StoreKind::tma; }).tma_store);
  const PlanInfo raster = with([](Options& o) {
    o.raster = schedule::Raster::along_n;
    o.swizzle = 1;
  });
  EXPECT_EQ(raster.raster, schedule::Raster::along_n);
  EXPECT_EQ(raster.swizzle, 1);
  EXPECT_EQ(with([](Options& o) {
              o.tile = Shape2{256, 256}, o.cluster = Shape2{2, 1}, o.stages = 5;
            }).stages,
            5);
}

TEST(BlockScaledPlan, kernels_are_dependent_launches_unless_that_is_refused) {
  static kernels::Launch launched;
  const kernels::BlockScaledKernel recorded{
      {BlockFormat::mxfp8, BlockFormat::mxfp8, 2, true},
      [](const kernels::BlockScaledGemmParams&, const kernels::Launch& how) -> Status {
        launched = how;
        return {};
      }};
  Target target;
  target.capability = 100;
  target.block_scaled = {&recorded, 1};
  target.encode = encode_for_emulator;
  for (const bool dependent : {true, false}) {
    Planned p({.m = 40, .n = 48, .k = 128});
    p.options.dependent_launch = dependent;
    const Expected<Plan> planned = plan_on(target, p.problem, p.options);
    ASSERT_TRUE(planned) << planned.error().message;
    ASSERT_FALSE(planned->run(p.buffers, &target));
    EXPECT_EQ(launched.dependent_launch, dependent);
    EXPECT_EQ(launched.stream, &target);
    EXPECT_EQ(launched.grid_ctas, 2u);
  }
}

TEST(BlockScaledPlan, each_operation_of_the_epilogue_is_rounded_once) {
  constexpr float kNearOne = 1 + 0x1p-23f;
  Planned p({.m = 40, .n = 48, .k = 128, .d_type = DType::f32, .beta = kNearOne});
  // One product of 1 and -1 in each sum.
  const auto set = [](AlignedBytes& elements, AlignedBytes& scales, uint8_t one) {
    std::memset(scales.data(), 127, scales.size);
    for (size_t i = 0; i < elements.size; ++i) elements.data()[i] = i % 128 == 0 ? one : 0;
  };
  set(p.run.a_elements, p.run.a_scales, 0x38);
  set(p.run.b_elements, p.run.b_scales, 0xB8);
  std::fill(p.run.c_matrix.begin(), p.run.c_matrix.end(), kNearOne);
  const Status failed = p.launch();
  ASSERT_FALSE(failed) << failed->message;
  const auto* const d = static_cast<const float*>(p.buffers.d);
  for (int64_t i = 0; i < 40 * 48; ++i) ASSERT_EQ(d[i], 0x1p-22f + 0x1p-46f) << i;
}

TEST(BlockScaledPlan, without_products_a_and_b_are_not_read) {
  for (const auto& change : {std::function<void(Problem&)>([](Problem& p) { p.alpha = 0; }),
                             std::function<void(Problem&)>([](Problem& p) { p.scale_b = 0; }),
                             std::function<void(Problem&)>([](Problem& p) { p.k = 0; })}) {
    Planned p({.m = 40, .n = 48, .k = 128, .d_type = DType::f32, .alpha = 0, .beta = 1});
    p.problem.alpha = 1;
    change(p.problem);
    p.buffers.a = p.buffers.b = nullptr;
    p.buffers.a_scales = p.buffers.b_scales = {};
    const Status failed = p.launch();
    ASSERT_FALSE(failed) << failed->message;
    EXPECT_TRUE(p.run.is_right());
  }
}

TEST(BlockScaledPlan, nothing_is_launched_for_an_empty_d) {
  Planned p({.m = 40, .n = 48, .k = 128});
  p.problem.m = 0;
  p.buffers = {};
  ASSERT_FALSE(p.launch());
  EXPECT_EQ(p.info.grid_ctas, 0);
}

struct Flip {
  const char* rule;
  const char* words;
  KernelCase base;
  std::function<void(Planned&)> change;
};

TEST(BlockScaledPlan, every_rule_of_plan_and_run_refuses_with_its_sentence) {
  const KernelCase kMixed{.a = BlockFormat::mxfp8, .b = BlockFormat::mxfp4, .m = 40, .n = 48, .k = 128};
  const KernelCase kFp8{.m = 40, .n = 48, .k = 128};
  const Flip flips[] = {
      {"types", "B is not block-scaled", kFp8, [](Planned& p) { p.problem.b.block.reset(); }},
      {"types", "A: type e5m2 for mxfp8; the nearest legal value is e4m3", kFp8,
       [](Planned& p) { p.problem.a.type = DType::e5m2; }},
      {"types", "mxfp8_e5m2", kFp8,
       [](Planned& p) { p.problem.a.block = BlockFormat::mxfp8_e5m2, p.problem.a.type = DType::e5m2; }},
      {"types", "mxfp4 x mxfp8; the nearest legal value is mxfp8 x mxfp4", kMixed,
       [](Planned& p) {
         std::swap(p.problem.a.block, p.problem.b.block), std::swap(p.problem.a.type, p.problem.b.type);
       }},
      {"layout", "A is column-major", kFp8, [](Planned& p) { p.problem.a.layout = Layout::column_major; }},
      {"layout", "B is row-major", kFp8, [](Planned& p) { p.problem.b.layout = Layout::row_major; }},
      {"layout", "C or D is column-major", kFp8,
       [](Planned& p) { p.problem.d.layout = Layout::column_major; }},
      {"alignment", "B: alignment 16; the nearest legal value is 32", kMixed,
       [](Planned& p) { p.problem.b.alignment = 16; }},
      {"alignment", "A: alignment 8; the nearest legal value is 16", kFp8,
       [](Planned& p) { p.problem.a.alignment = 8; }},
      {"options", "tile 128x256", kFp8,
       [](Planned& p) {
         p.options.tile = Shape2{128, 256};
       }},
      {"options", "cluster 1x1", kFp8,
       [](Planned& p) {
         p.options.cluster = Shape2{1, 1};
       }},
      {"options", "4 stages", kFp8, [](Planned& p) { p.options.stages = 4; }},
      {"options", "K in 2 parts", kFp8, [](Planned& p) { p.options.splits = 2; }},
      {"options", "ordinary loads", kFp8, [](Planned& p) { p.options.load = LoadKind::copy; }},
      {"options", "threads that multiply", kFp8,
       [](Planned& p) { p.options.pipeline = PipelineKind::async; }},
      {"options", "static shape", kFp8, [](Planned& p) { p.options.static_shape = true; }},
      {"multiprocessors", "1 multiprocessor", kFp8, [](Planned& p) { p.options.max_sms = 1; }},
      {"store", "N is 44", kFp8,
       [](Planned& p) { p.problem.n = 44, p.problem.d.ld = 44, p.options.store = StoreKind::tma; }},
      {"scale_alignment", "A: the address of the scales is 8 modulo 16", kFp8,
       [](Planned& p) {
         const void* data = std::get<0>(p.buffers.a_scales).data();
         p.buffers.a_scales = *PackedScales<const e8m0>::make(static_cast<const e8m0*>(data) + 8, 4096,
                                                              std::get<0>(p.buffers.a_scales).shape());
       }},
      {"scalars", "alpha", kFp8, [](Planned& p) { p.buffers.alpha = &p.problem.alpha; }},
      // Of the kernels, through a problem.
      {"k_multiple", "128", kMixed, [](Planned& p) { p.problem.k = 96; }},
      {"output_stride", "batch stride of D is 100", kFp8,
       [](Planned& p) { p.problem.l = 2, p.problem.d.batch_stride = 100; }},
      {"null", "B: the scales are null", kFp8, [](Planned& p) { p.buffers.b_scales = {}; }},
      {"scale_type", "its scales are e4m3", kFp8,
       [](Planned& p) {
         static const e4m3 scale[4096] = {};
         p.buffers.a_scales = *PackedScales<const e4m3>::make(scale, 4096, {40, 4, 1});
       }},
      {"scale_shape", "A: scales of 1 x 40 x 3, needed are 1 x 40 x 4", kFp8,
       [](Planned& p) {
         const void* data = std::get<0>(p.buffers.a_scales).data();
         p.buffers.a_scales =
             *PackedScales<const e8m0>::make(static_cast<const e8m0*>(data), 4096, {40, 3, 1});
       }},
  };
  std::set<std::string> seen;
  for (const Flip& flip : flips) {
    Planned p(flip.base);
    ASSERT_FALSE(p.launch()) << flip.words;
    flip.change(p);
    const Status refused = p.launch();
    ASSERT_TRUE(refused) << flip.words;
    EXPECT_EQ(refused->rule, std::string("block_scaled.") + flip.rule) << refused->message;
    EXPECT_NE(refused->message.find(flip.words), std::string::npos) << refused->message;
    EXPECT_EQ(refused->code == ErrorCode::no_device, std::string(flip.rule) == "device");
    seen.insert(refused->rule);
  }
  // A chip that has no such kernels.
  Target target;
  target.capability = 80;
  const Expected<Plan> elsewhere = plan_on(target, Planned(kFp8).problem, {});
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().code, ErrorCode::no_device);
  EXPECT_NE(elsewhere.error().message.find("compute capability 8.0"), std::string::npos);
  seen.insert(elsewhere.error().rule);
  bool of_plan = false;
  for (const BlockScaledRule& rule : block_scaled_rules()) {
    of_plan = of_plan || std::string(rule.name) == first_plan_rule;
    EXPECT_EQ(seen.count(rule.name), of_plan ? 1u : seen.count(rule.name)) << rule.name << " has no test";
  }
  EXPECT_TRUE(of_plan);
}

TEST(BlockScaledPlan, extents_strides_and_alignments_keep_the_rules_of_all_problems) {
  struct Broken {
    const char* rule;
    const char* found;
    const char* nearest;
    std::function<void(Problem&)> breaks;
    BlockFormat format = BlockFormat::mxfp8;
  };
  const Broken table[] = {
      {"extent.range", "m: 4611686018427387904", "2147483647", [](Problem& p) { p.m = int64_t{1} << 62; }},
      {"extent.range", "k: -1", "0", [](Problem& p) { p.k = -1; }},
      {"scale.mode", "A: block-scaled mxfp8", "per_tensor",
       [](Problem& p) { p.scale_mode = ScaleMode::block_1x128_128x128; }},
      {"scale.mode", "A: block-scaled nvfp4", "per_tensor",
       [](Problem& p) { p.scale_mode = ScaleMode::per_row_column; }, BlockFormat::nvfp4},
      {"ld.length", "A: leading dimension 64", "128", [](Problem& p) { p.a.ld = 64; }},
      {"ld.length", "C: leading dimension 8", "48", [](Problem& p) { p.c.ld = 8; }},
      {"ld.length", "C: leading dimension -256", "48", [](Problem& p) { p.c.ld = -256; }},
      {"ld.length", "D: leading dimension 47", "48", [](Problem& p) { p.d.ld = 47; }},
      {"stride.range", "A: leading dimension 288230376151711744 of 1 bytes", "1099511627775",
       [](Problem& p) { p.a.ld = int64_t{1} << 58; }},
      {"stride.range", "B: leading dimension 2199023255552 of 4 bits", "2199023255551",
       [](Problem& p) { p.b.ld = int64_t{1} << 41; }, BlockFormat::nvfp4},
      {"stride.range", "C: batch stride 274877906944", "274877906943",
       [](Problem& p) { p.c.batch_stride = int64_t{1} << 38; }},
      {"stride.range", "D: leading dimension 1125899906842624", "274877906943",
       [](Problem& p) { p.d.ld = int64_t{1} << 50; }},
      {"stride.range", "D: leading dimension 4611686018427387904", "274877906943",
       [](Problem& p) { p.d.ld = int64_t{1} << 62, p.d.batch_stride = 0; }},
      {"batch_stride.sign", "A: batch stride -1048576", "0",
       [](Problem& p) { p.a.batch_stride = -(1 << 20); }},
      {"batch_stride.sign", "C: batch stride -1000000", "0", [](Problem& p) { p.c.batch_stride = -1000000; }},
      {"operand.span", "B: 48 lines of stride 1099511627264, 200 batches", "smaller",
       [](Problem& p) { p.b.ld = (int64_t{1} << 40) - 512, p.b.batch_stride = p.b.ld, p.l = 200; }},
      {"alignment.value", "A: alignment 48", "32", [](Problem& p) { p.a.alignment = 48; }},
      {"alignment.value", "C: alignment 2", "4", [](Problem& p) { p.c.alignment = 2; }},
      {"alignment.value", "D: alignment 6", "4", [](Problem& p) { p.d.alignment = 6; }},
  };
  for (const Chip chip : {Chip::sm_90a, Chip::sm_100a}) {
    for (const Broken& broken : table) {
      Planned p({.a = broken.format,
                 .b = broken.format,
                 .m = 40,
                 .n = 48,
                 .k = 128,
                 .batches = 2,
                 .d_type = DType::f32,
                 .beta = 1});
      p.options.chip = chip;
      ASSERT_TRUE(plan(p.problem, p.options)) << broken.found;
      broken.breaks(p.problem);
      const Expected<Plan> refused = plan(p.problem, p.options);
      ASSERT_FALSE(refused) << broken.found;
      const std::string& message = refused.error().message;
      EXPECT_EQ(refused.error().rule, broken.rule) << message;
      EXPECT_NE(message.find(broken.found), std::string::npos) << message;
      EXPECT_NE(message.find(std::string("nearest legal: ") + broken.nearest), std::string::npos) << message;
    }
  }
}

TEST(BlockScaledPlan, a_single_row_has_any_leading_dimension) {
  Planned p({.m = 1, .n = 48, .k = 128, .d_type = DType::f32, .beta = -2});
  p.problem.a.ld = 7, p.problem.c.ld = 3, p.problem.d.ld = 5;
  const Status failed = p.launch();
  ASSERT_FALSE(failed) << failed->message;
  EXPECT_TRUE(p.run.is_right());
}

TEST(BlockScaledPlan, a_pointer_less_aligned_than_bulk_copies_need_is_refused) {
  Planned p({.m = 40, .n = 48, .k = 128});
  p.buffers.a = static_cast<const uint8_t*>(p.buffers.a) + 8;
  const Status refused = p.launch();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->rule, "pointer.alignment");
}

}  // namespace
}  // namespace tilewright
