// mbarriers: phases, arrivals, bytes, parity (PTX ISA, "Parallel Synchronization: mbarrier").
#include <algorithm>
#include <utility>

#include "cluster.h"
#include "text.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kMaxCount = (1u << 20) - 1;

}  // namespace

Barrier* Cluster::barrier_at(SharedPlace place) {
  if (place.offset / 8 >= place.cta->barrier_at.size()) return nullptr;
  const int32_t index = place.cta->barrier_at[place.offset / 8];
  return index < 0 ? nullptr : barriers[static_cast<size_t>(index)].get();
}

// A barrier that is not initialised yet may have its name from another CTA, where the same place has one.
BarrierName Cluster::barrier_name(SharedPlace place) {
  if (const Barrier* barrier = barrier_at(place); barrier != nullptr && barrier->name != nullptr)
    return {barrier->name, barrier->stage};
  const auto known = launch.barrier_names.find(place.offset);
  return known == launch.barrier_names.end() ? BarrierName{} : known->second;
}

std::string Cluster::describe_unknown_barrier(SharedPlace place) {
  const BarrierName name = barrier_name(place);
  const std::string where = describe(*place.cta, place.offset);
  if (name.text == nullptr) return text("the mbarrier at ", where);
  return text("barrier ", name.text, name.stage >= 0 ? text('[', name.stage, ']') : std::string(), " (",
              where, ')');
}

Barrier* Cluster::usable_barrier(Thread& thread, uint32_t address, const char* what, bool asynchronous,
                                 Space space) {
  const SharedPlace place = locate(thread, address, space, what);
  return place.cta == nullptr ? nullptr : usable_barrier(thread, place, what, asynchronous);
}

Barrier* Cluster::usable_barrier(Thread& thread, SharedPlace place, const char* what, bool asynchronous) {
  if (place.offset % 8 != 0) {
    report(ReportKind::misaligned, &thread,
           text(what, ": the mbarrier at shared address ", Hex{place.offset}, " is not 8-byte aligned"));
    return nullptr;
  }
  if (!(asynchronous ? reach_peer(thread, *place.cta, what) : touch_peer(thread, *place.cta, what)))
    return nullptr;
  Barrier* barrier = barrier_at(place);
  if (barrier == nullptr || !barrier->live) {
    const BarrierName name = barrier_name(place);
    report(ReportKind::barrier_not_initialised, &thread,
           text(what, " uses ", barrier != nullptr ? describe(*barrier) : describe_unknown_barrier(place),
                barrier != nullptr && barrier->init_epoch != 0 ? ", which is not initialised any more"
                                                               : ", which nobody has initialised"),
           name.text, name.stage);
    return nullptr;
  }
  const uint32_t known = clock_of(thread)[barrier->init_agent];
  if (known < barrier->init_epoch) {
    report(ReportKind::barrier_init_not_visible, &thread,
           text(what, " uses ", describe(*barrier), ", but nothing orders its initialisation by ",
                describe(threads[barrier->init_agent]), " before: a block or cluster barrier is missing"),
           barrier->name, barrier->stage);
  } else if (asynchronous || place.cta != thread.cta) {
    const std::vector<uint32_t>& fences = threads[barrier->init_agent].init_fences;
    const auto fence = std::lower_bound(fences.begin(), fences.end(), barrier->init_epoch);
    if (fence == fences.end() || *fence >= known) {
      report(ReportKind::barrier_init_not_visible, &thread,
             text(what, " uses ", describe(*barrier),
                  ", but its initialising thread executed no fence.mbarrier_init"),
             barrier->name, barrier->stage);
    }
  }
  return barrier;
}

