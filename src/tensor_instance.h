// One tensor-core kernel of the table, for the machine this translation unit is compiled for. The build
// defines TILEWRIGHT_INSTANCE_ARGS (a line of tensor_kernels.def) and TILEWRIGHT_INSTANCE_INDEX.
#include "src/tensor_kernel_table.h"
#include "tilewright/arch/launch.h"
#include "tilewright/arch/occupancy.h"
#include "tilewright/kernels/complex_epilogue.h"
#include "tilewright/kernels/tensor_gemm.h"

#define TILEWRIGHT_JOIN_(a, b) a##b
#define TILEWRIGHT_JOIN(a, b) TILEWRIGHT_JOIN_(a, b)
#define TILEWRIGHT_ID(m, n, a, b, d, ka, kb, cm, cn, way, align)                                       \
  TensorKernelId {                                                                                     \
    m, n, DType::a, DType::b, DType::d, contiguous::ka, contiguous::kb, cm, cn, TensorPath::way, align \
  }
#define TILEWRIGHT_CONFIG(m, n, a, b, d, ka, kb, cm, cn, way, align)                             \
  TensorConfig<m, n, element::a, element::b, element::d, contiguous::ka, contiguous::kb, cm, cn, \
               blas::path::way, align>
#define TILEWRIGHT_APPLY(macro, ...) macro(__VA_ARGS__)

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

using kernels::TensorGemmArguments;
using kernels::TensorKernel;
using kernels::TensorKernelId;
using kernels::TensorLaunch;
using kernels::TensorOperand;
using kernels::TensorPath;

