// One block-scaled GEMM kernel for the machine this translation unit is compiled for. The build defines
// TILEWRIGHT_INSTANCE_ARGS (formats of A and B, bytes of D, overlap: mxfp8, mxfp4, 2, true) and
// TILEWRIGHT_INSTANCE_INDEX.
#include <type_traits>

#include "src/block_scale_launch.h"

#define TILEWRIGHT_ID(a, b, out, overlap) \
  kernels::BlockScaledKernelId { BlockFormat::a, BlockFormat::b, out, overlap }

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace {

constexpr kernels::BlockScaledKernelId kId = TILEWRIGHT_APPLY(TILEWRIGHT_ID, TILEWRIGHT_INSTANCE_ARGS);
using Pipeline = blas::DevicePipeline<
    BlockScaledDescriptor<kId.a, kId.b>, kernels::block_scaled_stages,
    std::conditional_t<kId.overlap, blas::internal_accumulator, blas::single_accumulator>>;
static_assert(Pipeline::scratch_offset() + kernels::block_scaled_scratch_bytes(kId.out_bytes) ==
              kernels::block_scaled_shared_bytes(kId));

Status launch(const kernels::BlockScaledGemmParams& params, const kernels::Launch& how) {
  return launch_block_scaled<Pipeline, kId.out_bytes>(params, how);
}

}  // namespace

const kernels::BlockScaledKernel& TILEWRIGHT_JOIN(block_scaled_kernel_, TILEWRIGHT_INSTANCE_INDEX)() {
  static const kernels::BlockScaledKernel kernel{kId, launch};
  return kernel;
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
