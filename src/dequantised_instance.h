// One kernel of dequantised operands, for the machine this translation unit is compiled for. The build
// defines TILEWRIGHT_INSTANCE_ARGS (a line of dequantised_kernels.def) and TILEWRIGHT_INSTANCE_INDEX.
#include "src/dequantised_kernel_table.h"
#include "src/tensor_launch.h"
#include "tilewright/pipeline/shifted_store.h"

#define TILEWRIGHT_ID(m, n, d, cm) \
  TensorKernelId { m, n, DType::bf16, DType::bf16, DType::d, true, true, cm, 1, TensorPath::wgmma, 16 }
#define TILEWRIGHT_CONFIG(m, n, d, cm) \
  TensorConfig<m, n, bf16, bf16, element::d, true, true, cm, 1, blas::path::wgmma, 16>

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

using kernels::DequantisedArguments;
using kernels::DequantisedKernel;
using kernels::Launch;
using kernels::TensorKernelId;
using kernels::TensorPath;

namespace {

using Config = TILEWRIGHT_APPLY(TILEWRIGHT_CONFIG, TILEWRIGHT_INSTANCE_ARGS);
using Launcher = TensorLauncher<Config>;

Status launch(const DequantisedArguments& args, const Launch& how) {
  using D = Config::D;
  using Descriptor = Config::Descriptor;
  const kernels::TensorGemmArguments& g = args.gemm;
  const auto d = tensor_of<blas::row_major, D>(g.d, g.m, g.n, g.batches);
  if (g.d_bulk && g.beta == 0)
    return Launcher::launch(
        g, how, blas::make_store_through_smem<Descriptor>(d, blas::ShiftedScale{args.shifts, g.alpha}));
  const auto c = tensor_of<blas::row_major, const D>(g.c, g.m, g.n, g.batches);
  return Launcher::launch(
      g, how,
      blas::make_linear_store<Descriptor>(d, c, factors_of(g), g.d_bulk,
                                          blas::ShiftedLinear{{args.c_type}, args.shifts}));
}

}  // namespace

const DequantisedKernel& TILEWRIGHT_JOIN(dequantised_kernel_, TILEWRIGHT_INSTANCE_INDEX)() {
  static const DequantisedKernel kernel{
      {TILEWRIGHT_APPLY(TILEWRIGHT_ID, TILEWRIGHT_INSTANCE_ARGS), Config::depth(), Launcher::kSharedBytes,
       nullptr,
       Launcher::max_active_clusters<blas::LinearStore<Config::Descriptor, Config::D, blas::ShiftedLinear>>},
      launch};
  return kernel;
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
