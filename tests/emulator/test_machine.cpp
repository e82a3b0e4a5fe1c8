// The machine itself: launches, determinism, statistics, faults by occurrence, the timeline.
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/emulator/micro.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kAll = ~0u;
constexpr uint32_t kBar = kSharedBase;
constexpr uint32_t kData = kSharedBase + 1024;

class PrintExploration : public testing::Environment {
 public:
  void TearDown() override {
    std::printf("%llu launches, %llu scheduling decisions\n", static_cast<unsigned long long>(explored.runs),
                static_cast<unsigned long long>(explored.interleavings));
  }
};
[[maybe_unused]] const testing::Environment* const environment =
    testing::AddGlobalTestEnvironment(new PrintExploration);

class MachineTest : public Emulator {
 protected:
  Expected<LaunchResult> launch(const LaunchConfig& config) {
    return machine_.launch(
        config, [](void*) {}, nullptr);
  }
};

TEST_F(MachineTest, RefusesLaunchesThatCannotBe) {
  const auto rule = [&](LaunchConfig config) {
    const Expected<LaunchResult> result = launch(config);
    return result ? std::string("none") : result.error().rule;
  };
  const Index3 one{1, 1, 1};
  EXPECT_EQ(rule({.grid = one, .block = {1024, 1, 1}}), "none");
  EXPECT_EQ(rule({.grid = one, .block = {1025, 1, 1}}), "launch.threads");
  EXPECT_EQ(rule({.grid = {0, 1, 1}, .block = one}), "launch.grid");
  EXPECT_EQ(rule({.grid = {3, 1, 1}, .block = one, .cluster = {2, 1, 1}}), "launch.cluster_divides_grid");
  EXPECT_EQ(rule({.grid = {32, 1, 1}, .block = one, .cluster = {32, 1, 1}}), "launch.cluster");
  EXPECT_EQ(rule({.grid = one, .block = one, .shared_bytes = 232448}), "none");
  EXPECT_EQ(rule({.grid = one, .block = one, .shared_bytes = 232449}), "launch.shared_memory");
}

TEST_F(MachineTest, ThreadsKnowWhereTheyAre) {
  std::vector<uint32_t> visits(2 * 4 * 3 * 2 * 8, 0);
  struct Closure {
    std::vector<uint32_t>* visits;
  } closure{&visits};
  LaunchConfig config{.grid = {4, 3, 2}, .block = {4, 2, 2}, .cluster = {2, 1, 2}};
  const Expected<LaunchResult> result = machine_.launch(
      config,
      [](void* opaque) {
        const Index3 t = thread_index(), b = block_index();
        EXPECT_EQ(block_dim().y, 2u);
        EXPECT_EQ(grid_dim().y, 3u);
        EXPECT_EQ(cluster_dim().z, 2u);
        EXPECT_EQ(cluster_rank(), b.x % 2 + 2 * (b.z % 2));
        const uint32_t block = b.x + 4 * (b.y + 3 * b.z), thread = t.x + 4 * (t.y + 2 * t.z);
        ++(*static_cast<Closure*>(opaque)->visits)[block * 16 + thread];
      },
      &closure);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->statistics.clusters, 6u);
  for (const uint32_t count : visits) EXPECT_EQ(count, 1u);
}

struct Exchange {
  const std::byte* source;
  void operator()() const {
    init_barriers(kBar, {1});
    for (uint32_t phase = 0; phase < 4; ++phase) {
      if (thread_id() == 0) {
        mbarrier_arrive_expect_tx(kBar, 512);
        bulk_load(kData, source, 512, kBar, 0);
      }
      mbarrier_wait_parity(kBar, phase & 1);
      sync_threads();
    }
  }
};

TEST_F(MachineTest, ASeedGivesOneSchedule) {
  const Exchange kernel{static_cast<std::byte*>(machine_.allocate_global(512))};
  uint64_t different = 0;
  for (const SchedulePolicy policy :
       {SchedulePolicy::fair, SchedulePolicy::random, SchedulePolicy::adversarial}) {
    uint64_t previous = 0;
    for (uint64_t seed = 0; seed < 8; ++seed) {
      MachineOptions options;
      options.schedule = policy;
      options.seed = seed;
      const LaunchResult first = run(options, {}, kernel);
      const LaunchResult second = run(options, {}, kernel);
      ASSERT_TRUE(first.reports.empty()) << first.reports[0].message;
      EXPECT_EQ(first.statistics.fiber_switches, second.statistics.fiber_switches);
      EXPECT_EQ(first.statistics.interleavings, second.statistics.interleavings);
      different += first.statistics.fiber_switches != previous;
      previous = first.statistics.fiber_switches;
    }
  }
  EXPECT_GT(different, 8u);
}

