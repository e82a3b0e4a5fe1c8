// Writes through the async proxy to what ordinary code has written before: a proxy fence of the writers in
// between.
#include <array>

#include "tests/emulator/micro.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kBar = kSharedBase, kData = kSharedBase + 1024;
constexpr uint32_t kBytes = 512;

/// kBytes of words as lines of 16, one box.
Expected<TensorMap> map_of(uint32_t* words) {
  TensorMapSpec spec;
  spec.base = words;
  spec.type = TmaType::u32;
  spec.rank = 2;
  spec.extent = {16, kBytes / 64};
  spec.strides = {64};
  spec.box = {16, kBytes / 64};
  return encode_for_emulator(spec);
}

/// Every thread stores zeros where an asynchronous copy writes later: `copy(data, barrier)`, called by thread
/// 0, brings kBytes bytes of value(i) for word i.
template <class Copy>
auto overwriting(const Copy& copy, uint32_t (*value)(uint32_t), Grid grid = {}) {
  return [=] {
    const bool whole_cluster = grid.cluster > 1;
    name_shared(kData, kBytes, "data", -1);
    const uint32_t zero = 0;
    store_shared(kData + 4 * thread_id(), &zero, 4);
    fence_proxy_async(ProxyFence::shared_cluster);
    init_barriers(kBar, {1}, whole_cluster);
    if (thread_id() == 0) {
      mbarrier_arrive_expect_tx(kBar, kBytes);
      copy(kData, kBar);
    }
    mbarrier_wait_parity(kBar, 0);
    uint32_t read = 0;
    load_shared(kData + 4 * thread_id(), &read, 4);
    EXPECT_EQ(read, value(thread_id()));
    if (!whole_cluster) return;
    cluster_arrive(false);
    cluster_wait();
  };
}

class Proxy : public Emulator {
 protected:
  void SetUp() override {
    words_ = static_cast<uint32_t*>(machine_.allocate_global(kBytes, {.name = "in", .writable = false}));
    for (uint32_t i = 0; i < kBytes / 4; ++i) words_[i] = 7 * i;
  }
  static uint32_t word(uint32_t i) { return 7 * i; }

  /// Clean as it is; named without the fence, and without that of a single thread.
  template <class Kernel>
  void expect_fence_to_matter(const Grid& grid, const Kernel& kernel, const char* what,
                              const char* place = "data") {
    expect_clean(grid, kernel);
    expect_fault({ReportKind::missing_proxy_fence}, {.op = Op::fence_proxy_async}, grid, kernel);
    const Report report = expect_fault({ReportKind::missing_proxy_fence},
                                       {.op = Op::fence_proxy_async, .thread = 77}, grid, kernel);
    EXPECT_EQ(report.place, place);
    for (const char* part : {what, " writes ", " through the async proxy; CTA ", "warp 2 lane 13",
                             " wrote it without a fence.proxy.async of its own before it signalled"})
      EXPECT_NE(report.message.find(part), std::string::npos) << part << ": " << report.message;
  }

  uint32_t* words_ = nullptr;
};

TEST_F(Proxy, bulk_load_over_ordinary_stores) {
  const uint32_t* in = words_;
  const auto copy = [in](uint32_t data, uint32_t bar) { bulk_load(data, in, kBytes, bar, 0); };
  expect_fence_to_matter({}, overwriting(copy, word), "a bulk load");
}

TEST_F(Proxy, multicast_over_ordinary_stores_of_a_peer) {
  const uint32_t* in = words_;
  const Grid grid{.ctas = 2, .cluster = 2};
  const auto copy = [in](uint32_t data, uint32_t bar) {
    if (cluster_rank() == 0) bulk_load(data, in, kBytes, bar, 3);
  };
  const auto kernel = overwriting(copy, word, grid);
  expect_clean(grid, kernel);
  const Report report =
      expect_fault({ReportKind::missing_proxy_fence},
                   {.op = Op::fence_proxy_async, .cta_rank = 1, .thread = 77}, grid, kernel);
  EXPECT_NE(report.message.find("CTA 1 (block 1,0,0) warp 2 lane 13 wrote it"), std::string::npos)
      << report.message;
}