void Cluster::arrive(Thread& thread, Barrier& barrier, uint32_t count, uint32_t clock, Scope scope) {
  if (count > barrier.pending) {
    report(ReportKind::over_arrival, &thread,
           text(plural(count, "arrival"), " on ", describe(barrier), ", but phase ", barrier.phase,
                " expects only ", barrier.pending, " more (of ", barrier.count, ")"),
           barrier.name, barrier.stage);
    count = barrier.pending;
  }
  release_to_barrier(thread, barrier, clock, scope);
  barrier.pending -= count;
  finish_phases(barrier);
}

void Cluster::count_bytes(Barrier& barrier, const Thread& thread) {
  if (barrier.counts_bytes) return;
  barrier.counts_bytes = true;
  for (const Barrier::Seen& seen : barrier.seen) {
    if (!seen.passed_fresh) continue;
    const auto index = static_cast<uint32_t>(&seen - barrier.seen.data());
    const Thread& waiter = threads[barrier.cta->rank * launch.threads_per_cta + index];
    report(ReportKind::parity_alias, &waiter,
           text("the wait of ", describe(waiter), " on ", describe(barrier),
                " with parity 1 was satisfied by the phase before the first, which no arrival completed; ",
                describe(thread), " brings data through this barrier"),
           barrier.name, barrier.stage);
    return;
  }
}

void Cluster::expect_bytes(const Thread& thread, Barrier& barrier, uint32_t bytes) {
  count_bytes(barrier, thread);
  barrier.tx += bytes;
  barrier.expected += bytes;
  if (barrier.tx > kMaxCount) {
    report(ReportKind::byte_count, &thread,
           text(describe(barrier), " expects ", barrier.tx, " bytes; the transaction count holds at most ",
                kMaxCount),
           barrier.name, barrier.stage);
  }
}

Access Cluster::issue_copy(Thread& thread, Barrier& barrier, uint32_t bytes) {
  count_bytes(barrier, thread);
  if (barrier.cta != thread.cta) thread.remote_copy_epoch = epoch_of(thread);
  barrier.issued += bytes;
  barrier.landing_epoch = barrier.phase + 1;
  return {barrier.agent, barrier.phase + 1, id_, AccessKind::copy};
}

void Cluster::complete_bytes(Barrier& barrier, uint32_t bytes) {
  barrier.tx -= bytes;
  if (barrier.tx < 0 && (barrier.pending == 0 || barrier.tx < -static_cast<int64_t>(kMaxCount))) {
    report(ReportKind::byte_count, nullptr,
           text("copies delivered ", plural(-barrier.tx, "byte"), " more to phase ", barrier.phase, " of ",
                describe(barrier), " than were expected (", barrier.expected, ")"),
           barrier.name, barrier.stage);
  }
  finish_phases(barrier);
}

// PTX asks that a wait for each phase returns before an arrival of the next: otherwise parity is ambiguous.
void Cluster::check_phase_was_seen(Barrier& barrier) {
  if (barrier.phase == barrier.first_phase) return;
  const uint32_t* arrived = clocks[barrier.arrived_clock];
  const uint32_t first = barrier.cta->rank * launch.threads_per_cta;
  const Thread* late = nullptr;
  for (uint32_t i = 0; i < barrier.seen.size(); ++i) {
    const Barrier::Seen& seen = barrier.seen[i];
    if (seen.waits == 0) continue;
    // A copy into another CTA carries no knowledge of its issuer, but what it causes there comes after the
    // wait.
    const bool before =
        arrived[first + i] >= seen.epoch || threads[first + i].remote_copy_epoch >= seen.epoch;
    if (seen.phase >= barrier.phase && before) return;
    late = &threads[first + i];
  }
  if (late == nullptr) {
    barrier.missed_phase = true;
    return;
  }
  report(ReportKind::parity_alias, late,
         text("phase ", barrier.phase, " of ", describe(barrier),
              " completes although no wait for the phase before is known to have returned: ", describe(*late),
              " may lag by two phases and take one for the other"),
         barrier.name, barrier.stage);
}

