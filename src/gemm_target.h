// What planning depends on besides the problem.
#pragma once

#include "src/block_scale_kernel_table.h"
#include "src/dequantised_kernel_table.h"
#include "src/fp8_kernel_table.h"
#include "src/fused_kernel_table.h"
#include "src/gemm_problem.h"
#include "src/simt_kernel_table.h"
#include "src/tensor_kernel_table.h"
#include "tilewright/gemm.h"
#include "tilewright/tensor_map.h"

namespace tilewright {

/// A machine that kernels can be planned for.
struct Target {
  Device device = Device::emulator;
  int ordinal = 0;      // of the GPU
  int capability = 90;  // 10 * major + minor
  int sms = 0;          // 0: as many as give every CTA three tiles (the emulated machine)
  kernels::Fp8KernelTable fp8;
  kernels::SimtKernelTable simt;
  kernels::TensorKernelTable tensor;
  kernels::BlockScaledKernelTable block_scaled;
  kernels::DequantisedKernelTable dequantised;
  kernels::FusedKernelTable fused;
  Expected<TensorMap> (*encode)(const TensorMapSpec&) = nullptr;
  /// The calling thread's GPU; null when there is only one machine.
  Expected<int> (*current_ordinal)() = nullptr;

  /// Multiprocessors that heuristics reckon with: the emulated machine shows the choices for an H200.
  int model_sms() const { return sms > 0 ? sms : 132; }
  /// Encodes a planned spec for an operand at `base`.
  Status encode_at(const TensorMapSpec& planned, const void* base, TensorMap& map) const;
};

/// One planning: what is asked for, and by whom.
struct PlanRequest {
  const Target& target;
  const KernelProblem& problem;
  const Problem& asked;
  const Options& options;
};

}  // namespace tilewright
