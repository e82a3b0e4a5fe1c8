// The dequantising kernel, for the machine this translation unit is compiled for.
#include "src/dequantised_kernel_table.h"
#include "src/kernel_instance.h"
#include "tilewright/kernels/dequantise.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

Status launch_dequantise(const kernels::DequantiseParams& params, const kernels::Launch& how) {
  arch::LaunchConfig config = launch_config("block_scaled_dequantise", how);
  config.grid = {how.grid_ctas, 1, 1};
  config.block = {kernels::dequantise_threads, 1, 1};
  config.shared_bytes = dequantise_shared_bytes;
  config.ctas_per_sm = kernels::dequantise_ctas_per_sm;
  return arch::launch(block_scaled_dequantise<>, config, params);
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
