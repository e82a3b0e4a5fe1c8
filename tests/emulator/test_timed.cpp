// Modelled time: what each unit is charged, against the figures of the clock model.
#include <cstdio>
#include <string>

#include "tests/emulator/micro.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kBar = kSharedBase, kData = kSharedBase + 1024;
constexpr uint32_t kShared = 40 * 1024;
constexpr ClockModel kModel = clock_model(Chip::sm_100a);

MachineOptions timed() {
  MachineOptions options;
  options.schedule = SchedulePolicy::timed;
  options.arithmetic = false;
  options.chip = Chip::sm_100a;
  return options;
}

class Timed : public Emulator {
 protected:
  /// Modelled clocks of a launch without reports.
  template <class Kernel>
  double clocks(const Grid& grid, const Kernel& kernel, const MachineOptions& options = timed()) {
    const LaunchResult result = run(options, grid, kernel);
    EXPECT_TRUE(result.reports.empty()) << result.reports[0].message;
    return result.statistics.clocks;
  }
};

// One thread loads `count` times `bytes`, another one waits.
struct Loads {
  const std::byte* source;
  uint32_t count, bytes;

  void operator()() const {
    name_shared(kData, 32 * 1024, "tile", -1);
    init_barriers(kBar, {1});
    if (thread_id() == 0) {
      mbarrier_arrive_expect_tx(kBar, count * bytes);
      for (uint32_t i = 0; i < count; ++i) bulk_load(kData + i * bytes, source + i * bytes, bytes, kBar, 0);
    }
    if (thread_id() == 32) mbarrier_wait_parity(kBar, 0);
  }
};
constexpr Grid kLoads{.threads = 64, .shared_bytes = kShared};

TEST_F(Timed, a_load_takes_its_latency_and_its_bytes_at_the_rate_of_a_port) {
  const auto* source = static_cast<std::byte*>(machine_.allocate_global(32 * 1024));
  const double small = clocks(kLoads, Loads{source, 1, 8192}),
               large = clocks(kLoads, Loads{source, 1, 16384});
  EXPECT_DOUBLE_EQ(large - small, 8192.0 / kModel.l2_bytes);
  EXPECT_GE(small, kModel.load_latency + 8192.0 / kModel.l2_bytes + kModel.barrier_latency);
  EXPECT_LE(small, kModel.load_latency + 8192.0 / kModel.l2_bytes + 4 * kModel.barrier_latency);
}

TEST_F(Timed, loads_share_a_port_and_overlap_their_latencies) {
  const auto* source = static_cast<std::byte*>(machine_.allocate_global(32 * 1024));
  const double one = clocks(kLoads, Loads{source, 1, 16384}), four = clocks(kLoads, Loads{source, 4, 4096});
  EXPECT_NEAR(one, four, 8);
}

TEST_F(Timed, the_chip_decides_rate_and_clock) {
  const auto* source = static_cast<std::byte*>(machine_.allocate_global(32 * 1024));
  MachineOptions options = timed();
  options.chip = Chip::sm_90a;
  const double hopper = clocks(kLoads, Loads{source, 2, 16384}, options);
  EXPECT_NEAR(machine_.last_result().statistics.nanoseconds, hopper / 1.83, 1e-6);
  const double blackwell = clocks(kLoads, Loads{source, 2, 16384});
  EXPECT_NEAR(machine_.last_result().statistics.nanoseconds, blackwell / 1.856, 1e-6);
  EXPECT_NEAR(hopper - blackwell, 32768.0 / 46 - 32768.0 / 64, 1);
}

// Each warpgroup issues `count` wgmmas of 64 x 256.
struct Multiplies {
  int count;

  void operator()() const {
    float d[128] = {};
    const uint32_t ones = 0x38383838;
    for (uint32_t i = thread_id(); i < 8192 / 4; i += block_dim().x) store_shared(kData + 4 * i, &ones, 4);
    fence_proxy_async(ProxyFence::shared_cta);
    sync_threads();
    wgmma_fence();
    const uint64_t operand = (kData >> 4) | uint64_t{1} << 16 | uint64_t{16} << 32 | uint64_t{3} << 62;
    for (int i = 0; i < count; ++i) {
      wgmma({.n = 256, .a = MmaType::e4m3, .b = MmaType::e4m3, .d = AccumulatorType::f32}, d, nullptr,
            operand, operand, i > 0);
    }
    wgmma_commit();
    wgmma_wait(0);
  }
};

TEST_F(Timed, a_wgmma_takes_half_its_columns_in_clocks_and_warpgroups_share_the_unit) {
  const Grid grid{.threads = 128, .shared_bytes = kShared};
  const double four = clocks(grid, Multiplies{4}), eight = clocks(grid, Multiplies{8});
  EXPECT_DOUBLE_EQ(eight - four, 4 * 128);
  Grid two = grid;
  two.threads = 256;
  EXPECT_DOUBLE_EQ(clocks(two, Multiplies{8}) - clocks(two, Multiplies{4}), 8 * 128);
}