TEST_F(MachineTest, StatisticsCountWhatHappened) {
  const Exchange kernel{static_cast<std::byte*>(machine_.allocate_global(512))};
  const LaunchResult result = run({.ctas = 3}, kernel);
  EXPECT_EQ(result.statistics.count(Op::bulk_load), 12u);
  EXPECT_EQ(result.statistics.count(Op::mbarrier_wait), 3u * 4 * 128);
  EXPECT_EQ(result.statistics.count(Op::sync_threads), 3u * 5 * 128);
  EXPECT_EQ(result.statistics.bytes_loaded, 3u * 4 * 512);
  EXPECT_EQ(result.statistics.asynchronous_operations, 12u);
  EXPECT_EQ(result.statistics.most_barrier_phases, 4u);
  EXPECT_EQ(result.statistics.clusters, 3u);
  EXPECT_GT(result.statistics.interleavings, 0u);
}

TEST_F(MachineTest, FaultsSelectTheirExecutions) {
  const Exchange kernel{static_cast<std::byte*>(machine_.allocate_global(512))};
  const auto loads_without = [&](FaultSpec fault) {
    fault.op = Op::bulk_load;
    MachineOptions options;
    options.fault = fault;
    options.max_reports = 100;
    return run(options, {.ctas = 2}, kernel).statistics.count(Op::bulk_load);
  };
  using Occurrence = FaultSpec::Occurrence;
  // A load left out stops its block: the loads before it have been made.
  EXPECT_EQ(loads_without({.occurrence = Occurrence::only_nth, .nth = 2}), 2u);
  EXPECT_EQ(loads_without({.occurrence = Occurrence::only_nth, .nth = 9}), 8u);
  EXPECT_EQ(loads_without({.occurrence = Occurrence::from_nth, .nth = 1}), 1u);
  EXPECT_EQ(loads_without({.cta_rank = 1}), 8u);
  EXPECT_EQ(loads_without({.thread = 1}), 8u);
  EXPECT_EQ(loads_without({.role = "producer"}), 8u);
  EXPECT_EQ(loads_without({.place = "full"}), 8u);
  EXPECT_EQ(loads_without({}), 0u);
}

TEST_F(MachineTest, LaunchReturnsTheFirstReport) {
  MachineOptions options;
  options.max_reports = 3;
  machine_.set_options(options);
  LaunchConfig config{.kernel_name = "demo",
                      .grid = {1, 1, 1},
                      .block = {32, 1, 1},
                      .shared_bytes = 64,
                      .machine = &machine_};
  const Status status = emulator::launch(
      config,
      [](void*) {
        name_role("writer");
        const uint32_t value = 0;
        store_shared(kSharedBase + 64, &value, 4);
      },
      nullptr);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, ErrorCode::emulator);
  EXPECT_EQ(status->rule, "out_of_bounds");
  EXPECT_NE(status->message.find("demo: CTA 0"), std::string::npos) << status->message;
  EXPECT_NE(status->message.find("[writer]"), std::string::npos) << status->message;
  ASSERT_EQ(machine_.last_result().reports.size(), 3u);
  EXPECT_EQ(machine_.last_result().reports[0].role, "writer");
  // The machine is as good as new.
  config.shared_bytes = 128;
  EXPECT_FALSE(emulator::launch(
                   config, [](void*) { sync_warp(kAll); }, nullptr)
                   .has_value());
}

TEST_F(MachineTest, AnEndlessLoopOverMemoryIsReported) {
  TILEWRIGHT_NEEDS_ACCESSES();
  MachineOptions options;
  options.watchdog_accesses = 10'000;
  const LaunchResult result = run(options, {.threads = 32}, [] {
    auto* flag = shared_as<volatile uint32_t>(kData);
    if (thread_id() == 0) *flag = 0;
    while (thread_id() == 0 && *flag == 0) {
    }
  });
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.reports[0].kind, ReportKind::livelock);
}

