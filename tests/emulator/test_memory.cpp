// Shared and global memory as ordinary code and one-dimensional copies use it: bounds, initialisation, races,
// proxies.
#include <array>
#include <cstring>

#include "tests/emulator/micro.h"
#include "tilewright/arch/cp_async.h"
#include "tilewright/arch/matrix.h"
#include "tilewright/arch/mbarrier.h"
#include "tilewright/arch/shared.h"
#include "tilewright/arch/tma.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kData = kSharedBase;
constexpr uint32_t kAll = ~0u;

class Memory : public Emulator {};

TEST_F(Memory, SharedAccessesStayInBounds) {
  TILEWRIGHT_NEEDS_ACCESSES();
  const Grid grid{.threads = 32, .shared_bytes = 256};
  expect_report({ReportKind::out_of_bounds}, grid, [] { shared_as(kData)[64 + thread_id()] = 1; });
  expect_report({ReportKind::out_of_bounds}, grid, [] {
    if (thread_id() == 0) shared_as(kData - 16)[0] = 1;
  });
  expect_clean(grid, [] { shared_as(kData)[thread_id()] = 1; });
}

TEST_F(Memory, NeverWrittenSharedMemoryIsNotRead) {
  TILEWRIGHT_NEEDS_ACCESSES();
  uint32_t sum = 0;
  auto kernel = [&] {
    if (thread_id() != 0) return;
    name_shared(kData, 64, "table", -1);
    shared_as<uint8_t>(kData)[0] = 1;
    sum += shared_as<uint8_t>(kData)[0];
    sum += shared_as<uint8_t>(kData)[1];
  };
  const Report report = expect_report({ReportKind::uninitialised_read}, {}, kernel);
  EXPECT_EQ(report.place, "table");
  EXPECT_NE(report.message.find("table + 1"), std::string::npos) << report.message;
}

// Neighbouring bytes of one granule belong to different threads; the same byte does not.
TEST_F(Memory, RacesAreFoundByTheByte) {
  TILEWRIGHT_NEEDS_ACCESSES();
  auto write = [](uint32_t divisor) {
    return [divisor] { shared_as<uint8_t>(kData)[thread_id() / divisor] = 1; };
  };
  expect_clean({}, write(1));
  expect_report({ReportKind::unordered_writes}, {}, write(2));
  auto reuse = [] {
    shared_as(kData)[thread_id()] = thread_id();
    sync_threads();
    EXPECT_EQ(shared_as(kData)[thread_id() ^ 33], thread_id() ^ 33);
    if (thread_id() < 200) sync_threads();
    shared_as(kData)[thread_id()] = 0;
  };
  expect_clean({}, reuse);
  using Occurrence = FaultSpec::Occurrence;
  expect_fault({ReportKind::overwrite_in_use, ReportKind::read_before_ready},
               {.op = Op::sync_threads, .occurrence = Occurrence::only_nth, .nth = 1}, {}, reuse);
}

TEST_F(Memory, MisalignedSharedAccessesAreReported) {
  expect_report({ReportKind::misaligned}, {}, [] {
    const uint32_t value = 0;
    store_shared(kData + 2 + 8 * thread_id(), &value, 4);
  });
}

