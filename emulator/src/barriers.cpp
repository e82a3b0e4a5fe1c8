// Hardware barriers of the block and of the cluster.
#include <algorithm>
#include <bit>

#include "cluster.h"
#include "text.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kNamedBarriers = 16;

uint32_t whole_warps(uint32_t threads) { return (threads + kWarpLanes - 1) / kWarpLanes * kWarpLanes; }

bool check_named(Thread& thread, uint32_t id, uint32_t threads) {
  Cluster& cluster = *thread.cluster;
  if (id >= kNamedBarriers) {
    cluster.report(ReportKind::named_barrier, &thread,
                   text("named barrier ", id, "; the hardware has 0..", kNamedBarriers - 1));
    return false;
  }
  const uint32_t block = cluster.launch.threads_per_cta;
  if (threads == 0 || threads % kWarpLanes != 0 || threads > whole_warps(block)) {
    cluster.report(ReportKind::named_barrier, &thread,
                   text("named barrier ", id, " for ", threads, " threads; the count must be a multiple of ",
                        kWarpLanes, " and at most the ", block, " threads of the block"));
    return false;
  }
  const NamedBarrier& barrier = thread.cta->named[id];
  if (barrier.threads != 0 && barrier.threads != threads) {
    cluster.report(ReportKind::named_barrier, &thread,
                   text("named barrier ", id, " for ", threads,
                        " threads, while the threads that have arrived expect ", barrier.threads));
  }
  return true;
}

// The hardware counts whole warps.
void check_whole_warps(Thread& thread, uint32_t id, const NamedBarrier& barrier) {
  Cluster& cluster = *thread.cluster;
  const uint32_t first = thread.warp->index - thread.index / kWarpLanes;
  for (uint32_t warp = 0; warp < barrier.lanes_arrived.size(); ++warp) {
    const uint32_t lanes = barrier.lanes_arrived[warp];
    if (lanes == 0 || lanes == cluster.warps[first + warp].lanes) continue;
    cluster.report(ReportKind::non_uniform, &thread,
                   text("named barrier ", id, " completes with only lanes ", Hex{lanes}, " of warp ", warp));
    return;
  }
}

void finish_named(Thread& thread, uint32_t id) {
  Cluster& cluster = *thread.cluster;
  NamedBarrier& barrier = thread.cta->named[id];
  check_whole_warps(thread, id, barrier);
  cluster.clocks[barrier.clock][barrier.agent] = ++barrier.phase;
  for (Thread* waiter : barrier.waiters) {
    cluster.acquire(*waiter, barrier.clock);
    cluster.wake(*waiter);
  }
  barrier.waiters.clear();
  std::fill(barrier.lanes_arrived.begin(), barrier.lanes_arrived.end(), 0);
  barrier.threads = barrier.arrived = 0;
}

// An arrival for a phase that might have come before the one in front was complete would have counted for
// that.
void check_order_of_phases(Thread& thread, uint32_t id, const NamedBarrier& barrier) {
  Cluster& cluster = *thread.cluster;
  if (cluster.clock_of(thread)[barrier.agent] >= barrier.phase) return;
  cluster.report(ReportKind::named_barrier, &thread,
                 text("arrives at named barrier ", id, " after ", plural(barrier.phase, "phase"),
                      " of it, the last of which nothing orders before: the arrival might have counted for "
                      "that one"));
}

// Counts the thread's arrival, and with the last one of a warp that has fewer lanes the missing ones, as the
// hardware does; true when it completed the barrier.
bool arrive_named(Thread& thread, uint32_t id, uint32_t threads) {
  Cluster& cluster = *thread.cluster;
  NamedBarrier& barrier = thread.cta->named[id];
  if (!barrier.has_clock) {
    barrier.clock = cluster.clocks.new_clock();
    barrier.has_clock = true;
    barrier.agent = cluster.new_agent(thread.agent);
    cluster.phase_agents.push_back(barrier.agent);
    barrier.lanes_arrived.resize((cluster.launch.threads_per_cta + kWarpLanes - 1) / kWarpLanes);
  }
  check_order_of_phases(thread, id, barrier);
  uint32_t& lanes = barrier.lanes_arrived[thread.index / kWarpLanes];
  if ((lanes >> thread.lane & 1) != 0) {
    cluster.report(ReportKind::named_barrier, &thread,
                   text("arrives at named barrier ", id, " a second time before it has completed"));
  }
  lanes |= 1u << thread.lane;
  barrier.threads = threads;
  ++barrier.arrived;
  if (lanes == thread.warp->lanes)
    barrier.arrived += kWarpLanes - static_cast<uint32_t>(std::popcount(lanes));
  cluster.release(thread, barrier.clock);
  return barrier.arrived >= threads;
}

