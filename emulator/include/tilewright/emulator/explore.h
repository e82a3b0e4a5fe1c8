// Every order of a kernel's barrier events, instead of a sample of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "tilewright/emulator/machine.h"
#include "tilewright/error.h"

namespace tilewright::emulator {

/// What an exploration did.
struct ExploreResult {
  uint64_t executions = 0;  // to their end
  uint64_t cut = 0;         // given up because an equivalent one was done before
  uint64_t most_steps = 0;  // of one execution
  bool complete = false;    // no order is left
  std::optional<Report> report =
      std::nullopt;  // of the first execution that had one; it ends the exploration
};

struct ExploreOptions {
  uint64_t max_executions = 10000;  // those that are cut included
  /// Also every order of arrivals (and bytes) within a phase of an mbarrier, which add up to the same.
  bool every_order_of_arrivals = false;
  /// Steps are those of a warp, not of the threads of a warpgroup that have one role (name_role). More of
  /// them; more executions only where warps are not ordered.
  bool each_warp = false;
};

/// Runs a kernel again and again, until every order of its barrier events has been seen up to equivalence, or
/// until `max_executions`. `run` launches it with the options that it is given (schedule and explorer are
/// set), from the same memory contents each time.
///
/// Steps: what the threads of a warpgroup that have one role (name_role) do up to the next operation on an
/// mbarrier, or with `each_warp` those of a warp, and the execution of an asynchronous operation. Threads
/// that step together make the operation at which they are at once, arrivals before waits; a wait is a step
/// only once its phase has completed. Two steps are dependent when both touch an mbarrier, unless both wait,
/// or both arrive (or bring bytes) in the same phase. Of each set of executions that differ in the order of
/// independent steps alone, one is run (dynamic partial-order reduction with sleep sets). Everything else
/// that steps touch is memory and registers, and the machine reports two accesses to those that nothing
/// orders, in whatever order they came. So a complete exploration without a report means: no report in any
/// order of these steps.
///
/// Not covered: orders among the threads that step together, the answers to polls, orders between clusters.
Expected<ExploreResult> explore(MachineOptions options,
                                const std::function<Expected<LaunchResult>(const MachineOptions&)>& run,
                                ExploreOptions limits = {});

}  // namespace tilewright::emulator
