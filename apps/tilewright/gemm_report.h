// What `tilewright gemm` found, and how it says so.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "model_check.h"
#include "operands.h"
#include "run_problem.h"
#include "src/reference.h"
#include "tilewright/gemm.h"
#include "tolerance.h"

namespace tilewright::cli {

/// The largest magnitude, and where FP64 has it.
struct AmaxCheck {
  float got = 0;
  MagnitudeRange range;

  bool passed() const { return range.holds(got); }
};

/// The result of a check of D against the FP64 reference and, where there is one, the model of the tensor
/// core.
struct Verdict {
  Comparison comparison;
  double error_bound = 0;  // of comparison.relative_error: what theory allows
  std::optional<ToleranceCheck> tolerance;
  std::optional<Comparison> aux;
  std::optional<AmaxCheck> amax;
  ModelCheck model;

  bool passed() const {
    return comparison.passed() && (!tolerance || tolerance->passed()) && (!aux || aux->passed()) &&
           (!amax || amax->passed()) && model.passed();
  }
};

/// Computes the reference and judges every element of D (and of aux, and amax); a sample of them, that
/// `seed` chooses, by the model.
Expected<Verdict> judge(const Operands& operands, const PlanInfo& plan, uint64_t seed,
                        const std::optional<Tolerance>& tolerance);

struct GemmReport {
  Problem problem;
  PlanInfo plan;
  std::string device_name;
  RunResult run;
  std::optional<Verdict> verdict;  // none with --skip_ref_check

  double flops() const;
  bool passed() const { return !verdict || verdict->passed(); }
};

/// Before the run: the problem, and what was chosen for it.
void print_configuration(const Problem& problem, const PlanInfo& plan, const std::string& device_name);
/// After it.
void print_result(const GemmReport& report);
nlohmann::json to_json(const GemmReport& report);

}  // namespace tilewright::cli