// A GPU faults on a vector access whose address is no multiple of its size; a plain CPU does not.
TEST_F(Memory, MisalignedOrdinaryAccessesAreReported) {
  TILEWRIGHT_NEEDS_ACCESSES();
  struct alignas(16) Vector {
    uint32_t words[4];
  };
  auto* data = static_cast<uint32_t*>(machine_.allocate_global(4096, {.name = "data"}));
  std::fill_n(data, 1024, 0u);
  const Grid grid{.threads = 32};
  const auto global = [=](uint32_t past) {
    return [=] {
      const auto* from = reinterpret_cast<const Vector*>(data + 4 * thread_id() + past);
      reinterpret_cast<Vector*>(data)[128 + thread_id()] = *from;
    };
  };
  expect_clean(grid, global(0));
  const Report read = expect_report({ReportKind::misaligned}, grid, global(1));
  EXPECT_EQ(read.place, "data");
  EXPECT_NE(read.message.find("a load of 16 bytes from data at offset "), std::string::npos) << read.message;
  const auto shared = [](uint32_t past) {
    return [=] {
      name_shared(kData, 1024, "tile", -1);
      *shared_as<uint64_t>(kData + 16 * thread_id() + past) = 1;
    };
  };
  expect_clean(grid, shared(8));
  const Report written = expect_report({ReportKind::misaligned}, grid, shared(4));
  EXPECT_EQ(written.place, "tile");
  EXPECT_NE(written.message.find("a store of 8 bytes to tile + "), std::string::npos) << written.message;
  // Two words of 8 bytes, which g++ copies at once.
  struct Pair {
    double first;
    int64_t second;
  };
  expect_clean(grid, [=] {
    auto* pairs = reinterpret_cast<Pair*>(data + 2);
    pairs[64 + thread_id()] = pairs[thread_id()];
  });
  // A copy of bytes needs no alignment.
  expect_clean(grid, [=] {
    const uint64_t value = 1;
    std::memcpy(reinterpret_cast<char*>(data) + 16 * thread_id() + 1, &value, sizeof value);
  });
}

TEST_F(Memory, GlobalAccessesStayInTheirBuffers) {
  TILEWRIGHT_NEEDS_ACCESSES();
  auto* in = static_cast<float*>(machine_.allocate_global(400, {.name = "in", .writable = false}));
  auto* out = static_cast<float*>(machine_.allocate_global(400, {.name = "out"}));
  auto* fresh = static_cast<float*>(machine_.allocate_global(400, {.name = "fresh", .initialised = false}));
  std::fill_n(in, 100, 1.0f);
  const Grid grid{.threads = 32};
  auto copy = [](const float* from, float* to, uint32_t offset) {
    return [=] { to[thread_id() + offset] = from[thread_id() + offset]; };
  };
  expect_clean(grid, copy(in, out, 68));
  Report report = expect_report({ReportKind::out_of_bounds}, grid, copy(in, out, 69));
  EXPECT_EQ(report.place, "in");
  report = expect_report({ReportKind::out_of_bounds}, grid, [=] { out[-1] = 0; });
  EXPECT_EQ(report.place, "out");
  report = expect_report({ReportKind::read_only_write}, grid, copy(out, in, 0));
  EXPECT_EQ(report.place, "in");
  report = expect_report({ReportKind::uninitialised_read}, grid, copy(fresh, out, 0));
  EXPECT_EQ(report.place, "fresh");
  // What one launch wrote is initialised for the next.
  expect_clean(grid, copy(in, fresh, 0));
  expect_clean(grid, copy(fresh, out, 0));
}

TEST_F(Memory, MemoryOfTheCallerIsCheckedOnceRegistered) {
  TILEWRIGHT_NEEDS_ACCESSES();
  std::vector<int> values(64, 1);
  auto kernel = [&] { values[thread_id()] = 2; };
  machine_.register_global(values.data(), 64 * sizeof(int), {.name = "values", .writable = false});
  expect_report({ReportKind::read_only_write}, {.threads = 32}, kernel);
  machine_.unregister_global(values.data());
  expect_clean({.threads = 32}, kernel);
}

TEST_F(Memory, GlobalRacesWithinAndBetweenClusters) {
  TILEWRIGHT_NEEDS_ACCESSES();
  auto* data = static_cast<uint32_t*>(machine_.allocate_global(4096, {.name = "data"}));
  auto disjoint = [=] { data[block_index().x * 128 + thread_id()] = 1; };
  expect_clean({.ctas = 4}, disjoint);
  expect_report({ReportKind::unordered_writes}, {}, [=] { data[thread_id() / 2] = 1; });
  expect_report({ReportKind::global_race}, {.ctas = 2}, [=] { data[thread_id()] = 1; });
  // One block writes what the other reads.
  expect_report({ReportKind::global_race}, {.threads = 32, .ctas = 2}, [=] {
    if (block_index().x == 0) data[thread_id()] = 1;
    if (block_index().x == 1) data[512 + thread_id()] = data[thread_id()];
  });
}

