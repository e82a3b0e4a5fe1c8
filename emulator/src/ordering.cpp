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

bool Cluster::acquired(const Actor& actor, const Access& write) const {
  if (!has_wide_agents() || write.cluster != id_) return true;
  if (write.kind != AccessKind::generic || actor.access.kind != AccessKind::generic) return true;
  if (threads[write.agent].cta == threads[actor.access.agent].cta) return true;
  return actor.clock[wide_agent(write.agent)] >= write.epoch;
}

void Cluster::release_to_barrier(const Thread& thread, Barrier& barrier, uint32_t clock, Scope scope) {
  if (!has_wide_agents() || thread.cta == barrier.cta) return clocks.join(barrier.arrived_clock, clock);
  // From another CTA: what it knows of reads counts in any case, what it knows of stores only at a scope that
  // reaches here.
  clocks.join(barrier.arrived_clock, clock, 0, wide_begin_);
  clocks.join(barrier.arrived_clock, clock, wide_end_, clocks.agents());
  const uint32_t wide = scope != Scope::cta ? clock : thread.wide_fence_clock;
  if (wide == kNoAgent) return;
  if (barrier.arrived_wide == kNoAgent) barrier.arrived_wide = clocks.new_clock();
  clocks.join(barrier.arrived_wide, wide, wide_begin_, wide_end_);
}

void Cluster::acquire_from_barrier(Thread& thread, const Barrier& barrier, Scope scope) {
  acquire(thread, barrier.released_clock);
  if (barrier.released_wide == kNoAgent) return;
  if (scope == Scope::cta && thread.narrow_clock == kNoAgent) thread.narrow_clock = clocks.new_clock();
  const uint32_t into = scope == Scope::cta ? thread.narrow_clock : thread.agent;
  clocks.join(into, barrier.released_wide, wide_begin_, wide_end_);
}

void Cluster::widen_knowledge(Thread& thread) {
  if (!has_wide_agents()) return;
  if (thread.narrow_clock != kNoAgent) clocks.join(thread.agent, thread.narrow_clock, wide_begin_, wide_end_);
  if (thread.wide_fence_clock == kNoAgent) thread.wide_fence_clock = clocks.new_clock();
  clocks.copy(thread.wide_fence_clock, thread.agent);
}

