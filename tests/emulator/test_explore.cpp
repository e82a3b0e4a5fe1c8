// Explorations: how many orders there are, and that each is seen.
#include <set>

#include "tests/emulator/micro.h"
#include "tilewright/emulator/explore.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kBar = kSharedBase;

class Explore : public Emulator {
 protected:
  template <class Kernel>
  ExploreResult explore_kernel(const Grid& grid, const Kernel& kernel, ExploreOptions limits) {
    const auto result = explore(
        {}, [&](const MachineOptions& options) { return Expected<LaunchResult>(run(options, grid, kernel)); },
        limits);
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return result ? *result : ExploreResult{};
  }
};

// Thread 0 of each of three warpgroups.
const Grid kThree{.threads = 384};
bool leads() { return thread_id() % 128 == 0; }

TEST_F(Explore, OrdersOfArrivalsOnOneBarrierAreTheirPermutations) {
  const auto kernel = [] {
    init_barriers(kBar, {3});
    if (leads()) mbarrier_arrive(kBar, 1);
  };
  const ExploreResult every = explore_kernel(kThree, kernel, {.every_order_of_arrivals = true});
  EXPECT_TRUE(every.complete);
  EXPECT_EQ(every.executions, 6u);
  const ExploreResult merged = explore_kernel(kThree, kernel, {});
  EXPECT_TRUE(merged.complete);
  EXPECT_EQ(merged.executions, 1u);
}

TEST_F(Explore, StepsOnDifferentBarriersHaveOneOrder) {
  const ExploreResult result = explore_kernel(kThree,
                                              [] {
                                                init_barriers(kBar, {1, 1, 1});
                                                if (leads())
                                                  mbarrier_arrive(kBar + 8 * (thread_id() / 128), 1);
                                              },
                                              {.every_order_of_arrivals = true});
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.executions, 1u);
}

TEST_F(Explore, TwoArrivalsEachOfTwoThreadsHaveSixOrders) {
  std::set<std::string> orders;
  std::string order;
  const auto kernel = [&] {
    init_barriers(kBar, {4});
    if (!leads()) return;
    for (int i = 0; i < 2; ++i) {
      mbarrier_arrive(kBar, 1);
      order += static_cast<char>('a' + thread_id() / 128);
    }
  };
  const auto result = explore({},
                              [&](const MachineOptions& options) {
                                order.clear();
                                const LaunchResult launched = run(options, {.threads = 256}, kernel);
                                if (order.size() == 4) orders.insert(order);
                                return Expected<LaunchResult>(launched);
                              },
                              {.every_order_of_arrivals = true});
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->complete);
  EXPECT_EQ(result->executions, 6u);
  EXPECT_EQ(orders.size(), 6u);
}

// Three arrivals for phases of two: who comes third is in the second phase, and a wait for the first phase
// covers what the other two wrote.
TEST_F(Explore, FindsTheOneOrderThatIsWrong) {
  const auto kernel = [] {
    init_barriers(kBar, {2});
    const uint32_t group = thread_id() / 128, place = kSharedBase + 256;
    name_shared(place, 4, "data", -1);
    if (!leads()) return;
    if (group == 2) {
      const uint32_t value = 1;
      store_shared(place, &value, 4);
    }
    mbarrier_arrive(kBar, 1);
    if (group != 0) return;
    mbarrier_wait_parity(kBar, 0);
    uint32_t value = 0;
    load_shared(place, &value, 4);
  };
  const ExploreResult result = explore_kernel(kThree, kernel, {});
  EXPECT_FALSE(result.complete);
  ASSERT_TRUE(result.report.has_value());
  EXPECT_TRUE(result.report->kind == ReportKind::read_before_ready ||
              result.report->kind == ReportKind::uninitialised_read ||
              result.report->kind == ReportKind::overwrite_in_use ||
              result.report->kind == ReportKind::unordered_writes)
      << result.report->message;
}

// The same among the warps of one warpgroup, which step together unless their roles or the options part them:
// the order that is wrong is then one of those that are tried.
TEST_F(Explore, WarpsOfAWarpgroupStepApartByRoleOrEachByItself) {
  bool roles = false;
  const auto kernel = [&] {
    init_barriers(kBar, {2});
    const uint32_t place = kSharedBase + 256;
    constexpr const char* kRoles[] = {"helper", "writer", "reader"};
    if (lane_id() != 0) return;
    if (roles) name_role(kRoles[warp_id()]);
    if (warp_id() == 1) {
      const uint32_t value = 1;
      store_shared(place, &value, 4);
    }
    mbarrier_arrive(kBar, 1);
    if (warp_id() != 2) return;
    mbarrier_wait_parity(kBar, 0);
    uint32_t value = 0;
    load_shared(place, &value, 4);
    mbarrier_arrive(kBar, 1);  // two whole phases
  };
  const Grid one{.threads = 96};
  const ExploreResult together = explore_kernel(one, kernel, {});
  EXPECT_TRUE(together.complete);
  EXPECT_FALSE(together.report.has_value()) << together.report->message;
  EXPECT_TRUE(explore_kernel(one, kernel, {.each_warp = true}).report.has_value());
  roles = true;
  EXPECT_TRUE(explore_kernel(one, kernel, {}).report.has_value());
}

TEST_F(Explore, StopsAtItsLimit) {
  const ExploreResult result = explore_kernel(kThree,
                                              [] {
                                                init_barriers(kBar, {30});
                                                for (int i = 0; leads() && i < 10; ++i)
                                                  mbarrier_arrive(kBar, 1);
                                              },
                                              {.max_executions = 50, .every_order_of_arrivals = true});
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.executions + result.cut, 50u);
}

}  // namespace
}  // namespace tilewright::emulator
