#include "tests/block_scale/wrong_plans.h"

#include "tilewright/arch/launch.h"
#include "tilewright/kernels/block_scaled_gemm.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace {

using wrong_plans::Fault;
using Right = mainloop::BlockScaledConfig<BlockFormat::nvfp4, BlockFormat::nvfp4, 2, true>;

constexpr TmemPlan broken(Fault fault) {
  TmemPlan plan = Right::kTmem;
  switch (fault) {
    case Fault::none:
      break;
    case Fault::release_too_early:
      plan.early_release_subtile = 0;
      break;
    case Fault::drained_in_wrong_order:
      plan.left = Right::kTmem.right;
      plan.right = Right::kTmem.left;
      break;
    case Fault::windows_too_close:
      plan.right.first = 144;
      break;
    case Fault::scales_in_the_window:
      plan.a_scales.first = 448;
      break;
    case Fault::scales_overlap:
      plan.b_scales.first = 472;
      plan.b_scales.count = 32;
      break;
  }
  return plan;
}

template <Fault kFault>
struct Wrong : Right {
  static constexpr TmemPlan kTmem = broken(kFault);
  static TILEWRIGHT_HOST_DEVICE constexpr TmemPlan tmem() { return kTmem; }
};

template <Fault kFault>
Status launch(const kernels::BlockScaledGemmParams& params, const kernels::BlockScaledLaunch& how) {
  arch::LaunchConfig config;
  config.grid = {how.grid_ctas, 1, 1};
  config.block = {kernels::block_scaled_threads, 1, 1};
  config.cluster = {2, 1, 1};
  config.shared_bytes = Right::kShared.total;
  config.stream = how.stream;
  config.name = "block_scaled_gemm with a wrong plan";
  return arch::launch(block_scaled_gemm<Wrong<kFault>>, config, params);
}

}  // namespace
}  // namespace TILEWRIGHT_MODE

namespace wrong_plans {

const kernels::BlockScaledKernel& kernel(Fault fault) {
  static const kernels::BlockScaledKernel kernels_by_fault[] = {
      {Right::kId, launch<Fault::none>},
      {Right::kId, launch<Fault::release_too_early>},
      {Right::kId, launch<Fault::drained_in_wrong_order>},
      {Right::kId, launch<Fault::windows_too_close>},
      {Right::kId, launch<Fault::scales_in_the_window>},
      {Right::kId, launch<Fault::scales_overlap>},
  };
  return kernels_by_fault[static_cast<int>(fault)];
}

}  // namespace wrong_plans
}  // namespace tilewright
