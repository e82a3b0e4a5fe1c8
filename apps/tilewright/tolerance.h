// The check that --tolerance adds to the theoretical bound.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "src/reference.h"
#include "tilewright/gemm.h"

namespace tilewright::cli {

/// |D - reference| <= absolute + relative |reference|, as published checks of the type have it.
struct Tolerance {
  double absolute = 0, relative = 1e-3;
  bool rounded = true;  // the reference, to D's type; not for block-scaled types
};
struct ToleranceCheck {
  Tolerance tolerance;
  Comparison found;  // elements, failures and the first of them

  bool passed() const { return found.passed(); }
};

/// Every element of D, or part of a complex one. `reference`: [batch][row][column], dense, in FP64.
ToleranceCheck check_tolerance(const Problem& problem, const MatrixView& d,
                               const std::vector<double>& reference, const Tolerance& tolerance);

/// What was found: a line of text, an object.
void print_tolerance(const ToleranceCheck& check);
nlohmann::json to_json(const ToleranceCheck& check);

/// How many elements are outside their bound, and how many have none; nothing if there are none of either.
void print_comparison(const char* name, const Comparison& comparison);
/// Those that have none, in words; empty if there are none.
std::string unbounded_words(const Comparison& comparison);

/// Numbers in an element: the parts of a complex one are judged one by one.
inline int64_t parts_of(DType type) { return is_complex(type) ? 2 : 1; }
/// The first element outside: an object, or words behind what was counted (none if all passed).
nlohmann::json first_failure(const Comparison& comparison);
std::string first_words(const char* name, const Comparison& comparison);

}  // namespace tilewright::cli
