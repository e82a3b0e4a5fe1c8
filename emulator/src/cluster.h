// One running cluster: its threads, its shared memory, its clocks, its scheduler.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "async.h"
#include "barrier.h"
#include "clock.h"
#include "explorer.h"
#include "launch.h"
#include "planted_fault.h"
#include "shadow.h"
#include "thread.h"
#include "timing.h"

namespace tilewright::emulator {

constexpr uint32_t kReservedShared = 1024;  // shared addresses below belong to the system
constexpr uint32_t kMaxDynamicShared = 232448;
constexpr uint32_t kWindowStride = 256 * 1024;
constexpr uint32_t kRegistersPerMultiprocessor = 65536;
constexpr uint32_t kNowhere = ~0u;

struct TensorMemory;

struct NamedRegion {
  uint32_t begin = 0, end = 0;
  const char* name = nullptr;
  int stage = -1;
};

struct Cta {
  uint32_t rank = 0;
  Index3 block;
  uint32_t number = 0;          // linear block index
  std::byte* window = nullptr;  // shared address 0
  uint32_t shared_end = 0;      // first shared address past the dynamic memory
  uint32_t live_threads = 0;
  bool exited = false;
  std::vector<int32_t> barrier_at;  // per 8 bytes: index in Cluster::barriers, or -1
  std::vector<NamedRegion> regions;
  Shadow shadow;                                // by shared address
  std::shared_ptr<TensorMemory> tensor_memory;  // made at its first use
  std::array<NamedBarrier, 16> named;
  uint32_t free_registers = 0;
  uint32_t barriers_begin = ~0u, barriers_end = 0;  // all mbarriers lie between
  std::vector<uint32_t>
      peer_access;  // last epoch of each thread of the cluster that touched this CTA from outside
};

/// A shared-memory address of some CTA of the cluster; cta is null when there is no such CTA.
struct SharedPlace {
  Cta* cta = nullptr;
  uint32_t offset = 0;
};

class Cluster {
 public:
  enum class Status : uint8_t { finished, polling, stopped };

  /// `first_block` is the block index of rank 0; `start`: when it may begin, in modelled time.
  Cluster(Launch& launch, ClusterStorage& storage, uint32_t id, Index3 first_block, Ticks start);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  ~Cluster();

  /// Runs until all threads have exited, or all wait for memory that another cluster may write, or the launch
  /// stops.
  Status run();
  /// Reports threads that wait for ever.
  void report_livelock();

  // ---- scheduling (scheduler.cpp)
  /// Suspends the calling thread until wake(); the caller has set up what it waits for.
  void block(Thread& thread, Wait wait);
  void wake(Thread& thread);
  /// Lets another thread run, if the schedule wants that here.
  void yield_point(Thread& thread);
  /// The calling thread saw nothing new.
  void poll(Thread& thread);
  /// What the thread's warp does now, for the timeline.
  void trace_in_turn(const Thread& thread, const char* name, Trace::Kind kind, Trace::Place place,
                     uint32_t bytes);
  /// Ends the calling fiber: never returns.
  [[noreturn]] void leave(Thread& thread);
  void exit_thread(Thread& thread);

  // ---- modelled time (timed_schedule.cpp); without it the timeline counts machine steps
  bool timed() const { return timing_ != nullptr; }
  /// Null unless timed.
  Timing* timing() { return timing_.get(); }
  /// Where the running thread is, or the asynchronous operation that executes.
  Ticks now() const { return current_thread != nullptr ? current_thread->time : event_time_; }
  uint64_t timeline() const { return timed() ? now() : launch.step; }
  /// Where a thread is on it, also while the machine does its own work in between.
  uint64_t timeline(const Thread& thread) const { return timed() ? thread.time : launch.step; }
  /// Threads of a meeting go on together, when the last of them has come.
  void join_times(Thread& thread, const Thread& other) { thread.time = std::max(thread.time, other.time); }
  /// When a phase that completes now is known in a CTA.
  Ticks known_at(const Cta& cta) const;
  void pass_barrier(Thread& thread, Ticks reached);
  /// An access of the thread, or its share of one of its warp, to shared memory.
  void charge_shared(Thread& thread, uint32_t bytes);
  /// When its last thread or operation ended.
  Ticks end_time() const { return end_time_; }

  // ---- asynchronous operations (async.cpp)
  AsyncOperation& new_operation(AsyncKind kind, Thread& issuer);
  /// Executes the operation now or leaves it to the scheduler.
  void submit(AsyncOperation& operation);
  /// Whether the schedule wants an asynchronous operation that is issued now to execute at once.
  bool executes_early();
  /// Executes what is left of the thread's cp.async copies up to a group.
  void finish_copies(const Thread& thread, uint32_t group);

