// Pipelines with BlockScale: every pairing of elements, epilogues of all kinds, tensors of all kinds,
// mistakes.
#include "tests/block_scale/pipeline_run.h"
#include "tests/faults/symptom.h"
#include "tests/faults/words.h"

namespace tilewright::blas::testing {
namespace {

using emulator::LaunchResult;
using emulator::MachineOptions;

::testing::AssertionResult is_clean(const LaunchResult& result) {
  if (result.reports.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << emulator::name_of(result.reports[0].kind) << ": " << result.reports[0].message;
}

template <BlockFormat A, BlockFormat B, class Tag>
struct Case {
  static constexpr BlockFormat a = A, b = B;
  using tag = Tag;
};
using F = BlockFormat;

template <class C>
class ScaledPipeline : public ::testing::Test {};
using Cases = ::testing::Types<
    Case<F::mxfp8, F::mxfp8, internal_accumulator>, Case<F::mxfp8_e5m2, F::mxfp8, internal_accumulator>,
    Case<F::mxfp4, F::mxfp8, single_accumulator>, Case<F::mxfp8, F::mxfp4, internal_accumulator>,
    Case<F::mxfp4, F::mxfp4, internal_accumulator>, Case<F::nvfp4, F::nvfp4, single_accumulator>,
    Case<F::nvfp4, F::nvfp4, internal_accumulator>>;
TYPED_TEST_SUITE(ScaledPipeline, Cases);

TYPED_TEST(ScaledPipeline, stores_the_product_of_several_ragged_tiles_by_either_scheduler) {
  ScaledProduct<TypeParam::a, TypeParam::b, typename TypeParam::tag> product(300, 520, 384);
  const auto p = product.pipeline();
  for (const MachineOptions& options : faults::all_schedules(1)) {
    ASSERT_TRUE(is_clean(product.run(p, p.make_schedule(), StoreResult{product.tensor_d()}, options)));
    ASSERT_TRUE(product.is_product());
    std::fill(product.d.begin() + product.kGuard, product.d.end() - product.kGuard, 0.0f);
    MachineOptions small = options;
    small.multiprocessors = 2;
    const LaunchResult asked =
        product.run(p, p.make_controlled_schedule(), StoreResult{product.tensor_d()}, small);
    ASSERT_TRUE(is_clean(asked));
    EXPECT_EQ(asked.statistics.clusters + asked.statistics.clusters_canceled, 6u);
    ASSERT_TRUE(product.is_product());
  }
}

// ---- epilogues

using Nvfp4 = ScaledProduct<F::nvfp4, F::nvfp4>;

template <class DTensor>
struct Axpby {
  DTensor d;
  float alpha, beta;
  template <class Accumulator>
  TILEWRIGHT_DEVICE void operator()(Accumulator& accumulator, schedule::TileCoord tile) const {
    constexpr Shape<Accumulator::rows, Accumulator::columns> block;
    accumulator.axpby(alpha, beta, get_tile(d, block, tile.m, tile.n, tile.batch));
  }
};

TEST(ScaledEpilogue, axpby_reads_what_it_adds_to_and_only_then) {
  Nvfp4 product(140, 260, 256);
  const auto p = product.pipeline();
  const auto d = product.tensor_d();
  std::fill(product.d.begin() + product.kGuard, product.d.end() - product.kGuard,
            std::numeric_limits<float>::quiet_NaN());
  ASSERT_TRUE(is_clean(product.run(p, p.make_schedule(), Axpby<decltype(d)>{d, 2, 0})));
  EXPECT_TRUE(product.is([&](auto b, auto r, auto c) { return 2 * product.product(b, r, c); }));
  ASSERT_TRUE(is_clean(product.run(p, p.make_schedule(), Axpby<decltype(d)>{d, 1, 0.5f})));
  EXPECT_TRUE(product.is([&](auto b, auto r, auto c) { return 2 * product.product(b, r, c); }));
}

// Row sums in registers, across slabs: every element is seen once, at its coordinate.
struct RowSums {
  float* sums;
  uint32_t m, n;
  template <class Accumulator>
  TILEWRIGHT_DEVICE void operator()(Accumulator& accumulator, schedule::TileCoord tile) const {
    float sum = 0;
    accumulator.for_each_result([&](int i, Coord at, float value) {
      if (accumulator.is_coord_in_bounds(at)) sum += value;
      if (!(accumulator.map_fragment_index(i) == at)) sum = 1e30f;
    });
    const uint32_t row = tile.m * static_cast<uint32_t>(Accumulator::rows) + threadIdx.x;
    if (row < m) sums[row] = sum;
  }
};

TEST(ScaledEpilogue, for_each_result_visits_each_element_once) {
  Nvfp4 product(140, 200, 256);
  const auto p = product.pipeline();
  const RowSums sums{product.d.data() + product.kGuard, 140, 200};
  ASSERT_TRUE(is_clean(product.run(p, p.make_schedule(), sums)));
  for (int64_t row = 0; row < 140; row += 13) {
    double want = 0;
    for (int64_t column = 0; column < 200; ++column) want += product.product(0, row, column);
    EXPECT_NEAR(product.d[product.kGuard + static_cast<size_t>(row)], want, 1e-2) << row;
  }
}

// With a state of its own, in scratch memory: counts the tiles of a block.
struct CountTiles {
  float* out;
  template <class Accumulator>
  struct Bound {
    float* out;
    uint32_t scratch;
    TILEWRIGHT_DEVICE void store(Accumulator& accumulator, schedule::TileCoord) {
      accumulator.discard();
      arch::store_shared(scratch, arch::load_shared<float>(scratch) + 1);
    }
    TILEWRIGHT_DEVICE void finish() const {
      if (threadIdx.x == 0) out[blockIdx.x] = arch::load_shared<float>(scratch);
    }
  };
  template <class Accumulator>
  TILEWRIGHT_DEVICE Bound<Accumulator> bind(std::byte* scratch) const {
    const uint32_t mine = arch::shared_address(scratch) + 4 * threadIdx.x;
    arch::store_shared(mine, 0.0f);
    return {out, mine};
  }
};

TEST(ScaledEpilogue, may_have_a_state_and_discard_results) {
  Nvfp4 product(256, 1000, 256);
  const auto p = product.pipeline();
  for (const MachineOptions& options : faults::all_schedules(2, {.arithmetic = false})) {
    ASSERT_TRUE(is_clean(
        product.run(p, p.make_schedule(), CountTiles{product.d.data() + product.kGuard}, options, 1, 512)));
    EXPECT_EQ(product.d[product.kGuard], 4);
    EXPECT_EQ(product.d[product.kGuard + 1], 4);
  }
}

TEST(ScaledEpilogue, a_discarded_result_is_waited_for_and_released) {
  using emulator::Op;
  using enum emulator::ReportKind;
  Nvfp4 product(256, 1000, 256);
  const auto p = product.pipeline();
  const auto reported = [&](const char* line, const emulator::FaultSpec& fault,
                            const faults::Symptom& symptom) {
    faults::expect_reported(fault, symptom, line, faults::all_schedules(2, {.arithmetic = false}),
                            [&](const MachineOptions& options) -> Expected<LaunchResult> {
                              return product.run(p, p.make_schedule(),
                                                 CountTiles{product.d.data() + product.kGuard}, options, 1,
                                                 512);
                            });
  };
  const auto once = [](uint32_t n, Op op, const char* barrier) {
    return faults::nth(n, faults::skip(op, barrier, "epilogue"));
  };
  reported("wait", once(0, Op::mbarrier_wait, "accumulator ready"), faults::reports(parity_alias, deadlock));
  reported("release of the shared columns", once(0, Op::mbarrier_arrive, "shared columns"),
           faults::reports(deadlock));
  reported("release of the window", once(0, Op::mbarrier_arrive, "accumulator empty"),
           faults::reports(deadlock));
}

// ---- tensors

TEST(ScaledTensors, batches_and_a_matrix_that_serves_all_of_them) {
  for (const bool one_b : {false, true}) {
    ScaledProduct<F::mxfp8, F::mxfp8> product(140, 130, 160, 3, one_b);
    auto made = [&] {
      if (!one_b) return product.pipeline();
      return *suggest_pipeline<Scaled<F::mxfp8, F::mxfp8>>(product.tensor_a(), product.one_b(),
                                                           product.a.scales(), product.b.scales());
    }();
    ASSERT_TRUE(is_clean(product.run(made, made.make_schedule(3), StoreResult{product.tensor_d()})));
    EXPECT_TRUE(product.is_product());
  }
}

TEST(ScaledTensors, k_of_zero_gives_zeros_and_rebind_other_extents) {
  Nvfp4 product(140, 130, 256);
  auto p = product.pipeline();
  Nvfp4 none(140, 130, 0), other(100, 300, 512);
  ASSERT_TRUE(p.rebind(none.tensor_a(), none.tensor_b(), none.a.scales(), none.b.scales()));
  ASSERT_TRUE(is_clean(none.run(p, p.make_schedule(), StoreResult{none.tensor_d()})));
  EXPECT_TRUE(none.is([](auto, auto, auto) { return 0; }));
  ASSERT_TRUE(p.rebind(other.tensor_a(), other.tensor_b(), other.a.scales(), other.b.scales()));
  ASSERT_TRUE(is_clean(other.run(p, p.make_schedule(), StoreResult{other.tensor_d()})));
  EXPECT_TRUE(other.is_product());
}

TEST(ScaledTensors, what_does_not_fit_is_refused_with_its_code) {
  using Code = pipeline_error_code;
  ScaledProduct<F::mxfp8, F::mxfp4> good(40, 48, 128);
  auto p = good.pipeline();
  const auto a = make_gmem_tensor<row_major>(good.a.data(), 40, 128, 128);
  const auto b = make_gmem_tensor<col_major>(good.b.data(), 128, 48, 128);
  const auto expect = [&](Code code, const char* words, const pipeline_status& status) {
    ASSERT_FALSE(status) << words;
    EXPECT_EQ(status.error().code, code) << status.error().message;
    EXPECT_NE(status.error().message.find(words), std::string::npos) << status.error().message;
  };
  const auto sa = good.a.scales();
  const auto sb = good.b.scales();
  ASSERT_TRUE(p.rebind(a, b, sa, sb));
  expect(Code::incompatible_k, "A has 96 columns and B 128 rows",
         p.rebind(make_gmem_tensor<row_major>(good.a.data(), 40, 96, 128), b, sa, sb));
  expect(Code::alignment_unfulfilled, "multiple of 128",
         p.rebind(make_gmem_tensor<row_major>(good.a.data(), 40, 96, 128),
                  make_gmem_tensor<col_major>(good.b.data(), 96, 48, 128), sa, sb));
  expect(Code::alignment_unfulfilled, "A: leading dimension 136 elements; the nearest legal value is 144",
         p.rebind(make_gmem_tensor<row_major>(good.a.data(), 40, 128, 136), b, sa, sb));
  expect(Code::scale_mismatch, "A: scales of 1 x 40 x 4, needed are 1 x 39 x 4",
         p.rebind(make_gmem_tensor<row_major>(good.a.data(), 39, 128, 128), b, sa, sb));
  expect(Code::negative_extent, "A: -1 x 128",
         p.rebind(make_gmem_tensor<row_major>(good.a.data(), -1, 128, 128), b, sa, sb));
  expect(Code::incompatible_batches, "A has 2 matrices and B 3",
         p.rebind(make_gmem_tensor_batched<row_major>(good.a.data(), 40, 128, 2),
                  make_gmem_tensor_batched<col_major>(good.b.data(), 128, 48, 3), sa, sb));
  // As it was.
  ASSERT_TRUE(is_clean(good.run(p, p.make_schedule(), StoreResult{good.tensor_d()})));
  EXPECT_TRUE(good.is_product());
}

TEST(ScaledPipelineShape, is_that_of_a_pair_of_blocks) {
  Nvfp4 product(300, 520, 256);
  const auto p = product.pipeline();
  using Handle = decltype(p)::handle_type;
  static_assert(Handle::block_shape.rows == 128 && Handle::block_shape.columns == 256 &&
                Handle::uses_cluster);
  EXPECT_EQ(p.get_tile_count(), (Extent3{3, 3, 1}));
  EXPECT_EQ(p.get_grid_dim(), (Extent3{4, 3, 1}));
  EXPECT_EQ(p.get_block_dim(), (Extent3{192, 1, 1}));
  EXPECT_EQ(p.make_schedule().clusters_total, 6u);
  EXPECT_LE(Handle::scratch_offset() + kernels::block_scaled_scratch_bytes(4), 232448u);
}

// Clusters without a tile take part in nothing and write nothing.
TEST(ScaledTensors, a_grid_of_more_clusters_than_tiles) {
  Nvfp4 product(140, 130, 256);
  const auto p = product.pipeline();
  schedule::TileSchedule tiles = p.make_schedule();
  emulator::Machine machine;
  const StoreResult epilogue{product.tensor_d()};
  const auto kernel = scaled_product<std::decay_t<decltype(p)>::handle_type, schedule::TileSchedule,
                                     std::decay_t<decltype(epilogue)>>;
  const auto config = p.launch_config({6, 1, 1}, 1024, &machine);
  const Status failed = launch(kernel, p, config, tiles, p.get_device_handle(), epilogue);
  EXPECT_FALSE(failed) << failed->message;
  EXPECT_TRUE(product.is_product());
}

// ---- mistakes

struct Forgets {
  template <class Accumulator>
  TILEWRIGHT_DEVICE void operator()(Accumulator&, schedule::TileCoord) const {}
};
template <class DTensor>
struct ReadsTwice {
  DTensor d;
  template <class Accumulator>
  TILEWRIGHT_DEVICE void operator()(Accumulator& accumulator, schedule::TileCoord tile) const {
    constexpr Shape<Accumulator::rows, Accumulator::columns> block;
    accumulator.partition_and_store(get_tile(d, block, tile.m, tile.n, tile.batch));
    accumulator.for_each_result([](int, Coord, float) {});
  }
};

TEST(ScaledMisuse, a_result_that_is_not_read_or_read_twice_is_named) {
  Nvfp4 product(140, 130, 256);
  const auto p = product.pipeline();
  const LaunchResult forgotten = product.run(p, p.make_schedule(), Forgets{});
  ASSERT_FALSE(forgotten.reports.empty());
  EXPECT_EQ(forgotten.reports[0].place, "accumulator.unfinished");
  const auto d = product.tensor_d();
  const LaunchResult twice = product.run(p, p.make_schedule(), ReadsTwice<decltype(d)>{d});
  ASSERT_FALSE(twice.reports.empty());
  EXPECT_EQ(twice.reports[0].place, "accumulator.second_read");
}

}  // namespace
}  // namespace tilewright::blas::testing
