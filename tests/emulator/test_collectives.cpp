// Operations of warps, warpgroups, blocks and clusters: results, ordering, participation.
#include "tests/emulator/micro.h"
#include "tilewright/arch/warp.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kAll = ~0u;
constexpr uint32_t kData = kSharedBase;

class Collectives : public Emulator {};

TEST_F(Collectives, WarpOperationsCompute) {
  auto kernel = [] {
    EXPECT_EQ(shuffle(kAll, 100 + lane_id(), lane_id() ^ 5), 100 + (lane_id() ^ 5));
    EXPECT_EQ(ballot(kAll, lane_id() % 3 == 0), 0x49249249u);
    EXPECT_EQ(elect_one(kAll), lane_id() == 0);
    EXPECT_EQ(elect_one(0xF0F0F0F0), lane_id() == 4) << lane_id();
  };
  auto masked = [] {
    if (lane_id() >= 16) {
      EXPECT_EQ(shuffle(0xFFFF0000, lane_id(), 20), 20u);
    } else {
      EXPECT_EQ(ballot(0x0000FFFF, true), 0xFFFFu);
    }
  };
  auto elected = [] {
    if ((0xF0F0F0F0u >> lane_id() & 1) == 0) return;
    EXPECT_EQ(elect_one(0xF0F0F0F0), lane_id() == 4);
  };
  expect_clean({}, masked);
  expect_clean({}, elected);
  // Lanes outside of the mask that they name.
  expect_report({ReportKind::non_uniform}, {}, kernel);
}

TEST_F(Collectives, SyncWarpOrdersItsLanes) {
  auto kernel = [] {
    const uint32_t value = lane_id();
    store_shared(kData + 128 * warp_id() + 4 * lane_id(), &value, 4);
    sync_warp(kAll);
    uint32_t other = 0;
    load_shared(kData + 128 * warp_id() + 4 * (31 - lane_id()), &other, 4);
    EXPECT_EQ(other, 31 - lane_id());
  };
  expect_clean({}, kernel);
  expect_fault({ReportKind::read_before_ready, ReportKind::overwrite_in_use, ReportKind::uninitialised_read},
               {.op = Op::sync_warp}, {}, kernel);
}

TEST_F(Collectives, LanesThatDoNotExistDoNotVote) {
  expect_clean({.threads = 48}, [] {
    EXPECT_TRUE(arch::all(true));
    EXPECT_EQ(arch::all(thread_id() != 40), warp_id() == 0);
    EXPECT_FALSE(arch::any(false));
    EXPECT_EQ(arch::ballot(true), warp_id() == 0 ? 0xFFFFFFFFu : 0xFFFFu);
  });
}

TEST_F(Collectives, LanesAtDifferentOperationsAreReported) {
  expect_report({ReportKind::non_uniform}, {}, [] {
    if (lane_id() < 7) {
      sync_warp(kAll);
    } else {
      ballot(kAll, true);
    }
  });
  expect_report({ReportKind::non_uniform}, {}, [] {
    if (lane_id() != 3) sync_warp(kAll);
  });
  expect_report({ReportKind::non_uniform}, {}, [] { shuffle(0xFF, 0, lane_id() % 8); });
}

TEST_F(Collectives, WarpIndexOfSomeLanesIsReported) {
  expect_clean({}, [] {
    note_warp_index();
    sync_warp(kAll);
    if (warp_id() == 1) note_warp_index();  // whole warps may part
    sync_warp(kAll);
    note_warp_index();
  });
  const Report met = expect_report({ReportKind::non_uniform}, {}, [] {
    if (lane_id() == 0) note_warp_index();
    sync_warp(kAll);
  });
  EXPECT_NE(met.message.find("warp_index()"), std::string::npos) << met.message;
  EXPECT_NE(met.message.find("sync_warp"), std::string::npos) << met.message;
  const Report exited = expect_report({ReportKind::non_uniform}, {}, [] {
    if (lane_id() == 0) note_warp_index();
  });
  EXPECT_NE(exited.message.find("when it exits"), std::string::npos) << exited.message;
}

