// One block-scaled GEMM kernel for the machine this translation unit is compiled for. The build defines
// TILEWRIGHT_INSTANCE_ARGS (formats of A and B, bytes of D, overlap: mxfp8, mxfp4, 2, true) and
// TILEWRIGHT_INSTANCE_INDEX.
#include "tilewright/arch/launch.h"
#include "tilewright/kernels/block_scaled_gemm.h"

#define TILEWRIGHT_JOIN_(a, b) a##b
#define TILEWRIGHT_JOIN(a, b) TILEWRIGHT_JOIN_(a, b)
#define TILEWRIGHT_CONFIG(a, b, out, overlap) \
  mainloop::BlockScaledConfig<BlockFormat::a, BlockFormat::b, out, overlap>
#define TILEWRIGHT_APPLY(macro, ...) macro(__VA_ARGS__)

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace {

using Config = TILEWRIGHT_APPLY(TILEWRIGHT_CONFIG, TILEWRIGHT_INSTANCE_ARGS);

Status launch(const kernels::BlockScaledGemmParams& params, const kernels::BlockScaledLaunch& how) {
  arch::LaunchConfig config;
  config.grid = {how.grid_ctas, 1, 1};
  config.block = {kernels::block_scaled_threads, 1, 1};
  config.cluster = {2, 1, 1};
  config.shared_bytes = Config::kShared.total;
  config.stream = how.stream;
  config.name = "block_scaled_gemm";
  return arch::launch(block_scaled_gemm<Config>, config, params);
}

}  // namespace

const kernels::BlockScaledKernel& TILEWRIGHT_JOIN(block_scaled_kernel_, TILEWRIGHT_INSTANCE_INDEX)() {
  static const kernels::BlockScaledKernel kernel{Config::kId, launch};
  return kernel;
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
