// Tensor copies: box images, edges, swizzles, reductions, multicast, descriptors.
#include <array>

#include "emulator/src/swizzle.h"
#include "tests/emulator/micro.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kBar = kSharedBase;
constexpr uint32_t kBox = kSharedBase + 1024;

TensorMap encode(const TensorMapSpec& spec) {
  const Expected<TensorMap> map = encode_for_emulator(spec);
  EXPECT_TRUE(map.has_value()) << map.error().message;
  return map ? *map : TensorMap{};
}

/// A word of kBox for each thread, where a TMA store may read it. All threads.
void stage_zeros() {
  const uint32_t zero = 0;
  store_shared(kBox + 4 * thread_id(), &zero, 4);
  fence_proxy_async(ProxyFence::shared_cta);
  sync_threads();
}

/// A matrix of `rows` x `columns` u16 elements, element (r, c) = 1 + r * columns + c.
class Tma : public Emulator {
 protected:
  static constexpr uint32_t kColumns = 80, kRows = 20;

  void SetUp() override {
    tensor_ = static_cast<uint16_t*>(machine_.allocate_global(2 * kColumns * kRows, {.name = "tensor"}));
    for (uint32_t i = 0; i < kColumns * kRows; ++i) tensor_[i] = static_cast<uint16_t>(1 + i);
  }
  TensorMapSpec spec(Swizzle swizzle, uint32_t width, uint32_t height) const {
    TensorMapSpec s;
    s.base = tensor_;
    s.type = TmaType::u16;
    s.rank = 2;
    s.extent = {kColumns, kRows};
    s.strides = {2 * kColumns};
    s.box = {width, height};
    s.swizzle = swizzle;
    return s;
  }
  static uint16_t element(int32_t row, int32_t column) {
    const bool inside = row >= 0 && column >= 0 && row < static_cast<int32_t>(kRows) &&
                        column < static_cast<int32_t>(kColumns);
    return inside ? static_cast<uint16_t>(1 + row * static_cast<int32_t>(kColumns) + column) : uint16_t{0};
  }

  /// A kernel of 128 threads: fills a box of 256 elements with 5000, 5001, ... and stores it at `coords`.
  static void store_numbers(const TensorMap& map, const std::array<int32_t, 2>& coords, Swizzle mode) {
    for (uint32_t i = thread_id(); i < 256; i += 128) {
      const auto value = static_cast<uint16_t>(5000 + i);
      store_shared(swizzled(kBox + 2 * i, mode), &value, 2);
    }
    fence_proxy_async(ProxyFence::shared_cta);
    sync_threads();
    if (thread_id() != 0) return;
    tma_store(&map, kBox, coords.data(), 2);
    bulk_commit();
    bulk_wait(0, true);
  }

  uint16_t* tensor_ = nullptr;
};

TEST_F(Tma, LoadsFillTheSwizzledBoxAndZerosOutside) {
  for (const Swizzle swizzle : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128}) {
    const uint32_t width = swizzle == Swizzle::none ? 40 : swizzle_width(swizzle) / 2;
    const TensorMap map = encode(spec(swizzle, width, 8));
    for (const auto& [x, y] : {std::pair{0, 0}, {60, 16}, {-9, -3}, {int(kColumns), 2}}) {
      const std::array<int32_t, 2> coords{x, y};
      auto kernel = [&] {
        init_barriers(kBar, {1});
        if (thread_id() == 0) {
          mbarrier_arrive_expect_tx(kBar, width * 8 * 2);
          tma_load(kBox, &map, kBar, coords.data(), 2, 0);
        }
        mbarrier_wait_parity(kBar, 0);
        for (uint32_t i = thread_id(); i < width * 8; i += 128) {
          uint16_t value = 0;
          load_shared(swizzled(kBox + 2 * i, swizzle), &value, 2);
          const auto row = static_cast<int32_t>(i / width), column = static_cast<int32_t>(i % width);
          ASSERT_EQ(value, element(coords[1] + row, coords[0] + column)) << row << ' ' << column;
        }
      };
      MachineOptions options;
      const LaunchResult result = run(options, {}, kernel);
      ASSERT_TRUE(result.reports.empty()) << result.reports[0].message;
      EXPECT_EQ(result.statistics.bytes_loaded, width * 8 * 2);
    }
  }
}

