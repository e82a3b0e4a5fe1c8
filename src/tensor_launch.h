// Launches of tensor_gemm kernels, for the machine this translation unit is compiled for.
#pragma once

#include "src/pipeline_failure.h"
#include "src/tensor_kernel_table.h"
#include "tilewright/arch/launch.h"
#include "tilewright/arch/occupancy.h"
#include "tilewright/kernels/tensor_gemm.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

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

  static arch::LaunchConfig config(uint32_t ctas) {
    arch::LaunchConfig config;
    config.grid = {ctas / blas::blocks_per_cluster_of_v_n<Descriptor>,
                   blas::blocks_per_cluster_of_v_n<Descriptor>, 1};
    config.block = Handle::get_block_dim();
    config.cluster = Handle::get_cluster_dim();
    config.shared_bytes = kSharedBytes;
    config.name = "tensor_gemm";
    return config;
  }

  /// `epilogue`: what a factory made, or its error.
  template <class Epilogue>
  static Status launch(const kernels::TensorGemmArguments& args, const kernels::TensorLaunch& how,
                       const blas::pipeline_result<Epilogue>& epilogue) {
    if (!epilogue) return error_of(epilogue.error());
    const auto a = tensor_of<Config::kOrderA, const typename Config::A>(args.a, args.m, args.k, args.batches);
    const auto b = tensor_of<Config::kOrderB, const typename Config::B>(args.b, args.k, args.n, args.batches);
    const auto pipeline = blas::suggest_pipeline<Config::depth(), Descriptor>(a, b);
    if (!pipeline) return error_of(pipeline.error());
    arch::LaunchConfig launched = config(how.grid_ctas);
    launched.stream = how.stream;
    launched.dependent_launch = how.dependent_launch;
    return arch::launch(tensor_gemm<Handle, Epilogue>, launched, args.tiles, pipeline->get_device_handle(),
                        *epilogue);
  }

  /// Of any of the kernels: all take the same of an SM's shared memory and registers.
  template <class Epilogue>
  static Expected<int> max_active_clusters() {
    constexpr auto kCtas = static_cast<uint32_t>(blas::blocks_per_cluster_of_v_m<Descriptor> *
                                                 blas::blocks_per_cluster_of_v_n<Descriptor>);
    return arch::max_active_clusters(tensor_gemm<Handle, Epilogue>, config(kCtas));
  }
};

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
