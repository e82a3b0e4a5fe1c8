#include "tests/block_scale/wrong_plans.h"

#include "src/block_scale_launch.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace {

using wrong_plans::Fault;
using Right = mainloop::BlockScaledConfig<BlockFormat::nvfp4, BlockFormat::nvfp4, true>;
constexpr kernels::BlockScaledKernelId kRightId{BlockFormat::nvfp4, BlockFormat::nvfp4, 2, true};

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

// The handle of a pipeline with that plan.
template <Fault kFault>
struct WrongPipeline {
  using Config = Wrong<kFault>;
  static constexpr uint32_t max_threads_per_block = kernels::block_scaled_threads;
  static constexpr uint32_t scratch_offset() { return kernels::block_scaled_scratch_offset(Right::kShared); }

  explicit WrongPipeline(const kernels::BlockScaledOperandParams& operands) : params(operands) {}
  template <class Epilogue>
  void run(const schedule::ScheduledTiles& tiles, const Epilogue& epilogue) const {
    std::byte* const shared = arch::dynamic_shared_memory();
    blas::impl::BlockScaledRoles<Config>(params, blas::impl::ScheduleView(tiles),
                                         arch::shared_address(shared))
        .run(epilogue, shared + scratch_offset());
  }

  kernels::BlockScaledOperandParams params;
};

template <Fault kFault>
Status launch(const kernels::BlockScaledGemmParams& params, const kernels::Launch& how) {
  return launch_block_scaled<WrongPipeline<kFault>, 2>(params, how, "block_scaled_gemm with a wrong plan");
}

}  // namespace
}  // namespace TILEWRIGHT_MODE

namespace wrong_plans {

const kernels::BlockScaledKernel& kernel(Fault fault) {
  static const kernels::BlockScaledKernel kernels_by_fault[] = {
      {kRightId, launch<Fault::none>},
      {kRightId, launch<Fault::release_too_early>},
      {kRightId, launch<Fault::drained_in_wrong_order>},
      {kRightId, launch<Fault::windows_too_close>},
      {kRightId, launch<Fault::scales_in_the_window>},
      {kRightId, launch<Fault::scales_overlap>},
  };
  return kernels_by_fault[static_cast<int>(fault)];
}

}  // namespace wrong_plans
}  // namespace tilewright
