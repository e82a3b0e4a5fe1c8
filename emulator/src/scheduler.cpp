// Which thread or asynchronous operation is next.
#include <utility>

#include "cluster.h"
#include "text.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kIdlePolls = 100;  // rounds without progress after which polling is given up

}  // namespace

Cluster::Status Cluster::run() {
  if (explorer() != nullptr) return run_explored();
  for (;;) {
    if (launch.stopped) return Status::stopped;
    if (ready_lanes_ + pending_.size() > 1) ++launch.result.statistics.interleavings;
    if (wants_operation()) {
      execute_next(false);
    } else if (Thread* thread = next_thread()) {
      resume(*thread);
    } else if (!pending_.empty()) {
      execute_next(true);
    } else if (live_threads == 0) {
      return Status::finished;
    } else if (!pollers_.empty()) {
      if (!requeue_pollers()) return Status::polling;
    } else {
      report_deadlock();
      launch.stopped = true;
    }
  }
}

void Cluster::resume(Thread& thread) {
  ++launch.step;
  ++launch.result.statistics.fiber_switches;
  thread.accesses = 0;
  current_thread = &thread;
  thread.fiber.resume();
  while (immediate_ != nullptr) {
    AsyncOperation& operation = *std::exchange(immediate_, nullptr);
    current_thread = nullptr;
    execute(operation);
    current_thread = &thread;
    thread.fiber.resume();
  }
  current_thread = nullptr;
}

void Cluster::block(Thread& thread, Wait wait) {
  thread.wait = wait;
  thread.wait_step = launch.step;
  thread.wait_since = timeline();
  ++launch.progress;
  thread.fiber.suspend();
}

void Cluster::trace_in_turn(const Thread& thread, const char* name, Trace::Kind kind, Trace::Place place,
                            uint32_t bytes) {
  Trace* trace = launch.trace();
  if (trace == nullptr) return;
  const uint64_t at = timeline(thread);
  trace->add_in_turn({name,
                      kind,
                      thread.cta->number,
                      Trace::Unit::warp,
                      thread.index / kWarpLanes,
                      at,
                      at + 1,
                      place,
                      {},
                      bytes});
}

// Lane 0 speaks for its warp, which waits when the last of its lanes has come.
void Cluster::trace_wait(const Thread& thread) {
  Trace* trace = launch.trace();
  if (trace == nullptr || thread.lane != 0) return;
  Trace::Place place;
  switch (thread.wait) {
    case Wait::mbarrier:
      place = {thread.wait_barrier->name, thread.wait_barrier->stage};
      break;
    case Wait::mma_group:
      place = {"wgmma"};
      break;
    case Wait::bulk_group:
      place = {"bulk group"};
      break;
    case Wait::cp_async_group:
      place = {"cp.async group"};
      break;
    case Wait::named_barrier:
      place = {"named barrier", static_cast<int>(thread.wait_value)};
      break;
    case Wait::cluster_barrier:
      place = {"cluster barrier"};
      break;
    case Wait::registers:
      place = {"setmaxnreg"};
      break;
    default:
      return;
  }
  uint64_t begin = thread.wait_since;
  const Thread* lanes = &thread;  // threads lie by index
  for (uint32_t i = 1; i < kWarpLanes && thread.index + i < launch.threads_per_cta; ++i)
    if (lanes[i].wait == thread.wait) begin = std::max(begin, lanes[i].wait_since);
  const uint64_t end = wake_time(thread);
  if (begin < end)
    trace->add_in_turn({"wait", Trace::Kind::wait, thread.cta->number, Trace::Unit::warp,
                        thread.index / kWarpLanes, begin, end, place});
}

void Cluster::wake(Thread& thread) {
  if (thread.wait == Wait::none) return;
  trace_wait(thread);
  note_wake(thread);
  if (timing_ != nullptr) thread.time = wake_time(thread);
  thread.wait = Wait::none;
  ++launch.progress;
  make_ready(thread);
}

void Cluster::make_ready(Thread& thread) {
  ready_[thread.warp->index] |= 1u << thread.lane;
  ++ready_lanes_;
  if (timing_ != nullptr) queue_timed(thread);
}

void Cluster::yield_point(Thread& thread) {
  if (launch.options().schedule == SchedulePolicy::fair || ready_lanes_ == 0) return;
  if (!launch.random.one_in(8)) return;
  make_ready(thread);
  thread.fiber.suspend();
}

