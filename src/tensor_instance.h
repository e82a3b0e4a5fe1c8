// One tensor-core kernel of the table, for the machine this translation unit is compiled for. The build
// defines TILEWRIGHT_INSTANCE_ARGS (a line of tensor_kernels.def) and TILEWRIGHT_INSTANCE_INDEX.
#include "src/tensor_launch.h"
#include "tilewright/kernels/complex_epilogue.h"

#define TILEWRIGHT_ID(m, n, a, b, d, ka, kb, cm, cn, way, align)                                       \
  TensorKernelId {                                                                                     \
    m, n, DType::a, DType::b, DType::d, contiguous::ka, contiguous::kb, cm, cn, TensorPath::way, align \
  }
#define TILEWRIGHT_CONFIG(m, n, a, b, d, ka, kb, cm, cn, way, align)                             \
  TensorConfig<m, n, element::a, element::b, element::d, contiguous::ka, contiguous::kb, cm, cn, \
               blas::path::way, align>

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

using kernels::Launch;
using kernels::TensorGemmArguments;
using kernels::TensorKernel;
using kernels::TensorKernelId;
using kernels::TensorOperand;
using kernels::TensorPath;

namespace {

// Words of the list.
namespace contiguous {
constexpr bool k = true;
[[maybe_unused]] constexpr bool m = false, n = false;
}  // namespace contiguous

using Config = TILEWRIGHT_APPLY(TILEWRIGHT_CONFIG, TILEWRIGHT_INSTANCE_ARGS);
using Launcher = TensorLauncher<Config>;
using Descriptor = Config::Descriptor;

template <class T>
using Complex = ComplexEpilogue<Descriptor, T>;

template <class T>
Status launch_complex(const TensorGemmArguments& args, const Launch& how) {
  const auto strides = [&](const TensorOperand& o) {
    return args.d_by_columns ? ComplexStrides{1, o.ld, o.batch_stride}
                             : ComplexStrides{o.ld, 1, o.batch_stride};
  };
  const Complex<T> epilogue{{static_cast<T*>(const_cast<void*>(args.d.data)), strides(args.d)},
                            {static_cast<const T*>(args.c.data), strides(args.c)},
                            factors_of(args)};
  return Launcher::launch(args, how, blas::pipeline_result<Complex<T>>(epilogue));
}

template <class T, blas::arrangement Order = blas::row_major>
Status launch_ordered(const TensorGemmArguments& args, const Launch& how) {
  const auto d = tensor_of<Order, T>(args.d, args.m, args.n, args.batches);
  const auto c = tensor_of<Order, const T>(args.c, args.m, args.n, args.batches);
  return Launcher::launch(args, how,
                          blas::make_linear_store<Descriptor>(d, c, factors_of(args), args.d_bulk));
}
template <class T>
Status launch_linear(const TensorGemmArguments& args, const Launch& how) {
  if constexpr (!Config::kWgmma) {
    if (args.d_by_columns) return launch_ordered<T, blas::col_major>(args, how);
  }
  return launch_ordered<T>(args, how);
}

/// C: Config, as a parameter: what is not of its path is not compiled.
template <class C>
Status launch(const TensorGemmArguments& args, const Launch& how) {
  using D = typename C::D;
  if constexpr (C::kComplex) {
    if constexpr (!std::is_same_v<D, element::cf32> && !std::is_same_v<D, element::cf64>) {
      if (args.d_type == DType::cf32) return launch_complex<element::cf32>(args, how);
    }
    return launch_complex<D>(args, how);
  } else if constexpr (C::kWgmma) {
    const auto d = tensor_of<blas::row_major, D>(args.d, args.m, args.n, args.batches);
    if (args.plain())
      return Launcher::launch(args, how, blas::make_store_through_smem<typename C::Descriptor>(d));
  } else if constexpr (!std::is_same_v<D, float> && !std::is_same_v<D, double>) {
    if (args.d_type == DType::f32) return launch_linear<float>(args, how);
  }
  if constexpr (!C::kComplex) return launch_linear<D>(args, how);
}

/// The one of the kernel's epilogues that every kernel has.
using UsualEpilogue =
    std::conditional_t<Config::kComplex, Complex<Config::D>, blas::LinearStore<Descriptor, Config::D>>;

}  // namespace

const TensorKernel& TILEWRIGHT_JOIN(tensor_kernel_, TILEWRIGHT_INSTANCE_INDEX)() {
  static const TensorKernel kernel{TILEWRIGHT_APPLY(TILEWRIGHT_ID, TILEWRIGHT_INSTANCE_ARGS), Config::depth(),
                                   Launcher::kSharedBytes, launch<Config>,
                                   Launcher::max_active_clusters<UsualEpilogue>};
  return kernel;
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
