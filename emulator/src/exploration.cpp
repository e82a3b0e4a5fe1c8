// The scheduler of an exploration: which steps there are, and carrying one out.
#include <algorithm>
#include <set>
#include <utility>

#include "cluster.h"
#include "copies.h"
#include "explorer.h"
#include "tensor_memory.h"
#include "tilewright/emulator/explore.h"

namespace tilewright::emulator {
namespace {

constexpr Explorer::Key kGroupKeys = Explorer::Key{1} << 63;

// The threads that make steps together: those of a warp, or those of a warpgroup that have one role. Roles
// are told apart by their names, which are the same in every execution.
Explorer::Key process_of(const Thread& thread, bool each_warp) {
  if (each_warp) return kGroupKeys | Explorer::Key{thread.cta->number} << 8 | thread.index / kWarpLanes;
  uint32_t role = 0;
  for (const char* c = thread.role; c != nullptr && *c != 0; ++c)
    role = 31 * role + static_cast<unsigned char>(*c);
  return kGroupKeys | Explorer::Key{role & 0xFFFF} << 40 | Explorer::Key{thread.cta->number} << 8 |
         thread.group->index;
}
// Operations are counted per issuing thread, so that their keys do not depend on the order of others.
Explorer::Key key_of(const AsyncOperation& operation) {
  const Thread& issuer = *operation.issuer;
  return (Explorer::Key{issuer.cta->number} * 1024 + issuer.index) << 20 | operation.serial;
}
Explorer::Key key_of(const Cta& cta, uint32_t barrier) { return Explorer::Key{cta.number} << 32 | barrier; }

bool is_barrier_op(Op op) {
  switch (op) {
    case Op::mbarrier_arrive:
    case Op::mbarrier_arrive_drop:
    case Op::mbarrier_expect_tx:
    case Op::mbarrier_complete_tx:
    case Op::mbarrier_arrive_expect_tx:
    case Op::mbarrier_wait:
      return true;
    default:
      return false;
  }
}

// The mbarriers that the execution of an operation touches.
std::vector<Explorer::Touch> touched_by(Cluster& cluster, const AsyncOperation& operation) {
  std::vector<Explorer::Touch> touches;
  if (operation.kind == AsyncKind::tcgen05) {
    for (const Barrier* barrier : tensor_state(*operation.issuer).queue.front().barriers) {
      touches.push_back({key_of(*barrier->cta, barrier->offset), false, barrier->phase});
    }
    return touches;
  }
  for (Cta& cta : cluster.ctas) {
    if ((operation.destinations >> cta.rank & 1) == 0) continue;
    Cta& home = home_of(cluster, operation.home_parity, cta);
    const Barrier* barrier = cluster.barrier_at({&home, operation.barrier});
    touches.push_back({key_of(home, operation.barrier), false, barrier != nullptr ? barrier->phase : 0});
  }
  return touches;
}

// Whether the two execute in the order of their issue: the wgmmas of a warpgroup, the tcgen05 operations of a
// thread.
bool in_order(const AsyncOperation& a, const AsyncOperation& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == AsyncKind::wgmma) return a.warpgroup == b.warpgroup;
  return a.kind == AsyncKind::tcgen05 && a.issuer == b.issuer;
}

}  // namespace

Explorer* Cluster::explorer() const { return launch.options().explorer; }

// Suspends the thread before an operation on an mbarrier, until the exploration wants it to go on.
void Cluster::park(Thread& thread, Op op, uint32_t address) {
  if (explorer() == nullptr || !is_barrier_op(op)) return;
  const SharedPlace place = locate(thread, address);
  if (place.cta == nullptr) return;
  thread.parked = {op, place.cta, place.offset};
  parked_.push_back(&thread);
  thread.fiber.suspend();
  if (launch.stopped) leave(thread);
}

bool Cluster::can_go_on(const Thread& thread) {
  if (thread.parked.op != Op::mbarrier_wait) return true;
  const Barrier* barrier = barrier_at({thread.parked.cta, thread.parked.offset});
  return barrier == nullptr || !barrier->live || barrier->parity() != (thread.parked_parity & 1);
}

Explorer::Key Cluster::process_of(const Thread& thread) const {
  return emulator::process_of(thread, explorer()->each_warp());
}