TEST_F(Tma, StoresDropWhatLiesOutside) {
  const TensorMap map = encode(spec(Swizzle::b64, 32, 8));
  const std::array<int32_t, 2> coords{64, 16};
  auto kernel = [&] { store_numbers(map, coords, Swizzle::b64); };
  expect_clean({}, kernel, [&] {
    for (uint32_t r = 0; r < kRows; ++r) {
      for (uint32_t c = 0; c < kColumns; ++c) {
        const bool stored = r >= 16 && c >= 64;
        const uint32_t expected = stored ? 5000 + (r - 16) * 32 + (c - 64) : element(int(r), int(c));
        ASSERT_EQ(tensor_[r * kColumns + c], expected);
      }
    }
  });
  expect_fault({ReportKind::missing_proxy_fence}, {.op = Op::fence_proxy_async}, {}, kernel);
  expect_fault({ReportKind::misaligned},
               {.op = Op::tma_store, .action = FaultSpec::Action::add, .value = 128}, {}, kernel);
}

// As an H200 does: columns 76 to 79 lie outside the tensor and in its last 16 bytes.
TEST_F(Tma, StoresEndOnWholeUnitsOf16Bytes) {
  TensorMapSpec narrow = spec(Swizzle::none, 32, 8);
  narrow.extent[0] = 76;
  const TensorMap map = encode(narrow);
  const std::array<int32_t, 2> coords{64, 0};
  auto kernel = [&] { store_numbers(map, coords, Swizzle::none); };
  expect_clean({}, kernel, [&] {
    for (uint32_t c = 0; c < kColumns; ++c) ASSERT_EQ(tensor_[c], c >= 64 ? 5000 + (c - 64) : 1 + c);
  });
}

TEST_F(Tma, HigherRanksAndReductions) {
  auto* data = static_cast<float*>(machine_.allocate_global(4 * 8 * 3 * 2 * 2 * 2, {.name = "sums"}));
  TensorMapSpec s;
  s.base = data;
  s.type = TmaType::f32;
  s.rank = 5;
  s.extent = {8, 3, 2, 2, 2};
  s.strides = {32, 96, 192, 384};
  s.box = {8, 2, 2, 1, 2};
  const TensorMap map = encode(s);
  const std::array<int32_t, 5> coords{0, 1, 0, 1, 0};
  auto kernel = [&] {
    for (uint32_t i = thread_id(); i < 64; i += 128) {
      const auto value = static_cast<float>(i);
      store_shared(kBox + 4 * i, &value, 4);
    }
    fence_proxy_async(ProxyFence::shared_cta);
    sync_threads();
    if (thread_id() != 0) return;
    for (int repeat = 0; repeat < 2; ++repeat) tma_reduce(&map, kBox, coords.data(), 5, Reduction::add);
    bulk_commit();
    bulk_wait(0, false);
  };
  std::fill_n(data, 8 * 3 * 8, 1.0f);
  expect_clean({}, kernel, [&] {
    for (int v = 0; v < 2; ++v) {
      for (int z = 0; z < 2; ++z) {
        for (int y = 0; y < 2; ++y) {
          for (int x = 0; x < 8; ++x) {
            const int in_box = ((v * 2 + z) * 2 + y) * 8 + x;
            ASSERT_EQ(data[x + 8 * (1 + y) + 24 * z + 48 + 96 * v], 1.0f + 2.0f * static_cast<float>(in_box));
          }
        }
      }
    }
    EXPECT_EQ(data[0], 1.0f);
    std::fill_n(data, 8 * 3 * 8, 1.0f);
  });
}

// ---- multicast

struct MulticastKernel {
  const TensorMap* map;
  bool meet_at_the_end = true;

  void operator()() const {
    init_barriers(kBar, {1}, true);
    name_barrier(kBar, "full", 0);
    if (thread_id() == 0) {
      mbarrier_arrive_expect_tx(kBar, 2 * 1024);
      const std::array<int32_t, 2> coords{0, static_cast<int32_t>(8 * cluster_rank())};
      tma_load(kBox + 1024 * cluster_rank(), map, kBar, coords.data(), 2, 0b11);
    }
    mbarrier_wait_parity(kBar, 0);
    uint16_t value = 0;
    for (uint32_t half = 0; half < 2; ++half) {
      load_shared(swizzled(kBox + 1024 * half + 2 * thread_id(), Swizzle::b128), &value, 2);
      const uint32_t row = 8 * half + thread_id() / 64;
      EXPECT_EQ(value, 1 + row * 80 + thread_id() % 64);
    }
    if (!meet_at_the_end) return;
    cluster_arrive(false);
    cluster_wait();
  }
};

