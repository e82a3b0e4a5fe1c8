// The dequantising kernel, for the machine this translation unit is compiled for.
#include "src/dequantised_kernel_table.h"
#include "tilewright/arch/launch.h"
#include "tilewright/kernels/dequantise.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

Status launch_dequantise(const kernels::DequantiseParams& params, const kernels::TensorLaunch& how) {
  arch::LaunchConfig config;
  config.grid = {how.grid_ctas, 1, 1};
  config.block = {kernels::dequantise_threads, 1, 1};
  config.shared_bytes = dequantise_shared_bytes;
  config.ctas_per_sm = kernels::dequantise_ctas_per_sm;
  config.stream = how.stream;
  config.dependent_launch = how.dependent_launch;
  config.name = "block_scaled_dequantise";
  return arch::launch(block_scaled_dequantise<>, config, params);
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