namespace {

// The words of the list.
namespace element {
using tilewright::bf16;
using tilewright::f16;
using tilewright::tf32;
using f32 = float;
using f64 = double;
using s8 = int8_t;
using u8 = uint8_t;
using s32 = int32_t;
using cf64 = blas::complex<double>;
using cf32 = blas::complex<float>;
using ctf32 = blas::complex<tf32>;
using cf16 = blas::complex<f16>;
using cbf16 = blas::complex<bf16>;
}  // namespace element
namespace contiguous {
constexpr bool k = true;
[[maybe_unused]] constexpr bool m = false, n = false;
}  // namespace contiguous

using Config = TILEWRIGHT_APPLY(TILEWRIGHT_CONFIG, TILEWRIGHT_INSTANCE_ARGS);
using Descriptor = Config::Descriptor;
using Handle = blas::DevicePipeline<Descriptor, Config::depth(), blas::internal_accumulator>;
template <class T>
using Linear = blas::LinearStore<Descriptor, T>;
template <class C>
constexpr uint32_t scratch_bytes() {
  if constexpr (C::kWgmma) return Linear<typename C::D>::scratch_bytes();
  return 0;
}
constexpr uint32_t kScratchBytes = scratch_bytes<Config>();
constexpr uint32_t kSharedBytes =
    kScratchBytes == 0 ? Handle::buffer_size() : Handle::scratch_offset() + kScratchBytes;

template <blas::arrangement Order, class T>
auto tensor(const TensorOperand& o, int64_t rows, int64_t columns, int64_t batches) {
  return blas::make_gmem_tensor_batched<Order>(static_cast<T*>(const_cast<void*>(o.data)), rows, columns,
                                               batches, o.ld, o.batch_stride);
}

arch::LaunchConfig launch_config(uint32_t ctas) {
  arch::LaunchConfig config;
  config.grid = {ctas / blas::blocks_per_cluster_of_v_n<Descriptor>,
                 blas::blocks_per_cluster_of_v_n<Descriptor>, 1};
  config.block = Handle::get_block_dim();
  config.cluster = Handle::get_cluster_dim();
  config.shared_bytes = kSharedBytes;
  config.name = "tensor_gemm";
  return config;
}

Error error_of(const blas::pipeline_error& e) { return {ErrorCode::invalid_argument, "pipeline", e.message}; }

template <class Epilogue>
Status launch_with(const TensorGemmArguments& args, const TensorLaunch& how, const Epilogue& epilogue) {
  const auto a = tensor<Config::kOrderA, const Config::A>(args.a, args.m, args.k, args.batches);
  const auto b = tensor<Config::kOrderB, const Config::B>(args.b, args.k, args.n, args.batches);
  const auto pipeline = blas::suggest_pipeline<Config::depth(), Descriptor>(a, b);
  if (!pipeline) return error_of(pipeline.error());
  arch::LaunchConfig config = launch_config(how.grid_ctas);
  config.stream = how.stream;
  config.dependent_launch = how.dependent_launch;
  return arch::launch(tensor_gemm<Handle, Epilogue>, config, args.tiles, pipeline->get_device_handle(),
                      epilogue);
}
template <class Epilogue>
Status launch_with(const TensorGemmArguments& args, const TensorLaunch& how,
                   const blas::pipeline_result<Epilogue>& epilogue) {
  return epilogue ? launch_with(args, how, *epilogue) : error_of(epilogue.error());
}

blas::LinearFactors factors_of(const TensorGemmArguments& args) {
  return {args.alpha, args.beta, args.alpha_device, args.beta_device};
}

template <class T>
Status launch_complex(const TensorGemmArguments& args, const TensorLaunch& how) {
  const auto strides = [&](const TensorOperand& o) {
    return args.d_by_columns ? ComplexStrides{1, o.ld, o.batch_stride}
                             : ComplexStrides{o.ld, 1, o.batch_stride};
  };
  const ComplexEpilogue<Descriptor, T> epilogue{
      {static_cast<T*>(const_cast<void*>(args.d.data)), strides(args.d)},
      {static_cast<const T*>(args.c.data), strides(args.c)},
      factors_of(args)};
  return launch_with(args, how, epilogue);
}

template <class T, blas::arrangement Order = blas::row_major>
Status launch_ordered(const TensorGemmArguments& args, const TensorLaunch& how) {
  const auto d = tensor<Order, T>(args.d, args.m, args.n, args.batches);
  const auto c = tensor<Order, const T>(args.c, args.m, args.n, args.batches);
  return launch_with(args, how, blas::make_linear_store<Descriptor>(d, c, factors_of(args), args.d_bulk));
}
template <class T>
Status launch_linear(const TensorGemmArguments& args, const TensorLaunch& how) {
  if constexpr (!Config::kWgmma) {
    if (args.d_by_columns) return launch_ordered<T, blas::col_major>(args, how);
  }
  return launch_ordered<T>(args, how);
}

/// C: Config, as a parameter: what is not of its path is not compiled.
template <class C>
Status launch(const TensorGemmArguments& args, const TensorLaunch& how) {
  using D = typename C::D;
  if constexpr (C::kComplex) {
    if constexpr (!std::is_same_v<D, element::cf32> && !std::is_same_v<D, element::cf64>) {
      if (args.d_type == DType::cf32) return launch_complex<element::cf32>(args, how);
    }
    return launch_complex<D>(args, how);
  } else if constexpr (C::kWgmma) {
    const auto d = tensor<blas::row_major, D>(args.d, args.m, args.n, args.batches);
    if (args.plain()) return launch_with(args, how, blas::make_store_through_smem<typename C::Descriptor>(d));
  } else if constexpr (!std::is_same_v<D, float> && !std::is_same_v<D, double>) {
    if (args.d_type == DType::f32) return launch_linear<float>(args, how);
  }
  if constexpr (!C::kComplex) return launch_linear<D>(args, how);
}

template <class C>
using AnyEpilogue =
    std::conditional_t<C::kComplex, ComplexEpilogue<Descriptor, typename C::D>, Linear<typename C::D>>;

/// Of any of the kernels here: all take the same of an SM's shared memory and registers.
Expected<int> max_active_clusters() {
  constexpr auto kCtas = static_cast<uint32_t>(blas::blocks_per_cluster_of_v_m<Descriptor> *
                                               blas::blocks_per_cluster_of_v_n<Descriptor>);
  return arch::max_active_clusters(tensor_gemm<Handle, AnyEpilogue<Config>>, launch_config(kCtas));
}

}  // namespace

const TensorKernel& TILEWRIGHT_JOIN(tensor_kernel_, TILEWRIGHT_INSTANCE_INDEX)() {
  static const TensorKernel kernel{TILEWRIGHT_APPLY(TILEWRIGHT_ID, TILEWRIGHT_INSTANCE_ARGS), Config::depth(),
                                   kSharedBytes, launch<Config>, max_active_clusters};
  return kernel;
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
