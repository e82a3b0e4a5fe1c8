// red.async, bulk reductions and cache policies: what they compute, and what must be ordered around them.
#include <cstring>

#include "tests/emulator/micro.h"
#include "tilewright/arch/cache_policy.h"
#include "tilewright/arch/reduce_async.h"

namespace tilewright::emulator {
namespace {

using arch::ReduceOp;
using Reduce = Emulator;

constexpr uint32_t kBar = kSharedBase, kSum = kSharedBase + 256, kSource = kSharedBase + 1024;

// Every thread of both CTAs adds 1 to one word of each CTA.
auto count_everybody(uint32_t* seen) {
  return [seen] {
    const uint32_t zero = 0, one = 1;
    if (thread_id() == 0) store_shared(kSum, &zero, 4);
    name_barrier(kBar, "full", -1);
    name_shared(kSum, 4, "sum", -1);
    init_barriers(kBar, {1}, true);
    if (thread_id() == 0) mbarrier_arrive_expect_tx(kBar, 2 * 64 * 4);
    for (uint32_t peer = 0; peer < 2; ++peer) {
      arch::reduce_async<ReduceOp::add>(map_shared(kSum, peer), one, map_shared(kBar, peer));
    }
    mbarrier_wait_parity(kBar, 0);
    uint32_t sum = 0;
    load_shared(kSum, &sum, 4);
    seen[64 * cluster_rank() + thread_id()] = sum;
    cluster_arrive(false);
    cluster_wait();
  };
}

const Grid kPair{.threads = 64, .ctas = 2, .cluster = 2};

TEST_F(Reduce, RedAsyncOfManyThreadsNeedsNoOrderAmongThem) {
  uint32_t seen[128];
  const auto kernel = count_everybody(seen);
  expect_clean(kPair, kernel, [&] {
    for (const uint32_t sum : seen) ASSERT_EQ(sum, 128u);
  });
  EXPECT_EQ(machine_.last_result().statistics.count(Op::reduce_async), 2u * 64 * 2);
  const Report early = expect_fault({ReportKind::read_before_ready, ReportKind::overwrite_in_use},
                                    {.op = Op::mbarrier_wait, .thread = 9}, kPair, kernel);
  EXPECT_EQ(early.place, "sum");
  expect_fault({ReportKind::deadlock}, {.op = Op::reduce_async, .thread = 9}, kPair, kernel);
  using Action = FaultSpec::Action;
  expect_fault({ReportKind::byte_count, ReportKind::over_arrival, ReportKind::read_before_ready,
                ReportKind::overwrite_in_use},
               {.op = Op::mbarrier_arrive_expect_tx, .action = Action::add, .value = -4}, kPair, kernel);
  expect_fault({ReportKind::invalid_argument},
               {.op = Op::reduce_async, .thread = 9, .action = Action::add, .value = 2}, kPair, kernel);
  // What is added to must have been written, and known to be before the addition.
  expect_fault({ReportKind::uninitialised_read}, {.op = Op::store_shared}, kPair, kernel);
}

TEST_F(Reduce, RedAsyncIsOrderedAfterWhatMadeTheSum) {
  // The zero is written after the cluster barrier: a peer may add before.
  auto kernel = [] {
    init_barriers(kBar, {1}, true);
    const uint32_t zero = 0, one = 1;
    if (thread_id() == 0) {
      store_shared(kSum, &zero, 4);
      mbarrier_arrive_expect_tx(kBar, 4);
    }
    sync_threads();
    if (thread_id() == 0) {
      const uint32_t peer = cluster_rank() ^ 1;
      arch::reduce_async<ReduceOp::add>(map_shared(kSum, peer), one, map_shared(kBar, peer));
    }
    mbarrier_wait_parity(kBar, 0);
    cluster_arrive(false);
    cluster_wait();
  };
  expect_report({ReportKind::uninitialised_read, ReportKind::read_before_ready, ReportKind::overwrite_in_use,
                 ReportKind::unordered_writes},
                {.threads = 32, .ctas = 2, .cluster = 2}, kernel);
}

TEST_F(Reduce, RedAsyncCompletesBesideItsDestination) {
  expect_report({ReportKind::invalid_argument}, {.threads = 32, .ctas = 2, .cluster = 2}, [] {
    init_barriers(kBar, {1}, true);
    if (thread_id() == 0) {
      arch::reduce_async<ReduceOp::add>(map_shared(kSum, cluster_rank() ^ 1), 1u,
                                        map_shared(kBar, cluster_rank()));
    }
    cluster_arrive(false);
    cluster_wait();
  });
}

// Each CTA adds its 32 words to those of its peer.
auto add_to_peer(uint32_t* seen) {
  return [seen] {
    const uint32_t word = thread_id(), zero = 0;
    store_shared(kSource + 4 * thread_id(), &word, 4);
    store_shared(kSum + 4 * thread_id(), &zero, 4);
    name_shared(kSum, 128, "sum", -1);
    name_shared(kSource, 128, "source", -1);
    fence_proxy_async(ProxyFence::shared_cta);
    init_barriers(kBar, {1}, true);
    if (thread_id() == 0) {
      mbarrier_arrive_expect_tx(kBar, 128);
      const uint32_t peer = cluster_rank() ^ 1;
      arch::bulk_reduce_to_cluster<ReduceOp::add, uint32_t>(map_shared(kSum, peer), kSource, 128,
                                                            map_shared(kBar, peer));
    }
    mbarrier_wait_parity(kBar, 0);
    uint32_t sum = 0;
    load_shared(kSum + 4 * thread_id(), &sum, 4);
    seen[32 * cluster_rank() + thread_id()] = sum;
    cluster_arrive(false);
    cluster_wait();
  };
}

TEST_F(Reduce, BulkReductionToAPeer) {
  const Grid grid{.threads = 32, .ctas = 2, .cluster = 2};
  uint32_t seen[64];
  const auto kernel = add_to_peer(seen);
  expect_clean(grid, kernel, [&] {
    for (uint32_t i = 0; i < 64; ++i) ASSERT_EQ(seen[i], i % 32);
  });
  // Both what is added and what it is added to go through the async proxy.
  const Report unfenced =
      expect_fault({ReportKind::missing_proxy_fence}, {.op = Op::fence_proxy_async}, grid, kernel);
  EXPECT_EQ(unfenced.place, "sum");
  expect_fault({ReportKind::read_before_ready, ReportKind::overwrite_in_use},
               {.op = Op::mbarrier_wait, .thread = 9}, grid, kernel);
  expect_fault({ReportKind::deadlock}, {.op = Op::bulk_reduce_to_cluster}, grid, kernel);
  using Action = FaultSpec::Action;
  expect_fault({ReportKind::misaligned},
               {.op = Op::bulk_reduce_to_cluster, .action = Action::add, .value = -4}, grid, kernel);
  expect_fault({ReportKind::deadlock},
               {.op = Op::bulk_reduce_to_cluster, .action = Action::add, .value = -16}, grid, kernel);
  expect_fault({ReportKind::uninitialised_read},
               {.op = Op::bulk_reduce_to_cluster, .action = Action::add, .value = 16}, grid, kernel);
}

TEST_F(Reduce, BulkReductionsIntoGlobalMemory) {
  alignas(16) float sums[32];
  alignas(16) uint32_t bits[4];
  machine_.register_global(sums, sizeof sums, {.name = "sums"});
  machine_.register_global(bits, sizeof bits, {.name = "bits"});
  const auto kernel = [&] {
    const float word = static_cast<float>(thread_id()) + 0.5f;
    store_shared(kSource + 4 * thread_id(), &word, 4);
    if (thread_id() < 4) store_shared(kSource + 128 + 4 * thread_id(), &word, 4);
    name_shared(kSource, 144, "source", -1);
    fence_proxy_async(ProxyFence::shared_cta);
    sync_warp(~0u);
    if (thread_id() == 0) {
      arch::bulk_reduce<ReduceOp::add>(sums, kSource, 128);
      arch::bulk_reduce<ReduceOp::bit_or>(bits, kSource, 16);
      bulk_commit();
      bulk_wait(0, true);
    }
  };
  for (const MachineOptions& options : schedules()) {
    for (float& sum : sums) sum = 1;
    std::memset(bits, 0, sizeof bits);
    // Four blocks reduce into the same memory.
    const LaunchResult result = run(options, {.threads = 32, .ctas = 4}, kernel);
    ASSERT_TRUE(result.reports.empty()) << result.reports[0].message;
    for (uint32_t i = 0; i < 32; ++i) ASSERT_EQ(sums[i], 3.0f + 4 * i);
    ASSERT_EQ(bits[1], 0x3FC00000u);
  }
  const Grid grid{.threads = 32};
  const Report unfenced =
      expect_fault({ReportKind::missing_proxy_fence}, {.op = Op::fence_proxy_async}, grid, kernel);
  EXPECT_EQ(unfenced.place, "source");
  expect_fault({ReportKind::exit_with_pending_work}, {.op = Op::bulk_wait}, grid, kernel);
  const Report outside =
      expect_fault({ReportKind::out_of_bounds},
                   {.op = Op::bulk_reduce, .action = FaultSpec::Action::add, .value = 16}, grid, kernel);
  EXPECT_EQ(outside.place, "sums");
  machine_.unregister_global(sums);
  machine_.unregister_global(bits);
}

TEST_F(Reduce, BulkReductionIntoMemoryThatNobodyWrote) {
  alignas(16) uint32_t sums[4] = {};
  machine_.register_global(sums, sizeof sums, {.name = "sums", .initialised = false});
  const LaunchResult result = run({.threads = 1}, [&] {
    const uint32_t words[4] = {};
    store_shared(kSource, words, 16);
    fence_proxy_async(ProxyFence::shared_cta);
    arch::bulk_reduce<ReduceOp::add>(sums, kSource, 16);
    bulk_commit();
    bulk_wait(0, false);
  });
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.reports[0].kind, ReportKind::uninitialised_read) << result.reports[0].message;
  EXPECT_EQ(result.reports[0].place, "sums");
  machine_.unregister_global(sums);
}

// Each operation on a pair of values.
template <ReduceOp Op, class T>
T reduced(T memory, T value) {
  T out = memory;
  Machine machine;
  struct Closure {
    T value;
    T* out;
  } closure{value, &out};
  alignas(16) T buffer[16 / sizeof(T)] = {};
  buffer[0] = memory;
  closure.out = buffer;
  const LaunchConfig config{.grid = {1, 1, 1}, .block = {1, 1, 1}, .shared_bytes = 1024};
  const auto body = [](void* argument) {
    const auto& in = *static_cast<Closure*>(argument);
    T values[16 / sizeof(T)] = {};
    values[0] = in.value;
    store_shared(kSharedBase, values, 16);
    fence_proxy_async(ProxyFence::shared_cta);
    arch::bulk_reduce<Op>(in.out, kSharedBase, 16);
    bulk_commit();
    bulk_wait(0, false);
  };
  const auto result = machine.launch(config, body, &closure);
  EXPECT_TRUE(result.has_value() && result->reports.empty());
  return buffer[0];
}

TEST_F(Reduce, EveryOperationHasItsArithmetic) {
  EXPECT_EQ((reduced<ReduceOp::add, uint32_t>(0xFFFFFFFF, 2)), 1u);
  EXPECT_EQ((reduced<ReduceOp::add, int64_t>(-5, 3)), -2);
  EXPECT_EQ((reduced<ReduceOp::add, double>(0.5, 0.25)), 0.75);
  EXPECT_EQ(float(reduced<ReduceOp::add, bf16>(bf16(1.0f), bf16(0x1p-9f))), 1.0f);
  EXPECT_EQ((reduced<ReduceOp::min, int32_t>(-5, 3)), -5);
  EXPECT_EQ((reduced<ReduceOp::min, uint64_t>(uint64_t{1} << 40, 3)), 3u);
  EXPECT_EQ(float(reduced<ReduceOp::max, f16>(f16(-2.0f), f16(0.5f))), 0.5f);
  EXPECT_EQ((reduced<ReduceOp::inc, uint32_t>(4, 5)), 5u);
  EXPECT_EQ((reduced<ReduceOp::inc, uint32_t>(5, 5)), 0u);
  EXPECT_EQ((reduced<ReduceOp::dec, uint32_t>(0, 5)), 5u);
  EXPECT_EQ((reduced<ReduceOp::dec, uint32_t>(3, 5)), 2u);
  EXPECT_EQ((reduced<ReduceOp::bit_and, uint32_t>(12, 10)), 8u);
  EXPECT_EQ((reduced<ReduceOp::bit_or, uint64_t>(12, 10)), 14u);
  EXPECT_EQ((reduced<ReduceOp::bit_xor, int32_t>(12, 10)), 6);
}

TEST_F(Reduce, PoliciesHaveAFraction) {
  expect_clean({.threads = 32}, [] {
    arch::make_evict_first_policy(0.0625f);
    arch::make_evict_last_policy();
    arch::make_evict_normal_policy(1);
  });
  expect_report({ReportKind::invalid_argument}, {.threads = 32}, [] { arch::make_evict_last_policy(0); });
  expect_report({ReportKind::invalid_argument}, {.threads = 32}, [] { arch::make_evict_first_policy(1.5f); });
}

}  // namespace
}  // namespace tilewright::emulator
