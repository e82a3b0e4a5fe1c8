// Scopes: what a thread of one CTA stored reaches a thread of another through cluster-wide synchronisation.
#include "tests/emulator/micro.h"

namespace tilewright::emulator {
namespace {

using Scopes = Emulator;

constexpr uint32_t kBar = kSharedBase, kData = kSharedBase + 256;
const Grid kPair{.threads = 32, .ctas = 2, .cluster = 2};

struct Steps {
  bool fence_before = false;  // fence.acq_rel.cluster before the arrival
  Scope arrive = Scope::cta;  // of the arrival on the peer's barrier
  Scope wait = Scope::cta;    // of the wait
  bool fence_after = false;   // fence.acq_rel.cluster after the wait
  bool relayed = false;       // a second thread reads, told by a block barrier
};

// CTA 1 stores to CTA 0's shared memory and arrives on its barrier; CTA 0 waits and reads.
auto hand_over(const Steps& steps) {
  return [steps] {
    name_shared(kData, 4, "data", -1);
    init_barriers(kBar, {1}, true);
    const bool leader = thread_id() == 0;
    if (cluster_rank() == 1 && leader) {
      const uint32_t value = 7;
      store_shared(map_shared(kData, 0), &value, 4);
      if (steps.fence_before) fence_acq_rel(Scope::cluster);
      mbarrier_arrive(map_shared(kBar, 0), 1, steps.arrive);
    }
    if (cluster_rank() == 0) {
      if (leader) {
        mbarrier_wait_parity(kBar, 0, steps.wait);
        if (steps.fence_after) fence_acq_rel(Scope::cluster);
      }
      if (steps.relayed) sync_threads();
      if (steps.relayed ? thread_id() == 31 : leader) {
        uint32_t value = 0;
        load_shared(kData, &value, 4);
      }
    }
    cluster_arrive(false);
    cluster_wait();
  };
}

TEST_F(Scopes, ClusterScopeCarriesStoresBetweenCtas) {
  expect_clean(kPair, hand_over({.arrive = Scope::cluster, .wait = Scope::cluster}));
  // Knowledge goes on from thread to thread of the CTA.
  expect_clean(kPair, hand_over({.arrive = Scope::cluster, .wait = Scope::cluster, .relayed = true}));
}

TEST_F(Scopes, ANarrowArrivalOrWaitDoesNot) {
  for (const Steps& steps : {Steps{}, Steps{.arrive = Scope::cluster}, Steps{.wait = Scope::cluster},
                             Steps{.arrive = Scope::cluster, .relayed = true}}) {
    const Report report = expect_report({ReportKind::narrow_scope}, kPair, hand_over(steps));
    EXPECT_EQ(report.place, "data");
    EXPECT_EQ(report.cta_rank, 0);
    EXPECT_NE(report.message.find("acquire.cluster"), std::string::npos) << report.message;
  }
}

TEST_F(Scopes, FencesWidenNarrowOperations) {
  expect_clean(kPair, hand_over({.fence_before = true, .wait = Scope::cluster}));
  expect_clean(kPair, hand_over({.arrive = Scope::cluster, .fence_after = true}));
  expect_clean(kPair, hand_over({.fence_before = true, .fence_after = true}));
  expect_report({ReportKind::narrow_scope}, kPair, hand_over({.fence_before = true}));
  expect_report({ReportKind::narrow_scope}, kPair, hand_over({.fence_after = true}));
}

// Within a CTA the scope of a CTA is enough, also for what one of its threads acquired widely.
TEST_F(Scopes, TheScopeOfACtaIsEnoughWithinIt) {
  auto kernel = [] {
    name_shared(kData, 4, "data", -1);
    init_barriers(kBar, {1, 1}, true);
    if (cluster_rank() == 1 && thread_id() == 0) {
      const uint32_t value = 7;
      store_shared(map_shared(kData, 0), &value, 4);
      mbarrier_arrive(map_shared(kBar, 0), 1, Scope::cluster);
    }
    if (cluster_rank() == 0 && thread_id() == 0) {
      mbarrier_wait_parity(kBar, 0, Scope::cluster);
      mbarrier_arrive(kBar + 8, 1);
    }
    if (cluster_rank() == 0 && thread_id() == 40) {
      uint32_t value = 0;
      mbarrier_wait_parity(kBar + 8, 0);
      load_shared(kData, &value, 4);
    }
    cluster_arrive(false);
    cluster_wait();
  };
  expect_clean({.threads = 64, .ctas = 2, .cluster = 2}, kernel);
}

// That a stage has been read is known at any scope: an empty barrier needs no cluster-wide release.
TEST_F(Scopes, ReadsNeedNoScopeBeforeTheyAreOverwritten) {
  auto kernel = [] {
    init_barriers(kBar, {1}, true);
    const uint32_t value = cluster_rank();
    if (thread_id() == 0 && cluster_rank() == 0) {
      store_shared(kData, &value, 4);
      uint32_t read = 0;
      load_shared(kData, &read, 4);
      mbarrier_arrive(map_shared(kBar, 1), 1);
    }
    if (thread_id() == 0 && cluster_rank() == 1) {
      mbarrier_wait_parity(kBar, 0);
      store_shared(map_shared(kData, 0), &value, 4);
    }
    cluster_arrive(false);
    cluster_wait();
  };
  expect_clean(kPair, kernel);
}

}  // namespace
}  // namespace tilewright::emulator