void sync_named(Thread& thread, uint32_t id, uint32_t threads) {
  Cluster& cluster = *thread.cluster;
  if (arrive_named(thread, id, threads)) {
    finish_named(thread, id);
    cluster.acquire(thread, thread.cta->named[id].clock);
    cluster.pass_barrier(thread, thread.time);
    return;
  }
  thread.wait_value = id;
  thread.cta->named[id].waiters.push_back(&thread);
  cluster.block(thread, Wait::named_barrier);
}

// A block barrier belongs outside of role branches: roles at different places that happen to meet are a
// fault.
void check_block_barrier(Thread& thread, const void* site) {
  Cluster& cluster = *thread.cluster;
  NamedBarrier& barrier = thread.cta->named[0];
  if (thread.cta->live_threads != cluster.launch.threads_per_cta) {
    cluster.report(ReportKind::non_uniform, &thread,
                   text("a block barrier after ", cluster.launch.threads_per_cta - thread.cta->live_threads,
                        " threads of the block have exited"));
  }
  if (barrier.arrived == 0) {
    barrier.first = &thread;
    barrier.first_site = site;
  } else if (barrier.first != nullptr && barrier.first->role != thread.role && barrier.first_site != site) {
    cluster.report(ReportKind::non_uniform, &thread,
                   text("a block barrier inside a role branch: ", cluster.describe(*barrier.first),
                        " waits at another one of another role"));
    barrier.first = nullptr;
  }
}

}  // namespace

void named_barrier_sync(uint32_t id, uint32_t threads) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  const FaultSpec* fault = thread->cluster->begin(*thread, Op::named_barrier_sync);
  if (skipped(fault)) return;
  change(fault, threads);
  if (check_named(*thread, id, threads)) sync_named(*thread, id, threads);
}

void named_barrier_arrive(uint32_t id, uint32_t threads) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  const FaultSpec* fault = thread->cluster->begin(*thread, Op::named_barrier_arrive);
  if (skipped(fault)) return;
  change(fault, threads);
  if (check_named(*thread, id, threads) && arrive_named(*thread, id, threads)) finish_named(*thread, id);
}

void sync_threads() {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  if (skipped(cluster.begin(*thread, Op::sync_threads))) return;
  check_block_barrier(*thread, __builtin_return_address(0));
  sync_named(*thread, 0, whole_warps(cluster.launch.threads_per_cta));
}

void cluster_arrive(bool relaxed) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  if (skipped(cluster.begin(*thread, Op::cluster_arrive))) return;
  if (thread->cluster_arrived || thread->cluster_waits) {
    cluster.report(ReportKind::cluster_barrier, thread,
                   "arrives at the cluster barrier twice without waiting");
    return;
  }
  thread->cluster_arrived = true;
  // A relaxed arrival releases only what an earlier fence did.
  if (!relaxed) {
    cluster.release(*thread, cluster.cluster_barrier.clock);
  } else {
    cluster.join_phases(cluster.cluster_barrier.clock, thread->agent);
    if (thread->fence_clock != kNoAgent)
      cluster.clocks.join(cluster.cluster_barrier.clock, thread->fence_clock);
  }
  if (++cluster.cluster_barrier.arrived == cluster.live_threads) cluster.finish_cluster_barrier();
}

void Cluster::finish_cluster_barrier() {
  clocks.copy(cluster_barrier.released_clock, cluster_barrier.clock);
  cluster_barrier.arrived = 0;
  cluster_barrier.reached =
      now() + (timed() && ctas.size() > 1 ? Timing::clocks(timing_->model().remote_latency) : 0);
  for (Thread& thread : threads) {
    if (!thread.cluster_arrived) continue;
    thread.cluster_arrived = false;
    thread.cluster_waits = thread.wait != Wait::cluster_barrier;
    if (thread.cluster_waits) continue;
    acquire(thread, cluster_barrier.released_clock);
    wake(thread);
  }
}

void cluster_wait() {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  if (skipped(cluster.begin(*thread, Op::cluster_wait))) return;
  if (thread->cluster_waits) {  // the phase has completed meanwhile
    thread->cluster_waits = false;
    cluster.pass_barrier(*thread, cluster.cluster_barrier.reached);
    cluster.acquire(*thread, cluster.cluster_barrier.released_clock);
    return;
  }
  if (!thread->cluster_arrived) {
    cluster.report(ReportKind::cluster_barrier, thread,
                   "waits at the cluster barrier without having arrived");
    return;
  }
  cluster.block(*thread, Wait::cluster_barrier);
}

}  // namespace tilewright::emulator
