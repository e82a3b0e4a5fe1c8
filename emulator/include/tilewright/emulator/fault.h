// Faults planted at run time: one operation of a kernel is left out or changed, without touching its source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tilewright::emulator {

/// The operations of the machine: what statistics count, what a fault selects, what a report names.
enum class Op : uint8_t {
  load_shared,
  store_shared,
  store_async,
  sync_warp,
  elect_one,
  shuffle,
  ballot,
  named_barrier_sync,
  named_barrier_arrive,
  sync_threads,
  cluster_arrive,
  cluster_wait,
  mbarrier_init,
  mbarrier_invalidate,
  mbarrier_arrive,
  mbarrier_arrive_drop,
  mbarrier_expect_tx,
  mbarrier_complete_tx,
  mbarrier_arrive_expect_tx,
  mbarrier_test_wait,
  mbarrier_wait,
  fence_mbarrier_init,
  fence_proxy_async,
  fence_acq_rel,
  fence_tensor_map,
  tma_load,
  tma_store,
  tma_reduce,
  tma_prefetch,
  bulk_load,
  bulk_store,
  bulk_copy_to_cluster,
  bulk_reduce,
  bulk_reduce_to_cluster,
  reduce_async,
  bulk_commit,
  bulk_wait,
  cp_async,
  cp_async_commit,
  cp_async_wait,
  cp_async_mbarrier_arrive,
  wgmma_fence,
  wgmma_commit,
  wgmma_wait,
  wgmma,
  tcgen05_alloc,
  tcgen05_dealloc,
  tcgen05_relinquish,
  tcgen05_mma,
  tcgen05_cp,
  tcgen05_commit,
  tcgen05_ld,
  tcgen05_st,
  tcgen05_wait_ld,
  tcgen05_wait_st,
  tcgen05_fence_before,
  tcgen05_fence_after,
  setmaxnreg,
  stmatrix,
  ldmatrix,
  mma_sync,
  load_acquire,
  store_release,
  atomic,
  grid_dependency_wait,
  launch_dependents,
  cluster_launch_try_cancel,
  cluster_launch_query,
  count_,
};

/// The stable name of an operation, for example "wgmma_wait".
const char* name_of(Op op);

/// Which executions of one operation to change, and how. All given conditions must hold.
struct FaultSpec {
  enum class Action : uint8_t {
    skip,         // the operation does not happen
    flip_parity,  // mbarrier waits: the other parity
    add,          // `value` is added to the operation's argument (below)
    replace,      // the argument becomes `value`
  };
  enum class Occurrence : uint8_t { all, only_nth, from_nth };

  Op op = Op::count_;
  /// Name given by name_barrier or name_shared to what the operation touches; empty: any.
  std::string place = {};
  /// Name given by name_role to the executing thread; empty: any.
  std::string role = {};
  std::optional<int> stage = std::nullopt;
  int cta_rank = -1;  // -1: every CTA of the cluster
  int thread = -1;    // linear index in the CTA; -1: every thread

  Action action = Action::skip;
  /// Argument that add and replace change: the byte or arrival count of mbarrier operations and bulk copies;
  /// the pending count of waits for groups; the register number; the thread count of named barriers; the
  /// shared address of TMA copies, loads, stores and matrix operations; the multicast mask when `on_mask`;
  /// the start address (in 16-byte units) of a wgmma operand: A, or B when `on_second`; the column of a
  /// tcgen05 operation (mma: of D, or of the A scales when `on_second`); the barrier of tcgen05.commit and of
  /// a paired TMA load when `on_second`.
  int64_t value = 0;
  bool on_mask = false;
  bool on_second = false;
  /// The argument is the shared address of the mbarrier that the operation names (mbarrier operations,
  /// copies, loads, st.async): add 8 makes it act on the neighbour.
  bool on_barrier = false;

  Occurrence occurrence = Occurrence::all;
  uint32_t nth = 0;  // counted from 0, per thread, over the executions that meet the conditions above
};

}  // namespace tilewright::emulator
