// The smallest use of the pipeline API: C = alpha A B + beta C, one tile a block.
//
// The same source is compiled for a GPU and for the emulated machine. For the latter a kernel uses
// TILEWRIGHT_SHARED for its shared memory and launch() instead of <<<>>>; everything else is as in CUDA.
#include "examples/common/machine.h"

using namespace tilewright;
using namespace tilewright::blas;

// A tile of 128 x 128, 64 of K a stage, computed by 256 threads. Order does not matter; what the fast path
// needs and does not find here would be a compile error, because the path is required.
using MM = decltype(Size<128, 128, 64>() + Precision<bf16, bf16, float>() + Type<type::real>() +
                    Function<function::MM>() + Arrangement<row_major, col_major, row_major>() + Block() +
                    BlockDim<256>() + MaxAlignment() + WithPipeline() + EnableInputStreaming() +
                    SM<900, arch_specific>() + RequirePath<path::wgmma>());

template <class CTensor, class DevicePipeline>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(DevicePipeline::max_threads_per_block)
    gemm(float alpha, float beta, CTensor c, const TILEWRIGHT_GRID_CONSTANT DevicePipeline pipeline) {
  TILEWRIGHT_SHARED(shared, DevicePipeline::buffer_alignment());
  auto tile = pipeline.get_tile(shared, blockIdx.x, blockIdx.y);
  tile.execute([&](auto& accumulator) {
    accumulator.axpby(alpha, beta, get_tile(c, MM::c_shape, blockIdx.x, blockIdx.y));
  });
}

int main() {
  const int64_t m = 200, n = 150, k = 96;  // nothing has to divide anything
  example::Array<bf16> a(m * k), b(k * n);
  example::Array<float> c(m * n);
  example::fill_random(a, 1);
  example::fill_random(b, 2);
  example::fill(c, 1);

  const auto pipeline = example::value_of(suggest_pipeline<MM>(
      make_gmem_tensor<row_major>(a.data(), m, k, k), make_gmem_tensor<col_major>(b.data(), k, n, k)));
  const auto handle = pipeline.get_device_handle();
  const auto tensor_c = make_gmem_tensor<row_major>(c.data(), m, n, n);
  const Extent3 grid = pipeline.get_grid_dim();
  example::check(launch(gemm<std::decay_t<decltype(tensor_c)>, std::decay_t<decltype(handle)>>, pipeline,
                        pipeline.launch_config(grid), 2.0f, 0.5f, tensor_c, handle));
  example::synchronize();

  example::Check result("introduction");
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      result.expect(c[row * n + column], 2 * example::dot(a, b, row, column, k) + 0.5, 1e-3, row, column);
    }
  }
  return result.report();
}
