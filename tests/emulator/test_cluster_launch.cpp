// Cluster launch control: every cluster's work is done once, by whom the machine likes; what is wrong is
// named.
#include <vector>

#include "tests/emulator/micro.h"
#include "tilewright/arch/cluster.h"
#include "tilewright/arch/cluster_launch.h"
#include "tilewright/arch/fence.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/mbarrier.h"
#include "tilewright/arch/shared.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kFull = kSharedBase, kEmpty = kSharedBase + 8, kResponse = kSharedBase + 16;

// A chip with room for two CTAs.
constexpr MachineOptions kSmallChip{.multiprocessors = 2};

class ClusterLaunch : public Emulator {
 protected:
  // Clusters of two; one slot. Thread 0 of rank 0 asks, thread 32 of both CTAs reads too.
  template <class Work>
  static void persistent(const Work& work) {
    const uint32_t thread = thread_id(), rank = cluster_rank();
    arch::name_barrier(kFull, "answered");
    arch::name_barrier(kEmpty, "answer read");
    arch::name_shared(kResponse, 16, "answer");
    init_barriers(kFull, {1, 4}, true);
    if (thread == 0 || thread == 32) {
      uint32_t cluster = arch::block_index().x / 2;
      for (uint32_t turn = 0;; ++turn) {
        if (thread == 0) arch::mbarrier_arrive_expect_tx(kFull, 16);
        if (thread == 0 && rank == 0) {
          arch::mbarrier_wait_parity_cluster(kEmpty, (turn & 1) ^ 1);
          arch::cluster_launch_try_cancel_multicast(kResponse, kFull);
        }
        if (thread == 32) work(cluster);
        arch::mbarrier_wait_parity(kFull, turn & 1);
        const auto response = arch::load_shared<arch::ClusterLaunchResponse>(kResponse);
        const bool more = arch::cluster_launch_is_canceled(response);
        if (more) cluster = arch::cluster_launch_first_block_x(response) / 2;
        arch::fence_proxy_async_shared();
        arch::mbarrier_arrive_release_cluster(arch::map_shared(kEmpty, 0));
        if (!more) break;
      }
    }
    arch::cluster_sync();
  }
};

TEST_F(ClusterLaunch, every_piece_of_work_is_done_once_by_each_cta_of_a_cluster) {
  for (const uint32_t clusters : {1u, 2u, 7u}) {
    std::vector<uint32_t> done(clusters);
    const auto kernel = [&] { persistent([&](uint32_t cluster) { ++done[cluster]; }); };
    expect_clean(
        {.threads = 64, .ctas = 2 * clusters, .cluster = 2}, kernel,
        [&] {
          const Statistics& statistics = machine_.last_result().statistics;
          EXPECT_EQ(statistics.clusters + statistics.clusters_canceled, clusters);
          for (uint32_t& count : done) EXPECT_EQ(std::exchange(count, 0u), 2u);
        },
        kSmallChip);
  }
}

TEST_F(ClusterLaunch, the_fair_machine_shares_the_waiting_clusters_among_those_that_run) {
  std::vector<uint32_t> by(7);
  const auto kernel = [&] { persistent([&](uint32_t) { by[arch::block_index().x / 2] += 1; }); };
  // Three places; four clusters wait: shares of two.
  const LaunchResult result = run({.multiprocessors = 6}, {.threads = 64, .ctas = 14, .cluster = 2}, kernel);
  ASSERT_TRUE(result.reports.empty()) << result.reports[0].message;
  EXPECT_EQ(by, (std::vector<uint32_t>{6, 6, 2, 0, 0, 0, 0}));
  EXPECT_EQ(result.statistics.clusters, 3u);
}

TEST_F(ClusterLaunch, on_a_chip_with_room_for_all_nothing_is_cancelled) {
  const auto kernel = [&] { persistent([](uint32_t) {}); };
  expect_clean({.threads = 64, .ctas = 10, .cluster = 2}, kernel,
               [&] { EXPECT_EQ(machine_.last_result().statistics.clusters_canceled, 0u); },
               {.multiprocessors = 132});
}

TEST_F(ClusterLaunch, one_cta_asks_for_itself) {
  std::vector<uint32_t> done(5);
  const auto kernel = [&] {
    init_barriers(kFull, {1});
    if (thread_id() != 0) return;
    uint32_t block = arch::block_index().x;
    for (uint32_t turn = 0;; ++turn) {
      arch::mbarrier_arrive_expect_tx(kFull, 16);
      arch::cluster_launch_try_cancel(kResponse, kFull);
      ++done[block];
      arch::mbarrier_wait_parity(kFull, turn & 1);
      const auto response = arch::load_shared<arch::ClusterLaunchResponse>(kResponse);
      if (!arch::cluster_launch_is_canceled(response)) break;
      block = arch::cluster_launch_first_block_x(response);
      arch::fence_proxy_async_shared();
    }
  };
  expect_clean({.threads = 32, .ctas = 5}, kernel,
               [&] {
                 for (uint32_t& count : done) EXPECT_EQ(std::exchange(count, 0u), 1u);
               },
               {.multiprocessors = 1});
}

// ---- one fault each

