// The compiled kernels with fused epilogues, as the planner and the generated tables see them. Mode-neutral.
#pragma once

#include "src/tensor_kernel_table.h"
#include "tilewright/numeric/activation.h"

namespace tilewright::kernels {

/// What a product with a fused epilogue has besides those of TensorGemmArguments: per batch,
///   t = alpha * sum + beta * C + bias, aux = t, u = activation(t), amax = max |u|, D = convert(scale_d * u)
struct FusedArguments {
  TensorGemmArguments gemm;      // C and D row-major
  DType c_type = DType::f32;     // f16, bf16 or f32
  bool saturate = true;          // 8-bit D
  const float* scale_device[2];  // of A and B: multiply alpha; may be null
  float scale_d = 1;
  const float* scale_d_device = nullptr;  // multiplies scale_d; may be null

  BiasKind bias_kind = BiasKind::none;
  DType bias_type = DType::f32;
  const void* bias = nullptr;
  int64_t bias_batch_stride = 0;  // elements
  Activation activation = Activation::none;
  DType aux_type = DType::f32;
  TensorOperand aux;      // no data: not stored
  float* amax = nullptr;  // set before the kernel, on the stream; may be null
};

/// One row of a machine's kernel table.
struct FusedKernel {
  TensorKernel tensor;  // not to be launched by itself
  /// Without CTAs only amax is set.
  Status (*launch)(const FusedArguments&, const Launch&);
};

/// The kernels of each machine; a machine that is not built in has none.
struct FusedKernelTable {
  const FusedKernel* kernels = nullptr;
  int count = 0;
};
FusedKernelTable fused_kernels_gpu();
FusedKernelTable fused_kernels_emulated();

}  // namespace tilewright::kernels
