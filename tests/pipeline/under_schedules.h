// Checks on the emulated machine, repeated under every kind of schedule.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "tilewright/emulator/machine.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {

/// Fair, and random and adversarial with ten seeds each.
template <class Check>
void under_schedules(Check check) {
  using emulator::Machine;
  using emulator::MachineOptions;
  using emulator::SchedulePolicy;
  Machine& machine = Machine::default_machine();
  const MachineOptions before = machine.options();
  for (const SchedulePolicy policy :
       {SchedulePolicy::fair, SchedulePolicy::random, SchedulePolicy::adversarial}) {
    for (uint64_t seed = 0; seed < (policy == SchedulePolicy::fair ? 1u : 10u); ++seed) {
      SCOPED_TRACE(::testing::Message() << "schedule " << static_cast<int>(policy) << ", seed " << seed);
      MachineOptions options = before;
      options.schedule = policy;
      options.seed = seed;
      machine.set_options(options);
      check();
      if (::testing::Test::HasFailure()) break;
    }
  }
  machine.set_options(before);
}

}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