TEST_F(Proxy, bulk_copy_to_a_peer_over_its_ordinary_stores) {
  const Grid grid{.ctas = 2, .cluster = 2};
  const auto copy = [](uint32_t data, uint32_t bar) {
    for (uint32_t i = 0; i < kBytes / 4; ++i) {
      const uint32_t value = word(i);
      store_shared(data + kBytes + 4 * i, &value, 4);
    }
    fence_proxy_async(ProxyFence::shared_cta);
    const uint32_t peer = cluster_rank() ^ 1;
    bulk_copy_to_cluster(map_shared(data, peer), data + kBytes, kBytes, map_shared(bar, peer));
  };
  expect_fence_to_matter(grid, overwriting(copy, word, grid), "a bulk copy within the cluster");
}

TEST_F(Proxy, tma_load_over_ordinary_stores) {
  const Expected<TensorMap> map = map_of(words_);
  ASSERT_TRUE(map.has_value()) << map.error().message;
  const TensorMap* to = &*map;
  const auto copy = [to](uint32_t data, uint32_t bar) {
    const std::array<int32_t, 2> origin{};
    tma_load(data, to, bar, origin.data(), 2, 0);
  };
  expect_fence_to_matter({}, overwriting(copy, word), "a TMA load");
}

TEST_F(Proxy, bulk_reduction_over_ordinary_stores) {
  const auto copy = [](uint32_t data, uint32_t bar) {
    for (uint32_t i = 0; i < kBytes / 4; ++i) {
      const uint32_t value = word(i);
      store_shared(data + kBytes + 4 * i, &value, 4);
    }
    fence_proxy_async(ProxyFence::shared_cta);
    bulk_reduce_to_cluster(map_shared(data, cluster_rank()), data + kBytes, kBytes,
                           map_shared(bar, cluster_rank()), TmaType::u32, Reduction::add);
  };
  // It reads its destination before it writes there.
  const auto kernel = overwriting(copy, word);
  expect_clean({}, kernel);
  expect_fault({ReportKind::missing_proxy_fence}, {.op = Op::fence_proxy_async, .thread = 77}, {}, kernel);
}

TEST_F(Proxy, cp_async_data_count_as_ordinary_stores) {
  const uint32_t* in = words_;
  // fence: 0 none, 1 before the data are there, 2 after
  const auto kernel = [=](int fence) {
    return [=] {
      cp_async(kData + 4 * thread_id(), in + thread_id(), 4, 4);
      cp_async_commit();
      if (fence == 1) fence_proxy_async(ProxyFence::shared_cta);
      cp_async_wait(0);
      if (fence == 2) fence_proxy_async(ProxyFence::shared_cta);
      init_barriers(kBar, {1});
      if (thread_id() == 0) {
        mbarrier_arrive_expect_tx(kBar, kBytes);
        bulk_load(kData, in, kBytes, kBar, 0);
      }
      mbarrier_wait_parity(kBar, 0);
    };
  };
  expect_clean({}, kernel(2));
  expect_report({ReportKind::missing_proxy_fence}, {}, kernel(1));
  expect_report({ReportKind::missing_proxy_fence}, {}, kernel(0));
}

TEST_F(Proxy, st_async_is_no_access_of_the_async_proxy) {
  const auto copy = [](uint32_t data, uint32_t bar) {
    for (uint32_t i = 0; i < kBytes / 4; ++i) {
      const uint32_t value = word(i);
      store_async(data + 4 * i, &value, 4, bar);
    }
  };
  const auto kernel = overwriting(copy, word);
  for (MachineOptions options : schedules()) {
    options.fault = FaultSpec{.op = Op::fence_proxy_async};
    const LaunchResult result = run(options, {}, kernel);
    ASSERT_TRUE(result.reports.empty()) << result.reports[0].message;
  }
}

