// The happens-before relation of one cluster, and its edges to other clusters of the launch.
#include <algorithm>

#include "cluster.h"

namespace tilewright::emulator {

void Cluster::release(Thread& thread, uint32_t into) {
  clocks.join(into, thread.agent);
  tick(thread);
}

void Cluster::acquire(Thread& thread, uint32_t from) {
  clocks.join(thread.agent, from);
  ++thread.group->acquires;
}

void Cluster::learn(Thread& thread, uint32_t agent, uint32_t epoch) {
  uint32_t& known = clock_of(thread)[agent];
  known = std::max(known, epoch);
  ++thread.group->acquires;
}

const uint32_t* Cluster::common_clock(Warpgroup& group) {
  if (group.common_version != group.acquires || group.common.size() < clocks.agents()) {
    // Agents that appeared since are unknown to all: the copy gives them entry 0, as it should.
    group.common.assign((clocks.agents() + 15) / 16 * 16, 0);
    clocks.copy(group.common.data(), clock_of(*group.threads[0]));
    for (const Thread* thread : group.threads) clocks.meet(group.common.data(), clock_of(*thread));
    group.common_version = group.acquires;
  }
  return group.common.data();
}

bool Cluster::fenced(const uint32_t* clock, const Access& access) const {
  if (access.cluster != id_) return true;
  uint32_t writer = access.agent;
  uint32_t epoch = access.epoch;
  if (access.kind == AccessKind::cp_async) {
    // Its data count as written when the issuing thread had waited for them.
    writer = owner_of(access.agent);
    epoch = threads[writer].copies.wait_epochs[access.epoch - 1];
  } else if (access.kind != AccessKind::generic && access.kind != AccessKind::atomic) {
    return true;
  }
  const std::vector<uint32_t>& fences = threads[writer].proxy_fences;
  const auto fence = std::lower_bound(fences.begin(), fences.end(), epoch);
  return fence != fences.end() && *fence < clock[writer];
}

bool Cluster::ordered_across(const uint32_t* clock, const Access& access) const {
  const auto covers = [&access](const Snapshot& snapshot) {
    if (snapshot.cluster != access.cluster || access.agent >= snapshot.clock.size()) return false;
    return snapshot.clock[access.agent] >= access.epoch;
  };
  for (const Foreign& foreign : foreign_) {
    if (clock[foreign.agent] == 0) continue;
    if (covers(*foreign.snapshot)) return true;
    for (const auto& other : foreign.snapshot->others) {
      if (covers(*other)) return true;
    }
  }
  return false;
}

std::shared_ptr<const Snapshot> Cluster::snapshot(const Thread& thread) const {
  auto result = std::make_shared<Snapshot>();
  const uint32_t* clock = clock_of(thread);
  result->cluster = id_;
  result->clock.assign(clock, clock + clocks.agents());
  for (const Foreign& foreign : foreign_) {
    if (clock[foreign.agent] == 0) continue;
    result->others.push_back(foreign.snapshot);
    const auto& indirect = foreign.snapshot->others;
    result->others.insert(result->others.end(), indirect.begin(), indirect.end());
  }
  return result;
}

void Cluster::acquire(Thread& thread, const std::shared_ptr<const Snapshot>& snapshot) {
  if (snapshot->cluster == id_) {
    uint32_t* clock = clock_of(thread);
    for (size_t i = 0; i < snapshot->clock.size(); ++i) clock[i] = std::max(clock[i], snapshot->clock[i]);
    ++thread.group->acquires;
    return;
  }
  auto known = std::find_if(foreign_.begin(), foreign_.end(),
                            [&](const Foreign& foreign) { return foreign.snapshot == snapshot; });
  if (known == foreign_.end()) known = foreign_.insert(foreign_.end(), {snapshot, new_agent(0)});
  learn(thread, known->agent, 1);
}

}  // namespace tilewright::emulator