TEST_F(Memory, AtomicsAddUpAndDoNotRace) {
  auto* count = static_cast<uint32_t*>(machine_.allocate_global(64, {.name = "count"}));
  auto* sum = reinterpret_cast<float*>(count + 1);
  *count = 0;
  *sum = 0;
  auto kernel = [=] {
    atomic(count, 1, 0, AtomicType::u32, AtomicOp::add, Scope::gpu);
    const float half = 0.5f;
    atomic(sum, __builtin_bit_cast(uint32_t, half), 0, AtomicType::f32, AtomicOp::add, Scope::gpu);
  };
  expect_clean({.ctas = 3}, kernel, [=] {
    EXPECT_EQ(*count, 384u);
    EXPECT_EQ(*sum, 192.0f);
    *count = 0;
    *sum = 0;
  });
}

// Blocks that hand data on through a flag, the later one started first.
TEST_F(Memory, ReleaseAndAcquireOrderClusters) {
  auto* data = static_cast<uint32_t*>(machine_.allocate_global(1024, {.name = "data"}));
  auto* flag = static_cast<uint32_t*>(machine_.allocate_global(64, {.name = "flag"}));
  *flag = 0;
  auto kernel = [=] {
    if (block_index().x == 1) {
      data[thread_id()] = 7;
      sync_threads();
      if (thread_id() == 0) store_release(flag, 1, 4, Scope::gpu);
    } else {
      if (thread_id() == 0) {
        while (load_acquire(flag, 4, Scope::gpu) == 0) {
        }
      }
      sync_threads();
      data[128 + thread_id()] = data[thread_id()] + 1;
    }
  };
  const auto reset = [=] {
    EXPECT_EQ(data[128 + 77], 8u);
    *flag = 0;
  };
  expect_clean({.ctas = 2}, kernel, reset);
  if (kSeesAccesses) {
    for (const MachineOptions& options : schedules()) {
      *flag = 0;
      MachineOptions planted = options;
      planted.fault = FaultSpec{.op = Op::load_acquire};
      const LaunchResult result = run(planted, {.ctas = 2}, kernel);
      ASSERT_FALSE(result.reports.empty());
      EXPECT_EQ(result.reports[0].kind, ReportKind::global_race) << result.reports[0].message;
      *flag = 0;
      planted.fault = FaultSpec{.op = Op::store_release};
      const LaunchResult starved = run(planted, {.ctas = 2}, kernel);
      ASSERT_FALSE(starved.reports.empty());
      EXPECT_EQ(starved.reports[0].kind, ReportKind::livelock) << starved.reports[0].message;
    }
  }
}

// The last of the blocks that add to a tile finishes it.
TEST_F(Memory, C85_LastArriverSeesAllPartialSums) {
  auto* partial = static_cast<uint32_t*>(machine_.allocate_global(4096, {.name = "partial"}));
  auto* count = static_cast<uint32_t*>(machine_.allocate_global(64, {.name = "count"}));
  uint32_t total = 0;
  *count = 0;
  auto kernel = [&](bool synchronised) {
    return [=, &total] {
      partial[block_index().x * 32 + thread_id()] = block_index().x + 1;
      if (synchronised) sync_warp(kAll);
      uint32_t order = 0;
      if (thread_id() == 0) {
        order = static_cast<uint32_t>(atomic(count, 1, 0, AtomicType::u32, AtomicOp::add, Scope::gpu));
      }
      order = static_cast<uint32_t>(shuffle(kAll, order, 0));
      sync_warp(kAll);
      if (order + 1 != grid_dim().x) return;
      uint32_t sum = 0;
      for (uint32_t block = 0; block < grid_dim().x; ++block) sum += partial[block * 32 + thread_id()];
      if (thread_id() == 31) total = sum;
    };
  };
  const Grid grid{.threads = 32, .ctas = 4};
  expect_clean(grid, kernel(true), [&] {
    EXPECT_EQ(total, 10u);
    *count = 0;
  });
  if (!kSeesAccesses) return;
  for (const MachineOptions& options : schedules()) {
    *count = 0;
    const LaunchResult result = run(options, grid, kernel(false));
    ASSERT_FALSE(result.reports.empty());
    EXPECT_EQ(result.reports[0].kind, ReportKind::global_race) << result.reports[0].message;
  }
}