TEST_F(Proxy, ordinary_loads_before_a_copy_need_no_fence) {
  const uint32_t* in = words_;
  expect_clean({}, [=] {
    init_barriers(kBar, {1, 128});
    for (uint32_t turn = 0; turn < 3; ++turn) {
      if (thread_id() == 0) {
        if (turn != 0) mbarrier_wait_parity(kBar + 8, (turn - 1) & 1);
        mbarrier_arrive_expect_tx(kBar, kBytes);
        bulk_load(kData, in, kBytes, kBar, 0);
      }
      mbarrier_wait_parity(kBar, turn & 1);
      uint32_t value = 0;
      load_shared(kData + 4 * thread_id(), &value, 4);
      EXPECT_EQ(value, word(thread_id()));
      mbarrier_arrive(kBar + 8, 1);
    }
  });
}

// A copy whose bytes ordinary code overwrote, and another copy over those.
TEST_F(Proxy, a_fence_counts_for_the_writes_before_it) {
  const uint32_t* in = words_;
  const auto kernel = [=](bool fence_again) {
    return [=] {
      const uint32_t zero = 0;
      store_shared(kData + 4 * thread_id(), &zero, 4);
      fence_proxy_async(ProxyFence::shared_cta);
      if (thread_id() == 100) {
        store_shared(kData + 400, &zero, 4);
        if (fence_again) fence_proxy_async(ProxyFence::shared_cta);
      }
      init_barriers(kBar, {1});
      if (thread_id() == 0) {
        mbarrier_arrive_expect_tx(kBar, kBytes);
        bulk_load(kData, in, kBytes, kBar, 0);
      }
      mbarrier_wait_parity(kBar, 0);
    };
  };
  expect_clean({}, kernel(true));
  const Report report = expect_report({ReportKind::missing_proxy_fence}, {}, kernel(false));
  EXPECT_NE(report.message.find("warp 3 lane 4 wrote it"), std::string::npos) << report.message;
}

TEST_F(Proxy, a_fence_counts_for_its_space) {
  TILEWRIGHT_NEEDS_ACCESSES();
  auto* out = static_cast<uint32_t*>(machine_.allocate_global(kBytes, {.name = "out"}));
  const auto kernel = [=](bool global, ProxyFence space) {
    return [=] {
      const uint32_t value = thread_id();
      global ? void(out[thread_id()] = value) : store_shared(kData + 4 * thread_id(), &value, 4);
      fence_proxy_async(space);
      init_barriers(kBar, {1});
      if (thread_id() != 0) return;
      if (global) {
        mbarrier_arrive_expect_tx(kBar, kBytes);
        bulk_load(kData, out, kBytes, kBar, 0);
        mbarrier_wait_parity(kBar, 0);
      } else {
        bulk_store(out, kData, kBytes);
        bulk_commit();
        bulk_wait(0, false);
      }
    };
  };
  for (const bool global : {false, true}) {
    expect_clean({}, kernel(global, ProxyFence::all));
    expect_clean({}, kernel(global, global ? ProxyFence::global : ProxyFence::shared_cta));
    expect_report({ReportKind::missing_proxy_fence}, {},
                  kernel(global, global ? ProxyFence::shared_cluster : ProxyFence::global));
  }
}

TEST_F(Proxy, stores_to_a_peer_need_the_space_of_the_cluster) {
  auto* out = static_cast<uint32_t*>(machine_.allocate_global(2 * kBytes, {.name = "out"}));
  const auto kernel = [=](ProxyFence space) {
    return [=] {
      const uint32_t value = thread_id();
      store_shared(map_shared(kData + 4 * thread_id(), cluster_rank() ^ 1), &value, 4);
      fence_proxy_async(space);
      cluster_arrive(false);
      cluster_wait();
      if (thread_id() != 0) return;
      bulk_store(out + cluster_rank() * (kBytes / 4), kData, kBytes);
      bulk_commit();
      bulk_wait(0, true);
    };
  };
  const Grid grid{.ctas = 2, .cluster = 2};
  expect_clean(grid, kernel(ProxyFence::shared_cluster));
  expect_report({ReportKind::missing_proxy_fence}, grid, kernel(ProxyFence::shared_cta));
}

