// From a problem and a target to a bound kernel. The target is a value, so that every path is tested without
// a device.
#pragma once

#include "src/device_info.h"
#include "src/gemm_problem.h"
#include "tilewright/gemm.h"
#include "tilewright/mainloop/fp8_gemm_params.h"
#include "tilewright/tensor_map.h"

namespace tilewright {

/// A machine that kernels can be planned for.
struct Target {
  Device device = Device::emulator;
  int ordinal = 0;  // of the GPU
  int sms = 0;      // 0: as many as give every CTA three tiles (the emulated machine)
  kernels::Fp8KernelTable kernels;
  Expected<TensorMap> (*encode)(const TensorMapSpec&) = nullptr;
  /// The calling thread's GPU; null when there is only one machine.
  Expected<int> (*current_ordinal)() = nullptr;
};

namespace detail {

/// What run() needs: the parameters that do not depend on pointers, and the specs of the tensor maps without
/// bases.
struct PlanState {
  PlanInfo info;
  KernelProblem problem;
  Target target;
  const kernels::Fp8Kernel* kernel = nullptr;
  kernels::Fp8GemmParams params{};
  TensorMapSpec a_spec, b_spec, d_spec;
  kernels::Fp8Launch launch{};
};

}  // namespace detail

/// The target of a GPU whose limits (or absence) are known.
Expected<Target> gpu_target(const Expected<GpuLimits>& gpu, kernels::Fp8KernelTable kernels);

Expected<Plan> plan_on(const Target& target, const Problem& problem, const Options& options);

/// Step one of plan_on: the kernel for a problem, and whether its loads and stores are bulk copies.
struct KernelChoice {
  const kernels::Fp8Kernel* kernel = nullptr;
  bool tma_store = false;
  uint32_t group_tiles = 1;  // K tiles per promotion group
  std::string why;
};
Expected<KernelChoice> choose_kernel(const Target& target, const KernelProblem& problem, const Problem& asked,
                                     const Options& options);

}  // namespace tilewright
