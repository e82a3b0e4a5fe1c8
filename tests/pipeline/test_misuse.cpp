// Mistakes in the use of a pipeline, each reported by name, and the schedules under which right use is clean.

#include "tests/pipeline/run_case.h"
#include "tests/pipeline/under_schedules.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

using emulator::Machine;
using emulator::Report;
using emulator::ReportKind;

using D = Tile<bf16, bf16, float, 64, 64, 64>;
constexpr int64_t kSize = 64, kDepth = 128;

/// One 64 x 64 tile of two K tiles.
template <class Tag = internal_accumulator>
struct OneTile {
  Matrix<bf16, row_major> a{kSize, kDepth, 1, 0, false, "A"};
  Matrix<bf16, col_major> b{kDepth, kSize, 1, 0, false, "B"};
  Matrix<float, row_major> c{kSize, kSize, 1, 0, true, "C"};

  OneTile() {
    std::mt19937 random(3);
    a.fill(random, -2, 2);
    b.fill(random, -2, 2);
  }
  auto pipeline() { return *suggest_pipeline<2, D, Tag>(a.const_tensor(), b.const_tensor()); }
  auto out() { return get_batch(c.tensor(), 0); }
};
using Out = decltype(std::declval<OneTile<>&>().out());
using Handle = std::decay_t<decltype(std::declval<OneTile<>&>().pipeline().get_device_handle())>;
using ReusableHandle =
    std::decay_t<decltype(std::declval<OneTile<reusable_accumulator>&>().pipeline().get_device_handle())>;

/// What the machine reports of kernel(out, pipeline) on one block.
template <class Tag, class Kernel>
Report report_of(Kernel kernel) {
  OneTile<Tag> tile;
  const auto p = tile.pipeline();
  const Status failed =
      arch::launch(kernel, p.launch_config({1, 1, 1}, 4096), tile.out(), p.get_device_handle());
  EXPECT_TRUE(failed) << "nothing was reported";
  const auto& reports = Machine::default_machine().last_result().reports;
  return failed && !reports.empty() ? reports[0] : Report{};
}

template <class Tag = internal_accumulator, class Kernel>
void expect_misuse(Kernel kernel, const char* rule) {
  const Report report = report_of<Tag>(kernel);
  EXPECT_EQ(report.kind, ReportKind::api_misuse) << report.message;
  EXPECT_EQ(report.place, rule) << report.message;
}

void second_read(Out out, const Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, 0, 0);
  tile.execute([&](auto& accumulator) {
    const auto view = get_tile(out, D::c_shape, 0, 0);
    accumulator.partition_and_store(view);
    accumulator.axpby(1.0f, 0.0f, view);
  });
}
TEST(PipelineMisuse, a_second_read) { expect_misuse(second_read, "accumulator.second_read"); }

template <class Descriptor, class AnyHandle>
void second_read_of(Out out, const AnyHandle pipeline) {
  TILEWRIGHT_SHARED(shared, AnyHandle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, 0, 0);
  tile.execute([&](auto& accumulator) {
    const auto view = get_tile(out, Descriptor::c_shape, 0, 0);
    accumulator.partition_and_store(view);
    (void)accumulator.get_results();
  });
}
template <class Descriptor>
void check_second_read() {
  using T = canonical_t<typename Descriptor::a_value_type>;
  Matrix<T, row_major> a(kSize, kDepth, 1, 0, false, "A");
  Matrix<T, col_major> b(kDepth, kSize, 1, 0, false, "B");
  Matrix<float, row_major> c(kSize, kSize, 1, 0, true, "C");
  std::mt19937 random(3);
  a.fill(random, -2, 2);
  b.fill(random, -2, 2);
  const auto p = *suggest_pipeline<2, Descriptor>(a.const_tensor(), b.const_tensor());
  using AnyHandle = std::decay_t<decltype(p.get_device_handle())>;
  EXPECT_TRUE(launch(second_read_of<Descriptor, AnyHandle>, p, p.launch_config({1, 1, 1}),
                     get_batch(c.tensor(), 0), p.get_device_handle()));
  EXPECT_EQ(Machine::default_machine().last_result().reports.at(0).place, "accumulator.second_read");
}
TEST(PipelineMisuse, a_second_read_on_mma_sync_and_simt) {
  using Pipelined = decltype(BlockDim<128>() + WithPipeline() + SM<900, arch_specific>());
  check_second_read<decltype(Pipelined() + Size<64, 64, 64>() + Precision<bf16, bf16, float>() +
                             RequirePath<path::mma_sync>())>();
  check_second_read<decltype(Pipelined() + Size<64, 128, 32>() + Precision<float>() +
                             RequirePath<path::simt>())>();
}