class ClusterLaunchFaults : public ClusterLaunch {
 protected:
  Report expect(std::initializer_list<ReportKind> kinds, const FaultSpec& fault) {
    const auto kernel = [&] { persistent([](uint32_t) {}); };
    return expect_fault(kinds, fault, {.threads = 64, .ctas = 10, .cluster = 2}, kernel, kSmallChip);
  }
};

TEST_F(ClusterLaunchFaults, a_response_that_is_read_before_it_has_arrived) {
  expect({ReportKind::uninitialised_read, ReportKind::read_before_ready},
         {.op = Op::mbarrier_wait, .place = "answered"});
}
TEST_F(ClusterLaunchFaults, a_response_that_is_overwritten_while_it_is_read) {
  // The second answer is awaited, the first may be under way to its readers; seen when there is a second one.
  const auto kernel = [&] { persistent([](uint32_t) {}); };
  MachineOptions options = kSmallChip;
  options.fault = FaultSpec{.op = Op::mbarrier_wait, .place = "answer read"};
  const LaunchResult result = run(options, {.threads = 64, .ctas = 10, .cluster = 2}, kernel);
  ASSERT_FALSE(result.reports.empty());
  EXPECT_EQ(result.reports[0].kind, ReportKind::overwrite_in_use) << result.reports[0].message;
}
TEST_F(ClusterLaunchFaults, bytes_that_one_cta_does_not_expect) {
  expect({ReportKind::deadlock}, {.op = Op::mbarrier_arrive_expect_tx, .place = "answered", .cta_rank = 1});
}
TEST_F(ClusterLaunchFaults, an_answer_to_one_cta_only) {
  expect({ReportKind::deadlock}, {.op = Op::cluster_launch_try_cancel,
                                  .action = FaultSpec::Action::replace,
                                  .value = 1,
                                  .on_mask = true});
}
TEST_F(ClusterLaunchFaults, a_request_that_is_not_made) {
  expect({ReportKind::deadlock}, {.op = Op::cluster_launch_try_cancel});
}
TEST_F(ClusterLaunchFaults, a_response_off_its_boundary) {
  expect({ReportKind::misaligned},
         {.op = Op::cluster_launch_try_cancel, .action = FaultSpec::Action::add, .value = 8});
}

TEST_F(ClusterLaunchFaults, readers_that_do_not_fence) {
  const auto kernel = [&] { persistent([](uint32_t) {}); };
  MachineOptions options = kSmallChip;
  options.fault = FaultSpec{.op = Op::fence_proxy_async};
  const LaunchResult result = run(options, {.threads = 64, .ctas = 10, .cluster = 2}, kernel);
  ASSERT_FALSE(result.reports.empty());
  EXPECT_EQ(result.reports[0].kind, ReportKind::missing_proxy_fence);
  EXPECT_NE(result.reports[0].message.find("read it without a fence.proxy.async"), std::string::npos)
      << result.reports[0].message;
}

TEST_F(ClusterLaunchFaults, asking_again_after_a_request_has_failed) {
  const auto kernel = [] {
    init_barriers(kFull, {1});
    if (thread_id() != 0) return;
    for (uint32_t turn = 0; turn < 2; ++turn) {
      arch::mbarrier_arrive_expect_tx(kFull, 16);
      arch::cluster_launch_try_cancel(kResponse, kFull);
      arch::mbarrier_wait_parity(kFull, turn);
      const auto response = arch::load_shared<arch::ClusterLaunchResponse>(kResponse);
      arch::fence_proxy_async_shared();
      EXPECT_FALSE(arch::cluster_launch_is_canceled(response));
    }
  };
  expect_report({ReportKind::launch_control}, {.threads = 32}, kernel);
}

TEST_F(ClusterLaunchFaults, the_block_of_a_request_that_failed) {
  const auto kernel = [] {
    init_barriers(kFull, {1});
    if (thread_id() != 0) return;
    arch::mbarrier_arrive_expect_tx(kFull, 16);
    arch::cluster_launch_try_cancel(kResponse, kFull);
    arch::mbarrier_wait_parity(kFull, 0);
    arch::cluster_launch_first_block_x(arch::load_shared<arch::ClusterLaunchResponse>(kResponse));
  };
  expect_report({ReportKind::launch_control}, {.threads = 32}, kernel);
}

TEST_F(ClusterLaunchFaults, a_query_of_something_else) {
  const auto kernel = [] { arch::cluster_launch_is_canceled({{1, 2}}); };
  expect_report({ReportKind::launch_control}, {.threads = 32}, kernel);
}

TEST_F(ClusterLaunchFaults, an_answer_to_a_cta_that_has_left) {
  const auto kernel = [] {
    init_barriers(kFull, {1}, true);
    if (cluster_rank() == 1) return;
    if (thread_id() != 0) return;
    // Until the peer has gone: nothing tells, so its threads exit first under every schedule that yields
    // enough.
    for (int i = 0; i < 2000; ++i) sync_warp(1);
    arch::mbarrier_arrive_expect_tx(kFull, 16);
    arch::cluster_launch_try_cancel_multicast(kResponse, kFull);
    arch::mbarrier_wait_parity(kFull, 0);
  };
  const LaunchResult result = run({}, {.threads = 32, .ctas = 2, .cluster = 2}, kernel);
  ASSERT_FALSE(result.reports.empty());
  EXPECT_EQ(result.reports[0].kind, ReportKind::exit_before_peer) << result.reports[0].message;
}

}  // namespace
}  // namespace tilewright::emulator
