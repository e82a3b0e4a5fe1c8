// The emulated machine as its user sees it: options, launches, global memory, results.
//
// What it sees of a kernel: every operation of arch/, and every load and store that the compiler marks
// (kernel translation units are compiled with -fsanitize=thread). What it does not see: accesses inside
// library functions that were compiled without that option (memcpy of a run-time size), variables that the
// host compiler keeps in registers, and buffers that were neither allocated by the machine nor registered
// with it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tilewright/emulator/clock_model.h"
#include "tilewright/emulator/fault.h"
#include "tilewright/emulator/hooks.h"
#include "tilewright/emulator/report.h"
#include "tilewright/error.h"

namespace tilewright::emulator {

/// How the machine orders what the hardware leaves open. Every policy is deterministic for a given seed.
enum class SchedulePolicy : uint8_t {
  fair,         // round robin; asynchronous operations execute a few steps after they were issued
  random,       // any runnable thread or pending operation next
  adversarial,  // by seed: operations as early or as late as legal, wgmma slice by slice, one role far ahead
  timed,        // everything at the time that the clock model gives it: Statistics::clocks, a timeline in
                // nanoseconds
};

class Explorer;

struct MachineOptions {
  SchedulePolicy schedule = SchedulePolicy::fair;
  uint64_t seed = 0;
  /// false: wgmma and mma_sync store 1 instead of products, so that schedules are explored in milliseconds.
  bool arithmetic = true;
  std::optional<FaultSpec> fault = std::nullopt;
  bool trace = false;
  /// A launch ends at its max_reports-th report (the first is the one that `launch` returns).
  uint32_t max_reports = 1;
  /// A thread that makes this many memory accesses without reaching a machine operation is reported as
  /// livelock.
  uint64_t watchdog_accesses = 2'000'000'000;
  /// Set by explore() (explore.h): who decides what comes next, in place of `schedule`.
  Explorer* explorer = nullptr;
  /// Number of multiprocessors that the machine claims to have. Kernels ask for it; under `timed` it is how
  /// many CTAs (of a kernel that has a multiprocessor for each) run at a time; and as many are taken to have
  /// started when a kernel asks for clusters that have not (cluster launch control).
  uint32_t multiprocessors = 132;
  /// Under `timed`: whose rates the machine has.
  Chip chip = Chip::sm_90a;
};

/// What a launch did.
struct Statistics {
  /// Executed operations. Warpgroup and warp operations count once per warpgroup or warp (wgmma, stmatrix,
  /// ldmatrix, mma_sync), everything else once per thread.
  std::array<uint64_t, static_cast<size_t>(Op::count_)> operations{};
  uint64_t fiber_switches = 0;
  uint64_t asynchronous_operations = 0;
  /// Scheduling decisions with more than one possible answer.
  uint64_t interleavings = 0;
  uint64_t clusters = 0;
  /// Clusters that never started, because another one took their work (cluster launch control).
  uint64_t clusters_canceled = 0;
  /// Bytes that TMA and bulk copies wrote to shared and to global memory.
  uint64_t bytes_loaded = 0, bytes_stored = 0;
  /// The largest number of phases that one mbarrier completed (how often a ring wrapped).
  uint32_t most_barrier_phases = 0;
  /// Operations that MachineOptions::fault changed.
  uint64_t faults_planted = 0;
  /// Under `timed`: modelled time from the first instruction of the grid to the end of its last operation.
  double clocks = 0, nanoseconds = 0;

  /// Those of one launch after the other: sums, but for the largest number of phases.
  Statistics& operator+=(const Statistics& more);
  uint64_t count(Op op) const { return operations[static_cast<size_t>(op)]; }
};

struct LaunchResult {
  std::vector<Report> reports;
  Statistics statistics;
};

/// How a buffer of global memory may be used.
struct GlobalBufferOptions {
  std::string name = "global";
  bool writable = true;     // false: a write by a kernel is reported
  bool initialised = true;  // false: a byte that no kernel has written yet must not be read
  /// Counts the bytes that kernels write to it; for other threads, to see how far a launch is.
  std::atomic<uint64_t>* written = nullptr;
};

struct MachineState;

/// One emulated GPU. Not thread-safe; different machines may be used by different threads.
class Machine {
 public:
  explicit Machine(MachineOptions options = {});
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// The machine that `launch` uses when its config names none. One per thread.
  static Machine& default_machine();

  const MachineOptions& options() const;
  /// Takes effect at the next launch.
  void set_options(MachineOptions options);

  /// Runs the grid. Faults of the kernel are reports; a launch that cannot start (extents, shared memory,
  /// cluster shape) is an error.
  Expected<LaunchResult> launch(const LaunchConfig& config, void (*body)(void*), void* closure);
  /// Result of the last launch on this machine.
  const LaunchResult& last_result() const;
  /// Of all launches since the machine was made, or since forget_launches: modelled times are added up, as
  /// of kernels one after another.
  const Statistics& total_statistics() const;
  /// total_statistics and the timeline begin anew.
  void forget_launches();

  /// Global memory owned by the machine, surrounded by red zones; null when there is none left.
  void* allocate_global(size_t bytes, GlobalBufferOptions options = {});
  void free_global(void* pointer);
  /// Declares memory of the caller to the machine, so that accesses to it are checked. Ranges must not
  /// overlap.
  void register_global(void* pointer, size_t bytes, GlobalBufferOptions options = {});
  void unregister_global(void* pointer);

  /// All launches that options().trace was set for, since the machine was made or since forget_launches, as
  /// Chrome trace JSON: a process per CTA, a track per warp and per asynchronous unit (several where its
  /// operations overlap), time in machine steps (a microsecond each), or modelled time under `timed`. Empty
  /// unless options().trace.
  std::string trace_json() const;
  /// The same as a picture, of the first CTA of each launch and one more of its cluster.
  std::string trace_svg() const;
  /// Nothing that a timeline shows has happened.
  bool trace_is_empty() const;
  /// The picture if the path ends in ".svg", else JSON.
  Status write_trace(const std::string& path) const;

 private:
  std::unique_ptr<MachineState> state_;
};

}  // namespace tilewright::emulator
