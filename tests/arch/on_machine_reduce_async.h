// Asynchronous reductions and cache policies on whichever machine.
#include "tilewright/arch/cache_policy.h"
#include "tilewright/arch/reduce_async.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace {

using arch::ReduceOp;

constexpr uint32_t kSumOffset = 0, kCounterOffset = 512, kSourceOffset = 1024, kHalvesOffset = 1536,
                   kReduceBarOffset = 2048;

/// Each block adds its lanes to the words of both blocks, by red.async and by a bulk reduction, and counts
/// its lanes there; then all of it goes to global memory: words added, counters by maximum.
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(32)
    reduce_in_cluster(uint32_t* sums, int32_t* greatest, f16* halves) {
  const uint32_t base = arch::shared_address(arch::dynamic_shared_memory()), bar = base + kReduceBarOffset;
  const uint32_t lane = arch::lane_index(), rank = arch::cluster_rank();
  arch::store_shared<uint32_t>(base + kSumOffset + 4 * lane, 100 * rank);
  arch::store_shared<uint32_t>(base + kSourceOffset + 4 * lane, 1000);
  if (lane < 4) arch::store_shared<uint32_t>(base + kCounterOffset + 4 * lane, 0);
  arch::fence_proxy_async_shared();
  if (lane == 0) {
    arch::mbarrier_init(bar, 1);
    arch::fence_mbarrier_init();
  }
  arch::cluster_sync();
  // From each of two blocks: 32 lanes of 2 x 4 bytes, and 128 bytes.
  if (lane == 0) arch::mbarrier_arrive_expect_tx(bar, 2 * (32 * 8 + 128));
  for (uint32_t peer = 0; peer < 2; ++peer) {
    const uint32_t there = arch::map_shared(base, peer), done = arch::map_shared(bar, peer);
    arch::reduce_async<ReduceOp::add>(there + kSumOffset + 4 * lane, lane, done);
    arch::reduce_async<ReduceOp::inc>(there + kCounterOffset, uint32_t{0xFFFFFFFF}, done);
    if (lane == 0) {
      arch::bulk_reduce_to_cluster<ReduceOp::add, uint32_t>(there + kSumOffset, base + kSourceOffset, 128,
                                                            done);
    }
  }
  arch::mbarrier_wait_parity_cluster(bar, 0);

  const uint32_t counted = arch::load_shared<uint32_t>(base + kCounterOffset);
  arch::sync_warp();
  if (lane < 4) arch::store_shared<uint32_t>(base + kCounterOffset + 4 * lane, counted + rank);
  arch::store_shared(base + kHalvesOffset + 2 * lane, f16(1.5f));
  arch::fence_proxy_async_shared();
  arch::sync_warp();
  if (lane == 0) {
    arch::bulk_reduce<ReduceOp::add>(sums, base + kSumOffset, 128);
    arch::bulk_reduce<ReduceOp::max>(greatest, base + kCounterOffset, 16);
    arch::bulk_reduce<ReduceOp::add>(halves, base + kHalvesOffset, 64);
    arch::tma_commit();
    arch::tma_wait<0>();
  }
  arch::cluster_sync();
}

TEST_F(OnMachine, ReducesWithinAClusterAndIntoGlobalMemory) {
  Buffer<uint32_t> sums(32);
  Buffer<int32_t> greatest(4);
  Buffer<f16> halves(32);
  for (uint32_t i = 0; i < 32; ++i) {
    sums[i] = 7;
    halves[i] = f16(0.25f);
  }
  greatest[3] = 1000;
  run(reduce_in_cluster, 2, 32, kReduceBarOffset + 8, 2, sums.data(), greatest.data(), halves.data());
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(sums[i], 7 + (2 * i + 2000) + (100 + 2 * i + 2000)) << i;
    EXPECT_EQ(float(halves[i]), 3.25f) << i;
  }
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(greatest[i], 65) << i;
  EXPECT_EQ(greatest[3], 1000);
}

TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(32) make_policies(arch::CachePolicy* out, float fraction) {
  out[0] = arch::make_evict_first_policy();
  out[1] = arch::make_evict_last_policy();
  out[2] = arch::make_evict_last_policy(fraction);
  out[3] = arch::make_evict_normal_policy(0.5f);
}

TEST_F(OnMachine, PoliciesHaveTheirEncoding) {
  Buffer<arch::CachePolicy> policies(4);
  run(make_policies, 1, 1, 0, 1, policies.data(), 0.25f);
  EXPECT_EQ(policies[0], arch::CachePolicy::evict_first);
  EXPECT_EQ(policies[1], arch::CachePolicy::evict_last);
  EXPECT_EQ(static_cast<uint64_t>(policies[2]), 0x1430000000000000u);
  EXPECT_EQ(static_cast<uint64_t>(policies[3]), 0x1670000000000000u);
}

}  // namespace
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
