// `gemm` and `explain` for block-scaled operands.
#pragma once

#include <optional>

#include "arguments.h"
#include "run_problem.h"
#include "tolerance.h"

namespace tilewright::cli {

/// What `gemm` asks for besides the problem.
struct BlockScaledRequest {
  RunOptions run;
  std::optional<Tolerance> tolerance;
  bool skip_ref_check = false, json = false;
  bool schedule_given = false;
  std::string init;  // empty: moderate
};

/// Runs every K of the list with the overlap asked for, prints what came out, and returns the exit code.
int gemm_block_scaled(const ProblemArguments& arguments, const BlockScaledRequest& request);

/// Prints the map of tensor memory and the rules or, with extents, what would run.
int explain_block_scaled(const ProblemArguments& arguments);

}  // namespace tilewright::cli