TEST_F(Collectives, BlockBarrierOrdersTheBlock) {
  auto kernel = [] {
    const uint32_t value = thread_id();
    store_shared(kData + 4 * thread_id(), &value, 4);
    sync_threads();
    uint32_t other = 0;
    load_shared(kData + 4 * (127 - thread_id()), &other, 4);
    EXPECT_EQ(other, 127 - thread_id());
  };
  expect_clean({}, kernel);
  expect_fault({ReportKind::read_before_ready, ReportKind::overwrite_in_use, ReportKind::uninitialised_read},
               {.op = Op::sync_threads}, {}, kernel);
}

// A block barrier in one branch while one lane of each other warp is in the other branch.
TEST_F(Collectives, C70_BlockBarrierInsideABranchIsReported) {
  auto kernel = [] {
    if (warp_id() < 4) {
      name_role("consumer");
      sync_threads();
    } else if (elect_one(kAll)) {
      name_role("producer");
    }
  };
  const Report report = expect_report({ReportKind::non_uniform}, {.threads = 384}, kernel);
  EXPECT_NE(report.message.find("block barrier"), std::string::npos) << report.message;
}

// The same when the other role happens to have a block barrier too: it finishes, and is wrong.
TEST_F(Collectives, BlockBarriersOfDifferentRolesMustNotMeet) {
  auto kernel = [] {
    if (warp_id() < 4) {
      name_role("consumer");
      sync_threads();
      name_barrier(kSharedBase, "a", 0);
    } else {
      name_role("producer");
      sync_threads();
      name_barrier(kSharedBase, "b", 0);
    }
  };
  expect_report({ReportKind::non_uniform}, {.threads = 256}, kernel);
  auto rejoined = [] {
    name_role(warp_id() < 4 ? "consumer" : "producer");
    sync_threads();
  };
  expect_clean({.threads = 256}, rejoined);
}

TEST_F(Collectives, C86_NamedBarriersHaveIdsBelow16AndWholeWarps) {
  expect_clean({}, [] { named_barrier_sync(15, 128); });
  expect_report({ReportKind::named_barrier}, {}, [] { named_barrier_sync(16, 128); });
  expect_report({ReportKind::named_barrier}, {}, [] { named_barrier_sync(17, 128); });
  expect_report({ReportKind::named_barrier}, {}, [] { named_barrier_sync(1, 100); });
  expect_report({ReportKind::named_barrier}, {}, [] { named_barrier_sync(1, 0); });
  expect_report({ReportKind::named_barrier}, {}, [] { named_barrier_sync(1, warp_id() == 0 ? 64 : 128); });
}

// Two groups of threads that each take a barrier for their own: whose arrivals complete a phase is chance.
TEST_F(Collectives, NamedBarriersAreNotSharedByGroupsThatNothingOrders) {
  auto kernel = [](bool ordered) {
    return [=] {
      const bool first = thread_id() < 128;
      if (first) named_barrier_sync(1, 128);
      if (ordered) sync_threads();
      if (!first) named_barrier_sync(1, 128);
    };
  };
  expect_clean({.threads = 256}, kernel(true));
  expect_report({ReportKind::named_barrier, ReportKind::non_uniform}, {.threads = 256}, kernel(false));
  // Signals back and forth through two barriers: each arrival is ordered after the phase before.
  auto exchange = [](bool answers) {
    return [=] {
      for (int i = 0; i < 4; ++i) {
        if (thread_id() < 128) {
          if (i != 0 && answers) named_barrier_sync(2, 256);
          named_barrier_arrive(1, 256);
        } else {
          named_barrier_sync(1, 256);
          if (i != 3 && answers) named_barrier_arrive(2, 256);
        }
      }
    };
  };
  expect_clean({.threads = 256}, exchange(true));
  expect_report({ReportKind::named_barrier}, {.threads = 256}, exchange(false));
}

// Operations that order execution but no memory order the phases of named barriers.
TEST_F(Collectives, PhasesOfNamedBarriersAreOrderedByExecution) {
  const Grid grid{.threads = 256, .ctas = 2, .cluster = 2};
  auto kernel = [](const auto& meet) {
    return [=] {
      init_barriers(kSharedBase, {128});
      if (thread_id() < 128) {
        named_barrier_sync(1, 128);
        mbarrier_arrive(kSharedBase, 1);
      } else {
        if (lane_id() == 0) mbarrier_wait_parity(kSharedBase, 0);
        meet();
        named_barrier_sync(1, 128);
      }
    };
  };
  expect_clean(grid, kernel([] { shuffle(~0u, 1, 0); }));
  expect_clean(grid, kernel([] { ballot(~0u, true); }));
  expect_clean(grid, kernel([] { elect_one(~0u); }));
  expect_clean(grid, kernel([] { sync_warp(~0u); }));
  auto relaxed = [](bool waits) {
    return [=] {
      if (thread_id() < 128) named_barrier_sync(1, 128);
      cluster_arrive(true);
      if (waits) cluster_wait();
      if (thread_id() >= 128) named_barrier_sync(1, 128);
      if (!waits) cluster_wait();
    };
  };
  expect_clean(grid, relaxed(true));
  expect_report({ReportKind::named_barrier, ReportKind::non_uniform}, grid, relaxed(false));
}

