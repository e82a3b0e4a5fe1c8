// Fences, and the grid dependency.
#include "cluster.h"

namespace tilewright::emulator {
namespace {

// What a later relaxed arrival or relaxed store of the thread publishes.
void remember(Thread& thread) {
  Cluster& cluster = *thread.cluster;
  if (thread.fence_clock == kNoAgent) thread.fence_clock = cluster.clocks.new_clock();
  cluster.clocks.copy(thread.fence_clock, thread.agent);
}

}  // namespace

void fence_mbarrier_init() {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  if (skipped(cluster.begin(*thread, Op::fence_mbarrier_init))) return;
  thread->init_fences.push_back(cluster.epoch_of(*thread));
  cluster.tick(*thread);
  // Includes the fence itself.
  remember(*thread);
  cluster.tick(*thread);
}

void fence_proxy_async(ProxyFence space) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  if (skipped(cluster.begin(*thread, Op::fence_proxy_async))) return;
  cluster.fence_proxy(*thread, space);
}

void fence_acq_rel(Scope scope) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  if (skipped(cluster.begin(*thread, Op::fence_acq_rel))) return;
  if (scope != Scope::cta) cluster.widen_knowledge(*thread);
  remember(*thread);
  cluster.tick(*thread);
}

void fence_tensor_map_acquire(const TensorMap* map) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  if (skipped(thread->cluster->begin(*thread, Op::fence_tensor_map))) return;
  thread->cluster->acquire_map(*thread, map);
}

void fence_tensor_map_release() {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  if (skipped(cluster.begin(*thread, Op::fence_tensor_map))) return;
  thread->map_releases.push_back(cluster.epoch_of(*thread));
  cluster.tick(*thread);
}

void grid_dependency_wait() {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  if (skipped(cluster.begin(*thread, Op::grid_dependency_wait))) return;
  if (cluster.dependency_agent == kNoAgent) cluster.dependency_agent = cluster.new_agent(0);
  cluster.learn(*thread, cluster.dependency_agent, 1);
}

void launch_dependents() {
  Thread* thread = current_thread;
  if (thread != nullptr) thread->cluster->begin(*thread, Op::launch_dependents);
}

}  // namespace tilewright::emulator