  // ---- happens-before (ordering.cpp)
  bool ordered(const uint32_t* clock, const Access& access) const {
    if (access.kind == AccessKind::none) return true;
    if (access.cluster != id_) return ordered_across(clock, access);
    return clock[access.agent] >= access.epoch;
  }
  /// Whether a write that is ordered before an actor's read reached its CTA: what a thread of another CTA
  /// stored must have been released and acquired at the scope of the cluster.
  bool acquired(const Actor& actor, const Access& write) const;
  /// Whether a generic write was made visible to the async proxy before it was released to the clock's owner.
  bool fenced(const Actor& actor, const Access& access) const;
  /// Whether a write to a tensor map was released, and acquired before the actor uses the map.
  bool map_acquired(const Actor& actor, const Access& write) const;
  uint32_t* clock_of(const Thread& thread) { return clocks[thread.agent]; }
  const uint32_t* clock_of(const Thread& thread) const { return clocks[thread.agent]; }
  uint32_t epoch_of(const Thread& thread) const { return clock_of(thread)[thread.agent]; }
  /// `into` learns what the thread knows; the thread's later events are not part of it.
  void release(Thread& thread, uint32_t into);
  void acquire(Thread& thread, uint32_t from);
  /// The thread itself learns that `agent` has reached `epoch`.
  void learn(Thread& thread, uint32_t agent, uint32_t epoch);
  void tick(Thread& thread) {
    uint32_t* clock = clock_of(thread);
    ++clock[thread.agent];
    if (has_wide_agents()) clock[wide_agent(thread.agent)] = clock[thread.agent];
  }
  /// In clusters of several CTAs each thread has a second agent. Its entry in a clock is the epoch of the
  /// thread that was acquired through synchronisation that reaches across CTAs.
  bool has_wide_agents() const { return wide_begin_ != wide_end_; }
  uint32_t wide_agent(uint32_t agent) const { return wide_begin_ + agent; }
  /// An mbarrier's clock learns from an arrival; a thread learns from a completed phase.
  void release_to_barrier(const Thread& thread, Barrier& barrier, uint32_t clock, Scope scope);
  void acquire_from_barrier(Thread& thread, const Barrier& barrier, Scope scope);
  /// fence.acq_rel at the scope of the cluster: what relaxed or narrower operations brought counts.
  void widen_knowledge(Thread& thread);
  /// What comes after an operation that orders execution but no memory (shuffles, relaxed arrivals): clock
  /// `into` learns which phases of named barriers have completed. Whether that was new to it.
  bool join_phases(uint32_t into, uint32_t from);
  void fence_proxy(Thread& thread, ProxyFence space);
  /// fence.proxy.tensormap acquire of a map.
  void acquire_map(Thread& thread, const void* map);
  Access access_by(const Thread& thread, AccessKind kind = AccessKind::generic) const {
    return {thread.agent, epoch_of(thread), id_, kind};
  }
  /// What every thread of the warpgroup knows.
  const uint32_t* common_clock(Warpgroup& group);
  Snapshot snapshot(Thread& thread);
  void acquire(Thread& thread, const Snapshot& snapshot);

  // ---- shared memory (shared_memory.cpp)
  /// Notes that the thread touches a CTA from outside; false (after a report) when that CTA has exited.
  bool touch_peer(const Thread& thread, Cta& cta, const char* what);
  /// The same for an asynchronous operation of the thread, whose completion a barrier of that CTA tells.
  bool reach_peer(const Thread& thread, const Cta& cta, const char* what);
  SharedPlace locate(const Thread& thread, uint32_t address);
  /// The same for an instruction that takes addresses of `space`: the cta is null after a report, too, when
  /// it takes those of the own CTA alone and this is a peer's.
  SharedPlace locate(const Thread& thread, uint32_t address, Space space, const char* what);
  SharedPlace locate_pointer(const void* pointer);
  bool in_windows(uintptr_t address) const {
    return address - window_base_ < size_t{kWindowStride} * ctas.size();
  }
  /// Checks one access of a thread's ordinary code or of a synchronous instruction; false when it is out of
  /// bounds.
  bool check_shared(Thread& thread, SharedPlace place, uint32_t bytes, bool write, const char* what);
  /// The same for an asynchronous operation.
  bool check_shared(const Thread& thread, SharedPlace place, uint32_t bytes, bool write, Actor actor,
                    const char* what);
  const NamedRegion* region_at(const Cta& cta, uint32_t offset) const;
  Trace::Place place_at(const Cta& cta, uint32_t offset) const {
    const NamedRegion* region = region_at(cta, offset);
    return region == nullptr ? Trace::Place{} : Trace::Place{region->name, region->stage};
  }

