// The repacking kernel of FP32 operands, for the machine this translation unit is compiled for.
#include "src/kernel_instance.h"
#include "src/simt_kernel_table.h"
#include "tilewright/kernels/simt_repack.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

Status launch_simt_repack(const kernels::SimtRepackParams& params, const kernels::Launch& how) {
  arch::LaunchConfig config = launch_config("simt_repack", how);
  config.grid = {how.grid_ctas, 1, 1};
  config.block = {kRepackThreads, 1, 1};
  config.shared_bytes = kRepackSharedBytes;
  return arch::launch(simt_repack<>, config, params);
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
