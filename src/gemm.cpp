// plan(): which machine a problem is planned for.
#include "tilewright/gemm.h"

#include "src/gemm_plan.h"
#include "src/gemm_rules.h"
#include "src/plan_text.h"

namespace tilewright {
namespace {

constexpr int capability_of(Chip chip) { return chip == Chip::sm_100a ? 100 : 90; }

Target emulator_target(const Problem& problem, const Options& options) {
  Target target;
  const Chip usual = is_block_scaled(problem) ? Chip::sm_100a : Chip::sm_90a;
  target.capability = capability_of(options.chip == Chip::automatic ? usual : options.chip);
  target.device = Device::emulator;
  target.fp8 = kernels::fp8_kernels_emulated();
  target.simt = kernels::simt_kernels_emulated();
  target.tensor = kernels::tensor_kernels_emulated();
  target.block_scaled = kernels::block_scaled_kernels_emulated();
  target.dequantised = kernels::dequantised_kernels_emulated();
  target.fused = kernels::fused_kernels_emulated();
  target.encode = encode_for_emulator;
  return target;
}

/// A plan for the current GPU; an error of code no_device where it cannot run such kernels.
Expected<Plan> plan_on_gpu(const Problem& problem, const Options& options) {
  const Expected<Target> gpu = gpu_target(
      current_gpu(), kernels::fp8_kernels_gpu(), kernels::simt_kernels_gpu(), kernels::tensor_kernels_gpu(),
      kernels::block_scaled_kernels_gpu(), kernels::dequantised_kernels_gpu(), kernels::fused_kernels_gpu());
  if (!gpu) return gpu.error();
  if (options.chip != Chip::automatic && capability_of(options.chip) != gpu->capability)
    return broken(RuleId::device_gpu, "chip", "compute capability " + capability_text(gpu->capability),
                  capability_text(capability_of(options.chip)));
  return plan_on(*gpu, problem, options);
}

}  // namespace

Expected<Plan> plan(const Problem& problem, const Options& options) {
  if (options.device != Device::emulator) {
    Expected<Plan> planned = plan_on_gpu(problem, options);
    if (planned || planned.error().code != ErrorCode::no_device || options.device == Device::gpu)
      return planned;
  }
  return plan_on(emulator_target(problem, options), problem, options);
}

Status can_run(const Problem& problem, const Options& options) {
  const Expected<Plan> planned = plan(problem, options);
  if (planned) return {};
  return planned.error();
}

}  // namespace tilewright
