// The block-scaled kernels with one fault planted: named under every schedule.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "tests/block_scale/fault_rows.h"
#include "tests/block_scale/wrong_plans.h"
#include "tests/faults/symptom.h"

namespace tilewright {
namespace {

using namespace fault_rows;
using emulator::LaunchResult;
using emulator::MachineOptions;

// Of the adversarial schedule: early, late and two mixtures.
const uint64_t kSeeds = faults::seeds_or(4);

std::vector<PlantedFault> faults_of_setup() {
  return {
      {"no_allocation_in_the_second_cta",
       cta(1, skip(Op::tcgen05_alloc)),
       {Kind::tensor_memory, Kind::uninitialised_read}},
      {"no_allocation_in_the_first_cta",
       cta(0, skip(Op::tcgen05_alloc)),
       {Kind::tensor_memory, Kind::uninitialised_read}},
      {"half_of_tensor_memory", become(256, skip(Op::tcgen05_alloc)), {Kind::tensor_memory}},
      {"no_deallocation", skip(Op::tcgen05_dealloc), {Kind::tensor_memory}},
      {"no_deallocation_in_one_cta", cta(1, skip(Op::tcgen05_dealloc)), {Kind::tensor_memory}},
      {"no_fence_after_the_allocation_was_announced",
       thread(kMmaThread, nth(0, skip(Op::tcgen05_fence_after))),
       {Kind::missing_tcgen05_fence}},
      {"no_cluster_barrier_after_setup",
       nth(0, skip(Op::cluster_wait)),
       {Kind::barrier_init_not_visible, Kind::barrier_not_initialised, Kind::uninitialised_read,
        Kind::read_before_ready, Kind::cluster_barrier}},
      {"no_cluster_barrier_before_deallocation",
       nth(1, skip(Op::cluster_wait)),
       {Kind::overwrite_in_use, Kind::tensor_memory, Kind::exit_before_peer, Kind::missing_tcgen05_fence,
        Kind::cluster_barrier, Kind::read_before_ready, Kind::unordered_writes,
        Kind::exit_with_pending_work}},
      {"the_first_cta_deallocates_before_its_peer",
       cta(0, nth(1, skip(Op::cluster_wait))),
       {Kind::overwrite_in_use, Kind::tensor_memory, Kind::exit_before_peer, Kind::missing_tcgen05_fence,
        Kind::unordered_writes, Kind::exit_with_pending_work}},
      {"no_fence_after_barrier_init", skip(Op::fence_mbarrier_init), {Kind::barrier_init_not_visible}},
      {"full_barrier_not_initialised", skip(Op::mbarrier_init, "full"), {Kind::barrier_not_initialised}},
      {"empty_barrier_not_initialised", skip(Op::mbarrier_init, "empty"), {Kind::barrier_not_initialised}},
      {"ready_barrier_not_initialised", skip(Op::mbarrier_init, kReady), {Kind::barrier_not_initialised}},
      {"release_barrier_not_initialised", skip(Op::mbarrier_init, kEmpty), {Kind::barrier_not_initialised}},
      {"shared_barrier_not_initialised", skip(Op::mbarrier_init, kShared), {Kind::barrier_not_initialised}},
      {"release_barrier_counts_one_cta",
       become(4, skip(Op::mbarrier_init, kEmpty)),
       {Kind::read_before_ready, Kind::over_arrival, Kind::overwrite_in_use, Kind::missing_tcgen05_fence,
        Kind::parity_alias}},
      {"shared_barrier_counts_one_cta",
       become(4, skip(Op::mbarrier_init, kShared)),
       {Kind::read_before_ready, Kind::over_arrival, Kind::overwrite_in_use, Kind::missing_tcgen05_fence,
        Kind::parity_alias}},
      {"full_barrier_expects_both_producers", become(2, skip(Op::mbarrier_init, "full")), {Kind::deadlock}},
  };
}

std::vector<PlantedFault> faults_of_loads() {
  return {
      {"stage_refilled_before_it_was_read",
       from(5, skip(Op::mbarrier_wait, "empty", kLoad)),
       {Kind::over_arrival, Kind::overwrite_in_use, Kind::byte_count, Kind::unordered_writes,
        Kind::parity_alias},
       {},
       7},
      {"stage_refilled_a_phase_too_early",
       flip("empty", kLoad),
       {Kind::over_arrival, Kind::overwrite_in_use, Kind::byte_count, Kind::unordered_writes, Kind::deadlock,
        Kind::parity_alias},
       {},
       7},
      {"no_expectation_of_bytes",
       nth(1, skip(Op::mbarrier_arrive_expect_tx, "full")),
       {Kind::deadlock, Kind::byte_count}},
      {"bytes_of_one_cta_expected",
       become(38912, skip(Op::mbarrier_arrive_expect_tx, "full")),
       {Kind::uninitialised_read, Kind::byte_count, Kind::read_before_ready, Kind::deadlock}},
      {"a_not_loaded", nth(1, skip(Op::tma_load, "A")), {Kind::deadlock}},
      {"b_not_loaded", nth(1, skip(Op::tma_load, "B")), {Kind::deadlock}},
      {"a_scales_not_loaded", nth(1, skip(Op::tma_load, "A scales")), {Kind::deadlock}},
      {"b_scales_not_loaded", nth(1, skip(Op::tma_load, "B scales")), {Kind::deadlock}},
      {"b_scales_to_one_cta_only",
       mask(become(1, skip(Op::tma_load, "B scales"))),
       {Kind::deadlock, Kind::byte_count, Kind::uninitialised_read}},
      {"the_second_cta_signals_its_own_barrier",
       second(add(kOtherCta, cta(1, skip(Op::tma_load, "B")))),
       {Kind::deadlock, Kind::byte_count}},
  };
}

std::vector<PlantedFault> faults_of_mma() {
  return {
      {"multiplies_before_the_stage_is_full",
       from(1, skip(Op::mbarrier_wait, "full", kMma)),
       {Kind::read_before_ready, Kind::uninitialised_read}},
      {"multiplies_on_the_other_parity",
       flip("full", kMma),
       {Kind::read_before_ready, Kind::uninitialised_read, Kind::parity_alias, Kind::deadlock}},
      {"no_scales_of_a",
       nth(0, skip(Op::tcgen05_cp, "A scales", kMma)),
       {Kind::uninitialised_read},
       {"A scales"}},
      {"no_scales_of_b",
       nth(1, skip(Op::tcgen05_cp, "B scales", kMma)),
       {Kind::uninitialised_read},
       {"B scales"}},
      {"scales_copied_elsewhere",
       add(-64, skip(Op::tcgen05_cp, "A scales", kMma)),
       {Kind::uninitialised_read, Kind::overwrite_in_use, Kind::tensor_memory}},
      {"scales_read_elsewhere",
       second(add(-64, skip(Op::tcgen05_mma, "", kMma))),
       {Kind::uninitialised_read, Kind::tensor_memory, Kind::overwrite_in_use, Kind::read_before_ready}},
      {"does_not_wait_for_the_window",
       from(2, skip(Op::mbarrier_wait, kEmpty, kMma)),
       {Kind::read_before_ready, Kind::overwrite_in_use, Kind::parity_alias, Kind::missing_tcgen05_fence}},
      {"does_not_wait_for_the_single_window",
       from(1, skip(Op::mbarrier_wait, kEmpty, kMma)),
       {Kind::overwrite_in_use, Kind::read_before_ready, Kind::parity_alias},
       {},
       1,
       false},
      {"does_not_wait_for_the_shared_columns",
       from(1, skip(Op::mbarrier_wait, kShared, kMma)),
       {Kind::read_before_ready, Kind::overwrite_in_use},
       {"shared columns"}},
      {"waits_for_the_shared_columns_on_the_other_parity",
       flip(kShared, kMma),
       {Kind::read_before_ready, Kind::overwrite_in_use, Kind::deadlock, Kind::parity_alias}},
      {"no_fence_after_waiting_for_the_epilogue",
       nth(1, skip(Op::tcgen05_fence_after, "", kMma)),
       {Kind::missing_tcgen05_fence},
       kColumns},
      {"stage_never_given_back", nth(0, skip(Op::tcgen05_commit, "empty", kMma)), {Kind::deadlock}, {}, 7},
      {"stage_given_back_to_one_cta",
       mask(become(1, skip(Op::tcgen05_commit, "empty", kMma))),
       {Kind::deadlock, Kind::overwrite_in_use, Kind::byte_count},
       {},
       7},
      {"accumulator_never_announced", nth(1, skip(Op::tcgen05_commit, kReady, kMma)), {Kind::deadlock}},
      {"accumulator_announced_in_one_cta",
       mask(become(1, skip(Op::tcgen05_commit, kReady, kMma))),
       {Kind::deadlock}},
      {"C79_commit_to_a_cta_that_is_not_there",
       mask(become(7, skip(Op::tcgen05_commit, kReady, kMma))),
       {Kind::multicast_mask}},
      {"accumulates_in_other_columns",
       nth(2, add(16, skip(Op::tcgen05_mma, "", kMma))),
       {Kind::uninitialised_read, Kind::tensor_memory, Kind::overwrite_in_use, Kind::read_before_ready}},
  };
}

std::vector<PlantedFault> faults_of_epilogue() {
  return {
      {"drains_before_the_accumulator_is_ready",
       nth(0, skip(Op::mbarrier_wait, kReady, kEpilogue)),
       {Kind::uninitialised_read, Kind::read_before_ready, Kind::parity_alias}},
      {"drains_a_later_tile_before_it_is_ready",
       nth(2, skip(Op::mbarrier_wait, kReady, kEpilogue)),
       {Kind::read_before_ready, Kind::parity_alias, Kind::overwrite_in_use}},
      {"drains_on_the_other_parity",
       flip(kReady, kEpilogue),
       {Kind::uninitialised_read, Kind::read_before_ready, Kind::deadlock, Kind::parity_alias}},
      {"no_fence_after_the_accumulator_was_announced",
       nth(1, skip(Op::tcgen05_fence_after, "", kEpilogue)),
       {Kind::missing_tcgen05_fence},
       kColumns},
      {"loads_not_waited_for",
       nth(1, skip(Op::tcgen05_wait_ld, "", kEpilogue)),
       {Kind::accumulator_in_flight, Kind::overwrite_in_use}},
      {"shared_columns_released_without_a_fence",
       nth(0, skip(Op::tcgen05_fence_before, "", kEpilogue)),
       {Kind::missing_tcgen05_fence},
       {"shared columns"}},
      {"shared_columns_never_released",
       nth(0, skip(Op::mbarrier_arrive, kShared, kEpilogue)),
       {Kind::deadlock}},
      {"shared_columns_released_in_the_own_cta",
       cta(1, nth(0, skip(Op::mbarrier_arrive, kShared, kEpilogue))),
       {Kind::deadlock}},
      {"window_never_released", nth(0, skip(Op::mbarrier_arrive, kEmpty, kEpilogue)), {Kind::deadlock}},
      {"window_of_one_cta_never_released",
       cta(1, nth(0, skip(Op::mbarrier_arrive, kEmpty, kEpilogue))),
       {Kind::deadlock}},
      {"lanes_of_another_warp",
       add(64 << 16, skip(Op::tcgen05_ld, "", kEpilogue)),
       {Kind::tensor_memory, Kind::out_of_bounds}},
      {"columns_beyond_the_window",
       add(32, skip(Op::tcgen05_ld, "", kEpilogue)),
       {Kind::uninitialised_read, Kind::read_before_ready, Kind::overwrite_in_use,
        Kind::missing_tcgen05_fence}},
      {"slab_overwritten_while_it_is_stored",
       skip(Op::bulk_wait, "", kEpilogue),
       {Kind::overwrite_in_use, Kind::exit_with_pending_work}},
      {"C73_store_without_a_proxy_fence",
       skip(Op::fence_proxy_async, "", kEpilogue),
       {Kind::missing_proxy_fence}},
      {"store_of_slabs_that_other_lanes_still_write",
       skip(Op::sync_warp, "", kEpilogue),
       {Kind::missing_proxy_fence, Kind::read_before_ready, Kind::unordered_writes, Kind::overwrite_in_use,
        Kind::uninitialised_read, Kind::non_uniform}},
      {"stores_never_committed",
       skip(Op::bulk_commit, "", kEpilogue),
       {Kind::exit_with_pending_work, Kind::overwrite_in_use}},
  };
}

std::vector<PlantedFault> planted_faults() {
  std::vector<PlantedFault> all;
  for (const auto& part : {faults_of_setup(), faults_of_loads(), faults_of_mma(), faults_of_epilogue(),
                           faults_of_launch_control()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

template <class T>
bool is_one_of(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

class BlockScaledFaults : public testing::TestWithParam<PlantedFault> {};

TEST_P(BlockScaledFaults, is_reported) {
  const PlantedFault& row = GetParam();
  // Four tiles for one pair; or two with a ring that wraps.
  KernelCase c{.a = BlockFormat::nvfp4, .b = BlockFormat::nvfp4, .overlap = row.overlap};
  c.m = 200, c.n = row.k_tiles == 1 ? 1000 : 520, c.k = 256 * row.k_tiles;
  if (row.launch_control) {
    // A dozen tiles for one pair, so that answers go round their slots.
    c.scheduler = schedule::TileScheduler::cluster_launch_control;
    c.n = 12 * 256;
  }
  KernelRun run(c);
  faults::expect_reported(row.fault, {.kinds = row.kinds, .places = row.places}, row.name,
                          faults::all_schedules(kSeeds, {.arithmetic = false}),
                          [&](const MachineOptions& options) { return Expected(run.run(options)); });
}

INSTANTIATE_TEST_SUITE_P(Planted, BlockScaledFaults, testing::ValuesIn(planted_faults()),
                         [](const auto& info) { return std::string(info.param.name); });

// ---- wrong plans

struct WrongPlan {
  const char* name;
  wrong_plans::Fault fault;
  std::vector<Kind> kinds;
};

std::ostream& operator<<(std::ostream& out, const WrongPlan& row) { return out << row.name; }

class WrongPlans : public testing::TestWithParam<WrongPlan> {};

TEST_P(WrongPlans, is_reported) {
  // One K tile: the sharpest test.
  for (const int64_t k_tiles : {1, 3}) {
    KernelRun run(
        {.a = BlockFormat::nvfp4, .b = BlockFormat::nvfp4, .m = 200, .n = 1000, .k = 256 * k_tiles});
    for (const MachineOptions& options : faults::all_schedules(kSeeds, {.arithmetic = false})) {
      const LaunchResult result = run.run(options, &wrong_plans::kernel(GetParam().fault));
      const bool caught = !result.reports.empty() && is_one_of(GetParam().kinds, result.reports[0].kind);
      EXPECT_EQ(caught, !GetParam().kinds.empty())
          << faults::name_of(options) << ": "
          << (result.reports.empty() ? std::string("nothing was reported") : result.reports[0].message);
    }
  }
}

// Two windows that share columns, released before the last subtile load.
INSTANTIATE_TEST_SUITE_P(Planted, WrongPlans,
                         testing::Values(WrongPlan{"the_right_plan", wrong_plans::Fault::none, {}},
                                         WrongPlan{"C76_released_before_the_last_shared_load",
                                                   wrong_plans::Fault::release_too_early,
                                                   {Kind::read_before_ready, Kind::overwrite_in_use}},
                                         WrongPlan{"drained_in_the_wrong_order",
                                                   wrong_plans::Fault::drained_in_wrong_order,
                                                   {Kind::read_before_ready, Kind::overwrite_in_use}},
                                         WrongPlan{"windows_that_share_more_than_is_drained",
                                                   wrong_plans::Fault::windows_too_close,
                                                   {Kind::read_before_ready, Kind::overwrite_in_use}},
                                         WrongPlan{"scales_inside_the_live_window",
                                                   wrong_plans::Fault::scales_in_the_window,
                                                   {Kind::read_before_ready, Kind::tensor_memory,
                                                    Kind::overwrite_in_use}}),
                         [](const auto& info) { return std::string(info.param.name); });

// The instructions execute in order and every column holds scales, so only the results tell.
TEST(BlockScaledPlans, scales_over_scales_give_wrong_results) {
  KernelRun run({.a = BlockFormat::nvfp4, .b = BlockFormat::nvfp4, .m = 200, .n = 264, .k = 256});
  ASSERT_TRUE(run.run({}, &wrong_plans::kernel(wrong_plans::Fault::none)).reports.empty());
  EXPECT_TRUE(run.is_right());
  ASSERT_TRUE(run.run({}, &wrong_plans::kernel(wrong_plans::Fault::scales_overlap)).reports.empty());
  EXPECT_FALSE(run.is_right());
}

// ---- harmless

TEST(BlockScaledHarmless, without_these_the_kernel_is_still_right) {
  const std::pair<FaultSpec, const char*> rows[] = {
      {skip(Op::tcgen05_relinquish), "no other CTA wants tensor memory"},
      {from(4, skip(Op::mbarrier_wait, "empty", kLoad)),
       "commits arrive in order, and the epilogue waits for the last one"},
  };
  for (const auto& [fault, reason] : rows) {
    KernelRun run({.a = BlockFormat::nvfp4, .b = BlockFormat::nvfp4, .m = 200, .n = 1000, .k = 256});
    for (MachineOptions options : faults::all_schedules(kSeeds)) {
      if (options.seed > 1) continue;
      options.fault = fault;
      const LaunchResult result = run.run(options);
      ASSERT_TRUE(result.reports.empty()) << reason << ": " << result.reports[0].message;
      ASSERT_TRUE(run.is_right()) << reason;
    }
  }
}

}  // namespace
}  // namespace tilewright
