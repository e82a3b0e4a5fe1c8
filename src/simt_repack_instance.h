// The repacking kernel of FP32 operands, for the machine this translation unit is compiled for.
#include "src/simt_kernel_table.h"
#include "tilewright/arch/launch.h"
#include "tilewright/kernels/simt_repack.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

Status launch_simt_repack(const kernels::SimtRepackParams& params, const kernels::SimtLaunch& how) {
  arch::LaunchConfig config;
  config.grid = {how.grid_ctas, 1, 1};
  config.block = {kRepackThreads, 1, 1};
  config.shared_bytes = kRepackSharedBytes;
  config.stream = how.stream;
  config.dependent_launch = how.dependent_launch;
  config.name = "simt_repack";
  return arch::launch(simt_repack<>, config, params);
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