// A CTA writes, another one copies: a fence of the writer, or one after the acquire.
TEST_F(Proxy, copies_of_what_another_cluster_stored) {
  TILEWRIGHT_NEEDS_ACCESSES();
  auto* data = static_cast<uint32_t*>(machine_.allocate_global(kBytes, {.name = "data"}));
  auto* flag = static_cast<uint32_t*>(machine_.allocate_global(4, {.name = "flag"}));
  const auto kernel = [=](bool writer_fences, bool reader_fences) {
    return [=] {
      init_barriers(kBar, {1});
      if (block_index().x == 0) {
        data[thread_id()] = word(thread_id());
        if (writer_fences) fence_proxy_async(ProxyFence::global);
        sync_threads();
        if (thread_id() == 0) store_release(flag, 1, 4, Scope::gpu);
      } else if (thread_id() == 0) {
        while (load_acquire(flag, 4, Scope::gpu) == 0) {
        }
        if (reader_fences) fence_proxy_async(ProxyFence::global);
        mbarrier_arrive_expect_tx(kBar, kBytes);
        bulk_load(kData, data, kBytes, kBar, 0);
        mbarrier_wait_parity(kBar, 0);
      }
    };
  };
  const Grid grid{.ctas = 2};
  for (const bool writer : {false, true}) {
    *flag = 0;
    expect_clean(grid, kernel(writer, !writer), [=] { *flag = 0; });
  }
  for (const MachineOptions& options : schedules()) {
    *flag = 0;
    const LaunchResult result = run(options, grid, kernel(false, false));
    ASSERT_FALSE(result.reports.empty()) << name_of(options);
    ASSERT_EQ(result.reports[0].kind, ReportKind::missing_proxy_fence) << result.reports[0].message;
  }
}

TEST_F(Proxy, stores_to_global_memory_over_ordinary_ones) {
  TILEWRIGHT_NEEDS_ACCESSES();
  auto* out = static_cast<uint32_t*>(machine_.allocate_global(kBytes, {.name = "out"}));
  const Expected<TensorMap> map = map_of(out);
  ASSERT_TRUE(map.has_value()) << map.error().message;
  const TensorMap* to = &*map;
  const auto kernel = [=](bool tensor) {
    return [=] {
      const uint32_t value = word(thread_id());
      store_shared(kData + 4 * thread_id(), &value, 4);
      fence_proxy_async(ProxyFence::shared_cta);
      out[thread_id()] = 0;
      fence_proxy_async(ProxyFence::global);
      sync_threads();
      if (thread_id() != 0) return;
      const std::array<int32_t, 2> origin{};
      tensor ? tma_store(to, kData, origin.data(), 2) : bulk_store(out, kData, kBytes);
      bulk_commit();
      bulk_wait(0, false);
    };
  };
  for (const bool tensor : {false, true}) {
    expect_clean({}, kernel(tensor), [&] {
      for (uint32_t i = 0; i < kBytes / 4; ++i) ASSERT_EQ(out[i], word(i));
    });
    const FaultSpec second{
        .op = Op::fence_proxy_async, .thread = 77, .occurrence = FaultSpec::Occurrence::only_nth, .nth = 1};
    const Report report = expect_fault({ReportKind::missing_proxy_fence}, second, {}, kernel(tensor));
    EXPECT_EQ(report.place, "out");
    EXPECT_NE(report.message.find("warp 2 lane 13 wrote it"), std::string::npos) << report.message;
  }
}

// The answer to a launch request, where ordinary code had written.
TEST_F(Proxy, response_of_a_launch_request_over_ordinary_stores) {
  const auto kernel = [] {
    if (thread_id() == 5) {
      const std::array<uint32_t, 4> zero{};
      store_shared(kData, zero.data(), 16);
      fence_proxy_async(ProxyFence::shared_cta);
    }
    init_barriers(kBar, {1});
    if (thread_id() == 0) {
      mbarrier_arrive_expect_tx(kBar, 16);
      cluster_launch_try_cancel(kData, kBar, false);
    }
    mbarrier_wait_parity(kBar, 0);
  };
  expect_clean({}, kernel);
  const Report report =
      expect_fault({ReportKind::missing_proxy_fence}, {.op = Op::fence_proxy_async}, {}, kernel);
  EXPECT_NE(report.message.find("lane 5 wrote it"), std::string::npos) << report.message;
}

}  // namespace
}  // namespace tilewright::emulator
