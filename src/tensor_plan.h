// Plans and runs of the tensor-core kernels of 16-bit, TF32, FP64, integer and complex operands.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "src/gemm_target.h"
#include "src/tensor_kernel_table.h"

namespace tilewright {
namespace detail {

/// A tensor-core kernel with the arguments that do not depend on pointers.
struct BoundTensor {
  const kernels::TensorKernel* kernel = nullptr;
  kernels::TensorGemmArguments arguments;
  kernels::Launch launch;
  bool flipped = false;  // of the problem, KernelProblem::flipped() is computed
};

}  // namespace detail

/// Fills in `info` too. Errors: the rules of such problems and of the options.
Expected<detail::BoundTensor> bind_tensor(const PlanRequest& request, PlanInfo& info);

/// The same with one of `kernels` for a problem of any family in the form that they take: it is never
/// flipped. The capability is not looked at.
Expected<detail::BoundTensor> bind_tensor_kernel(const PlanRequest& request,
                                                 std::span<const kernels::TensorKernel* const> kernels,
                                                 PlanInfo& info);

/// The rule of the device.
Status check_tensor_device(const PlanRequest& request);

/// Fills in the checked pointers of a problem that is not flipped.
void bind_tensor_pointers(const KernelProblem& problem, const Buffers& buffers,
                          kernels::TensorGemmArguments& arguments);

/// The row of a table of kernels with epilogues of their own that has this kernel of tensor cores.
template <class Table>
auto row_with(const Table& table, const kernels::TensorKernel* kernel) {
  return std::find_if(table.kernels, table.kernels + table.count,
                      [&](const auto& row) { return &row.tensor == kernel; });
}

/// Launches the kernel on checked pointers.
Status run_tensor(const KernelProblem& problem, const detail::BoundTensor& bound, const Buffers& buffers,
                  void* stream);

/// Step zero of bind_tensor: whether the flipped problem is to be computed. Beside wgmma there are no kernels
/// for A with M contiguous and B with K contiguous.
bool takes_flipped(const PlanRequest& request, std::span<const kernels::TensorKernel* const> kernels);

/// Step one of bind_tensor_kernel: the kernel for a problem, and whether its stores are bulk copies.
struct TensorChoice {
  const kernels::TensorKernel* kernel = nullptr;
  bool tma_store = false;
  std::string why;
  std::vector<PlanCandidate> candidates;
};
Expected<TensorChoice> choose_tensor_kernel(const PlanRequest& request,
                                            std::span<const kernels::TensorKernel* const> kernels);

}  // namespace tilewright