TEST_F(Memory, AtomicsNeedAnInitialValue) {
  auto kernel = [](uint32_t* count, AtomicOp op) {
    return [=] {
      if (thread_id() == 0)
        atomic(count != nullptr ? count : shared_as(kData), 1, 0, AtomicType::u32, op, Scope::gpu);
    };
  };
  for (const AtomicOp op : {AtomicOp::add, AtomicOp::max, AtomicOp::compare_exchange}) {
    auto* count =
        static_cast<uint32_t*>(machine_.allocate_global(4, {.name = "count", .initialised = false}));
    const LaunchResult result = run({}, kernel(count, op));
    ASSERT_EQ(result.reports.size(), 1u);
    EXPECT_EQ(result.reports[0].kind, ReportKind::uninitialised_read) << result.reports[0].message;
    EXPECT_EQ(result.reports[0].place, "count");
    expect_report({ReportKind::uninitialised_read}, {}, kernel(nullptr, op));
  }
  expect_clean({}, kernel(nullptr, AtomicOp::exchange));  // what it finds may not matter
}

TEST_F(Memory, AtomicsOnSharedMemoryAreChecked) {
  auto kernel = [](bool read_early) {
    return [=] {
      const uint32_t zero = 0;
      if (thread_id() == 0) store_shared(kData, &zero, 4);
      sync_threads();
      atomic(shared_as(kData), 1, 0, AtomicType::u32, AtomicOp::add, Scope::cta);
      if (!read_early) sync_threads();
      uint32_t sum = 0;
      load_shared(kData, &sum, 4);
      EXPECT_TRUE(read_early || sum == 128) << sum;
    };
  };
  expect_clean({}, kernel(false));
  expect_report({ReportKind::read_before_ready, ReportKind::overwrite_in_use}, {}, kernel(true));
  expect_report({ReportKind::out_of_bounds}, {}, [] {
    atomic(shared_as(kSharedBase + 16384), 1, 0, AtomicType::u32, AtomicOp::exchange, Scope::cta);
  });
}

TEST_F(Memory, C82_DependentLaunchWaitsBeforeItWrites) {
  TILEWRIGHT_NEEDS_ACCESSES();
  auto* sums = static_cast<uint32_t*>(machine_.allocate_global(512, {.name = "sums"}));
  auto kernel = [=](bool bulk) {
    return [=] {
      const uint32_t value = thread_id();
      store_shared(kData + 4 * thread_id(), &value, 4);
      fence_proxy_async(ProxyFence::shared_cta);
      grid_dependency_wait();
      sync_threads();
      if (!bulk) {
        sums[thread_id()] = value;
      } else if (thread_id() == 0) {
        bulk_store(sums, kData, 512);
        bulk_commit();
        bulk_wait(0, true);
      }
    };
  };
  for (const bool bulk : {false, true}) {
    expect_clean({.dependent_launch = true}, kernel(bulk));
    const Report report = expect_fault({ReportKind::dependency_not_waited}, {.op = Op::grid_dependency_wait},
                                       {.dependent_launch = true}, kernel(bulk));
    EXPECT_EQ(report.place, "sums");
    EXPECT_NE(report.message.find("may still be using it"), std::string::npos) << report.message;
  }
}

