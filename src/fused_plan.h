// Plans and runs of products with bias, activation, auxiliary output and the maximum of D.
#pragma once

#include "src/fused_kernel_table.h"
#include "src/tensor_plan.h"

namespace tilewright {
namespace detail {

/// A kernel with a fused epilogue, with the arguments that do not depend on pointers.
struct BoundFused {
  const kernels::FusedKernel* kernel = nullptr;
  kernels::FusedArguments arguments{};
  BoundTensor gemm;
};

}  // namespace detail

/// Fills in `info` too. Errors: the rules of such problems and of the options.
Expected<detail::BoundFused> bind_fused(const PlanRequest& request, PlanInfo& info);

/// Launches the kernel on checked pointers; of an empty D amax_d is set only.
Status run_fused(const KernelProblem& problem, const detail::BoundFused& bound, const Buffers& buffers,
                 void* stream);

}  // namespace tilewright