// A tile of two parts: the second is read where the first is due.
using TwoParts = Tile<bf16, bf16, float, 128, 64, 64>;
template <class PartsHandle>
void second_part_first(Out, const PartsHandle pipeline) {
  TILEWRIGHT_SHARED(shared, PartsHandle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, 0, 0);
  tile.execute(
      [&](auto& accumulator) { accumulator.template for_each_result_of_part<1>([](int, Coord, float) {}); });
}
TEST(PipelineMisuse, parts_out_of_order) {
  OneTile<> tile;
  const auto p = *suggest_pipeline<2, TwoParts>(tile.a.const_tensor(), tile.b.const_tensor());
  using PartsHandle = std::decay_t<decltype(p.get_device_handle())>;
  EXPECT_TRUE(arch::launch(second_part_first<PartsHandle>, p.launch_config({1, 1, 1}), tile.out(),
                           p.get_device_handle()));
  const auto& reports = Machine::default_machine().last_result().reports;
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports[0].kind, ReportKind::api_misuse) << reports[0].message;
  EXPECT_EQ(reports[0].place, "accumulator.part_order") << reports[0].message;
}

// Elements in pieces of several sizes, or with a gap between two of them.
template <bool Gap, class PartsHandle>
void pieces_read(Out, const PartsHandle pipeline) {
  TILEWRIGHT_SHARED(shared, PartsHandle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, 0, 0);
  tile.execute([&](auto& accumulator) {
    constexpr int kQuarter = std::decay_t<decltype(accumulator)>::size() / 4;
    float quarter[kQuarter], half[2 * kQuarter];
    accumulator.template get_elements<0>(quarter);
    if constexpr (!Gap) accumulator.template get_elements<kQuarter>(quarter);
    accumulator.template get_elements<2 * kQuarter>(half);
  });
}
template <bool Gap>
std::vector<Report> reports_of_pieces() {
  OneTile<> tile;
  const auto p = *suggest_pipeline<2, TwoParts>(tile.a.const_tensor(), tile.b.const_tensor());
  using PartsHandle = std::decay_t<decltype(p.get_device_handle())>;
  const auto launched = arch::launch(pieces_read<Gap, PartsHandle>, p.launch_config({1, 1, 1}), tile.out(),
                                     p.get_device_handle());
  EXPECT_EQ(launched.has_value(), Gap);
  return Machine::default_machine().last_result().reports;
}
TEST(PipelineMisuse, pieces_with_a_gap) {
  EXPECT_TRUE(reports_of_pieces<false>().empty());
  const auto reports = reports_of_pieces<true>();
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports[0].place, "accumulator.part_order") << reports[0].message;
}

void nothing_read(Out, const Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, 0, 0);
  tile.execute([&](auto&) {});
}
TEST(PipelineMisuse, a_functor_that_leaves_the_result) {
  expect_misuse(nothing_read, "accumulator.unfinished");
}

void discarded(Out out, const Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, 0, 0);
  tile.execute([&](auto& accumulator) { accumulator.discard(); });
  tile.execute([&](auto& accumulator) { accumulator.partition_and_store(get_tile(out, D::c_shape, 0, 0)); });
}
TEST(PipelineMisuse, none_in_a_discarded_result_and_the_ring_stays_consistent) {
  OneTile<> tile;
  const auto p = tile.pipeline();
  run(discarded, p.launch_config({1, 1, 1}), tile.out(), p.get_device_handle());
}

void read_of_nothing(Out out, const ReusableHandle pipeline) {
  TILEWRIGHT_SHARED(shared, ReusableHandle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, 0, 0);
  auto accumulator = tile.get_accumulator();
  tile.epilogue(accumulator, [&](auto& acc) { acc.partition_and_store(get_tile(out, D::c_shape, 0, 0)); });
}
TEST(PipelineMisuse, a_read_before_any_result) {
  expect_misuse<reusable_accumulator>(read_of_nothing, "accumulator.not_ready");
}

void destroyed_unread(Out, const ReusableHandle pipeline) {
  TILEWRIGHT_SHARED(shared, ReusableHandle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, 0, 0);
  auto accumulator = tile.get_accumulator();
  tile.execute(accumulator);
}
TEST(PipelineMisuse, an_accumulator_destroyed_with_a_result) {
  expect_misuse<reusable_accumulator>(destroyed_unread, "accumulator.unfinished");
}