void Cluster::poll(Thread& thread) {
  thread.wait = Wait::poll;
  thread.wait_step = launch.step;
  pollers_.push_back(&thread);
  thread.fiber.suspend();
}

void Cluster::leave(Thread& thread) {
  ++launch.progress;
  for (;;) thread.fiber.suspend(true);
}

bool Cluster::requeue_pollers() {
  if (launch.progress != polled_at_) {
    idle_polls_ = 0;
  } else if (++idle_polls_ > kIdlePolls) {
    return false;
  }
  const uint64_t before = launch.progress;
  std::vector<Thread*> again;
  again.swap(pollers_);
  for (Thread* thread : again) wake(*thread);
  launch.progress = polled_at_ = before;  // being asked again is no news
  return true;
}

Thread* Cluster::next_thread() {
  if (ready_lanes_ == 0) return nullptr;
  Thread* thread = nullptr;
  switch (launch.options().schedule) {
    case SchedulePolicy::fair:
      thread = next_fair();
      break;
    case SchedulePolicy::random:
      thread = next_random();
      break;
    case SchedulePolicy::adversarial:
      thread = next_by_priority();
      break;
    case SchedulePolicy::timed:
      thread = next_timed();
      break;
  }
  ready_[thread->warp->index] &= ~(1u << thread->lane);
  --ready_lanes_;
  return thread;
}

namespace {

Thread* lane_of(std::vector<Thread>& threads, const std::vector<Warp>& warps, uint32_t warp, uint32_t lane,
                uint32_t per_cta) {
  const uint32_t warps_per_cta = (per_cta + kWarpLanes - 1) / kWarpLanes;
  const uint32_t rank = warps[warp].cta->rank;
  return &threads[rank * per_cta + (warp - rank * warps_per_cta) * kWarpLanes + lane];
}

}  // namespace

// All ready lanes of a warp, then the next warp.
Thread* Cluster::next_fair() {
  while ((ready_[turn_] & turn_lanes_) == 0) {
    turn_ = turn_ + 1 == ready_.size() ? 0 : turn_ + 1;
    turn_lanes_ = ~0u;
  }
  const auto lane = static_cast<uint32_t>(__builtin_ctz(ready_[turn_] & turn_lanes_));
  turn_lanes_ &= ~(1u << lane);
  return lane_of(threads, warps, turn_, lane, launch.threads_per_cta);
}

Thread* Cluster::next_random() {
  const auto count = static_cast<uint32_t>(ready_.size());
  uint32_t warp = launch.random.below(count);
  while (ready_[warp] == 0) warp = warp + 1 == count ? 0 : warp + 1;
  uint32_t lanes = ready_[warp];
  for (uint32_t skip = launch.random.below(static_cast<uint32_t>(__builtin_popcount(lanes))); skip > 0;
       --skip) {
    lanes &= lanes - 1;
  }
  return lane_of(threads, warps, warp, static_cast<uint32_t>(__builtin_ctz(lanes)), launch.threads_per_cta);
}

// The ready warp of highest priority, so that it gets as far ahead as it can; priorities change now and then.
Thread* Cluster::next_by_priority() {
  const auto count = static_cast<uint32_t>(ready_.size());
  if (launch.random.one_in(256))
    priority_[launch.random.below(count)] = static_cast<uint32_t>(launch.random.next());
  uint32_t best = count;
  for (uint32_t warp = 0; warp < count; ++warp) {
    if (ready_[warp] != 0 && (best == count || priority_[warp] > priority_[best])) best = warp;
  }
  return lane_of(threads, warps, best, static_cast<uint32_t>(__builtin_ctz(ready_[best])),
                 launch.threads_per_cta);
}

bool Cluster::wants_operation() {
  if (pending_.empty()) return false;
  switch (launch.options().schedule) {
    case SchedulePolicy::fair:
      return pending_.front()->due <= launch.step;
    case SchedulePolicy::random:
      return launch.random.one_in(8);
    case SchedulePolicy::adversarial:
      return earliness_ == Earliness::mixed && launch.random.one_in(64);
    case SchedulePolicy::timed:
      return operation_is_next();
  }
  return false;
}

}  // namespace tilewright::emulator
