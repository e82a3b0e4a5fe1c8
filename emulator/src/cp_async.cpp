// cp.async: copies of single threads, completed in groups.
#include <algorithm>
#include <cstring>

#include "copies.h"
#include "text.h"

namespace tilewright::emulator {

void execute_cp_async(Cluster& cluster, AsyncOperation& operation) {
  Thread& issuer = *operation.issuer;
  std::byte* destination = operation.cta->window + operation.shared;
  std::memcpy(destination, operation.global, operation.source_bytes);
  std::memset(destination + operation.source_bytes, 0, operation.bytes - operation.source_bytes);
  if (Trace* trace = cluster.launch.trace(); trace != nullptr) {
    trace->add_to_group({"cp.async",
                         Trace::Kind::copy,
                         issuer.cta->number,
                         Trace::Unit::copies,
                         issuer.index / kWarpLanes,
                         operation.begin,
                         cluster.timeline(),
                         cluster.place_at(*operation.cta, operation.shared),
                         {},
                         operation.bytes},
                        operation.group);
  }
  --issuer.copies.groups[operation.group - 1].unfinished;
  if (issuer.wait == Wait::cp_async_group && issuer.copies.done(issuer.wait_value, false))
    cluster.wake(issuer);
}

void execute_cp_async_arrive(Cluster& cluster, AsyncOperation& operation) {
  cluster.finish_copies(*operation.issuer, operation.group);
  cluster.arrive(*operation.issuer, *operation.arrive_on, 1, operation.arrive_clock);
  cluster.clocks.free_clock(operation.arrive_clock);
}

// Executes what is left of the thread's copies up to a group.
void Cluster::finish_copies(const Thread& thread, uint32_t group) {
  for (size_t i = 0; i < pending_.size();) {
    AsyncOperation& operation = *pending_[i];
    if (operation.kind == AsyncKind::cp_async && operation.issuer == &thread && operation.group <= group) {
      pending_.erase(pending_.begin() + static_cast<ptrdiff_t>(i));
      execute_cp_async(*this, operation);
      free_operations_.push_back(&operation);
    } else {
      ++i;
    }
  }
}

// ---- hooks

void cp_async(uint32_t dst, const void* src, uint32_t bytes, uint32_t src_bytes) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::cp_async, dst);
  if (skipped(fault)) return;
  change(fault, dst);
  if ((bytes != 4 && bytes != 8 && bytes != 16) || src_bytes > bytes) {
    cluster.report(ReportKind::invalid_argument, thread,
                   text("cp.async of ", bytes, " bytes from ", src_bytes, "; the size must be 4, 8 or 16"));
    return;
  }
  const SharedPlace place = cluster.locate(*thread, dst, Space::cta, "cp.async");
  if (place.cta == nullptr) return;
  if (place.offset % bytes != 0 || (src_bytes != 0 && reinterpret_cast<uintptr_t>(src) % bytes != 0)) {
    cluster.report_at(ReportKind::misaligned, *thread, place,
                      text("cp.async of ", bytes, " bytes to ", cluster.describe(*place.cta, place.offset),
                           ": both addresses must be multiples of the size"));
    return;
  }
  GroupedOperations& copies = thread->copies;
  if (copies.agent == kNoAgent) copies.agent = cluster.new_agent(thread->agent);
  GroupedOperations::Group& group = copies.open_group();
  const Actor actor{cluster.clock_of(*thread),
                    {copies.agent, copies.last_group(), cluster.id(), AccessKind::cp_async}};
  if (!cluster.check_shared(*thread, place, bytes, true, actor, "cp.async")) return;
  if (src_bytes != 0 && !cluster.check_global(*thread, src, src_bytes, false, actor, "cp.async")) return;
  AsyncOperation& operation = cluster.new_operation(AsyncKind::cp_async, *thread);
  operation.cta = place.cta;
  operation.shared = place.offset;
  operation.global = static_cast<std::byte*>(const_cast<void*>(src));
  operation.bytes = bytes;
  operation.source_bytes = src_bytes;
  operation.group = copies.last_group();
  ++group.unfinished;
  cluster.submit(operation);
}

void cp_async_commit() {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  if (skipped(thread->cluster->begin(*thread, Op::cp_async_commit))) return;
  thread->copies.commit();
}

void cp_async_wait(int pending) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::cp_async_wait);
  if (skipped(fault)) return;
  change(fault, pending);
  GroupedOperations& copies = thread->copies;
  const uint32_t target = copies.target(pending);
  if (target == 0) return;
  if (!copies.done(target, false)) {
    thread->wait_value = target;
    cluster.block(*thread, Wait::cp_async_group);
  }
  copies.waited = std::max(copies.waited, target);
  copies.covered = std::max(copies.covered, target);
  while (copies.wait_epochs.size() < target) copies.wait_epochs.push_back(cluster.epoch_of(*thread));
  if (copies.agent != kNoAgent) cluster.learn(*thread, copies.agent, target);
}

void cp_async_mbarrier_arrive(uint32_t bar, bool no_increment) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::cp_async_mbarrier_arrive, bar);
  if (skipped(fault)) return;
  change_barrier(fault, bar);
  Barrier* barrier = cluster.usable_barrier(*thread, bar, "cp.async.mbarrier.arrive", true, Space::cta);
  if (barrier == nullptr) return;
  if (!no_increment) ++barrier->pending;
  GroupedOperations& copies = thread->copies;
  copies.open = false;  // what was issued before completes with this arrival
  AsyncOperation& operation = cluster.new_operation(AsyncKind::cp_async_arrive, *thread);
  operation.group = copies.last_group();
  operation.arrive_on = barrier;
  operation.barrier = barrier->offset;
  operation.destinations = 1u << barrier->cta->rank;
  operation.arrive_clock = cluster.clocks.new_clock();
  cluster.clocks.copy(operation.arrive_clock, thread->agent);
  copies.covered = operation.group;
  if (copies.agent != kNoAgent) cluster.clocks[operation.arrive_clock][copies.agent] = operation.group;
  cluster.tick(*thread);
  cluster.submit(operation);
}

}  // namespace tilewright::emulator