TEST_F(Memory, C82_DependentLaunchWaitsBeforeItReads) {
  TILEWRIGHT_NEEDS_ACCESSES();
  auto* sizes = static_cast<uint32_t*>(machine_.allocate_global(64, {.name = "sizes", .writable = false}));
  auto kernel = [=] {
    if (thread_id() == 0) grid_dependency_wait();
    sync_threads();
    EXPECT_EQ(sizes[0], 0u);
  };
  expect_clean({.dependent_launch = true}, kernel);
  const FaultSpec fault{.op = Op::grid_dependency_wait};
  const Report report =
      expect_fault({ReportKind::dependency_not_waited}, fault, {.dependent_launch = true}, kernel);
  EXPECT_EQ(report.place, "sizes");
  MachineOptions options;
  options.fault = fault;
  expect_clean(
      {.dependent_launch = false}, kernel, [] {}, options);
  // Another thread's wait does not order this one.
  expect_fault({ReportKind::dependency_not_waited}, {.op = Op::sync_threads}, {.dependent_launch = true},
               kernel);
}

// ---- bulk stores: proxies, reuse of the source, exit

struct StoreKernel {
  std::byte* out;
  int tiles = 3;

  void operator()() const {
    for (int tile = 0; tile < tiles; ++tile) {
      if (thread_id() == 0) bulk_wait(0, true);  // the source may be reused
      named_barrier_sync(1, 128);
      const uint32_t value = static_cast<uint32_t>(tile) * 1000 + thread_id();
      store_shared(kData + 4 * thread_id(), &value, 4);
      fence_proxy_async(ProxyFence::shared_cta);
      named_barrier_sync(2, 128);
      if (thread_id() == 0) {
        bulk_store(out + 512 * tile, kData, 512);
        bulk_commit();
      }
    }
    if (thread_id() == 0) bulk_wait(0, true);
  }
};

TEST_F(Memory, BulkStoresDeliverAndReuseTheirSource) {
  auto* out = static_cast<std::byte*>(machine_.allocate_global(1536, {.name = "out", .initialised = false}));
  const auto* words = reinterpret_cast<const uint32_t*>(out);
  expect_clean({}, StoreKernel{out}, [&] {
    for (uint32_t i = 0; i < 384; ++i) ASSERT_EQ(words[i], i / 128 * 1000 + i % 128);
  });
}

TEST_F(Memory, C73_BulkStoreFaults) {
  auto* out = static_cast<std::byte*>(machine_.allocate_global(1536, {.name = "out"}));
  const StoreKernel kernel{out};
  // By all writers, and by a single one.
  expect_fault({ReportKind::missing_proxy_fence}, {.op = Op::fence_proxy_async}, {}, kernel);
  const Report report = expect_fault({ReportKind::missing_proxy_fence},
                                     {.op = Op::fence_proxy_async, .thread = 77}, {}, kernel);
  EXPECT_NE(report.message.find("warp 2 lane 13"), std::string::npos) << report.message;
  // The store is not ordered after the writes of others.
  using Occurrence = FaultSpec::Occurrence;
  expect_fault({ReportKind::read_before_ready, ReportKind::uninitialised_read, ReportKind::overwrite_in_use},
               {.op = Op::named_barrier_sync, .occurrence = Occurrence::only_nth, .nth = 1}, {}, kernel);
  // The source is overwritten while it is read; the last wait alone protects the exit.
  expect_fault({ReportKind::overwrite_in_use},
               {.op = Op::bulk_wait, .occurrence = Occurrence::only_nth, .nth = 1}, {}, kernel);
  expect_fault({ReportKind::overwrite_in_use},
               {.op = Op::bulk_wait, .action = FaultSpec::Action::replace, .value = 1}, {}, kernel);
  expect_fault({ReportKind::exit_with_pending_work},
               {.op = Op::bulk_wait, .occurrence = Occurrence::only_nth, .nth = 3}, {}, kernel);
  expect_fault({ReportKind::overwrite_in_use, ReportKind::exit_with_pending_work}, {.op = Op::bulk_commit},
               {}, kernel);
  expect_fault({ReportKind::misaligned}, {.op = Op::bulk_store, .action = FaultSpec::Action::add, .value = 8},
               {}, kernel);
  expect_fault({ReportKind::out_of_bounds, ReportKind::uninitialised_read},
               {.op = Op::bulk_store, .action = FaultSpec::Action::add, .value = 16384}, {}, kernel);
}