TEST_F(Timed, an_arrival_from_another_cta_takes_longer) {
  const auto kernel = [](uint32_t other) {
    return [other] {
      init_barriers(kBar, {1}, true);
      if (thread_id() == 0) mbarrier_arrive(map_shared(kBar, cluster_rank() ^ other), 1, Scope::cluster);
      mbarrier_wait_parity(kBar, 0, Scope::cluster);
      cluster_arrive(false);
      cluster_wait();
    };
  };
  const Grid pair{.threads = 32, .ctas = 2, .cluster = 2};
  EXPECT_NEAR(clocks(pair, kernel(1)) - clocks(pair, kernel(0)), kModel.remote_latency, 2);
}

TEST_F(Timed, warps_of_one_scheduler_share_its_slots) {
  TILEWRIGHT_NEEDS_ACCESSES();
  // Warps that do `count` stores each to an array of their own.
  const auto kernel = [](uint32_t warps, uint32_t count) {
    return [warps, count] {
      uint32_t local[4];
      asm volatile("" : : "r"(&local[0]) : "memory");  // its address is known elsewhere
      sync_warp(~0u);
      // Warps 0, 4, 8, ...
      if (warp_id() % 4 == 0 && warp_id() / 4 < warps)
        for (uint32_t i = 0; i < count; ++i) {
          local[i % 4] = i;
          asm volatile("" : : : "memory");
        }
      sync_warp(~0u);
      named_barrier_sync(1, 256);
    };
  };
  const Grid grid{.threads = 256};
  const double one = clocks(grid, kernel(1, 2000)) - clocks(grid, kernel(1, 1000));
  EXPECT_DOUBLE_EQ(one, 1000);
  EXPECT_DOUBLE_EQ(clocks(grid, kernel(2, 2000)) - clocks(grid, kernel(2, 1000)), 2 * one);
}

TEST_F(Timed, a_warp_stores_to_shared_memory_at_its_bandwidth) {
  const auto kernel = [](uint32_t count) {
    return [count] {
      const uint32_t data[4] = {};
      for (uint32_t i = 0; i < count; ++i) store_shared(kData + 16 * thread_id(), data, 16);
    };
  };
  const Grid grid{.threads = 128};
  // 4 warps x 512 bytes, 128 a clock.
  EXPECT_NEAR(clocks(grid, kernel(20)) - clocks(grid, kernel(10)), 10 * 16, 4);
}

TEST_F(Timed, ctas_that_find_no_multiprocessor_wait_for_one) {
  const auto* source = static_cast<std::byte*>(machine_.allocate_global(32 * 1024));
  MachineOptions options = timed();
  options.multiprocessors = 2;
  Grid grid = kLoads;
  const double one = clocks(grid, Loads{source, 1, 8192}, options);
  grid.ctas = 2;
  EXPECT_DOUBLE_EQ(clocks(grid, Loads{source, 1, 8192}, options), one);
  grid.ctas = 5;
  EXPECT_DOUBLE_EQ(clocks(grid, Loads{source, 1, 8192}, options), 3 * one);
}

TEST_F(Timed, time_does_not_depend_on_the_seed_and_other_schedules_have_none) {
  const auto* source = static_cast<std::byte*>(machine_.allocate_global(32 * 1024));
  MachineOptions options = timed();
  const double first = clocks(kLoads, Loads{source, 3, 4096}, options);
  options.seed = 99;
  EXPECT_EQ(clocks(kLoads, Loads{source, 3, 4096}, options), first);
  options.schedule = SchedulePolicy::fair;
  EXPECT_EQ(clocks(kLoads, Loads{source, 3, 4096}, options), 0);
}

TEST_F(Timed, the_timeline_is_in_modelled_microseconds) {
  const auto* source = static_cast<std::byte*>(machine_.allocate_global(32 * 1024));
  MachineOptions options = timed();
  options.trace = true;
  clocks(kLoads, Loads{source, 1, 16384}, options);
  const std::string json = machine_.trace_json();
  const size_t at = json.find("bulk load tile");
  ASSERT_NE(at, std::string::npos) << json;
  double duration = 0;
  ASSERT_EQ(std::sscanf(json.c_str() + json.find("\"dur\":", at), "\"dur\":%lf", &duration), 1);
  EXPECT_NEAR(duration, (kModel.load_latency + 16384.0 / kModel.l2_bytes) / kModel.gigahertz / 1000, 1e-4);
}

}  // namespace
}  // namespace tilewright::emulator