TEST_F(Tma, C64_C79_MulticastDeliversToEveryMemberAndItsBarrier) {
  const TensorMap map = encode(spec(Swizzle::b128, 64, 8));
  const MulticastKernel kernel{&map};
  const Grid grid{.ctas = 2, .cluster = 2};
  expect_clean(grid, kernel);
  // Who has seen all bytes that come to it may leave.
  expect_clean(grid, MulticastKernel{&map, false});
  using Action = FaultSpec::Action;
  expect_fault({ReportKind::multicast_mask},
               {.op = Op::tma_load, .action = Action::replace, .value = 0b111, .on_mask = true}, grid,
               kernel);
  // One of the pair does not multicast.
  const Report starved = expect_fault(
      {ReportKind::deadlock},
      {.op = Op::tma_load, .cta_rank = 1, .action = Action::replace, .value = 0b10, .on_mask = true}, grid,
      kernel);
  EXPECT_EQ(starved.place, "full");
  EXPECT_EQ(starved.cta_rank, 0);
  EXPECT_NE(starved.message.find("pending bytes 1024"), std::string::npos) << starved.message;
  // One of the pair expects only what it loads itself.
  expect_fault({ReportKind::byte_count, ReportKind::read_before_ready, ReportKind::uninitialised_read},
               {.op = Op::mbarrier_arrive_expect_tx, .cta_rank = 0, .action = Action::replace, .value = 1024},
               grid, kernel);
  // No cluster barrier after the initialisation.
  expect_fault({ReportKind::barrier_init_not_visible, ReportKind::barrier_not_initialised,
                ReportKind::cluster_barrier},
               {.op = Op::cluster_wait, .occurrence = FaultSpec::Occurrence::only_nth, .nth = 0}, grid,
               kernel);
  expect_fault({ReportKind::barrier_init_not_visible}, {.op = Op::fence_mbarrier_init, .cta_rank = 1}, grid,
               kernel);
}

TEST_F(Tma, TheBarrierIsThatOfTheDestination) {
  const TensorMap map = encode(spec(Swizzle::none, 64, 4));
  for (const bool tensor : {false, true}) {
    expect_report({ReportKind::invalid_argument}, {.ctas = 2, .cluster = 2}, [&] {
      init_barriers(kBar, {1}, true);
      if (thread_id() != 0) return;
      const std::array<int32_t, 2> coords{};
      const uint32_t other = map_shared(kBar, cluster_rank() ^ 1);
      tensor ? tma_load(kBox, &map, other, coords.data(), 2, 0) : bulk_load(kBox, tensor_, 512, other, 0);
    });
  }
}

// The peer multicasts here after this CTA has seen its own bytes only.
TEST_F(Tma, ExitBeforeThePeersMulticastIsReported) {
  const TensorMap map = encode(spec(Swizzle::b128, 64, 8));
  auto kernel = [&] {
    init_barriers(kBar, {1, 1}, true);
    const std::array<int32_t, 2> coords{0, 0};
    if (thread_id() == 0 && cluster_rank() == 0) {
      mbarrier_arrive_expect_tx(kBar, 1024);
      tma_load(kBox, &map, kBar, coords.data(), 2, 0b11);
      mbarrier_wait_parity(kBar, 0);
    }
    if (thread_id() == 0 && cluster_rank() == 1) mbarrier_arrive_expect_tx(kBar, 1024);
  };
  expect_report({ReportKind::exit_with_pending_work, ReportKind::exit_before_peer},
                {.threads = 32, .ctas = 2, .cluster = 2}, kernel);
}

// ---- descriptors and addresses

struct LoadKernel {
  const TensorMap* map;
  uint32_t bytes;
  int rank = 2;

  void operator()() const {
    init_barriers(kBar, {1});
    name_shared(kBox, 1024, "A", 0);
    if (thread_id() == 0) {
      const std::array<int32_t, 5> coords{};
      mbarrier_arrive_expect_tx(kBar, bytes);
      tma_load(kBox, map, kBar, coords.data(), rank, 0);
    }
    mbarrier_wait_parity(kBar, 0);
  }
};

TEST_F(Tma, BoxesAreAlignedToTheirSwizzleAtom) {
  using Action = FaultSpec::Action;
  for (const auto& [swizzle, width, atom] : {std::tuple{Swizzle::b32, 16u, 256},
                                             {Swizzle::b64, 32u, 512},
                                             {Swizzle::b128, 64u, 1024},
                                             {Swizzle::none, 64u, 128}}) {
    const TensorMap map = encode(spec(swizzle, width, 8));
    const LoadKernel kernel{&map, width * 16};
    expect_clean({}, kernel);
    expect_fault({ReportKind::misaligned}, {.op = Op::tma_load, .action = Action::add, .value = atom / 2}, {},
                 kernel);
    MachineOptions options;
    options.fault = FaultSpec{.op = Op::tma_load, .action = Action::add, .value = atom};
    expect_clean(
        {}, kernel, [] {}, options);
  }
}

