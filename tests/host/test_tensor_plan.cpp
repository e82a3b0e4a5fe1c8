#include <gtest/gtest.h>

#include <string>

#include "tests/host/planning.h"

namespace tilewright::testing {
namespace {

RecordedTensorLaunch run(const Plan& plan, const Buffers& buffers = fake_buffers()) {
  return run_once(tensor_launches(), plan, buffers);
}

constexpr DType kBf16 = DType::bf16, kF32 = DType::f32;

TEST(TensorPlan, takes_the_wide_tile_for_large_problems_and_low_ones_for_small) {
  const Plan large = planned(tensor_problem(kBf16, kBf16, 4096, 4096, 4096));
  EXPECT_EQ(large.info().kernel, "tensor_128x256_bf16_bf16_kk_2x1");
  EXPECT_EQ(large.info().path, "wgmma");
  EXPECT_EQ(large.info().tile, (Shape2{128, 256}));
  EXPECT_EQ(large.info().cluster, (Shape2{2, 1}));
  EXPECT_EQ(large.info().tile_k, 64);
  EXPECT_EQ(large.info().stages, 4);
  EXPECT_EQ(large.info().shared_bytes, 200 * 1024);
  EXPECT_EQ(large.info().tiles, 512);
  EXPECT_EQ(large.info().grid_ctas, 128);  // four rounds, as with 132
  EXPECT_EQ(large.info().promotions, 1);
  EXPECT_EQ(large.info().launches, 1);
  EXPECT_EQ(large.info().swizzle, 4);
  EXPECT_TRUE(large.info().tma_load && large.info().tma_store);
  EXPECT_EQ(large.info().why.find(large.info().kernel), 0u);
  EXPECT_EQ(planned(tensor_problem(kBf16, kBf16, 64, 7168, 2048)).info().tile, (Shape2{64, 128}));
}

TEST(TensorPlan, every_type_has_its_kernels_and_k_tiles) {
  const struct {
    DType type, d;
    int64_t tile_k;
  } rows[] = {{DType::f16, DType::f16, 64}, {DType::f16, kF32, 64},
              {kBf16, kBf16, 64},           {kBf16, kF32, 64},
              {DType::tf32, kF32, 32},      {DType::s8, DType::s32, 128},
              {DType::u8, DType::s32, 128}, {DType::s8, kF32, 128},
              {DType::u8, kF32, 128}};
  for (const auto& row : rows) {
    const Plan plan = planned(tensor_problem(row.type, row.d));
    EXPECT_EQ(plan.info().tile_k, row.tile_k);
    EXPECT_NE(plan.info().kernel.find(name_of(row.type)), std::string::npos);
  }
  Problem mixed = tensor_problem(DType::s8, DType::s32);
  mixed.b.type = DType::u8;
  EXPECT_EQ(planned(mixed).info().kernel, "tensor_128x128_s8_u8_s32_kk");
  mixed.d.layout = Layout::column_major;
  const Plan exchanged = planned(mixed);
  EXPECT_EQ(exchanged.info().kernel, "tensor_128x128_u8_s8_s32_kk");
  EXPECT_TRUE(exchanged.info().exchanged);
}

TEST(TensorPlan, follows_the_contiguous_dimensions) {
  for (const bool a_k : {true, false})
    for (const bool b_k : {true, false}) {
      Problem p = tensor_problem(DType::f16, DType::f16);
      p.a.layout = a_k ? Layout::row_major : Layout::column_major;
      p.b.layout = b_k ? Layout::column_major : Layout::row_major;
      const std::string word = std::string(a_k ? "k" : "m") + (b_k ? "k" : "n");
      const Plan plan = planned(p);
      EXPECT_EQ(plan.info().kernel.substr(plan.info().kernel.size() - 2), word);
      const RecordedTensorLaunch launched = run(plan);
      EXPECT_EQ(launched.arguments.a.ld, a_k ? 1024 : 512);
      EXPECT_EQ(launched.arguments.b.ld, b_k ? 1024 : 768);
      p.d.layout = Layout::column_major;  // D^T = B^T A^T
      const std::string swapped = std::string(b_k ? "k" : "m") + (a_k ? "k" : "n");
      const Plan exchanged = planned(p);
      EXPECT_EQ(exchanged.info().kernel.substr(exchanged.info().kernel.size() - 2), swapped);
      EXPECT_EQ(run(exchanged).arguments.a.data, fake_buffers().b);
    }
}

TEST(TensorPlan, complex_numbers_have_kernels_of_three_orders_for_four) {
  for (const bool a_k : {true, false})
    for (const bool b_k : {true, false})
      for (const bool d_rows : {true, false}) {
        Problem p = tensor_problem(DType::cf16, DType::cf16, 100, 200, 64);
        p.a.layout = a_k ? Layout::row_major : Layout::column_major;
        p.b.layout = b_k ? Layout::column_major : Layout::row_major;
        p.d.layout = d_rows ? Layout::row_major : Layout::column_major;
        p.beta = 1;
        p.c.layout = p.d.layout;
        const PlanInfo info = planned(p).info();
        EXPECT_EQ(info.path, "mma_sync");
        const std::string order = a_k == b_k ? (a_k ? "kk" : "mn") : "kn";
        EXPECT_EQ(info.kernel, "mma_sync_128x64_cf16_cf16_" + order + "_a4");
        // A and B change places for a column-major D, and where A alone has M contiguous.
        const RecordedTensorLaunch l = run(planned(p));
        const bool flipped = order == "kn" && (d_rows ? !a_k : a_k);
        EXPECT_EQ(info.exchanged, !d_rows != flipped);
        EXPECT_EQ(l.arguments.a.data, info.exchanged ? fake_buffers().b : fake_buffers().a);
        EXPECT_EQ(l.arguments.m, info.exchanged ? 200 : 100);
        // D[m][n] as the kernel sees it lies where the caller's does.
        const bool rows = d_rows != info.exchanged;
        EXPECT_EQ(l.arguments.d_by_columns, !rows);
        EXPECT_EQ(l.arguments.d.ld, d_rows ? 200 : 100);
        EXPECT_EQ(l.arguments.c.ld, l.arguments.d.ld);
        EXPECT_FALSE(info.tma_load || info.tma_store);
      }
}

TEST(TensorPlan, complex_numbers_are_stored_as_such) {
  EXPECT_EQ(planned(tensor_problem(DType::cbf16, DType::cf32)).info().path, "mma_sync");
  EXPECT_EQ(planned(tensor_problem(DType::ctf32, DType::cf32)).info().tile_k, 16);
  EXPECT_EQ(planned(tensor_problem(DType::cf64, DType::cf64)).info().path, "mma_sync");
  const PlanInfo single = planned(tensor_problem(DType::cf32, DType::cf32)).info();
  EXPECT_EQ(single.path, "simt");
  EXPECT_NE(single.why.find("FP32 means the ordinary cores"), std::string::npos);
  expect_refused(tensor_problem(DType::cf64, DType::cf32), {}, "type.d_tensor", "cf64");
  expect_refused(tensor_problem(DType::cf32, DType::f32), {}, "type.d_tensor", "cf32");
  expect_refused(tensor_problem(DType::ctf32, DType::ctf32), {}, "type.d_tensor", "cf32");
  Problem mixed = tensor_problem(DType::cf32, DType::cf32);
  mixed.b.type = DType::f32;
  EXPECT_FALSE(plan_on(fake_gpu(), mixed, {}));
  Problem other_c = tensor_problem(DType::cf32, DType::cf32);
  other_c.c.layout = Layout::column_major;
  other_c.beta = 1;
  expect_refused(other_c, {}, "layout.c", "row_major");
  Options bulk;
  bulk.load = LoadKind::tma;
  expect_refused(tensor_problem(DType::cf16, DType::cf16), bulk, "tile.built", "cf16");
}

TEST(TensorPlan, takes_the_order_that_bulk_copies_address) {
  // A column of A is both row-major with an illegal leading dimension and column-major with a legal one.
  Problem p = tensor_problem(kBf16, kBf16, 512, 512, 1);
  p.a.layout = Layout::column_major;
  EXPECT_EQ(planned(p).info().kernel.substr(planned(p).info().kernel.size() - 2), "mn");
}

TEST(TensorPlan, hands_everything_to_the_kernel) {
  Problem p = tensor_problem(DType::f16, DType::f16, 500, 760, 1000);
  p.l = 3;
  p.a.ld = 1008;
  p.b.batch_stride = 0;
  p.d.ld = 768;
  p.c.ld = 800;
  p.alpha = 1.5f;
  p.beta = -2;
  Buffers buffers = fake_buffers();
  const float* const scalar = reinterpret_cast<const float*>(0x600000);
  buffers.alpha = scalar;
  buffers.beta = scalar + 1;
  const RecordedTensorLaunch l = run(planned(p), buffers);
  EXPECT_EQ(l.arguments.m, 500);
  EXPECT_EQ(l.arguments.n, 760);
  EXPECT_EQ(l.arguments.k, 1000);
  EXPECT_EQ(l.arguments.batches, 3);
  EXPECT_EQ(l.arguments.a.data, buffers.a);
  EXPECT_EQ(l.arguments.a.ld, 1008);
  EXPECT_EQ(l.arguments.a.batch_stride, 1008 * 500);
  EXPECT_EQ(l.arguments.b.data, buffers.b);
  EXPECT_EQ(l.arguments.b.batch_stride, 0);
  EXPECT_EQ(l.arguments.c.data, buffers.c);
  EXPECT_EQ(l.arguments.c.ld, 800);
  EXPECT_EQ(l.arguments.d.data, buffers.d);
  EXPECT_EQ(l.arguments.d.ld, 768);
  EXPECT_EQ(l.arguments.d.batch_stride, 768 * 500);
  EXPECT_EQ(l.arguments.alpha, 1.5f);
  EXPECT_EQ(l.arguments.beta, -2);
  EXPECT_EQ(l.arguments.alpha_device, scalar);
  EXPECT_EQ(l.arguments.beta_device, scalar + 1);
  EXPECT_TRUE(l.arguments.d_bulk);
  EXPECT_TRUE(l.launch.dependent_launch);
  Options o;
  o.dependent_launch = false;
  EXPECT_FALSE(run(planned(p, o)).launch.dependent_launch);
}

TEST(TensorPlan, mma_sync_takes_what_wgmma_cannot) {
  const auto expect_kernel = [](const Problem& p, const char* kernel, const char* why,
                                const Options& o = {}) {
    const Plan plan = planned(p, o);
    EXPECT_EQ(plan.info().kernel, kernel);
    EXPECT_EQ(plan.info().path, "mma_sync");
    EXPECT_FALSE(plan.info().tma_load || plan.info().tma_store);
    EXPECT_NE(plan.info().why.find(why), std::string::npos) << plan.info().why;
    EXPECT_FALSE(run(plan).arguments.plain());
  };
  Problem p = tensor_problem(kBf16, kBf16, 512, 768, 1001);
  expect_kernel(p, "mma_sync_128x128_bf16_bf16_kk_a2",
                "no bulk loads (A: leading dimension 1001 of 2 bytes)");
  p.d.type = p.c.type = kF32;
  expect_kernel(p, "mma_sync_128x128_bf16_bf16_kk_a2", "leading dimension");
  EXPECT_EQ(run(planned(p)).arguments.d_type, kF32);
  p = tensor_problem(DType::f16, DType::f16);
  p.b.alignment = 2;
  p.b.layout = Layout::row_major;
  expect_kernel(p, "mma_sync_128x128_f16_f16_kn_a2", "B: base aligned to 2");
  p = tensor_problem(DType::tf32, kF32);
  p.a.layout = Layout::column_major;
  // There is no kernel of this order: D^T = B^T A^T has one, and stores columns.
  expect_kernel(p, "mma_sync_128x128_tf32_f32_kn_a16", "computed as D^T");
  expect_kernel(p, "mma_sync_128x128_tf32_f32_kn_a16", "wgmma has no tf32 of this order");
  const RecordedTensorLaunch flipped = run(planned(p));
  EXPECT_TRUE(flipped.arguments.d_by_columns);
  EXPECT_EQ(flipped.arguments.a.data, fake_buffers().b);
  EXPECT_EQ(flipped.arguments.m, 768);
  EXPECT_EQ(flipped.arguments.d.ld, 768);
  Problem column = p;
  column.n = 1;
  column.d.layout = Layout::column_major;
  column.c.ld = 5;
  column.beta = 1;
  EXPECT_TRUE(run(planned(column)).arguments.d_by_columns);  // C steps from column to column where D need not
  EXPECT_EQ(run(planned(column)).arguments.c.ld, 5);
  p.a.ld = 513;
  expect_kernel(p, "mma_sync_128x128_tf32_f32_kn_a4", "A: leading dimension 513 of 4 bytes");
  p = tensor_problem(DType::s8, DType::s32);
  p.b.layout = Layout::row_major;
  p.d.layout = Layout::column_major;
  expect_kernel(p, "mma_sync_128x128_s8_s32_kn_a16", "wgmma has no s8 of this order");
  EXPECT_FALSE(planned(p).info().exchanged);  // twice
  EXPECT_TRUE(run(planned(p)).arguments.d_by_columns);
  p = tensor_problem(DType::f64, DType::f64);
  expect_kernel(p, "mma_sync_64x128_f64_f64_kk_a8", "wgmma has no f64");
  p.b.layout = Layout::row_major;
  expect_kernel(p, "mma_sync_64x128_f64_f64_kn_a8", "wgmma has no f64");
  EXPECT_EQ(planned(p).info().tile_k, 16);
  Options copy;
  copy.load = LoadKind::copy;
  expect_kernel(tensor_problem(kBf16, kBf16), "mma_sync_128x128_bf16_bf16_kk_a2", "as", copy);
}

TEST(TensorPlan, plain_products_take_the_kernel_whose_stores_are_hidden) {
  const Problem plain = tensor_problem(kBf16, kBf16);
  EXPECT_TRUE(run(planned(plain)).arguments.plain());
  Buffers scaled = fake_buffers();
  scaled.alpha = reinterpret_cast<const float*>(0x600000);
  EXPECT_FALSE(run(planned(plain), scaled).arguments.plain());
  Problem p = plain;
  p.alpha = 2;
  EXPECT_FALSE(run(planned(p)).arguments.plain());
  p = plain;
  p.beta = 1;
  EXPECT_FALSE(run(planned(p)).arguments.plain());
  p = plain;
  p.d.ld = 769;
  EXPECT_FALSE(run(planned(p)).arguments.plain());
  EXPECT_FALSE(planned(p).info().tma_store);
  Options direct;
  direct.store = StoreKind::direct;
  EXPECT_FALSE(run(planned(plain, direct)).arguments.plain());
}

TEST(TensorPlan, zero_extents_read_nothing_or_launch_nothing) {
  Problem p = tensor_problem(kBf16, kBf16, 512, 768, 0);
  p.a.alignment = 2;  // nothing is loaded
  Buffers buffers = fake_buffers();
  buffers.a = buffers.b = nullptr;
  EXPECT_EQ(run(planned(p), buffers).arguments.k, 0);
  EXPECT_EQ(planned(p).info().promotions, 0);
  p = tensor_problem(kBf16, kBf16);
  p.alpha = 0;
  EXPECT_EQ(run(planned(p), buffers).arguments.k, 0);
  p.m = 0;
  tensor_launches().clear();
  EXPECT_FALSE(planned(p).run(Buffers{}));
  EXPECT_TRUE(tensor_launches().empty());
  EXPECT_EQ(planned(p).info().launches, 0);
}

TEST(TensorPlan, options_are_taken_or_refused) {
  Options o = tiled(128, 256);
  o.cluster = Shape2{2, 1};
  o.raster = schedule::Raster::along_n;
  o.swizzle = 3;
  o.max_sms = 50;
  const Problem p = tensor_problem(kBf16, kBf16, 4096, 4096, 4096);
  const Plan plan = planned(p, o);
  EXPECT_EQ(plan.info().kernel, "tensor_128x256_bf16_bf16_kk_2x1");
  EXPECT_EQ(plan.info().cluster, (Shape2{2, 1}));
  EXPECT_EQ(plan.info().raster, schedule::Raster::along_n);
  EXPECT_EQ(plan.info().swizzle, 3);
  EXPECT_EQ(plan.info().grid_ctas, 50);
  EXPECT_EQ(run(plan).arguments.tiles.cluster_m, 2u);
  Options stages;
  stages.stages = 4;
  EXPECT_EQ(planned(p, stages).info().stages, 4);
  stages.stages = 3;
  expect_refused(p, stages, "stages.value", "nearest legal: 4");
  expect_refused(p, tiled(192, 256), "tile.built", "nearest legal: 128x256");
  o = tiled(128, 128);
  o.cluster = Shape2{2, 1};
  expect_refused(p, o, "cluster.built", "nearest legal: 1x1");
  o = {};
  o.splits = 2;
  expect_refused(p, o, "splits.value", "nearest legal: 1");
  o = {};
  o.pipeline = PipelineKind::async;
  expect_refused(p, o, "pipeline.built", "async");
  o = {};
  o.static_shape = true;
  expect_refused(p, o, "shape.static", "dynamic");
  o = {};
  o.max_sms = 1;
  o.cluster = Shape2{2, 1};
  expect_refused(p, o, "cluster.resident", "1 multiprocessors");
}

TEST(TensorPlan, forms_clusters_of_16_bit_tiles_that_fill_the_chip_in_pairs) {
  constexpr Shape2 kOne{1, 1}, kTwo{2, 1};
  const auto cluster = [](DType type, DType d, int64_t m, int64_t n, const Options& o = {}) {
    return planned(tensor_problem(type, d, m, n, 8176), o).info().cluster;
  };
  EXPECT_EQ(cluster(kBf16, kBf16, 8192, 8192), kTwo);
  EXPECT_EQ(cluster(DType::f16, DType::f16, 8192, 8192), kTwo);
  EXPECT_EQ(cluster(kBf16, kBf16, 8192 + 128, 8192), kOne);  // an odd number of tiles along M
  EXPECT_EQ(cluster(kBf16, kBf16, 1024, 2048), kOne);        // fewer tiles than multiprocessors
  EXPECT_EQ(cluster(DType::s8, DType::s32, 8192, 8192), kOne);
  EXPECT_EQ(cluster(DType::tf32, kF32, 8192, 8192), kOne);
  Options single;
  single.max_sms = 1;
  EXPECT_EQ(cluster(kBf16, kBf16, 8192, 8192, single), kOne);
  Options asked;
  for (const Shape2 shape : {kOne, kTwo}) {
    asked.cluster = shape;
    EXPECT_EQ(cluster(DType::s8, DType::s32, 8192, 8192, asked), shape);
    EXPECT_EQ(cluster(kBf16, kBf16, 8192, 8192, asked), shape);
  }
  EXPECT_EQ(planned(tensor_problem(DType::s8, DType::s32, 8192, 8192, 8192)).info().swizzle, 8);
  EXPECT_EQ(planned(tensor_problem(DType::s8, DType::s32, 8192, 8192, 8192), asked).info().swizzle, 4);
}

TEST(TensorPlan, refuses_types_layouts_and_addresses_by_rule) {
  Problem p = tensor_problem(kBf16, DType::f16);
  expect_refused(p, {}, "type.d_tensor", "nearest legal: bf16");
  p = tensor_problem(DType::tf32, kBf16);
  expect_refused(p, {}, "type.d_tensor", "nearest legal: f32");
  p = tensor_problem(DType::f64, kF32);
  expect_refused(p, {}, "type.d_tensor", "nearest legal: f64");
  p = tensor_problem(DType::s8, DType::f16);
  expect_refused(p, {}, "type.d_tensor", "nearest legal: s32");
  p = tensor_problem(kBf16, kBf16);
  p.b.type = DType::f16;
  expect_refused(p, {}, "type.ab", "nearest legal: bf16");
  p.b.type = DType::e4m3;
  expect_refused(p, {}, "type.ab", "nearest legal: bf16");
  p = tensor_problem(kBf16, kBf16);
  p.beta = 1;
  p.c.type = kF32;
  expect_refused(p, {}, "type.c_tensor", "nearest legal: bf16");
  p.c.type = kBf16;
  p.c.layout = Layout::column_major;
  expect_refused(p, {}, "layout.c", "row_major");
  Options bulk;
  bulk.load = LoadKind::tma;
  p = tensor_problem(kBf16, kBf16, 512, 768, 1001);
  expect_refused(p, bulk, "load.tma", "A: leading dimension 1001 of 2 bytes");
  expect_refused(p, bulk, "load.tma", "nearest legal: 1008");
  p.a.ld = 1008;
  expect_refused(p, bulk, "load.tma", "B: leading dimension 1001");
  p = tensor_problem(DType::s8, DType::s32);
  p.b.alignment = 8;
  expect_refused(p, bulk, "load.tma", "B: base aligned to 8");
  p = tensor_problem(DType::tf32, kF32);
  p.l = 2;
  p.a.batch_stride = 512 * 1024 + 1;
  expect_refused(p, bulk, "load.tma", "batch stride 524289 of 4 bytes");
  p = tensor_problem(DType::tf32, kF32);
  p.a.layout = Layout::column_major;
  expect_refused(p, bulk, "tile.built", "K-major operands");
  p = tensor_problem(DType::s8, DType::s32);
  p.b.type = DType::u8;
  p.b.layout = Layout::row_major;
  expect_refused(p, {}, "tile.built", "two of one type");
  p = tensor_problem(kBf16, kBf16, 512, 767);
  Options o;
  o.store = StoreKind::tma;
  expect_refused(p, o, "store.tma", "rows of 767 elements");
  Target other = fake_gpu();
  other.capability = 100;
  expect_refused(tensor_problem(kBf16, kBf16), {}, "device.gpu", "10.0", other);
}

TEST(TensorPlan, device_scales_are_refused_and_host_scales_multiply) {
  Problem p = tensor_problem(kBf16, kBf16);
  p.scale_a = 2, p.scale_b = 3, p.scale_d = 0.5f;
  EXPECT_EQ(run(planned(p)).arguments.alpha, 3.0f);
  Buffers buffers = fake_buffers();
  buffers.scale_d = reinterpret_cast<const float*>(0x600000);
  const Status refused = planned(p).run(buffers);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->rule, std::string("scale.device"));
}

TEST(TensorPlan, the_emulated_chip_gives_each_cta_three_tiles) {
  const Plan plan = planned(tensor_problem(kBf16, kBf16, 512, 768, 64), tiled(64, 128), fake_emulator());
  EXPECT_EQ(plan.info().tiles, 48);
  EXPECT_EQ(plan.info().grid_ctas, 16);
}

}  // namespace
}  // namespace tilewright::testing