TEST_F(Collectives, NamedBarriersCountTheLanesThatABlockDoesNotHave) {
  expect_clean({.threads = 48}, [] {
    sync_threads();
    named_barrier_sync(1, 64);
    if (warp_id() == 1) named_barrier_sync(2, 32);
    warp_id() == 1 ? named_barrier_arrive(3, 64) : named_barrier_sync(3, 64);
  });
}

TEST_F(Collectives, NamedBarrierOrdersOneRoleOrASignal) {
  auto kernel = [] {
    if (warp_id() < 2) {
      const uint32_t value = thread_id() + 1;
      store_shared(kData + 4 * thread_id(), &value, 4);
      named_barrier_sync(1, 64);
      named_barrier_arrive(2, 128);
    } else {
      named_barrier_sync(2, 128);
      uint32_t other = 0;
      load_shared(kData + 4 * (thread_id() - 64), &other, 4);
      EXPECT_EQ(other, thread_id() - 63);
    }
  };
  expect_clean({}, kernel);
  expect_fault({ReportKind::deadlock}, {.op = Op::named_barrier_arrive, .thread = 17}, {}, kernel);
  expect_fault({ReportKind::read_before_ready, ReportKind::uninitialised_read, ReportKind::unordered_writes,
                ReportKind::overwrite_in_use, ReportKind::deadlock},
               {.op = Op::named_barrier_sync, .cta_rank = 0, .thread = 70}, {}, kernel);
}

TEST_F(Collectives, ClusterBarrierOrdersTheCluster) {
  auto kernel = [] {
    const uint32_t value = cluster_rank() + 10;
    store_shared(kData + 4 * thread_id(), &value, 4);
    cluster_arrive(false);
    cluster_wait();
    uint32_t other = 0;
    load_shared(map_shared(kData + 4 * thread_id(), cluster_rank() ^ 1), &other, 4);
    EXPECT_EQ(other, (cluster_rank() ^ 1) + 10);
    cluster_arrive(false);
    cluster_wait();
  };
  const Grid grid{.ctas = 4, .cluster = 2};
  expect_clean(grid, kernel);
  using Occurrence = FaultSpec::Occurrence;
  // No final barrier: a peer may still read here.
  expect_fault({ReportKind::exit_before_peer},
               {.op = Op::cluster_wait, .occurrence = Occurrence::from_nth, .nth = 1}, grid, kernel);
  expect_report({ReportKind::cluster_barrier}, grid, [] {
    cluster_arrive(false);
    cluster_arrive(false);
  });
  expect_report({ReportKind::cluster_barrier}, grid, [] {
    init_barriers(kSharedBase, {64}, true);
    cluster_arrive(false);
    // Both CTAs have arrived when this completes: the phase is over, and still nobody has waited for it.
    mbarrier_arrive(map_shared(kSharedBase, thread_id() % 2), 1, Scope::cluster);
    mbarrier_wait_parity(kSharedBase, 0, Scope::cluster);
    cluster_arrive(false);
  });
  expect_report({ReportKind::cluster_barrier}, grid, [] { cluster_wait(); });
}

TEST_F(Collectives, RelaxedClusterArrivalReleasesOnlyWhatAFenceDid) {
  auto kernel = [](bool fence) {
    return [fence] {
      const uint32_t value = 1;
      store_shared(kData + 4 * thread_id(), &value, 4);
      if (fence) fence_acq_rel(Scope::cluster);
      cluster_arrive(true);
      cluster_wait();
      uint32_t other = 0;
      load_shared(map_shared(kData + 4 * thread_id(), cluster_rank() ^ 1), &other, 4);
      cluster_arrive(false);
      cluster_wait();
    };
  };
  const Grid grid{.ctas = 2, .cluster = 2};
  expect_clean(grid, kernel(true));
  expect_report({ReportKind::read_before_ready}, grid, kernel(false));
}

