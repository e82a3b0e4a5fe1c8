// The block-scaled kernels with one fault planted: named under every schedule.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "tests/block_scale/fault_rows.h"
#include "tests/block_scale/wrong_plans.h"
#include "tests/faults/symptom.h"

namespace tilewright {
namespace {

using namespace fault_rows;
using emulator::LaunchResult;
using emulator::MachineOptions;
using enum emulator::ReportKind;

std::vector<PlantedFault> faults_of_setup() {
  return {
      {"no_allocation_in_the_second_cta", cta(1, skip(Op::tcgen05_alloc)), reports(uninitialised_read)},
      {"no_allocation_in_the_first_cta", cta(0, skip(Op::tcgen05_alloc)), reports(uninitialised_read)},
      {"half_of_tensor_memory", become(256, skip(Op::tcgen05_alloc)), reports(tensor_memory).by(kMma)},
      {"no_deallocation", skip(Op::tcgen05_dealloc), reports(tensor_memory).by(kEpilogue)},
      {"no_deallocation_in_one_cta", cta(1, skip(Op::tcgen05_dealloc)), reports(tensor_memory).by(kEpilogue)},
      {"no_fence_after_the_allocation_was_announced",
       thread(kMmaThread, nth(0, skip(Op::tcgen05_fence_after))), reports(missing_tcgen05_fence).by(kMma)},
      {"no_cluster_barrier_after_setup", nth(0, skip(Op::cluster_wait)),
       reports(uninitialised_read, read_before_ready)},
      {"no_cluster_barrier_before_deallocation", nth(1, skip(Op::cluster_wait)),
       reports(overwrite_in_use).at("left accumulator").by(kEpilogue)},
      in_all_formats({"the_first_cta_deallocates_before_its_peer", cta(0, nth(1, skip(Op::cluster_wait))),
                      reports(overwrite_in_use, exit_before_peer).at("left accumulator", "").by(kEpilogue)}),
      {"the_second_cta_deallocates_before_its_peer", cta(1, nth(1, skip(Op::cluster_wait))),
       reports(overwrite_in_use, exit_before_peer).at("left accumulator", "").by(kEpilogue)},
      {"no_arrival_at_the_cluster_barrier_after_setup", nth(0, skip(Op::cluster_arrive)),
       reports(cluster_barrier)},
      {"no_arrival_at_the_cluster_barrier_before_deallocation", nth(1, skip(Op::cluster_arrive)),
       reports(cluster_barrier)},
      {"no_fence_after_barrier_init", skip(Op::fence_mbarrier_init),
       reports(barrier_init_not_visible).at("full").by(kLoad)},
      {"no_fence_after_init_of_the_windows", from(1, skip(Op::fence_mbarrier_init)),
       reports(barrier_init_not_visible).at(kReady)},
      {"full_barrier_not_initialised", skip(Op::mbarrier_init, "full"),
       reports(barrier_not_initialised).at("full")},
      {"empty_barrier_not_initialised", skip(Op::mbarrier_init, "empty"),
       reports(barrier_not_initialised).at("empty").by(kLoad)},
      {"ready_barrier_not_initialised", skip(Op::mbarrier_init, kReady),
       reports(barrier_not_initialised).at(kReady).by(kEpilogue)},
      {"release_barrier_not_initialised", skip(Op::mbarrier_init, kEmpty),
       reports(barrier_not_initialised).at(kEmpty).by(kMma)},
      {"shared_barrier_not_initialised", skip(Op::mbarrier_init, kShared),
       reports(barrier_not_initialised).at(kShared).by(kMma)},
      {"release_barrier_counts_one_cta", become(4, skip(Op::mbarrier_init, kEmpty)),
       reports(parity_alias).at(kEmpty).by(kMma)},
      {"shared_barrier_counts_one_cta", become(4, skip(Op::mbarrier_init, kShared)),
       reports(overwrite_in_use, parity_alias, read_before_ready).at(kShared)},
      {"full_barrier_expects_both_producers", become(2, skip(Op::mbarrier_init, "full")),
       reports(deadlock).at("full").by(kMma)},
      {"empty_barrier_expects_both_ctas", become(2, skip(Op::mbarrier_init, "empty")),
       reports(deadlock).at("empty").by(kLoad), 7},
      {"ready_barrier_expects_both_ctas", become(2, skip(Op::mbarrier_init, kReady)),
       reports(deadlock).at(kReady).by(kEpilogue)},
  };
}

std::vector<PlantedFault> faults_of_loads() {
  std::vector<PlantedFault> all{
      in_all_formats({"stage_refilled_before_it_was_read", from(5, skip(Op::mbarrier_wait, "empty", kLoad)),
                      reports(unordered_writes, over_arrival, overwrite_in_use).at("A", "full").by(kLoad),
                      7}),
      {"stage_refilled_a_phase_too_early", flip("empty", kLoad),
       reports(deadlock).at(kReady, "empty", "full"), 7},
      {"no_expectation_of_bytes", nth(1, skip(Op::mbarrier_arrive_expect_tx, "full")),
       reports(deadlock).at("full").by(kMma)},
      {"a_not_loaded", nth(1, skip(Op::tma_load, "A")), reports(deadlock).at("full").by(kMma)},
      {"b_not_loaded", nth(1, skip(Op::tma_load, "B")), reports(deadlock).at("full").by(kMma)},
      {"a_scales_not_loaded", nth(1, skip(Op::tma_load, "A scales")), reports(deadlock).at("full").by(kMma)},
      {"b_scales_not_loaded", nth(1, skip(Op::tma_load, "B scales")), reports(deadlock).at("full").by(kMma)},
      {"b_scales_to_one_cta_only", mask(become(1, skip(Op::tma_load, "B scales"))),
       reports(deadlock).at("full").by(kMma)},
  };
  for (const std::string operand : {"A", "B", "A scales", "B scales"}) {
    PlantedFault row{"the_second_cta_signals_its_own_barrier_for_" + operand,
                     second(add(kOtherCta, cta(1, skip(Op::tma_load, operand.c_str())))),
                     reports(deadlock).at("full").by(kMma)};
    std::replace(row.name.begin(), row.name.end(), ' ', '_');
    all.push_back(std::move(row));
  }
  return all;
}

// Of a stage in both CTAs: 77824 (nvfp4), 71680 (mxfp4), 68608 (mxfp8), 52224 (FP4 beside FP8, which comes
// packed).
std::vector<PlantedFault> faults_of_byte_counts() {
  using enum BlockFormat;
  std::vector<PlantedFault> all;
  const faults::Symptom too_few =
      reports(byte_count, uninitialised_read, read_before_ready).at("full", "A scales");
  const faults::Symptom too_many = reports(deadlock).at("full").by(kMma);
  const auto add_row = [&](BlockFormat a, BlockFormat b, const char* name, int64_t bytes,
                           const faults::Symptom& symptom) {
    all.push_back({.name = std::string(name_of(a)) + "_" + name_of(b) + "_bytes_of_" + name,
                   .fault = become(bytes, skip(Op::mbarrier_arrive_expect_tx, "full")),
                   .symptom = symptom,
                   .a = a,
                   .b = b});
  };
  add_row(nvfp4, nvfp4, "one_cta", 38912, too_few);
  add_row(mxfp4, mxfp4, "one_cta", 35840, too_few);
  add_row(mxfp8, mxfp8, "one_cta", 34304, too_few);
  add_row(mxfp8, mxfp4, "one_cta", 26112, too_few);
  add_row(nvfp4, nvfp4, "half_of_the_scales", 71680, too_few);
  add_row(mxfp4, mxfp4, "half_of_the_scales", 68608, too_few);
  add_row(mxfp8, mxfp8, "packed_b", 52224, too_few);
  add_row(mxfp8, mxfp8, "packed_a_and_b", 35840, too_few);
  add_row(mxfp8, mxfp4, "packed_a_and_b", 35840, too_few);
  add_row(mxfp8, mxfp4, "b_as_it_lies_in_shared_memory", 68608, too_many);
  add_row(mxfp8, mxfp8, "a_longer_stage", 71680, too_many);
  return all;
}

std::vector<PlantedFault> faults_of_mma() {
  return {
      in_all_formats({"multiplies_before_the_stage_is_full", from(1, skip(Op::mbarrier_wait, "full", kMma)),
                      reports(read_before_ready, uninitialised_read).at("A scales").by(kMma)}),
      {"multiplies_on_the_other_parity", flip("full", kMma),
       reports(uninitialised_read, parity_alias, deadlock).at("A scales", "full", kReady, "empty")},
      in_all_formats({"no_scales_of_a", nth(0, skip(Op::tcgen05_cp, "A scales", kMma)),
                      reports(uninitialised_read).at("A scales").by(kMma)}),
      in_all_formats({"no_scales_of_b", nth(1, skip(Op::tcgen05_cp, "B scales", kMma)),
                      reports(uninitialised_read).at("B scales").by(kMma)}),
      {"scales_copied_elsewhere", add(-64, skip(Op::tcgen05_cp, "A scales", kMma)),
       reports(uninitialised_read).at("A scales").by(kMma)},
      {"scales_read_elsewhere", second(add(-64, skip(Op::tcgen05_mma, "", kMma))),
       reports(uninitialised_read).at("right accumulator").by(kMma)},
      {"does_not_wait_for_the_window", from(2, skip(Op::mbarrier_wait, kEmpty, kMma)),
       reports(parity_alias).at(kEmpty).by(kMma)},
      {"waits_for_the_window_on_the_other_parity", flip(kEmpty, kMma), reports(deadlock).at(kReady, "empty")},
      {"waits_for_the_single_window_on_the_other_parity", flip(kEmpty, kMma),
       reports(deadlock).at(kReady, "empty"), 1, false},
      {"does_not_wait_for_the_single_window", from(1, skip(Op::mbarrier_wait, kEmpty, kMma)),
       reports(overwrite_in_use, parity_alias, read_before_ready).at("left accumulator", kReady), 1, false},
      in_all_formats({"does_not_wait_for_the_shared_columns", from(1, skip(Op::mbarrier_wait, kShared, kMma)),
                      reports(read_before_ready, overwrite_in_use).at(kShared)}),
      {"announces_a_zero_result_without_waiting_for_the_shared_columns",
       from(1, skip(Op::mbarrier_wait, kShared, kMma)), reports(parity_alias).at(kShared).by(kMma), 0},
      {"announces_a_zero_result_without_waiting_for_the_single_window",
       from(1, skip(Op::mbarrier_wait, kEmpty, kMma)), reports(parity_alias).at(kReady, kEmpty), 0, false},
      {"waits_for_the_shared_columns_on_the_other_parity", flip(kShared, kMma),
       reports(deadlock).at(kReady, "empty")},
      {"no_fence_after_waiting_for_the_epilogue", nth(1, skip(Op::tcgen05_fence_after, "", kMma)),
       reports(missing_tcgen05_fence).at(kShared).by(kMma)},
      {"no_fence_after_waiting_for_the_single_window", nth(1, skip(Op::tcgen05_fence_after, "", kMma)),
       reports(missing_tcgen05_fence).at("left accumulator").by(kMma), 1, false},
      {"stage_never_given_back", nth(0, skip(Op::tcgen05_commit, "empty", kMma)),
       reports(deadlock).at(kReady, "empty"), 7},
      {"stage_given_back_to_one_cta", mask(become(1, skip(Op::tcgen05_commit, "empty", kMma))),
       reports(deadlock).at("full").by(kMma), 7},
      {"accumulator_never_announced", nth(1, skip(Op::tcgen05_commit, kReady, kMma)),
       reports(deadlock).at("empty", kReady)},
      {"accumulator_announced_in_one_cta", mask(become(1, skip(Op::tcgen05_commit, kReady, kMma))),
       reports(deadlock).at(kShared).by(kMma)},
      {"C79_commit_to_a_cta_that_is_not_there", mask(become(7, skip(Op::tcgen05_commit, kReady, kMma))),
       reports(multicast_mask).by(kMma)},
      {"accumulates_in_other_columns", nth(2, add(16, skip(Op::tcgen05_mma, "", kMma))),
       reports(uninitialised_read).at("right accumulator").by(kMma)},
  };
}

std::vector<PlantedFault> faults_of_epilogue() {
  const faults::Symptom unfenced = reports(missing_tcgen05_fence).by(kMma);
#if TILEWRIGHT_SEES_ACCESSES
  const std::pair unwaited{nth(1, skip(Op::tcgen05_wait_ld, "", kEpilogue)),
                           reports(accumulator_in_flight).by(kEpilogue)};
#else  // where reads of registers are not seen: by the next tile's MMA
  const std::pair unwaited{
      skip(Op::tcgen05_wait_ld, "", kEpilogue),
      reports(accumulator_in_flight, overwrite_in_use).at("", kShared, "left accumulator")};
#endif
  return {
      {"drains_before_the_accumulator_is_ready", nth(0, skip(Op::mbarrier_wait, kReady, kEpilogue)),
       reports(uninitialised_read).at(kShared).by(kEpilogue)},
      {"drains_a_later_tile_before_it_is_ready", nth(2, skip(Op::mbarrier_wait, kReady, kEpilogue)),
       reports(overwrite_in_use, read_before_ready, parity_alias).at("left accumulator", kShared)},
      {"drains_on_the_other_parity", flip(kReady, kEpilogue),
       reports(uninitialised_read).at(kShared).by(kEpilogue)},
      {"no_fence_after_the_accumulator_was_announced", nth(1, skip(Op::tcgen05_fence_after, "", kEpilogue)),
       reports(missing_tcgen05_fence).at(kShared).by(kEpilogue)},
      {"announces_zeros_before_the_result_is_ready", nth(0, skip(Op::mbarrier_wait, kReady, kEpilogue)),
       reports(parity_alias).at(kReady).by(kEpilogue), 0},
      in_all_formats({"loads_not_waited_for", unwaited.first, unwaited.second}),
      in_all_formats({"shared_columns_released_without_a_fence",
                      nth(0, skip(Op::tcgen05_fence_before, "", kEpilogue)), unfenced.at(kShared)}),
      in_all_formats({"single_window_released_without_a_fence",
                      nth(0, skip(Op::tcgen05_fence_before, "", kEpilogue)), unfenced.at("left accumulator"),
                      1, false}),
      {"shared_columns_released_without_a_fence_of_the_lane_that_arrives",
       thread(0, skip(Op::tcgen05_fence_before, "", kEpilogue)), unfenced.at(kShared)},
      {"single_window_released_without_a_fence_of_the_lane_that_arrives",
       thread(0, skip(Op::tcgen05_fence_before, "", kEpilogue)), unfenced.at("left accumulator"), 1, false},
      {"shared_columns_released_without_a_fence_of_another_lane",
       thread(37, skip(Op::tcgen05_fence_before, "", kEpilogue)), unfenced.at(kShared)},
      {"single_window_released_without_a_fence_of_another_lane",
       thread(37, skip(Op::tcgen05_fence_before, "", kEpilogue)), unfenced.at("left accumulator"), 1, false},
      // The warp meets twice for each slab that it stores: here for the third and the fifteenth time.
      {"shared_columns_released_before_all_lanes_have_loaded", nth(2, skip(Op::sync_warp, "", kEpilogue)),
       reports(overwrite_in_use).at(kShared).by(kMma)},
      {"single_window_released_before_all_lanes_have_loaded", nth(14, skip(Op::sync_warp, "", kEpilogue)),
       reports(overwrite_in_use, missing_tcgen05_fence).at("left accumulator").by(kMma), 1, false},
      {"shared_columns_never_released", nth(0, skip(Op::mbarrier_arrive, kShared, kEpilogue)),
       reports(deadlock).at(kShared, "empty", kReady)},
      {"shared_columns_released_in_the_own_cta",
       cta(1, nth(0, skip(Op::mbarrier_arrive, kShared, kEpilogue))), reports(deadlock).at(kShared).by(kMma)},
      {"window_never_released", nth(0, skip(Op::mbarrier_arrive, kEmpty, kEpilogue)),
       reports(deadlock).at(kEmpty, "empty", kReady)},
      {"window_of_one_cta_never_released", cta(1, nth(0, skip(Op::mbarrier_arrive, kEmpty, kEpilogue))),
       reports(deadlock).at(kEmpty).by(kMma)},
      {"lanes_of_another_warp", add(64 << 16, skip(Op::tcgen05_ld, "", kEpilogue)),
       reports(tensor_memory).by(kEpilogue)},
      {"columns_beyond_the_window", add(32, skip(Op::tcgen05_ld, "", kEpilogue)),
       reports(uninitialised_read).at("right accumulator").by(kEpilogue)},
      {"slab_overwritten_while_it_is_stored", skip(Op::bulk_wait, "", kEpilogue),
       reports(overwrite_in_use).at("D slabs").by(kEpilogue)},
      {"slab_overwritten_while_one_more_is_stored", add(1, skip(Op::bulk_wait, "", kEpilogue)),
       reports(overwrite_in_use).at("D slabs").by(kEpilogue)},
      {"shared_memory_given_up_while_it_is_stored", nth(32, skip(Op::bulk_wait, "", kEpilogue)),
       reports(exit_with_pending_work).by(kEpilogue)},
      {"C73_store_without_a_proxy_fence", skip(Op::fence_proxy_async, "", kEpilogue),
       reports(missing_proxy_fence).at("D slabs").by(kEpilogue)},
      {"store_of_slabs_that_other_lanes_still_write", nth(1, skip(Op::sync_warp, "", kEpilogue)),
       reports(uninitialised_read, read_before_ready).at("D slabs").by(kEpilogue)},
      {"slab_overwritten_by_lanes_that_do_not_wait_for_its_store", nth(5, skip(Op::sync_warp, "", kEpilogue)),
       reports(overwrite_in_use).at("D slabs").by(kEpilogue)},
      {"stores_never_committed", skip(Op::bulk_commit, "", kEpilogue),
       reports(overwrite_in_use).at("D slabs").by(kEpilogue)},
  };
}

std::vector<PlantedFault> planted_faults() {
  std::vector<PlantedFault> all;
  for (const auto& part : {faults_of_setup(), faults_of_loads(), faults_of_byte_counts(), faults_of_mma(),
                           faults_of_epilogue(), faults_of_launch_control()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  using enum BlockFormat;
  for (size_t i = 0, rows = all.size(); i < rows; ++i) {
    if (!all[i].all_formats) continue;
    for (const auto& [a, b] : {std::pair{mxfp8, mxfp8}, std::pair{mxfp8, mxfp4}, std::pair{mxfp4, mxfp4}}) {
      PlantedFault row = all[i];
      row.name = std::string(name_of(a)) + "_" + name_of(b) + "_" + row.name;
      row.a = a, row.b = b;
      all.push_back(std::move(row));
    }
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
  KernelCase c = case_of(row.a, row.b, row.k_tiles, row.overlap);
  if (row.launch_control) {
    // A dozen tiles for one pair, so that answers go round their slots.
    c.scheduler = schedule::TileScheduler::cluster_launch_control;
    c.n = 12 * 256;
  }
  KernelRun run(c);
  std::vector<MachineOptions> all = faults::all_schedules(kSeeds, {.arithmetic = false});
  if (row.tiles > 0) {
    // The barrier of the shared columns completes a phase for each tile of a cluster.
    std::erase_if(all, [&](const MachineOptions& options) {
      return run.run(options).statistics.most_barrier_phases < row.tiles;
    });
    EXPECT_GT(all.size(), kSeeds) << "of " << 2 * kSeeds + 1;
  }
  faults::expect_reported(row.fault, row.symptom, row.name, all,
                          [&](const MachineOptions& options) { return Expected(run.run(options)); });
}

INSTANTIATE_TEST_SUITE_P(Planted, BlockScaledFaults, testing::ValuesIn(planted_faults()),
                         [](const auto& info) { return info.param.name; });

// ---- wrong plans

struct WrongPlan {
  std::string name;
  wrong_plans::Fault fault;
  std::vector<Kind> kinds;
  BlockFormat format = BlockFormat::nvfp4;
};

std::ostream& operator<<(std::ostream& out, const WrongPlan& row) { return out << row.name; }

std::vector<WrongPlan> all_wrong_plans() {
  using enum wrong_plans::Fault;
  const std::vector<Kind> raced{read_before_ready, overwrite_in_use};
  // Two windows that share columns, released before the last subtile load.
  std::vector<WrongPlan> all{{"C76_released_before_the_last_shared_load", release_too_early, raced}};
  for (const BlockFormat format : {BlockFormat::nvfp4, BlockFormat::mxfp4, BlockFormat::mxfp8}) {
    const std::string prefix = std::string(name_of(format)) + "_";
    all.push_back({prefix + "the_right_plan", none, {}, format});
    all.push_back({prefix + "drained_in_the_wrong_order", drained_in_wrong_order, raced, format});
    all.push_back({prefix + "windows_that_share_more_than_is_drained", windows_too_close, raced, format});
    all.push_back({prefix + "scales_inside_the_live_window",
                   scales_in_the_window,
                   {read_before_ready, tensor_memory, overwrite_in_use},
                   format});
  }
  return all;
}

class WrongPlans : public testing::TestWithParam<WrongPlan> {};

TEST_P(WrongPlans, is_reported) {
  // One K tile: the sharpest test.
  for (const int64_t k_tiles : {1, 3}) {
    KernelCase c = case_of(GetParam().format, GetParam().format, k_tiles, true);
    c.n = 1000;
    KernelRun run(c);
    for (const MachineOptions& options : faults::all_schedules(kSeeds, {.arithmetic = false})) {
      const LaunchResult result = run.run(options, &wrong_plans::kernel(GetParam().fault, GetParam().format));
      const bool caught = !result.reports.empty() && is_one_of(GetParam().kinds, result.reports[0].kind);
      EXPECT_EQ(caught, !GetParam().kinds.empty())
          << faults::name_of(options) << ": "
          << (result.reports.empty() ? std::string("nothing was reported") : result.reports[0].message);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Planted, WrongPlans, testing::ValuesIn(all_wrong_plans()),
                         [](const auto& info) { return info.param.name; });

// The instructions execute in order and every column holds scales, so only the results tell.
TEST(BlockScaledPlans, scales_over_scales_give_wrong_results) {
  constexpr BlockFormat kFormat = BlockFormat::nvfp4;
  KernelRun run({.a = kFormat, .b = kFormat, .m = 200, .n = 264, .k = 256});
  ASSERT_TRUE(run.run({}, &wrong_plans::kernel(wrong_plans::Fault::none, kFormat)).reports.empty());
  EXPECT_TRUE(run.is_right());
  ASSERT_TRUE(run.run({}, &wrong_plans::kernel(wrong_plans::Fault::scales_overlap, kFormat)).reports.empty());
  EXPECT_FALSE(run.is_right());
}

}  // namespace
}  // namespace tilewright
