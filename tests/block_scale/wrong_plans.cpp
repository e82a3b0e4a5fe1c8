#include "tests/block_scale/wrong_plans.h"

#include <algorithm>
#include <iterator>

#include "src/block_scale_launch.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace {

using wrong_plans::Fault;
template <BlockFormat F>
using Right = mainloop::BlockScaledConfig<F, F, true>;

constexpr TmemPlan broken(const TmemPlan& right, Fault fault) {
  TmemPlan plan = right;
  switch (fault) {
    case Fault::none:
      break;
    case Fault::release_too_early:
      plan.early_release_subtile = 0;
      break;
    case Fault::drained_in_wrong_order:
      plan.left = right.right;
      plan.right = right.left;
      break;
    case Fault::windows_too_close:
      plan.right.first = 144;
      break;
    case Fault::scales_in_the_window:
      plan.a_scales.first -= plan.a_scales.count;
      break;
    case Fault::scales_overlap:
      plan.b_scales.first -= plan.a_scales.count / 2;
      break;
  }
  return plan;
}

template <BlockFormat F, Fault kFault>
struct Wrong : Right<F> {
  static constexpr TmemPlan kTmem = broken(Right<F>::kTmem, kFault);
  static TILEWRIGHT_HOST_DEVICE constexpr TmemPlan tmem() { return kTmem; }
};

// The handle of a pipeline with that plan.
template <BlockFormat F, Fault kFault>
struct WrongPipeline {
  using Config = Wrong<F, kFault>;
  static constexpr uint32_t max_threads_per_block = kernels::block_scaled_threads;
  static constexpr uint32_t scratch_offset() {
    return kernels::block_scaled_scratch_offset(Right<F>::kShared);
  }

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

template <BlockFormat F, Fault kFault>
Status launch(const kernels::BlockScaledGemmParams& params, const kernels::Launch& how) {
  return launch_block_scaled<WrongPipeline<F, kFault>, 2>(params, how, "block_scaled_gemm with a wrong plan");
}

struct WrongKernel {
  Fault fault;
  kernels::BlockScaledKernel kernel;
};
template <BlockFormat F, Fault kFault>
constexpr WrongKernel wrong() {
  return {kFault, {{F, F, 2, true}, launch<F, kFault>}};
}

}  // namespace
}  // namespace TILEWRIGHT_MODE

namespace wrong_plans {

const kernels::BlockScaledKernel& kernel(Fault fault, BlockFormat format) {
  using enum BlockFormat;
  using enum Fault;
  static const WrongKernel all[] = {
      wrong<nvfp4, none>(),
      wrong<nvfp4, release_too_early>(),
      wrong<nvfp4, drained_in_wrong_order>(),
      wrong<nvfp4, windows_too_close>(),
      wrong<nvfp4, scales_in_the_window>(),
      wrong<nvfp4, scales_overlap>(),
      wrong<mxfp4, none>(),
      wrong<mxfp4, drained_in_wrong_order>(),
      wrong<mxfp4, windows_too_close>(),
      wrong<mxfp4, scales_in_the_window>(),
      wrong<mxfp8, none>(),
      wrong<mxfp8, drained_in_wrong_order>(),
      wrong<mxfp8, windows_too_close>(),
      wrong<mxfp8, scales_in_the_window>(),
  };
  return std::find_if(
             std::begin(all), std::end(all),
             [&](const WrongKernel& each) { return each.fault == fault && each.kernel.id.a == format; })
      ->kernel;
}

}  // namespace wrong_plans
}  // namespace tilewright
