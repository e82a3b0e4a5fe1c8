// Block-scaled problems between plan() and a kernel: see block_scale_gemm.h for what the kernels take.
#pragma once

#include "src/block_scale_gemm.h"
#include "src/gemm_target.h"

namespace tilewright {
namespace detail {

/// A block-scaled problem without its pointers, and the kernel for it.
struct BoundBlockScale {
  const kernels::BlockScaledKernel* kernel = nullptr;
  BlockScaledProblem problem;
  int multiprocessors = 0;
  bool dependent_launch = false;
};

}  // namespace detail

/// A problem that canonical_block_scaled has made of `asked`, without its pointers. K is 0 when A and B are
/// not read.
BlockScaledProblem unbound_block_scaled(const Problem& asked, const KernelProblem& problem);
/// The same with the pointers and scales of a run. Errors: null or misaligned scales, device scalars, rules
/// of check_block_scaled that depend on pointers.
Expected<BlockScaledProblem> bind_buffers(const BlockScaledProblem& unbound, const Buffers& buffers);

/// Whether A or B of a problem is block-scaled.
bool is_block_scaled(const Problem& problem);

/// The part of canonical() that checks block-scaled problems, of legal extents. Errors: block_scaled_rules;
/// strides_of.
Expected<KernelProblem> canonical_block_scaled(const Problem& problem);

/// Fills in `info` too. Errors: block_scaled_rules, of the options and of the target.
Expected<detail::BoundBlockScale> bind_block_scale(const PlanRequest& request, PlanInfo& info);

/// Launches the kernel on checked pointers. Errors: scales of another type or shape, device scalars.
Status run_block_scale(const Target& target, const detail::BoundBlockScale& bound, const Buffers& buffers,
                       void* stream);

}  // namespace tilewright