TEST_F(Tma, MapsMustFitTheirBufferAndTheInstruction) {
  TensorMapSpec too_tall = spec(Swizzle::b128, 64, 32);
  too_tall.extent[1] = kRows + 1;
  const TensorMap tall = encode(too_tall);
  const Report report = expect_report({ReportKind::out_of_bounds}, {}, LoadKernel{&tall, 64 * 64});
  EXPECT_EQ(report.place, "tensor");
  const TensorMap map = encode(spec(Swizzle::b128, 64, 8));
  expect_report({ReportKind::invalid_argument}, {}, LoadKernel{&map, 1024, 3});
}

TEST_F(Tma, ReductionsNeedAnInitialValue) {
  for (const MachineOptions& options : schedules()) {
    // The first report leaves the sums written.
    void* sums = machine_.allocate_global(2 * kColumns * kRows, {.name = "sums", .initialised = false});
    TensorMapSpec s = spec(Swizzle::none, 64, 4);
    s.base = sums;
    s.type = TmaType::f16;
    const TensorMap map = encode(s);
    const LaunchResult result = run(options, {}, [&] {
      stage_zeros();
      if (thread_id() != 0) return;
      const std::array<int32_t, 2> coords{};
      tma_reduce(&map, kBox, coords.data(), 2, Reduction::add);
      bulk_commit();
      bulk_wait(0, true);
    });
    machine_.free_global(sums);
    ASSERT_FALSE(result.reports.empty()) << name_of(options);
    ASSERT_EQ(result.reports[0].kind, ReportKind::uninitialised_read) << result.reports[0].message;
    EXPECT_EQ(result.reports[0].place, "sums");
  }
}

// The thread that writes a map releases it, the one that uses it acquires it.
TEST_F(Tma, C65_RewrittenDescriptorsNeedBothFences) {
  TILEWRIGHT_NEEDS_ACCESSES();
  auto* map = static_cast<TensorMap*>(machine_.allocate_global(sizeof(TensorMap), {.name = "map"}));
  const TensorMap encoded = encode(spec(Swizzle::none, 64, 4));
  auto kernel = [&](bool release, bool acquire, bool store) {
    return [=] {
      const uint32_t zero = 0;
      store_shared(kBox + 4 * thread_id(), &zero, 4);
      fence_proxy_async(ProxyFence::shared_cta);
      init_barriers(kBar, {1});
      if (thread_id() == 77) {
        *map = encoded;
        if (release) fence_tensor_map_release();
      }
      sync_threads();
      if (thread_id() != 0) return;
      if (acquire) fence_tensor_map_acquire(map);
      const std::array<int32_t, 2> coords{};
      if (store) {
        tma_store(map, kBox, coords.data(), 2);
        bulk_commit();
        bulk_wait(0, true);
      } else {
        mbarrier_arrive_expect_tx(kBar, 512);
        tma_load(kBox, map, kBar, coords.data(), 2, 0);
        mbarrier_wait_parity(kBar, 0);
      }
    };
  };
  for (const bool store : {false, true}) {
    expect_clean({}, kernel(true, true, store));
    for (const bool release : {false, true}) {
      const Report report =
          expect_report({ReportKind::missing_proxy_fence}, {}, kernel(release, !release, store));
      EXPECT_EQ(report.place, "map");
      for (const char* part :
           {"the descriptor of a TMA ", "warp 2 lane 13 wrote it", "fence.proxy.tensormap"})
        EXPECT_NE(report.message.find(part), std::string::npos) << report.message;
    }
  }
}

