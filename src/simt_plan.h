// Plans and runs of the FP32 kernels.
#pragma once

#include <string>

#include "src/gemm_target.h"
#include "src/simt_heuristic.h"

namespace tilewright {
namespace detail {

/// What a run keeps in the workspace, as byte offsets. Parts that are not needed are empty.
struct SimtWorkspace {
  int64_t a = 0, b = 0;  // repacked operands
  int64_t partials = 0;  // of tiles that several CTAs compute
  int64_t bytes = 0;     // in all
};

/// An FP32 kernel with the parameters that do not depend on pointers, the specs of the tensor maps without
/// bases, the repacking kernel in front of it and the one behind it that adds partial sums.
struct BoundSimt {
  const kernels::SimtKernel* kernel = nullptr;
  KernelProblem problem;  // as this kernel takes it: perhaps flipped
  SimtSource a = SimtSource::bulk, b = SimtSource::bulk;
  SimtWorkspace workspace;
  kernels::SimtGemmParams params{};
  TensorMapSpec a_spec, b_spec;
  kernels::Launch launch{};
  kernels::SimtRepackParams repack{};
  kernels::Launch repack_launch{}, fixup_launch{};  // no CTAs: not launched
};

}  // namespace detail

/// Fills in `info` too. Errors: the rules of FP32 problems and of the options.
Expected<detail::BoundSimt> bind_simt(const PlanRequest& request, PlanInfo& info);

/// Launches the kernels on checked pointers.
Status run_simt(const Target& target, const detail::BoundSimt& bound, const Buffers& buffers, void* stream);

/// Step one of bind_simt: the kernel for a problem, and how it is used.
struct SimtChoice {
  const kernels::SimtKernel* kernel = nullptr;
  bool flipped = false;  // of KernelProblem::flipped
  SimtConfiguration configuration{};
  detail::SimtWorkspace workspace;
  std::string why;
};
Expected<SimtChoice> choose_simt_kernel(const PlanRequest& request);

/// Floats between neighbours in K of a repacked operand: whole 128-byte lines.
int64_t repacked_ld(const KernelOperand& operand);
/// K tiles of the problem; 0 when A and B are not read.
int64_t k_tiles_of(const KernelProblem& problem, const kernels::SimtKernelId& id);
/// Matrices of an operand in memory.
int64_t batches_of(const KernelProblem& problem, const KernelOperand& operand);

}  // namespace tilewright
