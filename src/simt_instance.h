// One FP32 GEMM kernel of the table, for the machine this translation unit is compiled for. The build defines
// TILEWRIGHT_INSTANCE_ARGS (a line of simt_kernels.def) and TILEWRIGHT_INSTANCE_INDEX.
#include "src/kernel_instance.h"
#include "src/simt_kernel_table.h"
#include "tilewright/kernels/simt_gemm.h"

#define TILEWRIGHT_ID(m, n, pipeline, a, b, whole) \
  SimtKernelId { m, n, SimtPipeline::pipeline, SimtLoad::a, SimtLoad::b, whole }
#define TILEWRIGHT_CONFIG(m, n, pipe, a, b, whole) \
  pipeline::SimtConfig<m, n, SimtPipeline::pipe, SimtLoad::a, SimtLoad::b, whole>

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

using kernels::Launch;
using kernels::SimtGemmParams;
using kernels::SimtKernel;
using kernels::SimtKernelId;
using kernels::SimtLoad;
using kernels::SimtPipeline;

namespace {

using Config = TILEWRIGHT_APPLY(TILEWRIGHT_CONFIG, TILEWRIGHT_INSTANCE_ARGS);

constexpr uint32_t kManyParts = 8;

Status launch(const SimtGemmParams& params, const Launch& how) {
  arch::LaunchConfig config = launch_config("simt_gemm", how);
  config.grid = {how.grid_ctas, 1, 1};
  config.block = {Config::kPlan.threads, 1, 1};
  config.shared_bytes = Config::kPlan.shared_bytes;
  config.ctas_per_sm = static_cast<uint32_t>(Config::kPlan.ctas_per_sm);
  return arch::launch(simt_gemm<Config, pipeline::Identity>, config, params, pipeline::Identity{});
}

Status fixup(const SimtGemmParams& params, const Launch& how) {
  arch::LaunchConfig config = launch_config("simt_fixup", how);
  constexpr auto kAccumulators = static_cast<uint32_t>(Config::kPlan.thread_m * Config::kPlan.thread_n);
  // Few tiles of many parts: smaller pieces, so that more loads are under way.
  const bool many_parts = params.piece_k_tiles * kManyParts <= params.k_tiles;
  config.grid = {many_parts ? kAccumulators : kAccumulators / 4, how.grid_ctas, 1};
  config.block = {Config::kPlan.consumers, 1, 1};
  return arch::launch(simt_fixup<Config, pipeline::Identity>, config, params, pipeline::Identity{});
}

}  // namespace

const SimtKernel& TILEWRIGHT_JOIN(simt_kernel_, TILEWRIGHT_INSTANCE_INDEX)() {
  static const SimtKernel kernel{TILEWRIGHT_APPLY(TILEWRIGHT_ID, TILEWRIGHT_INSTANCE_ARGS), launch, fixup};
  return kernel;
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
