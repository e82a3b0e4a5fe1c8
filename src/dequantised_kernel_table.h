// The compiled kernels of block-scaled operands that were dequantised, and the kernel that does it, as the
// planner and the generated tables see them. Mode-neutral.
#pragma once

#include "src/tensor_kernel_table.h"
#include "tilewright/mainloop/dequantise_params.h"

namespace tilewright::kernels {

/// What a product of dequantised operands has besides those of TensorGemmArguments.
struct DequantisedArguments {
  TensorGemmArguments gemm;  // no device factors
  ProductShifts shifts;
  DType c_type = DType::f32;  // f16, bf16 or f32
};

/// One row of a machine's kernel table.
struct DequantisedKernel {
  TensorKernel tensor;  // bf16 x bf16, K contiguous in both; not to be launched by itself
  Status (*launch)(const DequantisedArguments&, const Launch&);
};

/// The kernels of each machine; a machine that is not built in has none.
struct DequantisedKernelTable {
  const DequantisedKernel* kernels = nullptr;
  int count = 0;
  Status (*dequantise)(const DequantiseParams&, const Launch&) = nullptr;
};
DequantisedKernelTable dequantised_kernels_gpu();
DequantisedKernelTable dequantised_kernels_emulated();

}  // namespace tilewright::kernels
