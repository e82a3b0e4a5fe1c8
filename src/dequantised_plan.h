// Block-scaled problems on tensor cores without block scales: a kernel makes bf16 matrices of A and B in the
// workspace, and a bf16 kernel multiplies them.
#pragma once

#include "src/block_scale_plan.h"
#include "src/tensor_plan.h"

namespace tilewright {
namespace detail {

/// What a run keeps in the workspace, as byte offsets. Parts that are not needed are empty.
struct DequantisedWorkspace {
  int64_t a = 0, b = 0;                // bf16
  int64_t a_shifts = 0, b_shifts = 0;  // words of four lines
  int64_t flags = 0;                   // one for each CTA
  int64_t bytes = 0;                   // in all
};

/// A block-scaled problem without its pointers, and the two kernels for it.
struct BoundDequantised {
  const kernels::DequantisedKernel* kernel = nullptr;
  BlockScaledProblem problem;
  DequantisedWorkspace workspace;
  kernels::DequantiseParams dequantise{};
  kernels::Launch dequantise_launch;  // no CTAs: not launched
  BoundTensor gemm;
};

}  // namespace detail

/// Fills in `info` too. Errors: rules of the options and of the workspace.
Expected<detail::BoundDequantised> bind_dequantised(const PlanRequest& request, PlanInfo& info);

/// Launches the kernels on checked pointers. Errors: as run_block_scale.
Status run_dequantised(const Target& target, const detail::BoundDequantised& bound, const Buffers& buffers,
                       void* stream);

}  // namespace tilewright
