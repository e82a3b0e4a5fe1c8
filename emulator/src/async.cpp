// When asynchronous operations execute.
#include <algorithm>

#include "cluster.h"
#include "copies.h"
#include "tensor_memory.h"

namespace tilewright::emulator {
namespace {

constexpr uint64_t kFairDelay = 48;  // machine steps from issue to execution under the fair schedule

}  // namespace

AsyncOperation& Cluster::new_operation(AsyncKind kind, Thread& issuer) {
  if (free_operations_.empty()) {
    all_operations_.push_back(std::make_unique<AsyncOperation>());
    free_operations_.push_back(all_operations_.back().get());
  }
  AsyncOperation& operation = *free_operations_.back();
  free_operations_.pop_back();
  std::vector<std::byte> data = std::move(operation.data);  // keeps its capacity
  operation = AsyncOperation{};
  operation.data = std::move(data);
  operation.kind = kind;
  operation.issuer = &issuer;
  operation.begin = timeline();
  operation.serial = issuer.operations_issued++;
  return operation;
}

bool Cluster::executes_early() {
  return launch.options().schedule == SchedulePolicy::adversarial &&
         (earliness_ == Earliness::early || (earliness_ == Earliness::mixed && launch.random.one_in(2)));
}

void Cluster::submit(AsyncOperation& operation) {
  ++launch.result.statistics.asynchronous_operations;
  operation.due = launch.step + kFairDelay;
  if (timing_ != nullptr) schedule_timed(operation);
  if (!executes_early()) {
    pending_.push_back(&operation);
    note_start(operation);
    return;
  }
  // Right now, but on the scheduler's stack: fibers have small ones.
  immediate_ = &operation;
  operation.issuer->fiber.suspend();
}

void Cluster::drain_wgmma(Thread& thread) {
  AsyncOperation& operation = new_operation(AsyncKind::wgmma, thread);
  operation.warpgroup = thread.group;
  if (timed()) note_event(thread.time, thread.cta);
  immediate_ = &operation;
  thread.fiber.suspend();
}

// All steps at once.
void Cluster::execute(AsyncOperation& operation) {
  if (operation.kind == AsyncKind::wgmma) {
    while (!operation.warpgroup->queue.empty()) execute_wgmma(*operation.warpgroup, false);
  } else if (operation.kind == AsyncKind::tcgen05) {
    while (!tensor_state(*operation.issuer).queue.empty()) {
      execute_tensor_operation(*this, *operation.issuer, false);
    }
  } else {
    while (!execute_step(operation)) {
    }
  }
  free_operations_.push_back(&operation);
}

void Cluster::execute_next(bool nobody_runs) { execute_at(choose_operation(nobody_runs)); }

void Cluster::execute_at(size_t index) {
  AsyncOperation& operation = *pending_[index];
  ++launch.step;
  ++launch.progress;
  if (timing_ != nullptr) note_event(operation.due, operation.issuer->cta);
  pending_.erase(pending_.begin() + static_cast<ptrdiff_t>(index));
  if (execute_step(operation)) {
    free_operations_.push_back(&operation);
  } else {
    operation.due = timing_ != nullptr ? timing_->store_end(operation.due) : launch.step + kFairDelay;
    pending_.push_back(&operation);
  }
}

size_t Cluster::choose_operation(bool nobody_runs) {
  if (launch.options().schedule == SchedulePolicy::fair) return 0;
  if (timing_ != nullptr) return earliest_operation();
  const auto count = static_cast<uint32_t>(pending_.size());
  const uint32_t start = launch.random.below(count);
  if (!nobody_runs || earliness_ != Earliness::late || launch.options().schedule == SchedulePolicy::random)
    return start;
  // As late as legal: what nobody waits for can wait.
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t index = (start + i) % count;
    if (is_needed(*pending_[index])) return index;
  }
  return start;
}

bool Cluster::is_needed(const AsyncOperation& operation) {
  switch (operation.kind) {
    case AsyncKind::wgmma:
      return std::any_of(operation.warpgroup->threads.begin(), operation.warpgroup->threads.end(),
                         [](const Thread* thread) { return thread->wait == Wait::mma_group; });
    case AsyncKind::tcgen05:
      return tensor_queue_is_needed(*operation.issuer);
    case AsyncKind::tensor_store:
    case AsyncKind::bulk_store:
      return operation.issuer->wait == Wait::bulk_group;
    case AsyncKind::cp_async:
      return operation.issuer->wait == Wait::cp_async_group;
    default:
      break;
  }
  for (Cta& cta : ctas) {
    if ((operation.destinations >> cta.rank & 1) == 0) continue;
    const Cta& home = home_of(*this, operation.home_parity, cta);
    const int32_t index = home.barrier_at[operation.barrier / 8];
    if (index >= 0 && !barriers[static_cast<size_t>(index)]->waiters.empty()) return true;
  }
  return false;
}

// One step of the operation; true when it is done.
bool Cluster::execute_step(AsyncOperation& operation) {
  switch (operation.kind) {
    case AsyncKind::wgmma: {
      const uint64_t before = operation.warpgroup->executed;
      if (operation.warpgroup->queue.empty()) return true;
      execute_wgmma(*operation.warpgroup, slices_);
      return operation.warpgroup->executed != before;
    }
    case AsyncKind::tcgen05:
      return execute_tensor_operation(*this, *operation.issuer, slices_);
    case AsyncKind::tensor_load:
      execute_tensor_load(*this, operation);
      return true;
    case AsyncKind::bulk_load:
      execute_bulk_load(*this, operation);
      return true;
    case AsyncKind::bulk_to_cluster:
      execute_bulk_to_cluster(*this, operation);
      return true;
    case AsyncKind::store_async:
      execute_store_async(*this, operation);
      return true;
    case AsyncKind::cp_async:
      execute_cp_async(*this, operation);
      return true;
    case AsyncKind::cp_async_arrive:
      execute_cp_async_arrive(*this, operation);
      return true;
    case AsyncKind::tensor_store:
    case AsyncKind::bulk_store:
      return execute_store_step(*this, operation);
    case AsyncKind::cancel_launch:
      execute_cancel_launch(*this, operation);
      return true;
  }
  return true;
}

}  // namespace tilewright::emulator
