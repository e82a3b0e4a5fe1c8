// Which FP32 kernels may compute a problem.
#pragma once

#include <vector>

#include "src/gemm_target.h"

namespace tilewright {

/// A kernel for a problem as it is, or flipped.
struct SimtCandidate {
  const kernels::SimtKernel* kernel;
  bool flipped;
};

/// A problem both ways round.
struct SimtSides {
  const KernelProblem& straight;
  KernelProblem flipped;

  explicit SimtSides(const KernelProblem& problem) : straight(problem), flipped(problem.flipped()) {}

  const KernelProblem& of(const SimtCandidate& c) const { return c.flipped ? flipped : straight; }
  /// The candidate's tile as the caller sees it.
  Shape2 tile_of(const SimtCandidate& c) const {
    return of(c).to_caller({c.kernel->id.tile_m, c.kernel->id.tile_n});
  }
};

/// Kernels of the machine, with the loads, the tile and the static shape that the options ask for; at least
/// one.
Expected<std::vector<SimtCandidate>> simt_candidates(const PlanRequest& request, const SimtSides& sides);

}  // namespace tilewright
