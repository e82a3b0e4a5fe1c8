// From a problem and a target to a bound kernel. The target is a value, so that every path is tested without
// a device.
#pragma once

#include <variant>

#include "src/block_scale_plan.h"
#include "src/dequantised_plan.h"
#include "src/device_info.h"
#include "src/fp8_plan.h"
#include "src/fused_plan.h"
#include "src/gemm_problem.h"
#include "src/gemm_target.h"
#include "src/simt_plan.h"
#include "src/tensor_plan.h"
#include "tilewright/gemm.h"

namespace tilewright {
namespace detail {

/// What run() needs besides pointers and a stream.
struct PlanState {
  PlanInfo info;
  KernelProblem problem;
  Target target;
  std::variant<BoundFp8, BoundSimt, BoundTensor, BoundBlockScale, BoundDequantised, BoundFused> kernel;
};

}  // namespace detail

/// The target of a GPU whose limits (or absence) are known.
Expected<Target> gpu_target(const Expected<GpuLimits>& gpu, kernels::Fp8KernelTable fp8,
                            kernels::SimtKernelTable simt, kernels::TensorKernelTable tensor,
                            kernels::BlockScaledKernelTable block_scaled = {},
                            kernels::DequantisedKernelTable dequantised = {},
                            kernels::FusedKernelTable fused = {});

Expected<Plan> plan_on(const Target& target, const Problem& problem, const Options& options);

}  // namespace tilewright
