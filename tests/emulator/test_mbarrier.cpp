// mbarriers: what a correct use does, and what each wrong use is reported as.
#include "tests/emulator/micro.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kBar = kSharedBase;          // barriers
constexpr uint32_t kData = kSharedBase + 1024;  // what they guard
constexpr uint32_t kBytes = 512;

class Mbarrier : public Emulator {
 protected:
  void SetUp() override {
    source_ = static_cast<uint32_t*>(machine_.allocate_global(16 * kBytes, {.name = "source"}));
    for (uint32_t i = 0; i < 16 * kBytes / 4; ++i) source_[i] = i;
  }
  uint32_t* source_ = nullptr;
};

TEST_F(Mbarrier, CopyIsSeenAfterTheWait) {
  uint32_t seen = 0;
  auto kernel = [&] {
    init_barriers(kBar, {1});
    if (thread_id() == 0) {
      mbarrier_arrive_expect_tx(kBar, kBytes);
      bulk_load(kData, source_, kBytes, kBar, 0);
    }
    mbarrier_wait_parity(kBar, 0);
    if (thread_id() == 7) seen = shared_as(kData)[5];
  };
  expect_clean({}, kernel, [&] {
    EXPECT_EQ(seen, 5u);
    seen = 0;
  });
}

TEST_F(Mbarrier, BytesMayBeExpectedAfterTheCopyWasIssued) {
  auto kernel = [&] {
    init_barriers(kBar, {1});
    if (thread_id() == 0) {
      bulk_load(kData, source_, kBytes, kBar, 0);
      mbarrier_arrive_expect_tx(kBar, kBytes);
    }
    mbarrier_wait_parity(kBar, 0);
    EXPECT_EQ(shared_as(kData)[3], 3u);
  };
  expect_clean({}, kernel);
}

// With one K iteration, bytes are expected but nobody arrives.
TEST_F(Mbarrier, C67_ExpectingBytesIsNoArrival) {
  auto kernel = [&] {
    init_barriers(kBar, {1});
    if (thread_id() == 0) {
      name_barrier(kBar, "full", 0);
      mbarrier_expect_tx(kBar, kBytes);
      bulk_load(kData, source_, kBytes, kBar, 0);
    }
    mbarrier_wait_parity(kBar, 0);
  };
  const Report report = expect_report({ReportKind::deadlock}, {}, kernel);
  EXPECT_NE(report.message.find("pending arrivals 1, pending bytes 0"), std::string::npos) << report.message;
  EXPECT_EQ(report.place, "full");
  EXPECT_EQ(report.stage, 0);
}

// A different barrier each time, but the parity of one that is reused.
TEST_F(Mbarrier, C68_ParityOfTheLoopIndexAliases) {
  auto kernel = [&](bool faulty) {
    return [this, faulty] {
      init_barriers(kBar, {1, 1, 1, 1});
      for (uint32_t i = 0; i < 4; ++i) {
        if (thread_id() == 0) {
          mbarrier_arrive_expect_tx(kBar + 8 * i, kBytes);
          bulk_load(kData + i * kBytes, source_, kBytes, kBar + 8 * i, 0);
        }
        mbarrier_wait_parity(kBar + 8 * i, faulty ? i & 1 : 0);
        uint32_t word = 0;
        load_shared(kData + i * kBytes + 4 * thread_id(), &word, 4);
      }
    };
  };
  expect_clean({}, kernel(false));
  // Where the copy is early, the wait is for a phase that never comes.
  expect_report({ReportKind::parity_alias, ReportKind::read_before_ready, ReportKind::uninitialised_read,
                 ReportKind::deadlock},
                {}, kernel(true));
  // With the data left alone, the wait itself is the fault.
  auto waits_only = [&] {
    init_barriers(kBar, {1, 1});
    for (uint32_t i = 0; i < 2; ++i) {
      if (thread_id() == 0) {
        mbarrier_arrive_expect_tx(kBar + 8 * i, kBytes);
        bulk_load(kData + i * kBytes, source_, kBytes, kBar + 8 * i, 0);
      }
      mbarrier_wait_parity(kBar + 8 * i, i & 1);
    }
    sync_threads();
    mbarrier_wait_parity(kBar + 8, 0);
  };
  expect_report({ReportKind::parity_alias, ReportKind::deadlock}, {}, waits_only);
}