void Cluster::finish_phases(Barrier& barrier) {
  while (barrier.pending == 0 && barrier.tx == 0 && barrier.live) {
    check_phase_was_seen(barrier);
    if (barrier.issued > barrier.expected) {
      report(ReportKind::byte_count, nullptr,
             text("phase ", barrier.phase, " of ", describe(barrier), " completes with ",
                  plural(barrier.expected, "byte"), " expected, but copies of ", barrier.issued,
                  " bytes were issued for it"),
             barrier.name, barrier.stage);
    }
    barrier.expected = barrier.issued = 0;
    barrier.reached = known_at(*barrier.cta);
    ++barrier.phase;
    barrier.pending = barrier.count;
    note_phase(barrier);
    clocks[barrier.arrived_clock][barrier.agent] = barrier.phase;
    clocks.copy(barrier.released_clock, barrier.arrived_clock);
    if (barrier.arrived_wide != kNoAgent) {
      if (barrier.released_wide == kNoAgent) barrier.released_wide = clocks.new_clock();
      clocks.copy(barrier.released_wide, barrier.arrived_wide);
    }
    ++launch.progress;
    auto kept = barrier.waiters.begin();
    for (Thread* thread : barrier.waiters) {
      if (thread->wait_value == barrier.parity()) {
        *kept++ = thread;
        continue;
      }
      reach_barrier(*thread, barrier, thread->wait_scope);
      wake(*thread);
    }
    barrier.waiters.erase(kept, barrier.waiters.end());
    if (barrier.count == 0) return;  // every participant has dropped out
  }
}

void Cluster::reach_barrier(Thread& thread, Barrier& barrier, Scope scope) {
  pass_barrier(thread, barrier.reached);
  thread.asks_again = false;
  if (barrier.phase != barrier.first_phase) acquire_from_barrier(thread, barrier, scope);
  if (barrier.seen.empty()) barrier.seen.resize(launch.threads_per_cta);
  Barrier::Seen& seen = barrier.seen[thread.index];
  const bool fresh = barrier.phase == barrier.first_phase;
  seen = {seen.waits + 1, barrier.phase, epoch_of(thread), seen.passed_fresh || fresh};
  if (fresh && barrier.counts_bytes) {
    report(ReportKind::parity_alias, &thread,
           text("a wait on ", describe(barrier),
                " with parity 1 is satisfied by the phase before the first, which no arrival completed"),
           barrier.name, barrier.stage);
  }
  if (barrier.missed_phase) {
    barrier.missed_phase = false;
    report(ReportKind::parity_alias, &thread,
           text("a wait on ", describe(barrier), " comes after ",
                plural(barrier.phase - barrier.first_phase, "phase"),
                " completed with nobody waiting: an arrival came twice in one generation, or parity is "
                "ambiguous"),
           barrier.name, barrier.stage);
  }
}

// ---- hooks

namespace {

// The own CTA's place of a barrier that init, inval and waits name; null cta after a report.
SharedPlace own_place(Thread& thread, uint32_t address, const char* what) {
  Cluster& cluster = *thread.cluster;
  const SharedPlace place = cluster.locate(thread, address);
  if (place.cta == nullptr || place.cta == thread.cta) return place;
  const Barrier* barrier = cluster.barrier_at(place);
  cluster.report(
      ReportKind::remote_wait, &thread,
      text(what, " of a barrier of CTA ", place.cta->rank, ": only the own CTA's barriers allow it"),
      barrier != nullptr ? barrier->name : nullptr, barrier != nullptr ? barrier->stage : -1);
  return {};
}

Barrier& new_barrier(Cluster& cluster, SharedPlace place) {
  auto barrier = std::make_unique<Barrier>();
  const auto index = static_cast<uint32_t>(cluster.barriers.size());
  barrier->cta = place.cta;
  barrier->offset = place.offset;
  barrier->agent = cluster.new_agent(index);
  barrier->arrived_clock = cluster.clocks.new_clock();
  barrier->released_clock = cluster.clocks.new_clock();
  place.cta->barrier_at[place.offset / 8] = static_cast<int32_t>(index);
  place.cta->barriers_begin = std::min(place.cta->barriers_begin, place.offset);
  place.cta->barriers_end = std::max(place.cta->barriers_end, place.offset + 8);
  cluster.barriers.push_back(std::move(barrier));
  return *cluster.barriers.back();
}

}  // namespace

