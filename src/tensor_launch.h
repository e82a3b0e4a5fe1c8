// Launches of tensor_gemm kernels, for the machine this translation unit is compiled for.
#pragma once

#include "src/kernel_instance.h"
#include "src/pipeline_failure.h"
#include "src/tensor_kernel_table.h"
#include "tilewright/arch/occupancy.h"
#include "tilewright/kernels/tensor_gemm.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

// The types as the lists of kernels name them.
namespace element {
using tilewright::bf16;
using tilewright::e4m3;
using tilewright::e5m2;
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

template <blas::arrangement Order, class T>
auto tensor_of(const kernels::TensorOperand& o, int64_t rows, int64_t columns, int64_t batches) {
  return blas::make_gmem_tensor_batched<Order>(static_cast<T*>(const_cast<void*>(o.data)), rows, columns,
                                               batches, o.ld, o.batch_stride);
}

inline blas::LinearFactors factors_of(const kernels::TensorGemmArguments& args) {
  return {args.alpha, args.beta, args.alpha_device, args.beta_device};
}

/// The kernels of one TensorConfig, which differ in their epilogues.
template <class Config>
struct TensorLauncher {
  using Descriptor = typename Config::Descriptor;
  using Handle = blas::DevicePipeline<Descriptor, Config::depth(), blas::internal_accumulator>;
  static constexpr uint32_t kScratchBytes =
      blas::LinearStore<Descriptor, typename Config::D>::scratch_bytes();
  static constexpr uint32_t kSharedBytes =
      kScratchBytes == 0 ? Handle::buffer_size() : Handle::scratch_offset() + kScratchBytes;

  static arch::LaunchConfig config(const kernels::Launch& how) {
    arch::LaunchConfig config = launch_config("tensor_gemm", how);
    config.grid = {how.grid_ctas / blas::blocks_per_cluster_of_v_n<Descriptor>,
                   blas::blocks_per_cluster_of_v_n<Descriptor>, 1};
    config.block = Handle::get_block_dim();
    config.cluster = Handle::get_cluster_dim();
    config.shared_bytes = kSharedBytes;
    return config;
  }

  /// `epilogue`: what a factory made, or its error.
  template <class Epilogue>
  static Status launch(const kernels::TensorGemmArguments& args, const kernels::Launch& how,
                       const blas::pipeline_result<Epilogue>& epilogue) {
    if (!epilogue) return error_of(epilogue.error());
    const auto a = tensor_of<Config::kOrderA, const typename Config::A>(args.a, args.m, args.k, args.batches);
    const auto b = tensor_of<Config::kOrderB, const typename Config::B>(args.b, args.k, args.n, args.batches);
    const auto pipeline = blas::suggest_pipeline<Config::depth(), Descriptor>(a, b);
    if (!pipeline) return error_of(pipeline.error());
    return arch::launch(tensor_gemm<Handle, Epilogue>, config(how), args.tiles, pipeline->get_device_handle(),
                        *epilogue);
  }

  /// Of any of the kernels: all take the same of an SM's shared memory and registers.
  template <class Epilogue>
  static Expected<int> max_active_clusters() {
    constexpr auto kCtas = static_cast<uint32_t>(blas::blocks_per_cluster_of_v_m<Descriptor> *
                                                 blas::blocks_per_cluster_of_v_n<Descriptor>);
    return arch::max_active_clusters(tensor_gemm<Handle, Epilogue>, config({kCtas}));
  }
};

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
