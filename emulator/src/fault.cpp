// What every hook does first: count the operation, let others run, look for a planted fault.
#include "tilewright/emulator/fault.h"

#include <array>

#include "cluster.h"

namespace tilewright::emulator {
namespace {

constexpr auto kOpNames = std::to_array<const char*>({
    "load_shared",
    "store_shared",
    "store_async",
    "sync_warp",
    "elect_one",
    "shuffle",
    "ballot",
    "named_barrier_sync",
    "named_barrier_arrive",
    "sync_threads",
    "cluster_arrive",
    "cluster_wait",
    "mbarrier_init",
    "mbarrier_invalidate",
    "mbarrier_arrive",
    "mbarrier_arrive_drop",
    "mbarrier_expect_tx",
    "mbarrier_complete_tx",
    "mbarrier_arrive_expect_tx",
    "mbarrier_test_wait",
    "mbarrier_wait",
    "fence_mbarrier_init",
    "fence_proxy_async",
    "fence_acq_rel",
    "fence_tensor_map",
    "tma_load",
    "tma_store",
    "tma_reduce",
    "tma_prefetch",
    "bulk_load",
    "bulk_store",
    "bulk_copy_to_cluster",
    "bulk_reduce",
    "bulk_reduce_to_cluster",
    "reduce_async",
    "bulk_commit",
    "bulk_wait",
    "cp_async",
    "cp_async_commit",
    "cp_async_wait",
    "cp_async_mbarrier_arrive",
    "wgmma_fence",
    "wgmma_commit",
    "wgmma_wait",
    "wgmma",
    "tcgen05_alloc",
    "tcgen05_dealloc",
    "tcgen05_relinquish",
    "tcgen05_mma",
    "tcgen05_cp",
    "tcgen05_commit",
    "tcgen05_ld",
    "tcgen05_st",
    "tcgen05_wait_ld",
    "tcgen05_wait_st",
    "tcgen05_fence_before",
    "tcgen05_fence_after",
    "setmaxnreg",
    "stmatrix",
    "ldmatrix",
    "mma_sync",
    "load_acquire",
    "store_release",
    "atomic",
    "grid_dependency_wait",
    "launch_dependents",
    "cluster_launch_try_cancel",
    "cluster_launch_query",
});
static_assert(kOpNames.size() == static_cast<size_t>(Op::count_));

// The name and stage of what lies at a shared address.
struct PlaceName {
  const char* name = nullptr;
  int stage = -1;
};

PlaceName name_at(Cluster& cluster, const Thread& thread, uint32_t address) {
  if (address == kNowhere) return {};
  const uint32_t window = address >> 24;
  if (window > cluster.ctas.size()) return {};
  const SharedPlace place{window == 0 ? thread.cta : &cluster.ctas[window - 1], address & 0xFFFFFF};
  if (const Barrier* barrier = cluster.barrier_at(place); barrier != nullptr)
    return {barrier->name, barrier->stage};
  const NamedRegion* region = cluster.region_at(*place.cta, place.offset);
  return region == nullptr ? PlaceName{} : PlaceName{region->name, region->stage};
}

bool meets(const FaultSpec& fault, const PlaceName& place) {
  if (!fault.place.empty() && (place.name == nullptr || fault.place != place.name)) return false;
  return !fault.stage || *fault.stage == place.stage;
}

bool selects(const FaultSpec& fault, Cluster& cluster, Thread& thread, uint32_t address, uint32_t other) {
  if (fault.cta_rank >= 0 && static_cast<uint32_t>(fault.cta_rank) != thread.cta->rank) return false;
  if (fault.thread >= 0 && static_cast<uint32_t>(fault.thread) != thread.index) return false;
  if (!fault.role.empty() && (thread.role == nullptr || fault.role != thread.role)) return false;
  if (!fault.place.empty() || fault.stage) {
    const bool found = meets(fault, name_at(cluster, thread, address)) ||
                       (other != kNowhere && meets(fault, name_at(cluster, thread, other)));
    if (!found) return false;
  }
  const uint32_t match = thread.fault_matches++;
  switch (fault.occurrence) {
    case FaultSpec::Occurrence::all:
      return true;
    case FaultSpec::Occurrence::only_nth:
      return match == fault.nth;
    case FaultSpec::Occurrence::from_nth:
      return match >= fault.nth;
  }
  return false;
}

bool is_tensor_collective(Op op) {
  switch (op) {
    case Op::tcgen05_alloc:
    case Op::tcgen05_dealloc:
    case Op::tcgen05_relinquish:
    case Op::tcgen05_mma:
    case Op::tcgen05_ld:
    case Op::tcgen05_st:
      return true;
    default:
      return false;
  }
}

}  // namespace

const char* name_of(Op op) { return op < Op::count_ ? kOpNames[static_cast<size_t>(op)] : "none"; }

const FaultSpec* Cluster::begin(Thread& thread, Op op, uint32_t address, uint32_t other) {
  if (launch.stopped) leave(thread);
  thread.accesses = 0;
  thread.frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (timed()) {
    charge(thread, op);
  } else {
    yield_point(thread);
  }
  park(thread, op, address);
  const std::optional<FaultSpec>& planted = launch.options().fault;
  const bool hit = planted && planted->op == op && selects(*planted, *this, thread, address, other);
  const FaultSpec* fault = hit ? &*planted : nullptr;
  if (hit) ++launch.result.statistics.faults_planted;
  // Operations of whole warps and warpgroups are counted where they are carried out.
  const bool collective = op == Op::wgmma || op == Op::stmatrix || op == Op::ldmatrix ||
                          is_tensor_collective(op) || op == Op::mma_sync;
  if (!skipped(fault) && !collective) launch.count(op);
  return fault;
}

}  // namespace tilewright::emulator
