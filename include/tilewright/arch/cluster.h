// The barrier of a thread-block cluster (PTX `barrier.cluster`). One per cluster: arrive once, then
// wait.
#pragma once

#include "tilewright/config.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/hooks.h"
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

/// Arrives; orders this thread's earlier ordinary accesses before what follows the others' wait. Every thread
/// of the cluster that has not exited, whole warps converged. PTX `barrier.cluster.arrive.release.aligned`.
TILEWRIGHT_DEVICE void cluster_arrive() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::cluster_arrive(false);
#else
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}

/// Arrives and orders nothing: enough after fence_mbarrier_init. As cluster_arrive. PTX
/// `barrier.cluster.arrive.relaxed.aligned`.
TILEWRIGHT_DEVICE void cluster_arrive_relaxed() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::cluster_arrive(true);
#else
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}

/// Waits until every thread of the cluster has arrived (or exited). PTX
/// `barrier.cluster.wait.acquire.aligned`. Every thread that arrived.
TILEWRIGHT_DEVICE void cluster_wait() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::cluster_wait();
#else
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/// cluster_arrive and cluster_wait. Every thread of the cluster.
TILEWRIGHT_DEVICE void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
