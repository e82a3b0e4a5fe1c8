// One FP8 GEMM kernel of the table, for the machine this translation unit is compiled for. The build defines
// TILEWRIGHT_INSTANCE_ARGS (a line of fp8_kernels.def) and TILEWRIGHT_INSTANCE_INDEX.
#include "src/fp8_kernel_table.h"
#include "src/kernel_instance.h"
#include "src/pipeline_failure.h"
#include "tilewright/arch/occupancy.h"
#include "tilewright/kernels/tensor_gemm.h"
#include "tilewright/numeric/float8.h"
#include "tilewright/pipeline/linear_epilogue.h"

#define TILEWRIGHT_ID(m, n, a, b, out, promoted, interval, load, ...)                               \
  Fp8KernelId {                                                                                     \
    m, n, DType::a, DType::b, out, promoted, interval, Load::load __VA_OPT__(, Scales::__VA_ARGS__) \
  }
#define TILEWRIGHT_OPERANDS(m, n, a, b, ...) tilewright::a, tilewright::b

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

using kernels::Fp8GemmArguments;
using kernels::Fp8Kernel;
using kernels::Fp8KernelId;
using kernels::Launch;
using kernels::Load;
using kernels::Scales;

namespace {

constexpr Fp8KernelId kId = TILEWRIGHT_APPLY(TILEWRIGHT_ID, TILEWRIGHT_INSTANCE_ARGS);

template <class A, class B>
struct Elements {
  using a = A;
  using b = B;
};
using Operands = Elements<TILEWRIGHT_APPLY(TILEWRIGHT_OPERANDS, TILEWRIGHT_INSTANCE_ARGS)>;

constexpr auto with_input() {
  if constexpr (kId.load == Load::copy) {
    return blas::CopiedInput() + blas::Tunable<1, 1>();
  } else {
    return blas::EnableInputStreaming() + blas::MaxAlignment() + blas::Tunable<2, 2>();
  }
}
constexpr auto with_sums() {
  constexpr int kAsked = kernels::fp8_tile_shape(kId).interval, kInterval = kAsked == 0 ? 1 : kAsked;
  if constexpr (kId.scales == Scales::blocks) {
    return blas::Accumulation<blas::promoted<kInterval>>() + blas::ScaledPromotion();
  } else if constexpr (kId.promoted) {
    return blas::Description<blas::Accumulation<blas::promoted<kInterval>>>();
  } else {
    return blas::Description<blas::Accumulation<blas::fast>>();
  }
}

using Descriptor =
    decltype(blas::Size<kId.tile_m, kId.tile_n, kernels::kFp8TileK>() +
             blas::Precision<Operands::a, Operands::b, float>() + blas::Type<blas::type::real>() +
             blas::Arrangement<blas::row_major, blas::col_major, blas::row_major>() +
             blas::BlockDim<kernels::fp8_tile_shape(kId).threads>() + blas::WithPipeline() +
             blas::SM<900, blas::arch_specific>() + blas::RequirePath<blas::path::wgmma>() + with_input() +
             with_sums());
constexpr int kDepth = blas::impl::PathPlan<Descriptor>::max_depth;
using Handle = blas::DevicePipeline<Descriptor, kDepth, blas::internal_accumulator>;

// Products with block scales are not exchanged: their D may be column-major.
constexpr bool kVectors = kernels::fp8_takes_vectors(kId), kAnyOrder = kId.scales == Scales::blocks;
using Epilogue = blas::LinearEpilogue<Descriptor, kId.out_bytes, kVectors, kAnyOrder>;
static_assert(Epilogue::scratch_bytes() == kernels::fp8_scratch_bytes(kId));

arch::LaunchConfig config_of(uint32_t shared_bytes, const Launch& how = {}) {
  arch::LaunchConfig config = launch_config("tensor_gemm", how);
  config.block = {Handle::max_threads_per_block, 1, 1};
  config.shared_bytes = shared_bytes;
  return config;
}

template <blas::arrangement Order, class T>
auto tensor_of(const blas::detail::OperandView& v) {
  const int64_t ld = Order == blas::row_major ? v.row_stride : v.column_stride;
  return blas::make_gmem_tensor_batched<Order>(static_cast<const T*>(v.data), v.rows, v.columns, v.batches,
                                               ld, v.batch_stride);
}

Status launch(const Fp8GemmArguments& args, const Launch& how) {
  blas::Tuning tuning = args.tuning;
  tuning.scratch = Epilogue::scratch_bytes();
  auto pipeline =
      blas::suggest_pipeline<kDepth, Descriptor>(tensor_of<blas::row_major, Operands::a>(args.a),
                                                 tensor_of<blas::col_major, Operands::b>(args.b), tuning);
  if (!pipeline) return error_of(pipeline.error());
  blas::LinearEpilogueOps ops = args.ops;
  if constexpr (kId.scales == Scales::blocks) {
    // Where A and B are not read there are none.
    if (args.block_scales && (args.a_scales.data != nullptr || args.b_scales.data != nullptr)) {
      const blas::pipeline_status scaled = pipeline->set_scales(args.a_scales, args.b_scales);
      if (!scaled) return error_of(scaled.error());
    }
  }
  if (kVectors && !args.block_scales) {
    ops.rows = args.a_scales;
    ops.columns = args.b_scales;
  }
  const auto epilogue =
      blas::make_linear_epilogue<Descriptor, kId.out_bytes, kVectors, kAnyOrder>(args.d, args.c, ops);
  if (!epilogue) return error_of(epilogue.error());
  const Handle& handle = pipeline->get_device_handle();
  arch::LaunchConfig config = config_of(Handle::scratch_offset(handle.stages()) + tuning.scratch, how);
  config.cluster = pipeline->get_cluster_dim();
  config.grid = {how.grid_ctas / config.cluster.y, config.cluster.y, 1};
  return arch::launch(tensor_gemm<Handle, Epilogue>, config, args.tiles, handle, *epilogue);
}

Expected<int> max_active_clusters(uint32_t cluster, uint32_t shared_bytes) {
  arch::LaunchConfig config = config_of(shared_bytes);
  config.cluster = {cluster, 1, 1};
  config.grid = {cluster, 1, 1};
  return arch::max_active_clusters(tensor_gemm<Handle, Epilogue>, config);
}

}  // namespace

const Fp8Kernel& TILEWRIGHT_JOIN(fp8_kernel_, TILEWRIGHT_INSTANCE_INDEX)() {
  static const Fp8Kernel kernel{kId, launch, max_active_clusters};
  return kernel;
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
