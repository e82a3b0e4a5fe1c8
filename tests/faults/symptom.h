// Faults that are planted in a kernel, and what the emulated machine must say about them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "tests/faults/schedules.h"
#include "tilewright/emulator/fault.h"
#include "tilewright/emulator/machine.h"
#include "tilewright/error.h"

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

template <class... Kinds>
Symptom reports(Kinds... kinds) {
  return {.kinds = {kinds...}};
}

inline ::testing::AssertionResult is_expected(const Symptom& symptom, const emulator::Report& report) {
  const auto named = [](const auto& list, const auto& value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  const char* wrong = nullptr;
  if (!named(symptom.kinds, report.kind)) wrong = "kind";
  if (!symptom.places.empty() && !named(symptom.places, report.place)) wrong = "place";
  if (!symptom.role.empty() && report.role != symptom.role) wrong = "role";
  if (report.message.find(symptom.words) == std::string::npos) wrong = "sentence";
  if (wrong == nullptr) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "wrong " << wrong << ": " << name_of(report.kind) << " at '"
                                       << report.place << "' by '" << report.role << "': " << report.message;
}

/// A fault in the kernel of a case.
template <class Case>
struct Planted {
  const char* name;
  const Case* of;
  const char* line;  // of the kernel, that the fault changes
  emulator::FaultSpec fault;
  Symptom symptom;
};
template <class Case>
std::ostream& operator<<(std::ostream& out, const Planted<Case>& row) {
  return out << row.name;
}

/// No run reports anything. run(options): an Expected<LaunchResult>.
template <class Run>
void expect_clean(const std::vector<emulator::MachineOptions>& schedules, Run&& run) {
  for (const emulator::MachineOptions& options : schedules) {
    const Expected<emulator::LaunchResult> result = run(options);
    ASSERT_TRUE(result.has_value()) << result.error().message;
    EXPECT_TRUE(result->reports.empty())
        << name_of(options) << ", without a fault: " << result->reports[0].message;
  }
}
/// Every run with the fault reports the symptom first.
template <class Run>
void expect_reported(const emulator::FaultSpec& fault, const Symptom& symptom, const std::string& line,
                     const std::vector<emulator::MachineOptions>& schedules, Run&& run) {
  for (emulator::MachineOptions options : schedules) {
    options.fault = fault;
    const std::string where = line + ", " + name_of(options) + ": ";
    const Expected<emulator::LaunchResult> faulty = run(options);
    ASSERT_TRUE(faulty.has_value()) << faulty.error().message;
    if (faulty->reports.empty()) {
      ADD_FAILURE() << where << "nothing was reported";
      continue;
    }
    EXPECT_TRUE(is_expected(symptom, faulty->reports[0])) << where;
  }
}

}  // namespace tilewright::faults