void name_barrier(uint32_t bar, const char* name, int stage) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const SharedPlace place = cluster.locate(*thread, bar);
  if (place.cta == nullptr || place.offset % 8 != 0 || place.offset + 8 > place.cta->shared_end) return;
  Barrier* barrier = cluster.barrier_at(place);
  if (barrier == nullptr) barrier = &new_barrier(cluster, place);
  barrier->name = cluster.launch.intern(name);
  barrier->stage = stage;
  cluster.launch.barrier_names[place.offset] = {barrier->name, stage};
}

void mbarrier_init(uint32_t bar, uint32_t count) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::mbarrier_init, bar);
  if (skipped(fault)) return;
  change(fault, bar, count);
  const SharedPlace place = own_place(*thread, bar, "mbarrier init");
  if (place.cta == nullptr) return;
  if (place.offset % 8 != 0) {
    cluster.report(
        ReportKind::misaligned, thread,
        text("mbarrier init at shared address ", Hex{place.offset}, ", which is not 8-byte aligned"));
    return;
  }
  if (count == 0 || count > kMaxCount) {
    cluster.report(
        ReportKind::invalid_argument, thread,
        text("mbarrier init with an arrival count of ", count, "; the legal range is 1..", kMaxCount));
    return;
  }
  Barrier* barrier = cluster.barrier_at(place);
  if (barrier != nullptr && barrier->live) {
    cluster.report(
        ReportKind::barrier_reinitialised, thread,
        text("the live ", cluster.describe(*barrier), " is initialised again without mbarrier.inval"),
        barrier->name, barrier->stage);
    return;
  }
  if (!cluster.check_shared(*thread, place, 8, true, "mbarrier init")) return;
  if (barrier == nullptr) barrier = &new_barrier(cluster, place);
  barrier->live = true;
  barrier->count = barrier->pending = count;
  barrier->tx = barrier->expected = barrier->issued = 0;
  barrier->first_phase = barrier->phase;
  barrier->counts_bytes = barrier->missed_phase = false;
  barrier->seen.clear();
  barrier->init_agent = thread->agent;
  barrier->init_epoch = cluster.epoch_of(*thread);
}

void mbarrier_invalidate(uint32_t bar) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::mbarrier_invalidate, bar);
  if (skipped(fault)) return;
  change_barrier(fault, bar);
  const SharedPlace place = own_place(*thread, bar, "mbarrier inval");
  if (place.cta == nullptr) return;
  Barrier* barrier = cluster.usable_barrier(*thread, place, "mbarrier inval", false);
  if (barrier == nullptr) return;
  if (!barrier->waiters.empty()) {
    cluster.report(ReportKind::barrier_reinitialised, thread,
                   text(cluster.describe(*barrier), " is invalidated while ",
                        cluster.describe(*barrier->waiters.front()), " waits on it"),
                   barrier->name, barrier->stage);
  }
  barrier->live = false;
}

void mbarrier_arrive(uint32_t bar, uint32_t count, Scope scope, Space space) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::mbarrier_arrive, bar);
  if (skipped(fault)) return;
  change(fault, bar, count);
  if (count == 0 || count > kMaxCount) {
    cluster.report(ReportKind::invalid_argument, thread,
                   text("mbarrier arrive with a count of ", count, "; the legal range is 1..", kMaxCount));
    return;
  }
  Barrier* barrier = cluster.usable_barrier(*thread, bar, "mbarrier arrive", false, space);
  if (barrier == nullptr) return;
  cluster.arrive(*thread, *barrier, count, thread->agent, scope);
  cluster.tick(*thread);
}

