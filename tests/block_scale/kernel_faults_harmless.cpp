// Synchronisation of the block-scaled kernels that can be left out, and why: no schedule has a report.
#include <gtest/gtest.h>

#include <ostream>

#include "tests/block_scale/fault_rows.h"

namespace tilewright {
namespace {

using namespace fault_rows;
using emulator::LaunchResult;
using emulator::MachineOptions;

struct Harmless {
  const char* name;
  FaultSpec fault;
  const char* reason;
  bool overlap = true;
  int64_t k_tiles = 1;
};

std::ostream& operator<<(std::ostream& out, const Harmless& row) { return out << row.name; }

// Lines, and executions of lines, that are not needed. With four tiles on one pair an epilogue thread fences
// when it releases the shared columns (0, 2, 4, 6) and the window (1, 3, 5, 7; a single one: 0 to 3), and
// before the deallocation. Its warp meets 18 times a tile (a single window: 17), and before the deallocation.
std::vector<Harmless> harmless_faults() {
  const auto fence = [](const char* role) { return skip(Op::tcgen05_fence_before, "", role); };
  const auto fence_after = [](const char* role) { return skip(Op::tcgen05_fence_after, "", role); };
  const auto meeting = [](const char* role) { return skip(Op::sync_warp, "", role); };
  const auto init_fence = [](uint32_t n) { return nth(n, skip(Op::fence_mbarrier_init)); };
  const char* const released_later =
      "who overwrites the window waits also for the columns that it shares with the next tile, and the same "
      "lanes fence and meet once more before they release those";
  const char* const ordered =
      "the cluster barrier orders the lanes; the line is for the convergence that it asks for";
  const char* const synchronous = "no asynchronous operation follows: tcgen05.dealloc is synchronous";
  const char* const drained = "the release of the last window has fenced all loads";
  const char* const not_used = "the load warp has no tcgen05 operations";
  const char* const covered = "the thread's last one covers all that it has initialised";
  return {
      {"relinquish", skip(Op::tcgen05_relinquish), "no other CTA wants tensor memory"},
      {"last_waits_for_stages", from(4, skip(Op::mbarrier_wait, "empty", kLoad)),
       "commits arrive in order, and the epilogue waits for the last one"},
      {"fence_before_setup_ends", nth(0, fence("")),
       "no asynchronous operation comes before it: tcgen05.alloc is synchronous"},
      {"fence_of_the_load_warp", fence(kLoad), not_used},
      {"fence_of_the_mma_warp", fence(kMma), "the commit that the epilogue has waited for contains it"},
      {"fence_before_the_release_of_a_window", nth(1, fence(kEpilogue)), released_later},
      {"fence_before_the_release_of_the_last_window", nth(7, fence(kEpilogue)),
       "nobody overwrites it, and the fence before the deallocation follows"},
      {"fence_before_the_deallocation", nth(8, fence(kEpilogue)), drained},
      {"fence_before_the_deallocation_of_a_single_window", nth(4, fence(kEpilogue)), drained, false},
      {"fence_after_setup_of_the_epilogue", thread(0, nth(0, fence_after(""))),
       "the wait for the first accumulator has one of its own"},
      {"fence_after_setup_of_the_load_warp", thread(160, nth(0, fence_after(""))), not_used},
      {"fence_after_the_first_wait_for_a_window", nth(0, fence_after(kMma)), "nobody has read a window yet"},
      {"fences_after_waits_for_windows_of_zeros", fence_after(kMma), "K = 0: nothing is multiplied", true, 0},
      {"fence_after_the_last_barrier_of_the_load_warp", fence_after(kLoad), not_used},
      {"fence_after_the_last_barrier_of_the_mma_warp", nth(4, fence_after(kMma)), synchronous},
      {"fence_after_the_last_barrier_of_the_epilogue", nth(4, fence_after(kEpilogue)), synchronous},
      {"meeting_at_the_end_of_setup", nth(0, meeting("")), ordered},
      {"meeting_of_the_load_warp_at_the_end", meeting(kLoad), ordered},
      {"meeting_of_the_mma_warp_at_the_end", meeting(kMma), ordered},
      {"meeting_of_the_epilogue_at_the_end", nth(72, meeting(kEpilogue)), ordered},
      {"meeting_of_the_epilogue_of_a_single_window_at_the_end", nth(68, meeting(kEpilogue)), ordered, false},
      {"meeting_before_the_release_of_a_window", nth(15, meeting(kEpilogue)), released_later},
      {"init_fence_of_the_stages", init_fence(0), covered},
      {"init_fence_of_the_windows", init_fence(1), covered},
      {"init_fence_of_the_answers", init_fence(2), "nobody asks for tiles"},
  };
}

class BlockScaledHarmless : public testing::TestWithParam<Harmless> {};

TEST_P(BlockScaledHarmless, without_it_the_kernel_is_still_right) {
  const Harmless& row = GetParam();
  KernelRun run(case_of(BlockFormat::nvfp4, BlockFormat::nvfp4, row.k_tiles, row.overlap));
  for (MachineOptions options : faults::all_schedules(kSeeds)) {
    options.arithmetic = options.seed == 1;
    options.fault = row.fault;
    const LaunchResult result = run.run(options);
    EXPECT_GT(result.statistics.faults_planted, 0u);
    ASSERT_TRUE(result.reports.empty()) << row.reason << ": " << result.reports[0].message;
    if (options.arithmetic) {
      ASSERT_TRUE(run.is_right()) << row.reason;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Lines, BlockScaledHarmless, testing::ValuesIn(harmless_faults()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tilewright
