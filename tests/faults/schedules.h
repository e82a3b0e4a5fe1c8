// Under which schedules the emulated machine runs what a test explores.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tilewright/emulator/machine.h"

namespace tilewright::faults {

/// Seeds of a schedule: `usual`, or `share` of what TILEWRIGHT_SEEDS asks for.
inline uint64_t seeds_or(uint64_t usual, double share = 1) {
  const char* asked = std::getenv("TILEWRIGHT_SEEDS");
  return asked == nullptr ? usual : static_cast<uint64_t>(std::atof(asked) * share);
}

/// The fair schedule, whose seed does not matter, and `seeds` of each of the random ones; all else as `base`.
inline std::vector<emulator::MachineOptions> all_schedules(uint64_t seeds,
                                                           emulator::MachineOptions base = {}) {
  using emulator::SchedulePolicy;
  base.schedule = SchedulePolicy::fair;
  std::vector<emulator::MachineOptions> all{base};
  for (const SchedulePolicy policy : {SchedulePolicy::random, SchedulePolicy::adversarial}) {
    base.schedule = policy;
    for (base.seed = 0; base.seed < seeds; ++base.seed) all.push_back(base);
  }
  return all;
}

inline const char* name_of(emulator::SchedulePolicy policy) {
  switch (policy) {
    case emulator::SchedulePolicy::fair:
      return "fair";
    case emulator::SchedulePolicy::random:
      return "random";
    case emulator::SchedulePolicy::adversarial:
      return "adversarial";
    case emulator::SchedulePolicy::timed:
      return "timed";
  }
  return "";
}
/// "adversarial schedule, seed 3".
inline std::string name_of(const emulator::MachineOptions& options) {
  return std::string(name_of(options.schedule)) + " schedule, seed " + std::to_string(options.seed);
}

}  // namespace tilewright::faults
