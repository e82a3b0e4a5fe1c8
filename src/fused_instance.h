// One kernel with a fused epilogue, for the machine this translation unit is compiled for. The build defines
// TILEWRIGHT_INSTANCE_ARGS (a line of fused_kernels.def) and TILEWRIGHT_INSTANCE_INDEX.
#include "src/fused_kernel_table.h"
#include "src/tensor_launch.h"
#include "tilewright/arch/stream_memory.h"
#include "tilewright/pipeline/fused_store.h"

#define TILEWRIGHT_ID(m, n, a, b, d) \
  TensorKernelId { m, n, DType::a, DType::b, DType::d, true, true, 1, 1, TensorPath::wgmma, 16 }
#define TILEWRIGHT_CONFIG(m, n, a, b, d) \
  TensorConfig<m, n, element::a, element::b, element::d, true, true, 1, 1, blas::path::wgmma, 16>

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

using kernels::FusedArguments;
using kernels::FusedKernel;
using kernels::Launch;
using kernels::TensorKernelId;
using kernels::TensorPath;

namespace {

using Config = TILEWRIGHT_APPLY(TILEWRIGHT_CONFIG, TILEWRIGHT_INSTANCE_ARGS);
using Launcher = TensorLauncher<Config>;

blas::FusedOps ops_of(const FusedArguments& args) {
  return {.bias_kind = args.bias_kind,
          .bias_type = args.bias_type,
          .bias = args.bias,
          .bias_batch_stride = args.bias_batch_stride,
          .activation = args.activation,
          .aux_type = args.aux_type,
          .aux = const_cast<void*>(args.aux.data),
          .aux_ld = args.aux.ld,
          .aux_batch_stride = args.aux.batch_stride,
          .amax = args.amax,
          .scale = args.scale_d,
          .scale_device = args.scale_d_device,
          .alpha_device = {args.scale_device[0], args.scale_device[1]},
          .saturate = args.saturate};
}

Status launch(const FusedArguments& args, const Launch& how) {
  using D = Config::D;
  const kernels::TensorGemmArguments& g = args.gemm;
  if (args.amax != nullptr)
    if (Status s = arch::fill_with_zeros(args.amax, sizeof(float), how.stream)) return s;
  if (how.grid_ctas == 0) return {};
  const auto d = tensor_of<blas::row_major, D>(g.d, g.m, g.n, g.batches);
  const auto c = tensor_of<blas::row_major, const D>(g.c, g.m, g.n, g.batches);
  Launch launched = how;
  // What comes before it is no kernel that could let it start.
  launched.dependent_launch = how.dependent_launch && args.amax == nullptr;
  return Launcher::launch(g, launched,
                          blas::make_fused_store<Config::Descriptor>(d, c, factors_of(g), ops_of(args),
                                                                     g.d_bulk, g.d_type, args.c_type));
}

}  // namespace

const FusedKernel& TILEWRIGHT_JOIN(fused_kernel_, TILEWRIGHT_INSTANCE_INDEX)() {
  static const FusedKernel kernel{
      {TILEWRIGHT_APPLY(TILEWRIGHT_ID, TILEWRIGHT_INSTANCE_ARGS), Config::depth(), Launcher::kSharedBytes,
       nullptr, Launcher::max_active_clusters<blas::FusedStore<Config::Descriptor, Config::D>>},
      launch};
  return kernel;
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