// A consumer that has no work arrives twice in one generation.
TEST_F(Mbarrier, C71_ArrivingTwiceInOneGenerationIsReported) {
  auto kernel = [](uint32_t arrivals) {
    return [arrivals] {
      init_barriers(kBar, {1});
      if (thread_id() == 32) {
        for (uint32_t i = 0; i < arrivals; ++i) mbarrier_arrive(kBar, 1);
      }
      if (thread_id() == 0) mbarrier_wait_parity(kBar, 0);
    };
  };
  expect_clean({}, kernel(1));
  expect_report({ReportKind::parity_alias, ReportKind::deadlock}, {}, kernel(2));
  expect_report({ReportKind::parity_alias}, {}, kernel(3));
}

TEST_F(Mbarrier, MoreArrivalsThanExpectedAreReported) {
  auto kernel = [] {
    init_barriers(kBar, {2});
    if (thread_id() == 0) mbarrier_arrive(kBar, 3);
  };
  const Report report = expect_report({ReportKind::over_arrival}, {}, kernel);
  EXPECT_EQ(report.warp, 0);
}

TEST_F(Mbarrier, ByteCountsMustAddUp) {
  auto kernel = [&](uint32_t expected, uint32_t copies) {
    return [this, expected, copies] {
      init_barriers(kBar, {1});
      if (thread_id() == 0) {
        mbarrier_arrive_expect_tx(kBar, expected);
        for (uint32_t i = 0; i < copies; ++i) bulk_load(kData + i * kBytes, source_, kBytes, kBar, 0);
      }
      mbarrier_wait_parity(kBar, 0);
    };
  };
  expect_clean({}, kernel(2 * kBytes, 2));
  expect_report({ReportKind::deadlock}, {}, kernel(3 * kBytes, 2));
  // The first copy alone would complete the phase.
  expect_report({ReportKind::byte_count}, {}, kernel(kBytes, 2));
  expect_report({ReportKind::byte_count}, {}, kernel(2 * kBytes - 16, 2));
  expect_report({ReportKind::byte_count}, {}, kernel(1 << 20, 0));
}

TEST_F(Mbarrier, WithoutAWaitTheCopyIsNotReady) {
  auto kernel = [&] {
    init_barriers(kBar, {1});
    name_barrier(kBar, "full", 0);
    name_shared(kData, kBytes, "A", 3);
    if (warp_id() == 0) {
      if (lane_id() == 0) {
        mbarrier_arrive_expect_tx(kBar, kBytes);
        bulk_load(kData, source_, kBytes, kBar, 0);
      }
      sync_warp(~0u);
      mbarrier_wait_parity(kBar, 0);
      uint32_t word = 0;
      load_shared(kData + 4 * lane_id(), &word, 4);
    }
  };
  expect_clean({}, kernel);
  const Report report =
      expect_fault({ReportKind::read_before_ready}, {.op = Op::mbarrier_wait, .thread = 9}, {}, kernel);
  EXPECT_EQ(report.place, "A");
  EXPECT_EQ(report.stage, 3);
  EXPECT_EQ(report.lane, 9);
  EXPECT_NE(report.message.find("phase 0 of barrier full[0]"), std::string::npos) << report.message;
}

TEST_F(Mbarrier, InitialisationMustBeVisible) {
  auto kernel = [&] {
    init_barriers(kBar, {1});
    if (thread_id() == 40) {
      mbarrier_arrive_expect_tx(kBar, kBytes);
      bulk_load(kData, source_, kBytes, kBar, 0);
    }
    mbarrier_wait_parity(kBar, 0);
  };
  expect_clean({}, kernel);
  expect_fault({ReportKind::barrier_init_not_visible}, {.op = Op::fence_mbarrier_init}, {}, kernel);
  expect_fault({ReportKind::barrier_init_not_visible, ReportKind::barrier_not_initialised},
               {.op = Op::sync_threads}, {}, kernel);
  expect_fault({ReportKind::barrier_not_initialised}, {.op = Op::mbarrier_init}, {}, kernel);
}

TEST_F(Mbarrier, LifeOfABarrier) {
  auto again = [](bool invalidate) {
    return [invalidate] {
      init_barriers(kBar, {128});
      mbarrier_arrive(kBar, 1);
      mbarrier_wait_parity(kBar, 0);
      sync_threads();
      if (thread_id() == 0) {
        if (invalidate) mbarrier_invalidate(kBar);
        mbarrier_init(kBar, 128);
        fence_mbarrier_init();
      }
      sync_threads();
      mbarrier_arrive(kBar, 1);
      mbarrier_wait_parity(kBar, 0);
    };
  };
  expect_clean({}, again(true));
  expect_report({ReportKind::barrier_reinitialised}, {}, again(false));

  auto overwritten = [] {
    init_barriers(kBar, {1});
    const uint64_t zero = 0;
    if (thread_id() == 0) store_shared(kBar, &zero, 8);
  };
  expect_report({ReportKind::barrier_overwritten}, {}, overwritten);
}

