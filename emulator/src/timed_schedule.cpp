// SchedulePolicy::timed: the next event is the one with the earliest modelled time.
#include <algorithm>

#include "cluster.h"
#include "tensor_memory.h"

namespace tilewright::emulator {
namespace {

// Operations that other threads or shared units can tell the order of: their threads take them in the order
// of time. Others run ahead until the next of these.
bool is_ordered(Op op) {
  switch (op) {
    case Op::load_shared:
    case Op::store_shared:
    case Op::sync_warp:
    case Op::elect_one:
    case Op::shuffle:
    case Op::ballot:
    case Op::mbarrier_init:
    case Op::fence_mbarrier_init:
    case Op::fence_proxy_async:
    case Op::fence_acq_rel:
    case Op::fence_tensor_map:
    case Op::tma_prefetch:
    case Op::bulk_commit:
    case Op::cp_async_commit:
    case Op::wgmma_fence:
    case Op::wgmma_commit:
    case Op::tcgen05_fence_before:
    case Op::tcgen05_fence_after:
    case Op::stmatrix:
    case Op::ldmatrix:
    case Op::mma_sync:
      return false;
    default:
      return true;
  }
}

}  // namespace

void Cluster::start_clock(Ticks start) {
  start_time_ = event_time_ = end_time_ = start;
  if (launch.options().schedule != SchedulePolicy::timed || explorer() != nullptr) return;
  timing_ =
      std::make_unique<Timing>(clock_model(launch.options().chip), ctas.size(), launch.config.ctas_per_sm);
}

void Cluster::queue_timed(const Thread& thread) {
  ready_queue_.push_back({thread.time, thread.agent});
  std::push_heap(ready_queue_.begin(), ready_queue_.end(), later);
}

Thread* Cluster::next_timed() {
  std::pop_heap(ready_queue_.begin(), ready_queue_.end(), later);
  Thread* thread = &threads[ready_queue_.back().agent];
  ready_queue_.pop_back();
  return thread;
}

size_t Cluster::earliest_operation() const {
  const auto earliest = std::min_element(pending_.begin(), pending_.end(),
                                         [](const auto* a, const auto* b) { return a->due < b->due; });
  return static_cast<size_t>(earliest - pending_.begin());
}

bool Cluster::operation_is_next() const {
  return ready_queue_.empty() || pending_[earliest_operation()]->due <= ready_queue_.front().time;
}

void Cluster::schedule_timed(AsyncOperation& operation) {
  const Interval interval = timing_->schedule(operation, operation.issuer->time);
  operation.begin = interval.begin;
  operation.due = interval.end;
  if (operation.kind == AsyncKind::wgmma) {
    operation.warpgroup->queue.back().begin = interval.begin;
    operation.warpgroup->last_due = interval.end;
  } else if (operation.kind == AsyncKind::tcgen05) {
    tensor_state(*operation.issuer).queue.back().begin = interval.begin;
  } else if (operation.kind == AsyncKind::cp_async) {
    operation.issuer->copies_due = std::max(operation.issuer->copies_due, interval.end);
  }
}

void Cluster::note_event(Ticks time, const Cta* cta) {
  event_time_ = time;
  event_cta_ = cta;
  end_time_ = std::max(end_time_, time);
}

Ticks Cluster::known_at(const Cta& cta) const {
  if (!timed()) return 0;
  const Cta* from = current_thread != nullptr ? current_thread->cta : event_cta_;
  return now() + (from == &cta ? 0 : Timing::clocks(timing_->model().remote_latency));
}

void Cluster::pass_barrier(Thread& thread, Ticks reached) {
  if (!timed()) return;
  thread.time = std::max(thread.time, reached) + Timing::clocks(timing_->model().barrier_latency);
}

// What an mbarrier's waiters wait for has already moved their time on.
Ticks Cluster::wake_time(const Thread& thread) const {
  if (!timed()) return launch.step;
  const Ticks latency = Timing::clocks(timing_->model().barrier_latency);
  switch (thread.wait) {
    case Wait::mbarrier:
      return thread.time;
    case Wait::cluster_barrier:
      return std::max(thread.time, cluster_barrier.reached) + latency;
    case Wait::named_barrier:
    case Wait::poll:
      return std::max(thread.time, now()) + latency;
    default:
      return std::max(thread.time, now());
  }
}

void Cluster::charge(Thread& thread, Op op) {
  timing_->issue(thread);
  if (is_ordered(op)) take_turn(thread);
}

void Cluster::charge_shared(Thread& thread, uint32_t bytes) {
  if (!timed()) return;
  if (Timing::leads(thread, bytes)) take_turn(thread);
  timing_->access(thread, Timing::Memory::shared, bytes);
}

// Others go first that are behind.
void Cluster::take_turn(Thread& thread) {
  const bool behind = !ready_queue_.empty() && ready_queue_.front().time < thread.time;
  if (!behind && (pending_.empty() || pending_[earliest_operation()]->due > thread.time)) return;
  make_ready(thread);
  thread.fiber.suspend();
  if (launch.stopped) leave(thread);
}

}  // namespace tilewright::emulator
