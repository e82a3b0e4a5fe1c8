// Operations that the lanes of a warp or the threads of a warpgroup execute together.
#include "collectives.h"

#include "text.h"

namespace tilewright::emulator {

namespace {

void report_warp_index(const Thread& thread, uint32_t calls, uint32_t others, const char* when) {
  thread.cluster->report(
      ReportKind::non_uniform, &thread,
      text("has called warp_index() ", calls, " times and another lane of its warp ", others, ' ', when,
           ": on a GPU it is a shuffle of all lanes, which hangs where they have parted"));
}

/// All lanes that exist meet.
void check_warp_index(Thread& thread, Op op) {
  const std::string when = text("when they meet at ", name_of(op));
  bool reported = false;
  for_each_lane(thread, thread.warp->lanes, [&](Thread& lane) {
    if (lane.warp_index_calls != thread.warp_index_calls && !reported) {
      report_warp_index(lane, lane.warp_index_calls, thread.warp_index_calls, when.c_str());
      reported = true;
    }
    if (reported) lane.warp_index_calls = thread.warp_index_calls;
  });
}

}  // namespace

void note_warp_index() {
  if (current_thread != nullptr) ++current_thread->warp_index_calls;
}

void check_warp_index_at_exit(const Thread& thread) {
  Warp& warp = *thread.warp;
  if (warp.exited_lanes != 0 && warp.warp_index_calls != thread.warp_index_calls)
    report_warp_index(thread, thread.warp_index_calls, warp.warp_index_calls, "when it exits");
  warp.warp_index_calls = thread.warp_index_calls;
}

bool meet_warp(Thread& thread, Op op, uint32_t mask) {
  Cluster& cluster = *thread.cluster;
  Warp& warp = *thread.warp;
  mask &= warp.lanes;
  if ((mask >> thread.lane & 1) == 0) {
    cluster.report(
        ReportKind::non_uniform, &thread,
        text(name_of(op), " with lane mask ", Hex{mask}, ", in which the executing lane is missing"));
    mask |= 1u << thread.lane;
  }
  if ((mask & warp.exited_lanes) != 0) {
    cluster.report(ReportKind::non_uniform, &thread,
                   text(name_of(op), " needs lanes ", Hex{mask}, " of the warp, but lanes ",
                        Hex{mask & warp.exited_lanes}, " have exited"));
  }
  WarpMeeting* meeting = nullptr;
  for (WarpMeeting& other : warp.meetings) {
    if (other.op == op && other.mask == mask && (other.arrived >> thread.lane & 1) == 0) {
      meeting = &other;
    } else if ((other.arrived & mask) != 0) {
      cluster.report(ReportKind::non_uniform, &thread,
                     text("lane ", thread.lane, " is at ", name_of(op), " with mask ", Hex{mask},
                          " while lanes ", Hex{other.arrived}, " of its warp are at ", name_of(other.op),
                          " with mask ", Hex{other.mask}));
    }
  }
  if (meeting == nullptr) meeting = &warp.meetings.emplace_back(WarpMeeting{op, mask, 0});
  meeting->arrived |= 1u << thread.lane;
  if (meeting->arrived == mask) {
    bool learned = false;
    for_each_lane(thread, mask, [&](const Thread& lane) {
      cluster.join_times(thread, lane);
      learned |= cluster.join_phases(thread.agent, lane.agent);
    });
    for_each_lane(thread, mask,
                  [&](const Thread& lane) { learned |= cluster.join_phases(lane.agent, thread.agent); });
    if (learned) ++thread.group->acquires;
    if (mask == warp.lanes) check_warp_index(thread, op);
    std::swap(*meeting, warp.meetings.back());
    warp.meetings.pop_back();
    return true;
  }
  cluster.block(thread, Wait::warp);
  return false;
}

void part_warp(Thread& thread, uint32_t mask) {
  for_each_lane(thread, mask, [&](Thread& lane) {
    if (&lane != &thread) thread.cluster->wake(lane);
  });
}

bool meet_warpgroup(Thread& thread, Op op) {
  Cluster& cluster = *thread.cluster;
  Warpgroup& group = *thread.group;
  if (!group.complete) {
    cluster.report(ReportKind::non_uniform, &thread,
                   text(name_of(op), " in a warpgroup of fewer than ", kGroupThreads, " threads"));
    return true;
  }
  if (group.any_exited) {
    cluster.report(ReportKind::non_uniform, &thread,
                   text(name_of(op), " needs all threads of the warpgroup, but some have exited"));
  }
  if (group.met != 0 && group.meeting != op) {
    cluster.report(ReportKind::non_uniform, &thread,
                   text("is at ", name_of(op), " while ", plural(group.met, "thread"),
                        " of its warpgroup are at ", name_of(group.meeting)));
  }
  group.meeting = op;
  if (++group.met == kGroupThreads) {
    group.met = 0;
    bool learned = false;
    for (const Thread* other : group.threads) {
      cluster.join_times(thread, *other);
      learned |= cluster.join_phases(thread.agent, other->agent);
    }
    for (const Thread* other : group.threads) learned |= cluster.join_phases(other->agent, thread.agent);
    if (learned) ++group.acquires;
    return true;
  }
  cluster.block(thread, Wait::warpgroup);
  return false;
}

void part_warpgroup(Thread& thread) {
  for (Thread* other : thread.group->threads) {
    if (other != nullptr && other != &thread) thread.cluster->wake(*other);
  }
}

namespace {

// "wgmma_wait 1", "wgmma_fence": fences and commits have no argument.
std::string logged(Op op, uint32_t argument) {
  if (op == Op::wgmma_fence || op == Op::wgmma_commit) return name_of(op);
  return text(name_of(op), ' ', argument);
}

}  // namespace

void follow_log(Thread& thread, Op op, uint32_t argument) {
  Warpgroup& group = *thread.group;
  const uint32_t entry = static_cast<uint32_t>(op) | argument << 8;
  if (thread.log_position == group.log.size()) {
    group.log.push_back(entry);
    if (group.any_exited) {
      thread.cluster->report(ReportKind::non_uniform, &thread,
                             text(name_of(op), " needs all threads of the warpgroup, but some have exited"));
    }
  } else if (group.log[thread.log_position] != entry) {
    const auto expected = static_cast<Op>(group.log[thread.log_position] & 0xFF);
    thread.cluster->report(
        ReportKind::non_uniform, &thread,
        text("executes ", logged(op, argument), " where other threads of its warpgroup execute ",
             logged(expected, group.log[thread.log_position] >> 8)));
  }
  ++thread.log_position;
}

// ---- hooks

void sync_warp(uint32_t mask) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  if (skipped(cluster.begin(*thread, Op::sync_warp))) return;
  if (!meet_warp(*thread, Op::sync_warp, mask)) return;
  // All lanes learn what all knew.
  const uint32_t joined = thread->agent;
  for_each_lane(*thread, mask, [&](Thread& lane) {
    if (&lane != thread) cluster.clocks.join(joined, lane.agent);
  });
  for_each_lane(*thread, mask, [&](Thread& lane) {
    if (&lane != thread) cluster.clocks.copy(lane.agent, joined);
  });
  for_each_lane(*thread, mask, [&](Thread& lane) { cluster.tick(lane); });
  ++thread->group->acquires;
  part_warp(*thread, mask);
}