TEST_F(MachineTest, ClustersOfSixteen) {
  auto kernel = [] {
    init_barriers(kBar, {16}, true);
    if (thread_id() < 16) mbarrier_arrive(map_shared(kBar, thread_id()), 1);
    mbarrier_wait_parity(kBar, 0);
    cluster_arrive(false);
    cluster_wait();
  };
  MachineOptions options;
  options.schedule = SchedulePolicy::adversarial;
  const LaunchResult result = run(options, {.threads = 64, .ctas = 16, .cluster = 16}, kernel);
  EXPECT_TRUE(result.reports.empty()) << result.reports[0].message;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(MachineTest, TheTimelineShowsRolesAndUnits) {
  MachineOptions options;
  options.trace = true;
  const Exchange exchange{static_cast<std::byte*>(machine_.allocate_global(512))};
  const LaunchResult result = run(options, {.ctas = 2}, [&] {
    name_role(warp_id() == 0 ? "loader" : "reader");
    if (thread_id() == 0) {
      name_barrier(kBar, "full", 1);
      name_shared(kData, 512, "tile", 2);
    }
    exchange();
  });
  ASSERT_TRUE(result.reports.empty()) << result.reports[0].message;
  const std::string json = machine_.trace_json();
  for (const char* part :
       {"\"traceEvents\"", "bulk load tile[2]", "wait full[1]", "warp 0 loader", "warp 3 reader", "TMA loads",
        "\"bytes\":512", "\"pid\":1", "\"CTA 1 (block 1,0,0)\"", "thread_sort_index"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part;
  }
  const std::string svg = machine_.trace_svg();
  for (const char* part : {"<svg ", "1 of 2 CTAs", ">TMA loads<", "bulk load tile[2]: ", "machine steps"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  const std::string path = testing::TempDir() + "trace.svg", json_path = testing::TempDir() + "trace.json";
  EXPECT_FALSE(machine_.write_trace(path).has_value());
  EXPECT_EQ(text_of(path), svg);
  EXPECT_FALSE(machine_.write_trace(json_path).has_value());
  EXPECT_EQ(text_of(json_path), json);
  EXPECT_TRUE(machine_.write_trace("/nonexistent/trace.json").has_value());
  // Whole or not at all.
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{json.size() - 1, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const Status failed = machine_.write_trace(json_path);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->rule, "trace.write");
  EXPECT_EQ(text_of(json_path), json);
  std::remove(path.c_str());
  std::remove(json_path.c_str());
}

TEST_F(MachineTest, StatisticsAndTheTimelineAreThoseOfAllLaunches) {
  MachineOptions options;
  options.trace = true;
  EXPECT_TRUE(machine_.trace_is_empty());
  const Exchange exchange{static_cast<std::byte*>(machine_.allocate_global(512))};
  for (int i = 0; i < 2; ++i) run(options, {.ctas = 2}, exchange);
  EXPECT_EQ(machine_.last_result().statistics.clusters, 2u);
  EXPECT_EQ(machine_.total_statistics().clusters, 4u);
  EXPECT_EQ(machine_.total_statistics().count(Op::bulk_load),
            2 * machine_.last_result().statistics.count(Op::bulk_load));
  EXPECT_EQ(machine_.total_statistics().most_barrier_phases,
            machine_.last_result().statistics.most_barrier_phases);
  const std::string json = machine_.trace_json();
  EXPECT_NE(json.find("launch 1, "), std::string::npos);
  EXPECT_NE(json.find("launch 2, "), std::string::npos);
  // The second launch begins where the first ended.
  const auto first_span = [&](const char* process) {
    double at = -1;
    const size_t named = json.find(process), span = json.find("\"ts\":", named);
    EXPECT_EQ(std::sscanf(json.c_str() + span, "\"ts\":%lf", &at), 1);
    return at;
  };
  EXPECT_GT(first_span("launch 2, "), first_span("launch 1, ") + 10);
  machine_.forget_launches();
  EXPECT_EQ(machine_.total_statistics().clusters, 0u);
  EXPECT_TRUE(machine_.trace_is_empty());
  run({}, {.ctas = 2}, exchange);
  EXPECT_EQ(machine_.total_statistics().clusters, 2u);
  EXPECT_TRUE(machine_.trace_is_empty());  // none was asked for
}

TEST_F(MachineTest, PlainAccessesOfGlobalMemoryAreOnTheTimeline) {
  TILEWRIGHT_NEEDS_ACCESSES();
  MachineOptions options;
  options.trace = true;
  auto* in = static_cast<uint32_t*>(machine_.allocate_global(512, {.name = "in"}));
  auto* out = static_cast<uint32_t*>(machine_.allocate_global(512, {.name = "out"}));
  run(options, {.threads = 64}, [=] { out[thread_id()] = in[thread_id()]; });
  const std::string json = machine_.trace_json();
  EXPECT_NE(json.find("\"load in\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"store out\""), std::string::npos) << json;
}

TEST_F(MachineTest, CountsTheBytesThatKernelsWriteAndTheFaultsThatItPlants) {
  std::atomic<uint64_t> written{0};
  const Exchange exchange{static_cast<std::byte*>(machine_.allocate_global(512, {.written = &written}))};
  run({}, {}, exchange);
  EXPECT_EQ(written, 0u);  // it only reads
  MachineOptions options;
  options.fault = FaultSpec{.op = Op::mbarrier_init};
  run(options, {}, exchange);
  EXPECT_GT(machine_.last_result().statistics.faults_planted, 0u);
  auto* words = static_cast<uint32_t*>(machine_.allocate_global(512, {.written = &written}));
  run({}, {.threads = 64}, [=] { store_release(&words[thread_id()], 1, 4, Scope::gpu); });
  EXPECT_EQ(written, 256u);
  EXPECT_EQ(machine_.last_result().statistics.faults_planted, 0u);
}

}  // namespace
}  // namespace tilewright::emulator