void unaligned_buffer(Out, const Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared + 512, 0, 0);
  tile.execute([&](auto& accumulator) { accumulator.discard(); });
}
TEST(PipelineMisuse, an_unaligned_buffer) { expect_misuse(unaligned_buffer, "pipeline.alignment"); }

TEST(PipelineMisuse, another_block_than_get_block_dim) {
  OneTile<> tile;
  const auto p = tile.pipeline();
  for (const arch::Index3 block : {arch::Index3{512, 1, 1}, {64, 4, 1}, {128, 1, 1}}) {
    arch::LaunchConfig config = p.launch_config({1, 1, 1});
    config.block = block;
    EXPECT_TRUE(arch::launch(discarded, config, tile.out(), p.get_device_handle()));
    const auto& reports = Machine::default_machine().last_result().reports;
    ASSERT_FALSE(reports.empty());
    EXPECT_EQ(reports[0].place, "block.threads") << reports[0].message;
  }
}

// ---- batch coordinates

template <class BatchHandle>
void one_batch(uint32_t of_a, uint32_t of_b, const BatchHandle pipeline) {
  TILEWRIGHT_SHARED(shared, BatchHandle::buffer_alignment());
  // Where nothing is loaded, any coordinate is good: loops end on one past the last.
  auto tile = pipeline.get_tile(shared, make_coord(0, 99), make_coord(0, 99));
  pipeline.reset_tile(tile, make_coord(0, of_a), make_coord(0, of_b));
  tile.execute([&](auto& accumulator) { accumulator.discard(); });
  pipeline.reset_tile(tile, make_coord(0, 99), make_coord(0, 99));
}
template <class BatchHandle>
void run_one_batch(schedule::TileSchedule tiles, const BatchHandle pipeline) {
  pipeline.run(tiles, [](auto& accumulator, schedule::TileCoord) { accumulator.discard(); });
}

/// 64 x 128 times 128 x 64, of A three matrices, of B one for all of them or three.
template <class Descriptor>
void check_batch_coordinates() {
  using T = canonical_t<typename Descriptor::a_value_type>;
  Matrix<T, row_major> a(kSize, kDepth, 3, 0, false, "A");
  Matrix<T, col_major> b(kDepth, kSize, 3, 0, false, "B");
  std::mt19937 random(3);
  a.fill(random, -2, 2);
  b.fill(random, -2, 2);
  const auto expect = [](const Status& failed, bool misused) {
    ASSERT_EQ(failed.has_value(), misused) << (failed ? failed->message : "nothing was reported");
    if (!failed) return;
    const auto& reports = Machine::default_machine().last_result().reports;
    EXPECT_EQ(reports.at(0).place, "pipeline.batch") << reports.at(0).message;
  };
  const auto p = suggest_pipeline<2, Descriptor>(a.const_tensor(), b.const_tensor());
  ASSERT_TRUE(p) << p.error().message;
  using BatchHandle = std::decay_t<decltype(p->get_device_handle())>;
  const auto one = [&](const auto& of, uint32_t of_a, uint32_t of_b) {
    return launch(one_batch<BatchHandle>, of, of.launch_config({1, 1, 1}), of_a, of_b,
                  of.get_device_handle());
  };
  expect(one(*p, 2, 2), false);
  expect(one(*p, 3, 2), true);
  expect(one(*p, 2, 3), true);
  const auto shared = suggest_pipeline<2, Descriptor>(a.const_tensor(), get_batch(b.const_tensor(), 0));
  ASSERT_TRUE(shared) << shared.error().message;
  expect(one(*shared, 2, 77), false);
  expect(one(*shared, 3, 0), true);
  for (const uint32_t batches : {3u, 4u}) {
    const schedule::TileSchedule tiles = p->make_schedule(batches);
    expect(launch(run_one_batch<BatchHandle>, *p, p->launch_config({1, 1, 1}), tiles, p->get_device_handle()),
           batches == 4);
  }
}

using Tile64 = decltype(Size<64, 64, 64>() + BlockDim<128>() + WithPipeline() + SM<900, arch_specific>());
TEST(PipelineMisuse, a_batch_that_does_not_exist) { check_batch_coordinates<D>(); }
TEST(PipelineMisuse, a_batch_that_does_not_exist_copied) {
  check_batch_coordinates<decltype(Tile64() + Precision<bf16, bf16, float>() + CopiedInput())>();
}
TEST(PipelineMisuse, a_batch_that_does_not_exist_on_mma_sync) {
  check_batch_coordinates<decltype(Tile64() + Precision<bf16, bf16, float>() + MaxAlignment() +
                                   RequirePath<path::mma_sync>())>();
  check_batch_coordinates<decltype(Tile64() + Precision<bf16, bf16, float>() +
                                   RequirePath<path::mma_sync>())>();
}
TEST(PipelineMisuse, a_batch_that_does_not_exist_on_simt) {
  check_batch_coordinates<decltype(Size<64, 128, 32>() + Precision<float>() + WithPipeline() +
                                   SM<900, arch_specific>())>();
}