// Every thread waits for groups that only thread 0 committed, and no barrier follows.
TEST_F(Memory, WaitingForTheGroupsOfAnotherThreadDoesNothing) {
  auto* out = static_cast<std::byte*>(machine_.allocate_global(1024, {.name = "out"}));
  auto kernel = [=] {
    for (int tile = 0; tile < 2; ++tile) {
      const uint32_t value = thread_id();
      store_shared(kData + 4 * thread_id(), &value, 4);
      fence_proxy_async(ProxyFence::shared_cta);
      sync_threads();
      if (thread_id() == 0) {
        bulk_store(out + 512 * tile, kData, 512);
        bulk_commit();
      }
      bulk_wait(0, true);
    }
  };
  expect_report({ReportKind::overwrite_in_use, ReportKind::read_before_ready}, {}, kernel);
}

// The only fence sits in a loop that runs no time.
TEST_F(Memory, C73_FenceOfALoopThatDoesNotRunIsMissing) {
  auto* out = static_cast<std::byte*>(machine_.allocate_global(512, {.name = "out"}));
  auto kernel = [=](int iterations) {
    return [=] {
      const uint32_t value = thread_id();
      store_shared(kData + 4 * thread_id(), &value, 4);
      for (int i = 0; i < iterations; ++i) fence_proxy_async(ProxyFence::shared_cta);
      sync_threads();
      if (thread_id() == 0) {
        bulk_store(out, kData, 512);
        bulk_commit();
        bulk_wait(0, true);
      }
    };
  };
  expect_clean({}, kernel(1));
  expect_report({ReportKind::missing_proxy_fence}, {}, kernel(0));
}

TEST_F(Memory, GlobalWritesOfBulkStoresAreReadAfterTheFullWait) {
  TILEWRIGHT_NEEDS_ACCESSES();
  auto* out = static_cast<uint32_t*>(machine_.allocate_global(512, {.name = "out"}));
  auto kernel = [=](bool read_only) {
    return [=] {
      const uint32_t value = thread_id();
      store_shared(kData + 4 * thread_id(), &value, 4);
      fence_proxy_async(ProxyFence::shared_cta);
      sync_threads();
      if (thread_id() == 0) {
        bulk_store(out, kData, 512);
        bulk_commit();
        bulk_wait(0, read_only);
      }
      sync_threads();
      EXPECT_EQ(out[thread_id()], thread_id());
    };
  };
  expect_clean({}, kernel(false));
  expect_report({ReportKind::read_before_ready}, {}, kernel(true));
}

// ---- cp.async

struct CopyKernel {
  const uint32_t* in;

  void operator()() const {
    for (int step = 0; step < 3; ++step) {
      const uint32_t to = kData + 2048 * static_cast<uint32_t>(step % 2) + 16 * thread_id();
      cp_async(to, in + 4 * thread_id(), 16, step == 2 ? 4 : 16);
      cp_async_commit();
      cp_async_wait(0);
      sync_threads();
      uint32_t value = 0;
      const uint32_t other = thread_id() ^ 64;
      load_shared(kData + 2048 * static_cast<uint32_t>(step % 2) + 16 * other + 4, &value, 4);
      EXPECT_EQ(value, step == 2 ? 0 : 4 * other + 1);
    }
  }
};

TEST_F(Memory, CpAsyncCopiesAndZeroFills) {
  auto* in = static_cast<uint32_t*>(machine_.allocate_global(2048, {.name = "in", .writable = false}));
  for (uint32_t i = 0; i < 512; ++i) in[i] = i;
  const CopyKernel kernel{in};
  expect_clean({}, kernel);
  expect_fault({ReportKind::read_before_ready, ReportKind::unordered_writes, ReportKind::uninitialised_read},
               {.op = Op::cp_async_wait}, {}, kernel);
  expect_fault({ReportKind::read_before_ready, ReportKind::unordered_writes},
               {.op = Op::cp_async_wait, .action = FaultSpec::Action::replace, .value = 1}, {}, kernel);
  expect_fault({ReportKind::read_before_ready, ReportKind::uninitialised_read, ReportKind::overwrite_in_use},
               {.op = Op::sync_threads}, {}, kernel);
  expect_fault({ReportKind::misaligned}, {.op = Op::cp_async, .action = FaultSpec::Action::add, .value = 4},
               {}, kernel);
}