// Remote arrivals of a CTA whose peer has left.
TEST_F(Collectives, ExitIsOrderedAfterRemoteArrivals) {
  auto kernel = [](bool drain) {
    return [drain] {
      init_barriers(kSharedBase, {1}, true);
      if (thread_id() == 0 && cluster_rank() == 1) mbarrier_arrive(map_shared(kSharedBase, 0), 1);
      if (thread_id() == 0 && cluster_rank() == 0 && drain) mbarrier_wait_parity(kSharedBase, 0);
    };
  };
  const Grid grid{.threads = 32, .ctas = 2, .cluster = 2};
  expect_clean(grid, kernel(true));
  expect_report({ReportKind::exit_before_peer}, grid, kernel(false));
}

TEST_F(Collectives, RegistersMoveBetweenWarpgroups) {
  auto kernel = [] {
    if (warp_id() < 4) {
      name_role("producer");
      setmaxnreg(false, 40);
    } else {
      name_role("consumer");
      setmaxnreg(true, 232);
    }
  };
  const Grid grid{.threads = 384};
  using Action = FaultSpec::Action;
  expect_clean(grid, kernel);
  const Report budget = expect_fault(
      {ReportKind::register_budget},
      {.op = Op::setmaxnreg, .role = "consumer", .action = Action::replace, .value = 248}, grid, kernel);
  EXPECT_NE(budget.message.find("65536"), std::string::npos) << budget.message;
  expect_fault({ReportKind::register_budget}, {.op = Op::setmaxnreg, .role = "producer"}, grid, kernel);
  expect_fault({ReportKind::register_budget},
               {.op = Op::setmaxnreg, .role = "producer", .action = Action::replace, .value = 36}, grid,
               kernel);
  expect_fault({ReportKind::register_budget},
               {.op = Op::setmaxnreg, .role = "producer", .action = Action::replace, .value = 16}, grid,
               kernel);
  expect_fault({ReportKind::register_budget},
               {.op = Op::setmaxnreg, .role = "producer", .action = Action::replace, .value = 176}, grid,
               kernel);
  expect_fault({ReportKind::non_uniform}, {.op = Op::setmaxnreg, .thread = 130}, grid, kernel);
}

TEST_F(Collectives, MatricesKeepTheirFragments) {
  uint32_t shared[32][4] = {};
  auto kernel = [&] {
    const uint32_t row = kData + 16 * lane_id();
    uint32_t registers[4];
    for (uint32_t j = 0; j < 4; ++j)
      registers[j] = 64 * j + 2 * lane_id();  // low half; the high half stays 0
    stmatrix(row, registers, 4, false);
    sync_warp(kAll);
    uint16_t element = 0;  // matrix lane / 8, row lane % 8, column 4
    load_shared(row + 8, &element, 2);
    EXPECT_EQ(element, 64 * (lane_id() / 8) + 2 * (4 * (lane_id() % 8) + 2));
    uint32_t loaded[4];
    ldmatrix(row, loaded, 4, false);
    for (uint32_t j = 0; j < 4; ++j) EXPECT_EQ(loaded[j], registers[j]);
    ldmatrix(row, loaded, 4, true);
    for (uint32_t j = 0; j < 4; ++j) shared[lane_id()][j] = loaded[j];
  };
  expect_clean({.threads = 32}, kernel, [&] {
    // Transposed: lane l holds rows 2 (l % 4) and the next of column l / 4; odd columns are zero.
    EXPECT_EQ(shared[9][2] & 0xFFFF, 64u * 2 + 2 * 9);
    EXPECT_EQ(shared[8][1] & 0xFFFF, 64u + 2 * 1);
    EXPECT_EQ(shared[8][1] >> 16, 64u + 2 * 5);
  });
  expect_fault({ReportKind::misaligned}, {.op = Op::stmatrix, .action = FaultSpec::Action::add, .value = 8},
               {.threads = 32}, kernel);
  expect_fault({ReportKind::non_uniform}, {.op = Op::stmatrix, .thread = 5}, {.threads = 32}, kernel);
}

}  // namespace
}  // namespace tilewright::emulator
