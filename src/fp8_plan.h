// Plans and runs of the FP8 kernels.
#pragma once

#include <string>
#include <vector>

#include "src/gemm_target.h"

namespace tilewright {
namespace detail {

/// An FP8 kernel with the arguments that do not depend on pointers.
struct BoundFp8 {
  const kernels::Fp8Kernel* kernel = nullptr;
  kernels::Fp8GemmArguments arguments;
  kernels::Launch launch;
};

}  // namespace detail

/// Fills in `info` too. Errors: the rules of FP8 problems and of the options.
Expected<detail::BoundFp8> bind_fp8(const PlanRequest& request, PlanInfo& info);

/// Launches the kernel on checked pointers.
Status run_fp8(const KernelProblem& problem, const detail::BoundFp8& bound, const Buffers& buffers,
               void* stream);

/// Step one of bind_fp8: the kernel for a problem, and whether its stores are bulk copies.
struct Fp8Choice {
  const kernels::Fp8Kernel* kernel = nullptr;
  bool tma_store = false;
  uint32_t group_tiles = 1;  // K tiles per promotion group
  std::string why;
  std::vector<PlanCandidate> candidates;
};
Expected<Fp8Choice> choose_fp8_kernel(const PlanRequest& request);

}  // namespace tilewright