TEST_F(Memory, CpAsyncDataNeedAFenceForTheAsyncProxy) {
  auto* in = static_cast<uint32_t*>(machine_.allocate_global(2048, {.name = "in", .writable = false}));
  auto* out = static_cast<std::byte*>(machine_.allocate_global(2048, {.name = "out"}));
  // fence: 0 none, 1 before the copies are there, 2 after
  auto kernel = [=](int fence) {
    return [=] {
      cp_async(kData + 16 * thread_id(), in + 4 * thread_id(), 16, 16);
      cp_async_commit();
      if (fence == 1) fence_proxy_async(ProxyFence::shared_cta);
      cp_async_wait(0);
      if (fence == 2) fence_proxy_async(ProxyFence::shared_cta);
      sync_threads();
      if (thread_id() == 0) {
        bulk_store(out, kData, 2048);
        bulk_commit();
        bulk_wait(0, true);
      }
    };
  };
  expect_clean({}, kernel(2));
  expect_report({ReportKind::missing_proxy_fence}, {}, kernel(1));
  expect_report({ReportKind::missing_proxy_fence}, {}, kernel(0));
}

TEST_F(Memory, CpAsyncArrivesOnAnMbarrier) {
  auto* in = static_cast<uint32_t*>(machine_.allocate_global(2048, {.name = "in", .writable = false}));
  for (uint32_t i = 0; i < 512; ++i) in[i] = i;
  constexpr uint32_t kBar = kData + 4096;
  auto kernel = [=] {
    init_barriers(kBar, {64});
    if (warp_id() < 2) {
      cp_async(kData + 16 * thread_id(), in + 4 * thread_id(), 16, 16);
      cp_async_mbarrier_arrive(kBar, true);
    } else {
      mbarrier_wait_parity(kBar, 0);
      uint32_t value = 0;
      load_shared(kData + 16 * (thread_id() - 64), &value, 4);
      EXPECT_EQ(value, 4 * (thread_id() - 64));
    }
  };
  expect_clean({}, kernel);
  expect_fault({ReportKind::read_before_ready, ReportKind::uninitialised_read, ReportKind::overwrite_in_use,
                ReportKind::unordered_writes},
               {.op = Op::mbarrier_wait, .thread = 100}, {}, kernel);
  expect_fault({ReportKind::deadlock, ReportKind::exit_with_pending_work},
               {.op = Op::cp_async_mbarrier_arrive, .thread = 5}, {}, kernel);
}

// ---- within a cluster

TEST_F(Memory, DistributedSharedMemory) {
  constexpr uint32_t kBar = kData + 4096;
  auto kernel = [] {
    init_barriers(kBar, {1}, true);
    const uint32_t peer = cluster_rank() ^ 1;
    if (thread_id() == 0) mbarrier_arrive_expect_tx(kBar, 32 * 4 + 512);
    if (warp_id() == 0) {
      const uint32_t value = 100 * cluster_rank() + lane_id();
      store_async(map_shared(kData + 4 * lane_id(), peer), &value, 4, map_shared(kBar, peer));
    }
    if (warp_id() == 1) {
      for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t value = cluster_rank();
        store_shared(kData + 1024 + 16 * lane_id() + 4 * i, &value, 4);
      }
      fence_proxy_async(ProxyFence::shared_cta);
      sync_warp(kAll);
      if (lane_id() == 0) {
        bulk_copy_to_cluster(map_shared(kData + 2048, peer), kData + 1024, 512, map_shared(kBar, peer));
      }
    }
    mbarrier_wait_parity(kBar, 0);
    uint32_t value = 0;
    load_shared(kData + 4 * lane_id(), &value, 4);
    EXPECT_EQ(value, 100 * peer + lane_id());
    load_shared(kData + 2048 + 4 * thread_id(), &value, 4);
    EXPECT_EQ(value, peer);
    cluster_arrive(false);
    cluster_wait();
  };
  const Grid grid{.ctas = 2, .cluster = 2};
  expect_clean(grid, kernel);
  expect_fault({ReportKind::missing_proxy_fence}, {.op = Op::fence_proxy_async, .thread = 40}, grid, kernel);
  expect_fault({ReportKind::read_before_ready, ReportKind::uninitialised_read}, {.op = Op::sync_warp}, grid,
               kernel);
  expect_fault({ReportKind::deadlock}, {.op = Op::store_async, .thread = 3}, grid, kernel);
}