// try_wait answers no after a time: who does not ask again reads what may not be there.
TEST_F(Mbarrier, AnAnswerThatIsNotAskedForAgainIsNoWait) {
  auto kernel = [&](bool peeks) {
    return [&, peeks] {
      init_barriers(kBar, {1});
      if (thread_id() == 0) {
        mbarrier_arrive_expect_tx(kBar, kBytes);
        bulk_load(kData, source_, kBytes, kBar, 0);
      }
      const bool done = mbarrier_test_wait_parity(kBar, 0);
      if (peeks && !done) mbarrier_wait_parity(kBar, 0);
      uint32_t word = 0;
      load_shared(kData + 4 * thread_id(), &word, 4);
      mbarrier_wait_parity(kBar, 0);
    };
  };
  expect_clean({}, kernel(true));
  size_t found = 0, runs = 0;
  for (const MachineOptions& options : schedules()) {
    const LaunchResult result = run(options, {}, kernel(false));
    ++runs;
    if (result.reports.empty()) continue;
    ++found;
    const ReportKind kind = result.reports[0].kind;
    EXPECT_TRUE(kind == ReportKind::uninitialised_read || kind == ReportKind::read_before_ready)
        << result.reports[0].message;
  }
  EXPECT_GE(2 * found, runs);  // not where the copy was made before anybody asked
}

TEST_F(Mbarrier, RefusesWhatNoHardwareAccepts) {
  expect_report({ReportKind::misaligned}, {}, [] { mbarrier_init(kBar + 4, 1); });
  expect_report({ReportKind::invalid_argument}, {}, [] {
    if (thread_id() == 0) mbarrier_init(kBar, 0);
  });
  expect_report({ReportKind::invalid_argument}, {}, [] {
    init_barriers(kBar, {1});
    mbarrier_arrive(kBar, 0);
  });
  auto remote = [] {
    init_barriers(kBar, {1}, true);
    if (cluster_rank() == 0) mbarrier_wait_parity(map_shared(kBar, 1), 1);
    cluster_arrive(false);
    cluster_wait();
  };
  expect_report({ReportKind::remote_wait}, {.ctas = 2, .cluster = 2}, remote);
}

// A remote arrival that forgets map_shared hits the own barrier.
TEST_F(Mbarrier, ArrivalAtTheOwnAddressStarvesThePeer) {
  auto kernel = [](bool mapped) {
    return [mapped] {
      init_barriers(kBar, {2}, true);
      if (thread_id() == 0) {
        if (cluster_rank() == 0) mbarrier_arrive(kBar, 1);
        if (cluster_rank() == 1) mbarrier_arrive(mapped ? map_shared(kBar, 0) : kBar, 1);
      }
      if (cluster_rank() == 0) mbarrier_wait_parity(kBar, 0);
      cluster_arrive(false);
      cluster_wait();
    };
  };
  expect_clean({.ctas = 2, .cluster = 2}, kernel(true));
  expect_report({ReportKind::deadlock}, {.ctas = 2, .cluster = 2}, kernel(false));
}

TEST_F(Mbarrier, PollingSeesTheCompletion) {
  auto kernel = [&] {
    init_barriers(kBar, {1});
    if (thread_id() == 0) {
      mbarrier_arrive_expect_tx(kBar, kBytes);
      bulk_load(kData, source_, kBytes, kBar, 0);
    }
    while (!mbarrier_test_wait_parity(kBar, 0)) {
    }
    uint32_t word = 0;
    load_shared(kData + 4 * thread_id(), &word, 4);
    EXPECT_EQ(word, thread_id());
  };
  expect_clean({}, kernel);
  expect_fault({ReportKind::livelock},
               {.op = Op::mbarrier_arrive_expect_tx, .action = FaultSpec::Action::add, .value = 16}, {},
               kernel);
}

TEST_F(Mbarrier, DroppedParticipantsAreNotWaitedFor) {
  auto kernel = [] {
    init_barriers(kBar, {2});
    if (thread_id() == 0) mbarrier_arrive_drop(kBar);
    if (thread_id() == 32) {
      mbarrier_arrive(kBar, 1);
      mbarrier_wait_parity(kBar, 0);
      mbarrier_arrive(kBar, 1);
      mbarrier_wait_parity(kBar, 1);
    }
  };
  expect_clean({}, kernel);
}

}  // namespace
}  // namespace tilewright::emulator