void second_get_tile(Out out, const Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  for (int i = 0; i < 2; ++i) {
    auto tile = pipeline.get_tile(shared, 0, 0);
    tile.execute(
        [&](auto& accumulator) { accumulator.partition_and_store(get_tile(out, D::c_shape, 0, 0)); });
  }
}
TEST(PipelineMisuse, a_second_get_tile_on_live_barriers) {
  EXPECT_EQ(report_of<internal_accumulator>(second_get_tile).kind, ReportKind::barrier_reinitialised);
}

void uneven_loop(Out out, const Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, 0, 0);
  // Computing threads go round once more than the others.
  const int rounds = arch::linear_thread_index() < 128 ? 3 : 2;
  for (int i = 0; i < rounds; ++i) {
    tile.execute(
        [&](auto& accumulator) { accumulator.partition_and_store(get_tile(out, D::c_shape, 0, 0)); });
  }
}
TEST(PipelineMisuse, a_loop_that_is_not_uniform) {
  EXPECT_EQ(report_of<internal_accumulator>(uneven_loop).kind, ReportKind::deadlock);
}

void block_barrier(Out out, const Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, 0, 0);
  tile.execute([&](auto& accumulator) {
    __syncthreads();
    accumulator.partition_and_store(get_tile(out, D::c_shape, 0, 0));
  });
}
TEST(PipelineMisuse, a_block_barrier_in_an_epilogue) {
  const Report report = report_of<internal_accumulator>(block_barrier);
  EXPECT_EQ(report.kind, ReportKind::non_uniform) << report.message;
}

void bulk_store_left(Out out, const Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, 0, 0);
  std::byte* const scratch = shared + Handle::buffer_size();
  tile.execute([&](auto& accumulator) {
    accumulator.discard();
    const uint32_t thread = arch::linear_thread_index();
    const uint32_t at = arch::shared_address(scratch) + 4 * thread;
    arch::store_shared(at, 1.0f);
    arch::fence_proxy_async_shared();
    tile.epilogue_sync();
    if (thread == 0) {
      arch::bulk_store(&out(0, 0), arch::shared_address(scratch), 256);
      arch::tma_commit();
    }
  });
}
TEST(PipelineMisuse, an_exit_with_a_bulk_store_outstanding) {
  EXPECT_EQ(report_of<internal_accumulator>(bulk_store_left).kind, ReportKind::exit_with_pending_work);
}

// ---- right use, under every schedule

TEST(PipelineSchedules, a_persistent_loop_is_clean_under_all_of_them) {
  under_schedules([] {
    check_gemm<D, 2, float>({.m = 130, .n = 140, .k = 200, .blocks = 2});
    EXPECT_GE(Machine::default_machine().last_result().statistics.most_barrier_phases,
              8u);  // the ring wrapped
  });
}

TEST(PipelineSchedules, one_stage_is_clean_under_all_of_them) {
  under_schedules([] { check_gemm<D, 1, float>({.m = 70, .n = 64, .k = 130, .blocks = 1}); });
}

TEST(PipelineSchedules, promoted_tiles_with_reallocated_registers_are_clean_under_all_of_them) {
  using Promoted = Tile<e4m3, e4m3, float, 128, 256, 128, 256>;
  under_schedules([] { check_gemm<Promoted, 2, bf16>({.m = 200, .n = 256, .k = 300, .blocks = 1}); });
}

TEST(PipelineSchedules, stores_in_the_shadow_of_the_next_tile_are_clean_under_all_of_them) {
  under_schedules([] { check_run<D, 3, bf16, true>(130, 136, 700, 1, 1); });
}

TEST(PipelineSchedules, promoted_tiles_packed_part_by_part_are_clean_under_all_of_them) {
  using Promoted = Tile<e4m3, e4m3, float, 64, 256, 128, 128>;
  under_schedules([] { check_run<Promoted, 2, bf16, true>(130, 264, 656, 1, 1); });
}

TEST(PipelineSchedules, clusters_that_multicast_are_clean_under_all_of_them) {
  using Clustered = Tile<bf16, bf16, float, 64, 64, 64, 128, BlocksPerCluster<2, 2>, RequireMulticast>;
  under_schedules([] { check_run<Clustered, 2, bf16, true>(300, 264, 200, 1, 1); });
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
