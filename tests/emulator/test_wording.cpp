// What reports say: who and what they name.

#include "tests/emulator/micro.h"

namespace tilewright::emulator {
namespace {

using Wording = Emulator;

constexpr uint32_t kBar = kSharedBase, kData = kSharedBase + 256;

TEST_F(Wording, ABarrierThatNobodyInitialisedIsNamed) {
  const Report report = expect_report({ReportKind::barrier_not_initialised}, {.threads = 32}, [] {
    if (thread_id() != 0) return;
    name_barrier(kBar, "full", 3);
    mbarrier_arrive(kBar, 1);
  });
  EXPECT_EQ(report.place, "full");
  EXPECT_EQ(report.stage, 3);
  EXPECT_NE(report.message.find("barrier full[3], which nobody has initialised"), std::string::npos)
      << report.message;
}

TEST_F(Wording, ABarrierHasItsNameFromAnotherCta) {
  // CTA 1 forgets to initialise its barrier, and to name it.
  const Report report =
      expect_report({ReportKind::barrier_not_initialised}, {.threads = 32, .ctas = 2, .cluster = 2}, [] {
        if (thread_id() == 0 && cluster_rank() == 0) name_barrier(kBar, "empty", 1);
        cluster_arrive(false);
        cluster_wait();
        if (thread_id() == 0 && cluster_rank() == 1) mbarrier_arrive(kBar, 1);
      });
  EXPECT_EQ(report.place, "empty");
  EXPECT_EQ(report.stage, 1);
}

TEST_F(Wording, AnInvalidatedBarrierIsOneNoLonger) {
  const Report report = expect_report({ReportKind::barrier_not_initialised}, {.threads = 1}, [] {
    name_barrier(kBar, "full", -1);
    mbarrier_init(kBar, 1);
    mbarrier_invalidate(kBar);
    mbarrier_arrive(kBar, 1);
  });
  EXPECT_NE(report.message.find("not initialised any more"), std::string::npos) << report.message;
}

TEST_F(Wording, MisalignedAccessesNameTheirRegion) {
  const auto place_of = [&](auto&& kernel) {
    const Report report = expect_report({ReportKind::misaligned}, {.threads = 32}, [&] {
      name_shared(kData, 1024, "tile", 2);
      kernel();
    });
    EXPECT_EQ(report.stage, 2) << report.message;
    EXPECT_NE(report.message.find("tile[2] + "), std::string::npos) << report.message;
    return report.place;
  };
  static uint32_t words[4];
  EXPECT_EQ(place_of([] { store_shared(kData + 2, words, 4); }), "tile");
  EXPECT_EQ(place_of([] { load_shared(kData + 4, words, 16); }), "tile");
  EXPECT_EQ(place_of([] { stmatrix(kData + 8, words, 4, false); }), "tile");
  EXPECT_EQ(place_of([] { bulk_store(words, kData + 8, 16); }), "tile");
  EXPECT_EQ(place_of([] { cp_async(kData + 8, words, 16, 16); }), "tile");
}

TEST_F(Wording, OperationsWithoutAnArgumentAreNamedAlone) {
  const Report report = expect_report({ReportKind::non_uniform}, {.threads = 128}, [] {
    if (thread_id() == 70) {
      wgmma_commit();
    } else {
      wgmma_fence();
    }
  });
  EXPECT_EQ(report.message.find("wgmma_fence 0"), std::string::npos) << report.message;
  EXPECT_EQ(report.message.find("wgmma_commit 0"), std::string::npos) << report.message;
  EXPECT_NE(report.message.find("wgmma_"), std::string::npos) << report.message;
}

TEST_F(Wording, ADeadlockIsNamedForTheBarrierThatLacksSomething) {
  // Barrier 0 lacks bytes, and because of that barrier 1 all of its arrivals.
  const Report report = expect_report({ReportKind::deadlock}, {.threads = 64}, [] {
    name_barrier(kBar, "full", 0);
    name_barrier(kBar + 8, "empty", 0);
    init_barriers(kBar, {1, 1});
    if (thread_id() == 0) {
      mbarrier_wait_parity(kBar + 8, 0);
    } else if (thread_id() == 32) {
      mbarrier_arrive_expect_tx(kBar, 16);
    } else if (thread_id() == 63) {
      mbarrier_wait_parity(kBar, 0);
      mbarrier_arrive(kBar + 8, 1);
    }
  });
  EXPECT_EQ(report.place, "full");
  EXPECT_EQ(report.warp, 1);
  EXPECT_EQ(report.lane, 31);
}

TEST_F(Wording, RegistersThatNobodyTakesAreReported) {
  const auto kernel = [](bool first, bool second) {
    return [first, second] {
      const uint32_t group = warp_id() / 4;
      name_role(group == 2 ? "producer" : "consumer");
      if (group == 2) {
        setmaxnreg(false, 24);
      } else if (group == 0 ? first : second) {
        setmaxnreg(true, 240);
      }
    };
  };
  const Grid grid{.threads = 384};
  expect_clean(grid, kernel(true, true));
  const Report none = expect_report({ReportKind::register_budget}, grid, kernel(false, false));
  EXPECT_EQ(none.role, "consumer");
  EXPECT_NE(none.message.find("[producer] gave registers back and nobody took any"), std::string::npos)
      << none.message;
  const Report one = expect_report({ReportKind::register_budget}, grid, kernel(true, false));
  EXPECT_NE(one.message.find("warps 4-7 [consumer] ran with the 168 registers"), std::string::npos)
      << one.message;
  // Another role may do with what the launch gave it.
  expect_clean(grid, [] {
    const uint32_t group = warp_id() / 4;
    name_role(group == 0 ? "producer" : group == 1 ? "consumer" : "epilogue");
    if (group < 2) setmaxnreg(group == 1, group == 1 ? 240 : 24);
  });
}

TEST_F(Wording, TheTimelineOfAFaultyLaunchIsKept) {
  MachineOptions options;
  options.trace = true;
  alignas(16) static std::byte source[64];
  machine_.register_global(source, sizeof source, {.name = "source"});
  const LaunchResult result = run(options, {.threads = 32}, [] {
    name_shared(kData, 64, "tile", -1);
    init_barriers(kBar, {1});
    if (thread_id() != 0) return;
    mbarrier_arrive_expect_tx(kBar, 64);
    bulk_load(kData, source, 64, kBar, 0);
    mbarrier_wait_parity(kBar, 0);
    mbarrier_arrive(kBar, 2);
  });
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.reports[0].kind, ReportKind::over_arrival) << result.reports[0].message;
  EXPECT_NE(machine_.trace_json().find("bulk load tile"), std::string::npos) << machine_.trace_json();
  machine_.unregister_global(source);
}

}  // namespace
}  // namespace tilewright::emulator
