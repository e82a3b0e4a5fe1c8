// plan(): which machine a problem is planned for.
#include "tilewright/gemm.h"

#include "src/gemm_plan.h"

namespace tilewright {
namespace {

Target emulator_target() {
  Target target;
  target.device = Device::emulator;
  target.kernels = kernels::fp8_kernels_emulated();
  target.encode = encode_for_emulator;
  return target;
}

}  // namespace

Expected<Plan> plan(const Problem& problem, const Options& options) {
  if (options.device != Device::emulator) {
    const Expected<Target> gpu = gpu_target(current_gpu(), kernels::fp8_kernels_gpu());
    if (gpu) return plan_on(*gpu, problem, options);
    if (options.device == Device::gpu) return gpu.error();
  }
  return plan_on(emulator_target(), problem, options);
}

Status can_run(const Problem& problem, const Options& options) {
  const Expected<Plan> planned = plan(problem, options);
  if (planned) return {};
  return planned.error();
}

}  // namespace tilewright
