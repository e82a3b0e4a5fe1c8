#include <gtest/gtest.h>

#include "tests/host/planning.h"

namespace tilewright::testing {
namespace {

RecordedFusedLaunch run(const Plan& plan, const Buffers& buffers = fake_fused_buffers()) {
  return run_once(fused_launches(), plan, buffers);
}

TEST(FusedPlan, arguments_are_those_of_the_problem) {
  Problem p = fused_problem();
  p.l = 3;
  p.alpha = 2, p.beta = 0.5f, p.scale_a = 3, p.scale_b = 0.25f, p.scale_d = 8;
  p.saturate = false;
  p.c.type = DType::f32;
  p.epilogue.bias_type = DType::bf16;
  p.epilogue.bias_batch_stride = 777;
  p.epilogue.aux->ld = 800;
  Buffers buffers = fake_fused_buffers();
  const auto* const scalars = reinterpret_cast<const float*>(0x900000);
  buffers.alpha = scalars, buffers.beta = scalars + 1;
  buffers.scale_a = scalars + 2, buffers.scale_b = scalars + 3, buffers.scale_d = scalars + 4;
  const RecordedFusedLaunch launched = run(planned(p), buffers);
  const kernels::FusedArguments& a = launched.arguments;
  EXPECT_EQ(a.gemm.m, 512);
  EXPECT_EQ(a.gemm.n, 768);
  EXPECT_EQ(a.gemm.alpha, 1.5f);  // without scale_d
  EXPECT_EQ(a.gemm.beta, 0.5f);
  EXPECT_EQ(a.scale_d, 8);
  EXPECT_EQ(a.gemm.alpha_device, scalars);
  EXPECT_EQ(a.gemm.beta_device, scalars + 1);
  EXPECT_EQ(a.scale_device[0], scalars + 2);
  EXPECT_EQ(a.scale_device[1], scalars + 3);
  EXPECT_EQ(a.scale_d_device, scalars + 4);
  EXPECT_EQ(a.gemm.d_type, DType::f16);
  EXPECT_EQ(a.c_type, DType::f32);
  EXPECT_FALSE(a.saturate);
  EXPECT_EQ(a.bias_kind, BiasKind::column);
  EXPECT_EQ(a.bias_type, DType::bf16);
  EXPECT_EQ(a.bias, buffers.bias);
  EXPECT_EQ(a.bias_batch_stride, 777);
  EXPECT_EQ(a.activation, Activation::gelu);
  EXPECT_EQ(a.aux_type, DType::bf16);
  EXPECT_EQ(a.aux.data, buffers.aux);
  EXPECT_EQ(a.aux.ld, 800);
  EXPECT_EQ(a.aux.batch_stride, 800 * 512);
  EXPECT_EQ(a.amax, buffers.amax_d);
}

TEST(FusedPlan, a_column_major_output_exchanges_the_bias) {
  Problem p = fused_problem();
  p.d.layout = Layout::column_major;
  p.epilogue.aux->layout = Layout::column_major;
  p.epilogue.aux->ld = 520;
  const Plan plan = planned(p);
  EXPECT_TRUE(plan.info().exchanged);
  const RecordedFusedLaunch launched = run(plan);
  EXPECT_EQ(launched.arguments.bias_kind, BiasKind::row);
  EXPECT_EQ(launched.arguments.gemm.m, 768);
  EXPECT_EQ(launched.arguments.aux.ld, 520);
  p.epilogue.bias = BiasKind::row;
  EXPECT_EQ(run(planned(p)).arguments.bias_kind, BiasKind::column);
}

// A single row lies in memory as a column whose elements have the leading dimension between them.
TEST(FusedPlan, a_single_row_has_either_layout_and_any_leading_dimension) {
  struct Lie {
    Layout layout;
    int64_t ld;
    int64_t apart;  // elements between neighbours
  };
  const Lie ways[] = {{Layout::row_major, 0, 1},
                      {Layout::row_major, 999, 1},
                      {Layout::column_major, 0, 1},
                      {Layout::column_major, 1, 1},
                      {Layout::column_major, 5, 5}};
  for (const Lie& d : ways)
    for (const Lie& c : ways)
      for (const Lie& aux : ways) {
        Problem p = fused_problem(DType::bf16, DType::bf16);
        p.m = 1;
        p.beta = 1;
        p.d.layout = d.layout, p.d.ld = d.ld;
        p.c.layout = c.layout, p.c.ld = c.ld;
        p.epilogue.aux->layout = aux.layout, p.epilogue.aux->ld = aux.ld;
        const Plan plan = planned(p);
        const bool apart = d.apart > 1 || c.apart > 1 || aux.apart > 1;
        EXPECT_EQ(plan.info().exchanged, apart);
        const kernels::FusedArguments a = run(plan).arguments;
        EXPECT_EQ(a.gemm.m, apart ? 768 : 1);
        EXPECT_EQ(a.gemm.n, apart ? 1 : 768);
        if (!apart) continue;
        EXPECT_EQ(a.gemm.d.ld, d.apart);
        EXPECT_EQ(a.gemm.c.ld, c.apart);
        EXPECT_EQ(a.aux.ld, aux.apart);
      }
}

TEST(FusedPlan, tiles_and_names) {
  Problem p = fused_problem(DType::bf16, DType::bf16);
  p.m = p.n = p.k = 4096;
  const PlanInfo large = planned(p).info();
  EXPECT_EQ(large.kernel, "fused_128x256_bf16_bf16_o2");
  EXPECT_EQ(large.path, "wgmma");
  EXPECT_EQ(large.tile, (Shape2{128, 256}));
  EXPECT_EQ(large.cluster, (Shape2{1, 1}));
  EXPECT_EQ(large.promotions, 1);
  EXPECT_TRUE(large.tma_load && large.tma_store);
  EXPECT_EQ(large.why.find("fused_128x256_bf16_bf16_o2: bias of columns (f32), gelu, aux (bf16), amax, "), 0u)
      << large.why;
  p.m = 64;
  EXPECT_EQ(planned(p).info().tile, (Shape2{64, 128}));
  for (const DType d : {DType::e4m3, DType::e5m2, DType::f16, DType::bf16, DType::f32})
    EXPECT_EQ(planned(fused_problem(DType::e4m3, d)).info().kernel.back(),
              static_cast<char>('0' + bits_of(d) / 8));
  EXPECT_EQ(planned(fused_problem()).info().promotions, 8);
  EXPECT_EQ(planned(fused_problem()).info().group_tiles, 1);
  Problem mixed = fused_problem();
  mixed.b.type = DType::e5m2;
  EXPECT_EQ(planned(mixed).info().kernel, "fused_128x128_e4m3_e5m2_o2");
  mixed.d.layout = mixed.epilogue.aux->layout = Layout::column_major;
  EXPECT_EQ(planned(mixed).info().kernel, "fused_128x128_e5m2_e4m3_o2");
}

TEST(FusedPlan, without_operations_the_usual_kernels_run) {
  Problem p = fused_problem();
  p.epilogue = {};
  EXPECT_EQ(planned(p).info().kernel.find("fp8_"), 0u);
}

TEST(FusedPlan, an_empty_output_only_sets_amax) {
  Problem p = fused_problem();
  p.m = 0;
  const RecordedFusedLaunch launched = run(planned(p), {.amax_d = reinterpret_cast<float*>(0x800000)});
  EXPECT_EQ(launched.launch.grid_ctas, 0u);
  EXPECT_EQ(launched.arguments.amax, reinterpret_cast<float*>(0x800000));
  p.epilogue.amax_d = false;
  fused_launches().clear();
  EXPECT_FALSE(planned(p).run({}));
  EXPECT_TRUE(fused_launches().empty());
}

TEST(FusedPlan, without_a_product_operands_may_lie_anyhow) {
  Problem p = fused_problem(DType::bf16, DType::bf16);
  p.alpha = 0;
  p.b.layout = Layout::row_major;
  p.a.alignment = 2;
  const RecordedFusedLaunch launched = run(planned(p));
  EXPECT_EQ(launched.arguments.gemm.k, 0);
}

}  // namespace
}  // namespace tilewright::testing
