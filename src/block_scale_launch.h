// Launches of block_scaled_gemm, for the machine this translation unit is compiled for.
#pragma once

#include "src/block_scale_kernel_table.h"
#include "src/kernel_instance.h"
#include "tilewright/kernels/block_scaled_gemm.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

/// With what bind_block_scaled made. `name`: for reports.
template <class Pipeline, int OutBytes>
Status launch_block_scaled(const kernels::BlockScaledGemmParams& params, const kernels::Launch& how,
                           const char* name = "block_scaled_gemm") {
  using Epilogue = BlockScaledStore<OutBytes>;
  arch::LaunchConfig config = launch_config(name, how);
  config.grid = {how.grid_ctas, 1, 1};
  config.block = {Pipeline::max_threads_per_block, 1, 1};
  config.cluster = {2, 1, 1};
  config.shared_bytes = Pipeline::scratch_offset() + kernels::block_scaled_scratch_bytes(OutBytes);
  return arch::launch(block_scaled_gemm<Pipeline, Epilogue>, config, params.tiles, Pipeline(params.operands),
                      Epilogue{params.store});
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
