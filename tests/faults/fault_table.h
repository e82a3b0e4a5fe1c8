// The faults that are planted in the library's kernels, one or more for each line of them that synchronises
// or addresses something, and what the emulated machine must say about each.
#pragma once

#include <ostream>
#include <vector>

#include "tests/faults/gemm_case.h"
#include "tests/faults/symptom.h"

namespace tilewright::faults {

using PlantedFault = Planted<GemmCase>;

/// A change after which the kernel is still right.
struct HarmlessFault {
  const char* name;
  const GemmCase* gemm;
  const char* line;
  emulator::FaultSpec fault;
  const char* reason;
};

inline std::ostream& operator<<(std::ostream& out, const HarmlessFault& row) { return out << row.name; }

std::vector<PlantedFault> planted_faults();
std::vector<HarmlessFault> harmless_faults();

}  // namespace tilewright::faults