bool elect_one(uint32_t mask) {
  Thread* thread = current_thread;
  if (thread == nullptr) return false;
  Cluster& cluster = *thread->cluster;
  if (skipped(cluster.begin(*thread, Op::elect_one))) return true;
  if (meet_warp(*thread, Op::elect_one, mask)) part_warp(*thread, mask);
  return thread->lane == static_cast<uint32_t>(__builtin_ctz(mask & thread->warp->lanes));
}

uint64_t shuffle(uint32_t mask, uint64_t value, uint32_t source_lane) {
  Thread* thread = current_thread;
  if (thread == nullptr) return value;
  Cluster& cluster = *thread->cluster;
  if (skipped(cluster.begin(*thread, Op::shuffle))) return value;
  thread->exchange.value = value;
  thread->exchange.address = source_lane % kWarpLanes;
  if (meet_warp(*thread, Op::shuffle, mask)) {
    std::array<uint64_t, kWarpLanes> results{};
    for_each_lane(*thread, mask, [&](Thread& lane) {
      const uint32_t source = lane.exchange.address;
      if ((mask & thread->warp->lanes) >> source & 1) {
        results[lane.lane] = lane_at(*thread, source).exchange.value;
      } else {
        cluster.report(ReportKind::non_uniform, &lane,
                       text("shuffle reads lane ", source, ", which is not in its mask ", Hex{mask}));
      }
    });
    for_each_lane(*thread, mask, [&](Thread& lane) { lane.exchange.value = results[lane.lane]; });
    part_warp(*thread, mask);
  }
  return thread->exchange.value;
}

uint32_t ballot(uint32_t mask, bool predicate) {
  Thread* thread = current_thread;
  if (thread == nullptr) return predicate ? 1 : 0;
  Cluster& cluster = *thread->cluster;
  if (skipped(cluster.begin(*thread, Op::ballot))) return predicate ? 1u << thread->lane : 0;
  thread->exchange.value = predicate ? 1 : 0;
  if (meet_warp(*thread, Op::ballot, mask)) {
    uint32_t votes = 0;
    for_each_lane(*thread, mask, [&](Thread& lane) { votes |= (lane.exchange.value != 0) << lane.lane; });
    for_each_lane(*thread, mask, [&](Thread& lane) { lane.exchange.value = votes; });
    part_warp(*thread, mask);
  }
  return static_cast<uint32_t>(thread->exchange.value);
}

}  // namespace tilewright::emulator
