// The faults that are planted in the library's kernels, one for each line of them that synchronises or addresses
// something, and what the emulated machine must say about each.
#pragma once

#include <string>
#include <vector>

#include "tests/faults/gemm_case.h"
#include "tilewright/emulator/fault.h"
#include "tilewright/emulator/report.h"

namespace tilewright::faults {

/// What a report must be. Which symptom of a fault comes first may depend on the schedule: then any of `kinds`, at any
/// of `places`.
struct Expected_ {
  std::vector<emulator::ReportKind> kinds;
  std::vector<std::string> places = {};  // empty: not looked at
  std::string role = {};                 // of the thread that is reported; empty: not looked at
  std::string says = {};                 // a part of the sentence
};

struct PlantedFault {
  const char* name;
  const GemmCase* gemm;
  const char* line;  // the line of the kernel that is changed
  emulator::FaultSpec fault;
  Expected_ expected;
};

}  // namespace tilewright::faults