  // ---- global memory (global_access.cpp); false when it is out of bounds
  bool check_global(Thread& thread, const void* address, uint64_t bytes, bool write, const Actor& actor,
                    const char* what);

  // ---- mbarriers (mbarrier.cpp)
  Barrier* barrier_at(SharedPlace place);
  BarrierName barrier_name(SharedPlace place);
  /// The live barrier at an address, after the checks that every use needs; null after a report.
  Barrier* usable_barrier(Thread& thread, uint32_t address, const char* what, bool asynchronous = false,
                          Space space = Space::cluster);
  Barrier* usable_barrier(Thread& thread, SharedPlace place, const char* what, bool asynchronous);
  void arrive(Thread& thread, Barrier& barrier, uint32_t count, uint32_t clock, Scope scope = Scope::cta);
  void complete_bytes(Barrier& barrier, uint32_t bytes);
  void expect_bytes(const Thread& thread, Barrier& barrier, uint32_t bytes);
  /// A copy of `bytes` that completes on the barrier is issued; the event of its completion.
  Access issue_copy(Thread& thread, Barrier& barrier, uint32_t bytes);
  void finish_phases(Barrier& barrier);
  /// The thread's wait on the barrier returns.
  void reach_barrier(Thread& thread, Barrier& barrier, Scope scope);
  void check_phase_was_seen(Barrier& barrier);
  void count_bytes(Barrier& barrier, const Thread& thread);
  void finish_cluster_barrier();

  // ---- faults and reports (fault.cpp, report.cpp)
  /// Counts the operation; the planted fault, if it selects this execution.
  const FaultSpec* begin(Thread& thread, Op op, uint32_t address = kNowhere, uint32_t other = kNowhere);
  void report(ReportKind kind, const Thread* thread, std::string message, const char* place = nullptr,
              int stage = -1);
  /// The same, with the name of what lies at a shared address.
  void report_at(ReportKind kind, const Thread& thread, SharedPlace place, std::string message);
  void report_conflict(const Thread& thread, const Conflict& conflict, const std::string& where, bool write,
                       const char* what, const char* place, int stage);
  std::string describe(const Thread& thread) const;
  std::string describe(const Barrier& barrier) const;
  std::string describe(const Access& access) const;
  std::string describe(const Cta& cta, uint32_t offset) const;
  std::string describe_unknown_barrier(SharedPlace place);
  void report_deadlock();

  /// The thread has a role from now on: an exploration tells it apart from the others of its warpgroup.
  void note_role(const Thread& thread);

  // ---- warpgroup MMA (wgmma.cpp)
  /// Executes the oldest wgmma of the group: all of it, or eight columns.
  void execute_wgmma(Warpgroup& group, bool one_slice);
  /// Executes every wgmma that the thread's warpgroup has issued, before the thread goes on.
  void drain_wgmma(Thread& thread);
  /// An access of the thread, or of a synchronous instruction of its, to what may be registers of a wgmma.
  void touch_registers(Thread& thread, const std::byte* begin, uint32_t bytes, bool write);
  /// Reports what an exiting thread leaves undone.
  void check_exit(Thread& thread);

  /// The agent whose epoch counts the completed wgmma groups of a warpgroup.
  uint32_t group_agent(const Warpgroup& group) const {
    return static_cast<uint32_t>(threads.size() + static_cast<size_t>(&group - groups.data()));
  }
  /// A new agent that belongs to a thread or a barrier, by index.
  uint32_t new_agent(uint32_t owner) {
    agent_owners.push_back(owner);
    return clocks.new_agent();
  }
  uint32_t owner_of(uint32_t agent) const { return agent_owners[agent - wide_end_]; }
  uint32_t id() const { return id_; }
  bool in_stacks(uintptr_t address) const { return storage_.stacks.contains(address); }

  Launch& launch;
  ClockPool clocks;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<Warpgroup> groups;
  std::vector<Cta> ctas;
  std::vector<std::unique_ptr<Barrier>> barriers;
  ClusterBarrier cluster_barrier;
  uint32_t live_threads = 0;
  uint32_t dependency_agent = kNoAgent;  // epoch 1: the grid dependency was waited for
  std::vector<uint32_t> agent_owners;    // of the agents after those of threads and warpgroups
  std::vector<uint32_t> phase_agents;    // of named barriers
  // Of fence.proxy.tensormap: what the executing thread knew then.
  struct MapAcquire {
    const void* map;
    uint32_t agent, epoch;
    uint32_t known;  // a clock
  };
  std::vector<MapAcquire> map_acquires;
  std::vector<std::pair<uint32_t, uint32_t>> first_global_fences;  // of this cluster's: agent and epoch
  uint32_t clusters_taken = 0;                                     // that this one had cancelled
  bool saw_refusal = false;  // a thread has read that there are none left

