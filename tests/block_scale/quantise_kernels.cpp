#include "tests/block_scale/quantise_kernels.h"

#include "tilewright/arch/launch.h"
#include "tilewright/kernels/block_scaled_quantise.h"

namespace tilewright::quantise_kernels {

Status run(const QuantiseKernelParams& params, BlockFormat format, DType source, uint32_t blocks,
           void* stream) {
  arch::LaunchConfig config;
  config.grid = {blocks, 1, 1};
  config.block = {quantise_block_threads, 1, 1};
  config.stream = stream;
  config.name = "block_scaled_quantise";
  return with_format(format, [&](auto f) {
    return source == DType::f32 ? arch::launch(block_scaled_quantise<f(), float>, config, params)
                                : arch::launch(block_scaled_quantise<f(), bf16>, config, params);
  });
}

}  // namespace tilewright::quantise_kernels
