// Who a thread is, and what it is called in reports.
#include "cluster.h"

namespace tilewright::emulator {

Index3 thread_index() { return current_thread == nullptr ? Index3{} : current_thread->position; }
Index3 block_index() { return current_thread == nullptr ? Index3{} : current_thread->cta->block; }
Index3 block_dim() {
  return current_thread == nullptr ? Index3{} : current_thread->cluster->launch.config.block;
}
Index3 grid_dim() {
  return current_thread == nullptr ? Index3{} : current_thread->cluster->launch.config.grid;
}
Index3 cluster_dim() {
  return current_thread == nullptr ? Index3{} : current_thread->cluster->launch.config.cluster;
}
uint32_t cluster_rank() { return current_thread == nullptr ? 0 : current_thread->cta->rank; }

void name_role(const char* role) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Launch& launch = thread->cluster->launch;
  thread->role = launch.intern(role);
  thread->cluster->note_role(*thread);
  if (Trace* trace = launch.trace(); trace != nullptr && role != nullptr) {
    trace->name_warp(thread->cta->number, thread->index / kWarpLanes, role);
  }
}

}  // namespace tilewright::emulator
