// The kernels that make block-scaled operands, for the machine this translation unit is compiled for.
#include "src/kernel_instance.h"
#include "src/quantise_kernel_table.h"
#include "tilewright/kernels/block_scaled_quantise.h"
#include "tilewright/kernels/scale_packing.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace {

constexpr int kBlockThreads = quantise_block_threads;
static_assert(kBlockThreads == scale_packing_block_threads);

arch::LaunchConfig config_of(const char* name, const kernels::Launch& how) {
  arch::LaunchConfig config = launch_config(name, how);
  config.grid = {how.grid_ctas, 1, 1};
  config.block = {kBlockThreads, 1, 1};
  return config;
}

Status launch_quantise(const QuantiseKernelParams& params, BlockFormat format, DType source,
                       const kernels::Launch& how) {
  const arch::LaunchConfig config = config_of("block_scaled_quantise", how);
  return with_format(format, [&](auto f) {
    if (source == DType::f32) return arch::launch(block_scaled_quantise<f(), float>, config, params);
    if (source == DType::f16) return arch::launch(block_scaled_quantise<f(), f16>, config, params);
    return arch::launch(block_scaled_quantise<f(), bf16>, config, params);
  });
}

template <bool kPack>
Status launch_scale_packing(const ScalePackingParams& params, const kernels::Launch& how) {
  return arch::launch(scale_packing<kPack>, config_of(kPack ? "scale_packing" : "scale_unpacking", how),
                      params);
}

}  // namespace

/// The row of this machine.
kernels::QuantiseKernels quantise_kernels() {
  return {kBlockThreads, launch_quantise, launch_scale_packing<true>, launch_scale_packing<false>};
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
