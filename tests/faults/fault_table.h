// The faults that are planted in the library's kernels, one or more for each line of them that synchronises
// or addresses something, and what the emulated machine must say about each.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tests/faults/gemm_case.h"
#include "tilewright/emulator/fault.h"
#include "tilewright/emulator/report.h"

namespace tilewright::faults {

/// What the first report must be. Which symptom of a fault comes first may depend on the schedule.
struct Symptom {
  std::vector<emulator::ReportKind> kinds;  // one of these
  std::vector<std::string> places = {};     // it names one of these; empty: not looked at
  std::string role = {};                    // of the thread that it names; empty: not looked at
  std::string words = {};                   // its sentence contains this

  template <class... Names>
  Symptom at(Names... names) const {
    Symptom copy = *this;
    copy.places = {names...};
    return copy;
  }
  Symptom by(const char* name) const {
    Symptom copy = *this;
    copy.role = name;
    return copy;
  }
  Symptom saying(const char* part) const {
    Symptom copy = *this;
    copy.words = part;
    return copy;
  }
};

struct PlantedFault {
  const char* name;
  const GemmCase* gemm;
  const char* line;  // of the kernel, that the fault changes
  emulator::FaultSpec fault;
  Symptom symptom;
};

/// A change after which the kernel is still right.
struct HarmlessFault {
  const char* name;
  const GemmCase* gemm;
  const char* line;
  emulator::FaultSpec fault;
  const char* reason;
};

inline std::ostream& operator<<(std::ostream& out, const PlantedFault& row) { return out << row.name; }
inline std::ostream& operator<<(std::ostream& out, const HarmlessFault& row) { return out << row.name; }

std::vector<PlantedFault> planted_faults();
std::vector<HarmlessFault> harmless_faults();

}  // namespace tilewright::faults