void Cluster::learn(Thread& thread, uint32_t agent, uint32_t epoch) {
  uint32_t& known = clock_of(thread)[agent];
  if (known >= epoch) return;
  known = epoch;
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

namespace {

bool covers(ProxyFence fence, const Cta* memory, const Thread& writer) {
  switch (fence) {
    case ProxyFence::all:
      return true;
    case ProxyFence::shared_cta:
      return memory == writer.cta;
    case ProxyFence::shared_cluster:
      return memory != nullptr;
    case ProxyFence::global:
      return memory == nullptr;
  }
  return false;
}

// Whether one of the epochs, in ascending order, is in [from, end).
bool any_between(const std::vector<uint32_t>& epochs, uint32_t from, uint32_t end) {
  const auto first = std::lower_bound(epochs.begin(), epochs.end(), from);
  return first != epochs.end() && *first < end;
}

uint64_t key_of(uint32_t cluster, uint32_t agent) { return uint64_t{cluster} << 32 | agent; }

}  // namespace

bool Cluster::fenced(const Actor& actor, const Access& access) const {
  uint32_t writer = access.agent;
  uint32_t epoch = access.epoch;
  if (access.kind == AccessKind::cp_async) {
    // Its data count as written when the issuing thread had waited for them.
    writer = owner_of(access.agent);
    if (access.epoch > threads[writer].copies.wait_epochs.size()) return false;
    epoch = threads[writer].copies.wait_epochs[access.epoch - 1];
  } else if (access.kind != AccessKind::generic && access.kind != AccessKind::atomic) {
    return true;
  }
  if (access.cluster != id_) return fenced_across(actor, access);
  const std::vector<ProxyFenceEvent>& fences = threads[writer].proxy_fences;
  auto fence = std::lower_bound(fences.begin(), fences.end(), epoch,
                                [](const ProxyFenceEvent& event, uint32_t e) { return event.epoch < e; });
  for (; fence != fences.end() && fence->epoch < actor.clock[writer]; ++fence)
    if (covers(fence->space, actor.memory, threads[writer])) return true;
  return false;
}

// Between clusters a fence of the writer or one on this side will do.
bool Cluster::fenced_across(const Actor& actor, const Access& access) const {
  const auto fences = launch.global_fences.find(key_of(access.cluster, access.agent));
  if (fences != launch.global_fences.end() &&
      any_between(fences->second, access.epoch, known_of(actor.clock, access)))
    return true;
  return std::any_of(first_global_fences.begin(), first_global_fences.end(),
                     [&](const auto& own) { return own.second < actor.clock[own.first]; });
}

bool Cluster::map_acquired(const Actor& actor, const Access& write) const {
  if (write.kind != AccessKind::generic && write.kind != AccessKind::atomic) return true;
  return std::any_of(map_acquires.begin(), map_acquires.end(), [&](const MapAcquire& acquire) {
    if (acquire.map != actor.tensor_map || acquire.epoch >= actor.clock[acquire.agent]) return false;
    const uint32_t* known = clocks[acquire.known];
    if (write.cluster != id_) return ordered_across(known, write);
    return any_between(threads[write.agent].map_releases, write.epoch, known[write.agent]);
  });
}

// How much of a thread of another cluster is known.
uint32_t Cluster::known_of(const uint32_t* clock, const Access& access) const {
  for (const Foreign& foreign : foreign_) {
    if (foreign.cluster != access.cluster) continue;
    const uint32_t level = clock[foreign.agent];
    if (level == 0) return 0;
    const std::vector<uint32_t>& known = *foreign.levels[level - 1];
    return access.agent < known.size() ? known[access.agent] : 0;
  }
  return 0;
}

bool Cluster::ordered_across(const uint32_t* clock, const Access& access) const {
  return known_of(clock, access) >= access.epoch;
}

void Cluster::fence_proxy(Thread& thread, ProxyFence space) {
  const uint32_t epoch = epoch_of(thread);
  thread.proxy_fences.push_back({epoch, space});
  if (space == ProxyFence::all || space == ProxyFence::global) {
    if (!thread.fenced_global) first_global_fences.emplace_back(thread.agent, epoch);
    thread.fenced_global = true;
    // Those of this cluster may be over when another one asks; a fence with nothing before it is of no use.
    if (thread.wrote_global) launch.global_fences[key_of(id_, thread.agent)].push_back(epoch);
    thread.wrote_global = false;
  }
  tick(thread);
}

void Cluster::acquire_map(Thread& thread, const void* map) {
  // Only one that something was written before is of use. The acquires before it stay, for who knows only
  // those, unless it is for a later write: then they are of no more use themselves.
  const auto begin = reinterpret_cast<uintptr_t>(map);
  const GlobalBuffer* buffer = launch.memory().find(begin);
  if (buffer == nullptr || !buffer->contains(begin, sizeof(TensorMap))) return;
  Actor actor{clock_of(thread), access_by(thread)};
  actor.tensor_map = map;
  const uint64_t offset = begin - buffer->shadow_base();
  const bool acquired = buffer->shadow.every_write(
      offset, offset + sizeof(TensorMap), [&](const Access& write) { return map_acquired(actor, write); });
  if (acquired) return;
  auto record = std::find_if(map_acquires.begin(), map_acquires.end(), [&](const MapAcquire& other) {
    return other.map == map && other.agent == thread.agent;
  });
  if (record == map_acquires.end())
    record = map_acquires.insert(record, {map, thread.agent, 0, clocks.new_clock()});
  record->epoch = epoch_of(thread);
  clocks.copy(record->known, thread.agent);
  tick(thread);
}

bool Cluster::join_phases(uint32_t into, uint32_t from) {
  bool more = false;
  for (const uint32_t agent : phase_agents) {
    if (clocks[into][agent] >= clocks[from][agent]) continue;
    clocks[into][agent] = clocks[from][agent];
    more = true;
  }
  return more;
}

Snapshot Cluster::snapshot(Thread& thread) {
  const uint32_t* clock = clock_of(thread);
  if (thread.published == nullptr || thread.published_version != thread.group->acquires) {
    thread.published = std::make_shared<std::vector<uint32_t>>(clock, clock + clocks.agents());
    thread.published_version = thread.group->acquires;
  }
  Snapshot result{id_, thread.published, thread.agent, epoch_of(thread), {}};
  for (const Foreign& foreign : foreign_) {
    const uint32_t level = clock[foreign.agent];
    if (level != 0) result.others.emplace_back(foreign.cluster, foreign.levels[level - 1]);
  }
  return result;
}

Cluster::Foreign& Cluster::foreign_of(uint32_t cluster) {
  for (Foreign& foreign : foreign_) {
    if (foreign.cluster == cluster) return foreign;
  }
  return foreign_.emplace_back(Foreign{cluster, new_agent(0), {}, {}});
}

// The level that contains what `clock` says and that `agent` has reached `epoch`. Beyond a number of levels,
// knowledge is no longer told apart by thread.
uint32_t Cluster::learn_foreign(Foreign& foreign, const SharedClock& clock, uint32_t agent, uint32_t epoch) {
  constexpr size_t kMaxLevels = 64;
  const std::pair source{clock, epoch};
  const auto seen = std::find(foreign.sources.begin(), foreign.sources.end(), source);
  if (seen != foreign.sources.end() && foreign.levels.size() < kMaxLevels) {
    return static_cast<uint32_t>(seen - foreign.sources.begin()) + 1;
  }
  if (foreign.levels.size() < kMaxLevels) {
    foreign.levels.push_back(foreign.levels.empty()
                                 ? std::make_shared<std::vector<uint32_t>>()
                                 : std::make_shared<std::vector<uint32_t>>(*foreign.levels.back()));
    foreign.sources.push_back(source);
  }
  std::vector<uint32_t>& known = *foreign.levels.back();
  if (known.size() < clock->size()) known.resize(clock->size(), 0);
  for (size_t i = 0; i < clock->size(); ++i) known[i] = std::max(known[i], (*clock)[i]);
  known[agent] = std::max(known[agent], epoch);
  return static_cast<uint32_t>(foreign.levels.size());
}

void Cluster::acquire(Thread& thread, const Snapshot& snapshot) {
  const auto learn_from = [&](uint32_t cluster, const SharedClock& clock, uint32_t agent, uint32_t epoch) {
    if (cluster != id_) {
      Foreign& foreign = foreign_of(cluster);
      learn(thread, foreign.agent, learn_foreign(foreign, clock, agent, epoch));
      return;
    }
    for (uint32_t a = 0; a < clock->size(); ++a) learn(thread, a, (*clock)[a]);
    learn(thread, agent, epoch);
  };
  for (const auto& [cluster, clock] : snapshot.others) learn_from(cluster, clock, 0, 0);
  learn_from(snapshot.cluster, snapshot.clock, snapshot.agent, snapshot.epoch);
}

}  // namespace tilewright::emulator