 private:
  void create_threads();
  static void run_thread(void* thread);
  void exit_cta(Cta& cta);
  void check_registers(const Cta& cta);
  void check_unfinished_phases();
  void check_left_barrier(const Barrier& barrier, const Thread& thread, uint32_t known_phases);
  void resume(Thread& thread);
  void trace_wait(const Thread& thread);
  Thread* next_thread();
  Thread* next_fair();
  Thread* next_random();
  Thread* next_by_priority();
  void make_ready(Thread& thread);

  // timed_schedule.cpp
  void start_clock(Ticks start);
  void queue_timed(const Thread& thread);
  Thread* next_timed();
  bool operation_is_next() const;
  size_t earliest_operation() const;
  void schedule_timed(AsyncOperation& operation);
  void note_event(Ticks time, const Cta* cta);
  Ticks wake_time(const Thread& thread) const;
  void charge(Thread& thread, Op op);
  void take_turn(Thread& thread);

  bool wants_operation();
  void execute_next(bool nobody_runs);
  void execute_at(size_t index);

  // exploration.cpp
  Explorer* explorer() const;
  void park(Thread& thread, Op op, uint32_t address);
  bool can_go_on(const Thread& thread);
  Explorer::Key process_of(const Thread& thread) const;
  std::vector<Thread*> next_of(Explorer::Key process);
  void release_parked(const std::vector<Thread*>& step);
  bool explore_step();
  Status run_explored();
  void note_start(const AsyncOperation& operation);
  void note_wake(const Thread& thread);
  void note_phase(const Barrier& barrier);

  size_t choose_operation(bool nobody_runs);
  bool is_needed(const AsyncOperation& operation);
  void execute(AsyncOperation& operation);
  bool execute_step(AsyncOperation& operation);
  bool requeue_pollers();
  uint32_t known_of(const uint32_t* clock, const Access& access) const;
  bool ordered_across(const uint32_t* clock, const Access& access) const;
  bool fenced_across(const Actor& actor, const Access& access) const;

  // What this cluster has learned of another one. Levels only grow: a thread that knows level l (epoch l of
  // the agent) knows what was learned up to then.
  struct Foreign {
    uint32_t cluster = 0;
    uint32_t agent = 0;
    std::vector<SharedClock> levels;
    // What each level was learned from: a clock, and the epoch of the thread that published it.
    std::vector<std::pair<SharedClock, uint32_t>> sources;
  };
  uint32_t learn_foreign(Foreign& foreign, const SharedClock& clock, uint32_t agent, uint32_t epoch);
  Foreign& foreign_of(uint32_t cluster);

  enum class Earliness : uint8_t { early, late, mixed };

  ClusterStorage& storage_;
  uint32_t id_;
  uintptr_t window_base_ = 0;
  uint32_t wide_begin_ = 0, wide_end_ = 0;  // agents
  std::vector<Foreign> foreign_;

  // scheduler
  std::vector<uint32_t> ready_;  // lanes, per warp
  uint32_t ready_lanes_ = 0;
  std::vector<uint32_t> priority_;  // per warp
  uint32_t turn_ = 0;               // warp whose turn it is
  uint32_t turn_lanes_ = 0;         // its lanes that have not had their turn
  std::vector<Thread*> pollers_;
  std::vector<Thread*> parked_;  // explorations: before an operation on an mbarrier
  uint64_t polled_at_ = ~0ull;
  uint32_t idle_polls_ = 0;
  Earliness earliness_ = Earliness::mixed;
  bool slices_ = false;

  // modelled time
  struct Ready {
    Ticks time;
    uint32_t agent;
  };
  static bool later(const Ready& a, const Ready& b) {
    return a.time != b.time ? a.time > b.time : a.agent > b.agent;
  }
  std::unique_ptr<Timing> timing_;
  std::vector<Ready> ready_queue_;  // a heap
  Ticks start_time_ = 0, event_time_ = 0, end_time_ = 0;
  const Cta* event_cta_ = nullptr;  // that issued the operation which executes

  std::vector<AsyncOperation*> pending_;
  AsyncOperation* immediate_ = nullptr;  // executes before its issuer goes on
  std::vector<std::unique_ptr<AsyncOperation>> all_operations_;
  std::vector<AsyncOperation*> free_operations_;
};

}  // namespace tilewright::emulator