void mbarrier_arrive_drop(uint32_t bar) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::mbarrier_arrive_drop, bar);
  if (skipped(fault)) return;
  change_barrier(fault, bar);
  Barrier* barrier = cluster.usable_barrier(*thread, bar, "mbarrier arrive_drop", false, Space::cta);
  if (barrier == nullptr) return;
  if (barrier->count > 0) --barrier->count;
  cluster.arrive(*thread, *barrier, 1, thread->agent);
  cluster.tick(*thread);
}

void mbarrier_expect_tx(uint32_t bar, uint32_t bytes) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::mbarrier_expect_tx, bar);
  if (skipped(fault)) return;
  change(fault, bar, bytes);
  Barrier* barrier = cluster.usable_barrier(*thread, bar, "mbarrier expect_tx", false, Space::cta);
  if (barrier != nullptr) cluster.expect_bytes(*thread, *barrier, bytes);
}

void mbarrier_complete_tx(uint32_t bar, uint32_t bytes) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::mbarrier_complete_tx, bar);
  if (skipped(fault)) return;
  change(fault, bar, bytes);
  Barrier* barrier = cluster.usable_barrier(*thread, bar, "mbarrier complete_tx");
  if (barrier != nullptr) cluster.complete_bytes(*barrier, bytes);
}

void mbarrier_arrive_expect_tx(uint32_t bar, uint32_t bytes, Scope scope, Space space) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::mbarrier_arrive_expect_tx, bar);
  if (skipped(fault)) return;
  change(fault, bar, bytes);
  Barrier* barrier = cluster.usable_barrier(*thread, bar, "mbarrier arrive.expect_tx", false, space);
  if (barrier == nullptr) return;
  cluster.expect_bytes(*thread, *barrier, bytes);
  cluster.arrive(*thread, *barrier, 1, thread->agent, scope);
  cluster.tick(*thread);
}

bool mbarrier_test_wait_parity(uint32_t bar, uint32_t parity, Scope scope) {
  Thread* thread = current_thread;
  if (thread == nullptr) return false;
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::mbarrier_test_wait, bar);
  if (skipped(fault)) return true;
  if (flips_parity(fault)) parity ^= 1;
  change_barrier(fault, bar);
  const SharedPlace place = own_place(*thread, bar, "mbarrier test_wait");
  if (place.cta == nullptr) return true;
  Barrier* barrier = cluster.usable_barrier(*thread, place, "mbarrier test_wait", false);
  if (barrier == nullptr) return true;
  if (barrier->parity() == (parity & 1)) {
    // The first answer comes at once: who does not ask again goes on without the phase. Asking again is
    // polling: others go first.
    if (!std::exchange(thread->asks_again, true)) return false;
    cluster.poll(*thread);
    if (barrier->parity() == (parity & 1)) return false;
  }
  cluster.reach_barrier(*thread, *barrier, scope);
  return true;
}

void mbarrier_wait_parity(uint32_t bar, uint32_t parity, Scope scope) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  thread->parked_parity = parity;
  const FaultSpec* fault = cluster.begin(*thread, Op::mbarrier_wait, bar);
  if (skipped(fault)) return;
  if (flips_parity(fault)) parity ^= 1;
  change_barrier(fault, bar);
  const SharedPlace place = own_place(*thread, bar, "mbarrier wait");
  if (place.cta == nullptr) return;
  Barrier* barrier = cluster.usable_barrier(*thread, place, "mbarrier wait", false);
  if (barrier == nullptr) return;
  if (barrier->parity() != (parity & 1)) {
    cluster.reach_barrier(*thread, *barrier, scope);
    return;
  }
  thread->wait_barrier = barrier;
  thread->wait_value = parity & 1;
  thread->wait_scope = scope;
  barrier->waiters.push_back(thread);
  cluster.block(*thread, Wait::mbarrier);
}

}  // namespace tilewright::emulator
