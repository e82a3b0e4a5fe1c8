#include "src/gemm_plan.h"

#include "src/gemm_enumerators.h"
#include "src/gemm_grid.h"
#include "src/gemm_rules.h"
#include "src/plan_text.h"

namespace tilewright {
namespace {

/// What does not depend on the kernels.
Status check_options(const Options& o) {
  if (o.max_sms && (*o.max_sms < 1 || *o.max_sms > kMaxSms))
    return broken(RuleId::sms_value, "max_sms", text(*o.max_sms), text(*o.max_sms < 1 ? 1 : kMaxSms));
  if (o.swizzle && *o.swizzle < 1) return broken(RuleId::swizzle_value, "swizzle", text(*o.swizzle), "1");
  const auto one_or_two = [](int64_t v) { return v == 1 || v == 2; };
  if (o.cluster && !(one_or_two(o.cluster->m) && one_or_two(o.cluster->n))) {
    const Shape2 nearest{o.cluster->m < 2 ? 1 : 2, o.cluster->n < 2 ? 1 : 2};
    return broken(RuleId::cluster_shape, "cluster", text(*o.cluster), text(nearest));
  }
  if (o.tile && (o.tile->m < 1 || o.tile->n < 1))
    return broken(RuleId::tile_built, "tile", text(*o.tile), "128x128");
  if (o.max_workspace && *o.max_workspace < 0)
    return broken(RuleId::workspace_limit, "max_workspace", text(*o.max_workspace), "0");
  if (o.splits && *o.splits < 1) return broken(RuleId::splits_value, "splits", text(*o.splits), "1");
  return {};
}

/// Binds by the problem's family.
Status bind(const PlanRequest& request, detail::PlanState& state) {
  const auto keep = [&](auto bound) -> Status {
    if (!bound) return bound.error();
    state.kernel = *bound;
    return {};
  };
  if (request.problem.epilogue.any) return keep(bind_fused(request, state.info));
  switch (request.problem.family) {
    case Family::simt:
      return keep(bind_simt(request, state.info));
    case Family::tensor:
      return keep(bind_tensor(request, state.info));
    case Family::block_scaled:
      if (request.target.capability == 90) return keep(bind_dequantised(request, state.info));
      return keep(bind_block_scale(request, state.info));
    default:
      return keep(bind_fp8(request, state.info));
  }
}

}  // namespace

Expected<Target> gpu_target(const Expected<GpuLimits>& gpu, kernels::Fp8KernelTable fp8,
                            kernels::SimtKernelTable simt, kernels::TensorKernelTable tensor,
                            kernels::BlockScaledKernelTable block_scaled,
                            kernels::DequantisedKernelTable dequantised, kernels::FusedKernelTable fused) {
  if (fp8.count + simt.count + tensor.count + block_scaled.count + dequantised.count + fused.count == 0)
    return broken(RuleId::device_gpu, "GPU", "no kernels in this build", "the emulated machine");
  if (!gpu) return broken(RuleId::device_gpu, "GPU", gpu.error().message, "the emulated machine");
  Target target;
  target.device = Device::gpu;
  target.capability = 10 * gpu->major + gpu->minor;
  target.fp8 = fp8;
  target.simt = simt;
  target.tensor = tensor;
  target.block_scaled = block_scaled;
  target.dequantised = dequantised;
  target.fused = fused;
  target.ordinal = gpu->ordinal;
  target.sms = gpu->sms;
  target.encode = encode_for_gpu;
  target.current_ordinal = current_gpu_ordinal;
  return target;
}

Status Target::encode_at(const TensorMapSpec& planned, const void* base, TensorMap& map) const {
  TensorMapSpec spec = planned;
  spec.base = const_cast<void*>(base);
  const Expected<TensorMap> encoded = encode(spec);
  if (!encoded) return encoded.error();
  map = *encoded;
  return {};
}

Expected<Plan> plan_on(const Target& target, const Problem& problem, const Options& options) {
  if (Status s = check_enumerators(problem, options)) return *s;
  if (Status s = check_options(options)) return *s;
  const Expected<KernelProblem> canonical_problem = canonical(problem);
  if (!canonical_problem) return canonical_problem.error();
  if (options.scheduler != schedule::TileScheduler::static_persistent &&
      canonical_problem->family != Family::block_scaled)
    return broken(RuleId::scheduler_built, "scheduler", "cluster launch control", "static_persistent");
  auto state = std::make_shared<detail::PlanState>();
  state->problem = *canonical_problem;
  state->target = target;
  state->info.device = target.device;
  if (Status s = bind({state->target, state->problem, problem, options}, *state)) return *s;
  if (state->info.exchanged) state->info.why += ", computed as D^T = B^T A^T";
  state->info.why = state->info.kernel + ": " + state->info.why;
  return Plan(std::move(state));
}

}  // namespace tilewright
