// Who waits for what when nothing can run any more.
#include <map>
#include <tuple>

#include "cluster.h"
#include "text.h"

namespace tilewright::emulator {
namespace {

const char* verb_of(Wait wait) {
  switch (wait) {
    case Wait::named_barrier:
      return "named barrier";
    case Wait::cluster_barrier:
      return "the cluster barrier";
    case Wait::warp:
      return "the other lanes of the warp";
    case Wait::warpgroup:
      return "the other threads of the warpgroup";
    case Wait::mma_group:
      return "wgmma groups";
    case Wait::bulk_group:
      return "bulk groups";
    case Wait::cp_async_group:
      return "cp.async groups";
    case Wait::registers:
      return "registers";
    case Wait::poll:
      return "a change in memory";
    default:
      return "nothing";
  }
}

// "warps 4-7, 9"
std::string warp_list(const std::vector<uint32_t>& warps) {
  std::string list = warps.size() == 1 ? "warp " : "warps ";
  for (size_t i = 0; i < warps.size();) {
    size_t j = i;
    while (j + 1 < warps.size() && warps[j + 1] == warps[j] + 1) ++j;
    list += text(i == 0 ? "" : ", ", warps[i]);
    if (j > i) list += text('-', warps[j]);
    i = j + 1;
  }
  return list;
}

struct Waiters {
  uint32_t threads = 0;
  std::vector<uint32_t> warps;
  const Thread* first = nullptr;
};

std::string goal_of(const Cluster& cluster, const Thread& thread) {
  switch (thread.wait) {
    case Wait::mbarrier: {
      const Barrier& barrier = *thread.wait_barrier;
      return text(cluster.describe(barrier), " parity ", thread.wait_value, ", phase ", barrier.phase,
                  " (pending arrivals ", barrier.pending, ", pending bytes ", barrier.tx, ')');
    }
    case Wait::named_barrier: {
      const NamedBarrier& barrier = thread.cta->named[thread.wait_value];
      return text("named barrier ", thread.wait_value, " (", barrier.arrived, " of ", barrier.threads,
                  " threads arrived)");
    }
    case Wait::warp: {
      for (const WarpMeeting& meeting : thread.warp->meetings) {
        if ((meeting.arrived >> thread.lane & 1) == 0) continue;
        return text("lanes ", Hex{meeting.mask & ~meeting.arrived}, " of its warp at ", name_of(meeting.op));
      }
      return verb_of(thread.wait);
    }
    case Wait::warpgroup:
      return text(kGroupThreads - thread.group->met, " more threads of its warpgroup at ",
                  name_of(thread.group->meeting));
    case Wait::registers:
      return text("setmaxnreg ", thread.wait_value, " (its warp holds ", thread.warp->registers,
                  " registers a thread and the pool has ", thread.cta->free_registers, " left of ",
                  kRegistersPerMultiprocessor, ')');
    default:
      return verb_of(thread.wait);
  }
}

// Which wait names the report: a register pool that cannot suffice; a barrier that lacks bytes (nothing is in
// flight any more) or only some of its arrivals, because the others of its kind were made; any mbarrier; a
// block barrier that some threads never reach.
int importance(const Thread& thread) {
  switch (thread.wait) {
    case Wait::registers:
      return 4;
    case Wait::mbarrier: {
      const Barrier& barrier = *thread.wait_barrier;
      const bool unfinished = barrier.tx != 0 || barrier.pending != barrier.count;
      return unfinished ? 3 : 2;
    }
    case Wait::named_barrier:
      return 1;
    default:
      return 0;
  }
}

// Of equally important waits the one that began first: the others are its consequences.
bool names_before(const Thread& thread, const Thread& other) {
  const int mine = importance(thread), theirs = importance(other);
  return mine != theirs ? mine > theirs : thread.wait_step < other.wait_step;
}

ReportKind kind_of(const Thread& thread) {
  if (thread.wait == Wait::registers) return ReportKind::register_budget;
  const bool block_barrier = thread.wait == Wait::named_barrier && thread.wait_value == 0;
  return block_barrier ? ReportKind::non_uniform : ReportKind::deadlock;
}

}  // namespace

void Cluster::report_deadlock() {
  // By CTA, role and goal.
  std::map<std::tuple<uint32_t, std::string, std::string>, Waiters> waiting;
  const Thread* culprit = nullptr;
  for (const Thread& thread : threads) {
    if (thread.exited) continue;
    Waiters& waiters =
        waiting[{thread.cta->rank, thread.role != nullptr ? thread.role : "", goal_of(*this, thread)}];
    ++waiters.threads;
    if (waiters.first == nullptr) waiters.first = &thread;
    const uint32_t warp = thread.index / kWarpLanes;
    if (waiters.warps.empty() || waiters.warps.back() != warp) waiters.warps.push_back(warp);
    if (culprit == nullptr || names_before(thread, *culprit)) culprit = &thread;
  }
  if (culprit == nullptr) return;
  std::string message = "nothing can run any more";
  for (const auto& [key, waiters] : waiting) {
    const auto& [rank, role, goal] = key;
    message += text("; CTA ", rank, ' ', warp_list(waiters.warps), role.empty() ? "" : " [", role,
                    role.empty() ? "" : "]", " (", plural(waiters.threads, "thread"),
                    waiters.warps.size() == 1 ? ") waits for " : ") wait for ", goal);
  }
  const Barrier* barrier = culprit->wait == Wait::mbarrier ? culprit->wait_barrier : nullptr;
  report(kind_of(*culprit), culprit, std::move(message), barrier != nullptr ? barrier->name : nullptr,
         barrier != nullptr ? barrier->stage : -1);
}

void Cluster::report_livelock() {
  const Thread* poller = pollers_.empty() ? nullptr : pollers_.front();
  report(ReportKind::livelock, poller,
         text(plural(static_cast<long long>(pollers_.size()), "thread"),
              " of the cluster poll memory or barriers that nothing changes any more"));
}

}  // namespace tilewright::emulator