// An acquire counts for who knows of it, though the same thread acquires again.
TEST_F(Tma, C65_AnAcquireCountsAfterFurtherOnes) {
  TILEWRIGHT_NEEDS_ACCESSES();
  auto* map = static_cast<TensorMap*>(machine_.allocate_global(sizeof(TensorMap), {.name = "map"}));
  const TensorMap encoded = encode(spec(Swizzle::none, 64, 4));
  auto kernel = [&](bool first, bool rewrite) {
    return [=] {
      init_barriers(kBar, {1, 1});
      if (thread_id() == 0) {
        *map = encoded;
        fence_tensor_map_release();
        if (first) fence_tensor_map_acquire(map);
        if (rewrite) map->words[1] = encoded.words[1];
        if (rewrite) fence_tensor_map_release();
        mbarrier_arrive(kBar + 8, 1);
        fence_tensor_map_acquire(map);
      } else if (thread_id() == 32) {
        mbarrier_wait_parity(kBar + 8, 0);
        for (int i = 0; i < 4; ++i) mbarrier_test_wait_parity(kBar, 0);  // others go on
        const std::array<int32_t, 2> coords{};
        mbarrier_arrive_expect_tx(kBar, 512);
        tma_load(kBox, map, kBar, coords.data(), 2, 0);
        mbarrier_wait_parity(kBar, 0);
      }
    };
  };
  expect_clean({}, kernel(true, false));
  expect_report({ReportKind::missing_proxy_fence}, {}, kernel(false, false));
  expect_report({ReportKind::missing_proxy_fence}, {}, kernel(true, true));
}

TEST_F(Tma, DescriptorsOfStoresStayUntilTheyAreDone) {
  TILEWRIGHT_NEEDS_ACCESSES();
  auto* map = static_cast<TensorMap*>(machine_.allocate_global(sizeof(TensorMap), {.name = "map"}));
  auto kernel = [&](bool drain) {
    return [=] {
      stage_zeros();
      if (thread_id() != 0) return;
      const std::array<int32_t, 2> coords{};
      tma_store(map, kBox, coords.data(), 2);
      bulk_commit();
      if (drain) bulk_wait(0, true);
      map->words[1] = 0;
      bulk_wait(0, true);
    };
  };
  const TensorMap encoded = encode(spec(Swizzle::none, 64, 4));
  *map = encoded;
  expect_clean({}, kernel(true), [&] { *map = encoded; });
  const Report report = expect_report({ReportKind::overwrite_in_use}, {}, kernel(false));
  EXPECT_EQ(report.place, "map");
}

TEST_F(Tma, BoxesFitIntoSharedMemory) {
  TensorMapSpec large = spec(Swizzle::none, 64, 256);
  large.rank = 4;
  large.extent = {kColumns, kRows, 1, 1};
  large.box = {256, 256, 256, 256};  // 2^32 bytes
  large.type = TmaType::u8;
  const TensorMap map = encode(large);
  expect_report({ReportKind::out_of_bounds}, {}, [&] {
    init_barriers(kBar, {1});
    if (thread_id() != 0) return;
    const std::array<int32_t, 4> coords{};
    tma_load(kBox, &map, kBar, coords.data(), 4, 0);
  });
}

TEST_F(Tma, DescriptorsDoNotLieInSharedMemory) {
  const TensorMap encoded = encode(spec(Swizzle::none, 64, 4));
  expect_report({ReportKind::invalid_argument}, {}, [&] {
    init_barriers(kBar, {1});
    if (thread_id() != 0) return;
    store_shared(kBox + 1024, encoded.words.data(), 8);
    const std::array<int32_t, 2> coords{};
    mbarrier_arrive_expect_tx(kBar, 512);
    tma_load(kBox, shared_as<TensorMap>(kBox + 1024), kBar, coords.data(), 2, 0);
  });
}

// The descriptor is rewritten while a load that uses it is in flight.
TEST_F(Tma, C65_DescriptorsStayUntilTheLoadIsDone) {
  TILEWRIGHT_NEEDS_ACCESSES();
  auto* map = static_cast<TensorMap*>(machine_.allocate_global(sizeof(TensorMap), {.name = "map"}));
  const TensorMap first = encode(spec(Swizzle::b128, 64, 8));
  TensorMapSpec moved = spec(Swizzle::b128, 64, 8);
  moved.base = tensor_ + 8 * kColumns;
  moved.extent[1] -= 8;
  const TensorMap second = encode(moved);
  auto kernel = [&](bool drain) {
    return [&, drain] {
      init_barriers(kBar, {1});
      if (thread_id() != 0) return;
      const std::array<int32_t, 2> coords{};
      *map = first;
      fence_tensor_map_release();
      fence_tensor_map_acquire(map);
      mbarrier_arrive_expect_tx(kBar, 1024);
      tma_load(kBox, map, kBar, coords.data(), 2, 0);
      if (drain) mbarrier_wait_parity(kBar, 0);
      map->words[0] = second.words[0];
      fence_tensor_map_release();
      fence_tensor_map_acquire(map);
      mbarrier_wait_parity(kBar, 0);
    };
  };
  expect_clean({}, kernel(true));
  expect_report({ReportKind::overwrite_in_use}, {}, kernel(false));
}

}  // namespace
}  // namespace tilewright::emulator