// Instructions of the state space shared::cta at a peer's address: undefined on a GPU.
TEST_F(Memory, InstructionsOfTheOwnCtaDoNotReachAPeer) {
  auto* out = static_cast<uint32_t*>(machine_.allocate_global(512, {.name = "out"}));
  auto kernel = [](const auto& access, bool remote) {
    return [=] {
      const std::array<uint32_t, 4> zero{};
      arch::store_shared(kData + 16 * thread_id(), zero);
      fence_proxy_async(ProxyFence::shared_cluster);
      init_barriers(kData + 8192, {256}, true);
      const uint32_t rank = remote ? cluster_rank() ^ 1 : cluster_rank();
      // Of the own CTA there are addresses without a rank, too.
      access(remote ? map_shared(kData, rank) : kData);
      cluster_arrive(false);
      cluster_wait();
    };
  };
  const Grid grid{.ctas = 2, .cluster = 2};
  const auto expect_own = [&](const auto& access) {
    expect_clean(grid, kernel(access, false));
    const Report report = expect_report({ReportKind::out_of_bounds}, grid, kernel(access, true));
    EXPECT_NE(report.message.find("takes addresses of the own CTA (shared::cta)"), std::string::npos)
        << report.message;
  };
  expect_own([](uint32_t data) { arch::load_shared<uint32_t>(data + 4 * thread_id()); });
  expect_own([](uint32_t data) { arch::store_shared(data + 4 * thread_id(), 1u); });
  expect_own([](uint32_t data) { arch::mbarrier_arrive(data + 8192, 2); });
  expect_own([](uint32_t data) {
    arch::mbarrier_arrive(data + 8192);
    arch::mbarrier_arrive(data + 8192);
  });
  expect_own([](uint32_t data) {
    arch::mbarrier_arrive(data + 8192, 1);
    arch::mbarrier_arrive_expect_tx(data + 8192, 0);
  });
  expect_own([](uint32_t data) {
    uint32_t row[1];
    arch::ldmatrix_x1(data + 16 * lane_id(), row);
  });
  expect_own([=](uint32_t data) {
    if (thread_id() != 0 || cluster_rank() != 0) return;
    arch::bulk_store(out, data, 512);
    arch::tma_commit();
    arch::tma_wait_read<0>();
  });
  expect_own([=](uint32_t data) {
    arch::cp_async_16(data + 16 * thread_id(), out);
    arch::cp_async_commit();
    arch::cp_async_wait<0>();
  });
  // Those of the cluster do.
  expect_clean(
      grid, kernel([](uint32_t data) { arch::load_shared_cluster<uint32_t>(data + 4 * thread_id()); }, true));
  expect_clean(grid,
               kernel([](uint32_t data) { arch::store_shared_cluster(data + 4 * thread_id(), 1u); }, true));
}

TEST_F(Memory, AddressesOfRanksThatDoNotExistAreReported) {
  const Grid grid{.threads = 32, .ctas = 2, .cluster = 2};
  expect_report({ReportKind::invalid_argument}, grid, [] { map_shared(kData, 2); });
  expect_report({ReportKind::out_of_bounds}, grid, [] {
    const uint32_t value = 0;
    store_shared(kData | 9u << 24, &value, 4);
  });
}

}  // namespace
}  // namespace tilewright::emulator
