// What the emulated machine sees of the kernels: how often each instruction ran, that rings wrap, and that no
// schedule changes a bit.
#include <gtest/gtest.h>

#include <vector>

#include "tests/kernels/axes.h"
#include "tests/kernels/checks.h"
#include "tests/kernels/emulated_machine.h"
#include "tests/kernels/text.h"
#include "tilewright/pipeline/output_binding.h"

namespace tilewright::testing {
namespace {

using emulator::MachineOptions;
using emulator::Op;
using emulator::SchedulePolicy;
using emulator::Statistics;

GemmCase tile_case(KernelTile tile, int64_t m, int64_t n, int64_t k, DType d = DType::f16) {
  GemmCase c = make_case("tile", m, n, k, d);
  c.name = text("tile ", tile.m, 'x', tile.n);
  c.options.tile = Shape2{tile.m, tile.n};
  c.data = Data::integers;
  c.runs = 1;
  return c;
}

class Tiles : public ::testing::TestWithParam<KernelTile> {};

// One CTA computes at least three tiles of three K tiles each through a ring of two stages.
TEST_P(Tiles, follow_each_other_around_the_ring) {
  const KernelTile tile = GetParam();
  GemmCase c = tile_case(tile, 2 * tile.m - 7, 2 * tile.n - 9, 300);
  c.options.stages = 2;
  c.options.cluster = Shape2{1, 1};
  c.runs = 2;
  EmulatedMachine machine;
  const CaseResult result = expect_passes(c, machine);
  EXPECT_GE(result.info.tiles, 3 * result.info.grid_ctas);
  EXPECT_GE(machine.statistics().most_barrier_phases,
            3u);  // a stage was filled three times: the ring wrapped
}

/// Instructions that one problem of whole tiles takes, by the shape of the kernel alone.
void expect_counts(const GemmCase& c, const KernelTile& tile, bool promoted) {
  EmulatedMachine machine;
  const CaseResult result = expect_passes(c, machine);
  const Statistics& did = machine.statistics();
  const int out_bytes = bits_of(c.problem.d.type) / 8;
  tiles::WgmmaTileShape shape{tile.m, tile.n, 128, tile.m >= 128 ? 256 : 128};
  shape.interval = promoted ? 4 : 0;
  const tiles::WgmmaTilePlan plan = tiles::wgmma_tile_plan(shape);
  const auto tiles = static_cast<uint64_t>(result.info.tiles);
  const auto k_tiles = static_cast<uint64_t>((c.problem.k + 127) / 128);
  const auto warpgroups = static_cast<uint64_t>(shape.threads / 128);
  // A fast accumulator of 64 x 256 takes the last K tile in two halves, of which one is packed early.
  const bool halves = !promoted && plan.parts() == 1 && plan.part_n == 256 && out_bytes < 4;
  const uint64_t per_warpgroup = 4 * (static_cast<uint64_t>(plan.parts()) * k_tiles + (halves ? 1 : 0));
  EXPECT_EQ(did.count(Op::wgmma), tiles * warpgroups * per_warpgroup) << describe(c);
  EXPECT_EQ(did.count(Op::tma_load), 2 * tiles * k_tiles) << describe(c);
  const auto slabs = static_cast<uint64_t>(tile.m / 16 * tile.n) /
                     blas::detail::slab_plan(plan.part_n, static_cast<size_t>(out_bytes)).columns;
  EXPECT_EQ(did.count(Op::tma_store), result.info.tma_store ? tiles * slabs : 0) << describe(c);
  EXPECT_EQ(did.bytes_loaded, tiles * k_tiles * plan.stage_bytes) << describe(c);
  EXPECT_EQ(did.clusters * static_cast<uint64_t>(result.info.cluster.m * result.info.cluster.n),
            static_cast<uint64_t>(result.info.grid_ctas))
      << describe(c);
}

TEST_P(Tiles, take_the_instructions_that_their_shape_says) {
  const KernelTile tile = GetParam();
  for (const DType d : {DType::f16, DType::f32, DType::e4m3})
    expect_counts(tile_case(tile, tile.m, 2 * tile.n, 256, d), tile, true);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Tiles, ::testing::ValuesIn(kTiles),
                         [](const auto& info) { return text(info.param.m, 'x', info.param.n); });

TEST(FastTiles, take_the_instructions_that_their_shape_says) {
  for (const KernelTile tile : {KernelTile{128, 128}, KernelTile{128, 256}, KernelTile{256, 128}}) {
    GemmCase c = tile_case(tile, tile.m, tile.n, 384);
    c.problem.accumulation = Accumulation::fast;
    expect_counts(c, tile, false);
  }
}

/// How many threads of one CTA let a dependent launch begin while they compute so many tiles of K.
uint64_t dependents_let_in(KernelTile tile, Accumulation accumulation, int64_t tiles, int64_t k) {
  GemmCase c = tile_case(tile, tiles * tile.m, tile.n, k);
  c.problem.accumulation = accumulation;
  c.options.max_sms = 1;
  c.check_model = false;
  EmulatedMachine machine;
  EXPECT_EQ(expect_passes(c, machine).info.tiles, tiles);
  return machine.statistics().count(Op::launch_dependents);
}

// All threads at the start if there is one tile, then, as if there are several, those that compute behind the
// last MMAs, and nobody if there are many.
TEST(Dependents, begin_early_late_or_last) {
  constexpr uint64_t kProducers = 128;
  for (const KernelTile tile : {KernelTile{64, 64}, KernelTile{128, 256}}) {
    for (const Accumulation sums : {Accumulation::promoted, Accumulation::fast}) {
      const uint64_t computing = tile.m == 64 ? 128 : 256;
      EXPECT_EQ(dependents_let_in(tile, sums, 1, 640), computing + kProducers + computing);
      EXPECT_EQ(dependents_let_in(tile, sums, 2, 640), computing);
    }
  }
  EXPECT_EQ(dependents_let_in({64, 64}, Accumulation::promoted, 2, 255 * 128), 128u);
  EXPECT_EQ(dependents_let_in({64, 64}, Accumulation::promoted, 2, 256 * 128), 0u);
}

// 8 x 128 bytes of each row are asked for, however many CTAs receive them.
TEST(Clusters, issue_the_copies_of_their_share_alone) {
  for (const Shape2 cluster : {Shape2{2, 1}, Shape2{1, 2}, Shape2{2, 2}}) {
    GemmCase c = tile_case({64, 128}, 128, 256, 256);
    c.options.cluster = cluster;
    EmulatedMachine machine;
    const CaseResult result = expect_passes(c, machine);
    EXPECT_EQ(machine.statistics().count(Op::tma_load), 2u * static_cast<uint64_t>(result.info.tiles) * 2);
  }
}

TEST(Statistics, say_when_nothing_is_loaded) {
  GemmCase c = make_case("K = 0", 100, 100, 0);
  EmulatedMachine machine;
  expect_passes(c, machine);
  EXPECT_EQ(machine.statistics().count(Op::tma_load), 0u);
  EXPECT_EQ(machine.statistics().count(Op::wgmma), 0u);
}

/// Kernels of each kind: promoted and fast, both loads, both stores, a cluster, a shared temporary.
std::vector<GemmCase> schedule_cases() {
  std::vector<GemmCase> cases;
  GemmCase c = tile_case({64, 64}, 150, 100, 300);
  c.options.cluster = Shape2{2, 2};
  c.options.stages = 2;
  cases.push_back(c);
  c = tile_case({64, 128}, 100, 150, 290, DType::f32);
  c.options.load = LoadKind::copy;
  c.options.store = StoreKind::direct;
  c.options.stages = 2;
  cases.push_back(c);
  c = tile_case({128, 256}, 200, 300, 300, DType::e4m3);
  c.options.cluster = Shape2{2, 1};
  cases.push_back(c);
  c = tile_case({256, 128}, 300, 200, 260);
  c.problem.accumulation = Accumulation::fast;
  c.problem.beta = 0.5f;
  c.options.cluster = Shape2{1, 2};
  cases.push_back(c);
  for (GemmCase& each : cases) each.data = Data::normal;
  return cases;
}

TEST(Schedules, change_no_bit) {
  std::vector<MachineOptions> schedules;
  for (const SchedulePolicy policy :
       {SchedulePolicy::fair, SchedulePolicy::random, SchedulePolicy::adversarial}) {
    const uint64_t seeds = policy == SchedulePolicy::fair ? 1 : policy == SchedulePolicy::random ? 3 : 6;
    for (uint64_t seed = 0; seed < seeds; ++seed) {
      MachineOptions options;
      options.schedule = policy;
      options.seed = 17 + seed;
      schedules.push_back(options);
    }
  }
  for (GemmCase c : schedule_cases()) {
    std::vector<uint8_t> first;
    for (const MachineOptions& options : schedules) {
      EmulatedMachine machine(options);
      c.check_model = first.empty();
      const CaseResult result = expect_passes(c, machine);
      if (first.empty()) first = result.d;
      EXPECT_EQ(first, result.d) << describe(c);
    }
  }
}

}  // namespace
}  // namespace tilewright::testing