// The threads of a process that make its next step: those at one operation, arrivals before waits.
std::vector<Thread*> Cluster::next_of(Explorer::Key process) {
  std::vector<Thread*> step;
  const auto before = [](const Thread& a, const Thread& b) {
    const bool waits_a = a.parked.op == Op::mbarrier_wait, waits_b = b.parked.op == Op::mbarrier_wait;
    return waits_a != waits_b ? waits_b : a.index < b.index;
  };
  const Thread* first = nullptr;
  for (const Thread* thread : parked_) {
    if (process_of(*thread) != process || !can_go_on(*thread)) continue;
    if (first == nullptr || before(*thread, *first)) first = thread;
  }
  if (first == nullptr) return step;
  for (Thread* thread : parked_) {
    const bool same = process_of(*thread) == process && thread->parked == first->parked && can_go_on(*thread);
    if (same) step.push_back(thread);
  }
  return step;
}

void Cluster::release_parked(const std::vector<Thread*>& step) {
  for (Thread* thread : step) {
    parked_.erase(std::find(parked_.begin(), parked_.end(), thread));
    ready_[thread->warp->index] |= 1u << thread->lane;
    ++ready_lanes_;
  }
}

// One step; false when there is none to do.
bool Cluster::explore_step() {
  std::vector<Explorer::Choice> choices;
  std::vector<std::vector<Thread*>> steps;
  std::set<Explorer::Key> processes;
  for (const Thread* thread : parked_) processes.insert(process_of(*thread));
  for (const Explorer::Key process : processes) {
    std::vector<Thread*> step = next_of(process);
    if (step.empty()) continue;
    const Thread::Parked& at = step.front()->parked;
    const Barrier* barrier = barrier_at({at.cta, at.offset});
    choices.push_back({process,
                       {{key_of(*at.cta, at.offset), at.op == Op::mbarrier_wait,
                         barrier != nullptr ? barrier->phase : 0}}});
    steps.push_back(std::move(step));
  }
  std::vector<size_t> operations;
  for (size_t i = 0; i < pending_.size(); ++i) {
    const AsyncOperation& operation = *pending_[i];
    const bool later =
        std::any_of(pending_.begin(), pending_.begin() + static_cast<ptrdiff_t>(i),
                    [&](const AsyncOperation* earlier) { return in_order(*earlier, operation); });
    if (later) continue;
    choices.push_back({key_of(operation), touched_by(*this, operation)});
    operations.push_back(i);
  }
  if (choices.empty()) return false;
  const size_t chosen = explorer()->choose(choices);
  if (chosen == Explorer::kCut) {
    launch.stopped = true;
  } else if (chosen < steps.size()) {
    release_parked(steps[chosen]);
  } else {
    execute_at(operations[chosen - steps.size()]);
  }
  return true;
}

Cluster::Status Cluster::run_explored() {
  for (;;) {
    if (launch.stopped) return Status::stopped;
    if (Thread* thread = next_thread()) {
      resume(*thread);
    } else if (explore_step()) {
      continue;
    } else if (live_threads == 0) {
      return Status::finished;
    } else if (!pollers_.empty()) {
      if (!requeue_pollers()) return Status::polling;
    } else if (!parked_.empty()) {
      release_parked(std::vector<Thread*>(parked_));  // to wait for ever
    } else {
      report_deadlock();
      launch.stopped = true;
    }
  }
}

void Cluster::note_start(const AsyncOperation& operation) {
  if (explorer() != nullptr) explorer()->started(key_of(operation));
}
void Cluster::note_wake(const Thread& thread) {
  if (explorer() != nullptr) explorer()->woke(process_of(thread));
}
void Cluster::note_role(const Thread& thread) {
  if (explorer() != nullptr) explorer()->started(process_of(thread));
}
void Cluster::note_phase(const Barrier& barrier) {
  if (explorer() != nullptr) explorer()->completed(key_of(*barrier.cta, barrier.offset));
}

Expected<ExploreResult> explore(MachineOptions options,
                                const std::function<Expected<LaunchResult>(const MachineOptions&)>& run,
                                ExploreOptions limits) {
  Explorer explorer(!limits.every_order_of_arrivals, limits.each_warp);
  ExploreResult result;
  options.schedule = SchedulePolicy::fair;
  options.explorer = &explorer;
  do {
    if (result.executions + result.cut >= limits.max_executions) return result;
    explorer.restart();
    const Expected<LaunchResult> launched = run(options);
    if (!launched) return launched.error();
    if (explorer.diverged()) {
      return Error{
          ErrorCode::emulator, "explore.repeatable",
          "an execution did not repeat an earlier one up to the same step: the kernel depends on memory "
          "that `run` does not restore, or on addresses"};
    }
    result.most_steps = std::max<uint64_t>(result.most_steps, explorer.steps());
    if (!launched->reports.empty()) {
      ++result.executions;
      result.report = launched->reports.front();
      return result;
    }
    ++(explorer.was_cut() ? result.cut : result.executions);
  } while (explorer.next());
  result.complete = true;
  return result;
}

}  // namespace tilewright::emulator
