// The kernel that docs/pipeline.md begins with, C = 2 A B + C / 2, for either machine.
#pragma once

#include <type_traits>

#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;

using MM =
    decltype(Size<64, 64, 64>() + Precision<bf16, bf16, float>() + BlockDim<128>() + MaxAlignment() +
             WithPipeline() + EnableInputStreaming() + SM<900, arch_specific>() + RequirePath<path::wgmma>());

template <class C, class Pipeline>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Pipeline::max_threads_per_block)
    gemm(C c, const TILEWRIGHT_GRID_CONSTANT Pipeline pipeline) {
  TILEWRIGHT_SHARED(shared, Pipeline::buffer_alignment());
  auto tile = pipeline.get_tile(shared, blockIdx.x, blockIdx.y);
  tile.execute([&](auto& accumulator) {
    accumulator.axpby(2.0f, 0.5f, get_tile(c, MM::c_shape, blockIdx.x, blockIdx.y));
  });
}

/// Of n x n matrices.
inline Status multiply(const bf16* a, const bf16* b, float* c, int n) {
  const auto p =
      suggest_pipeline<MM>(make_gmem_tensor<row_major>(a, n, n), make_gmem_tensor<col_major>(b, n, n));
  if (!p) return Error{.rule = "pipeline", .message = p.error().message};
  const auto tensor_c = make_gmem_tensor<row_major>(c, n, n);
  const auto handle = p->get_device_handle();
  return launch(gemm<std::decay_t<decltype(tensor_c)>, std::decay_t<decltype(handle)>>, *p,
                p->launch_config(p->get_grid_dim()), tensor_c, handle);
}
