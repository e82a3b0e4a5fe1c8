// Many small products: a block keeps its tile's place and goes through the batches, re-pointing one pipeline.
#include "examples/common/machine.h"

using namespace tilewright;
using namespace tilewright::blas;

using MM =
    decltype(Size<64, 64, 32>() + Precision<f16, f16, float>() + BlockDim<128>() + MaxAlignment() +
             WithPipeline() + EnableInputStreaming() + SM<900, arch_specific>() + RequirePath<path::wgmma>());

template <class CTensor, class DevicePipeline>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(DevicePipeline::max_threads_per_block)
    batched_gemm(CTensor c, uint32_t batches, const TILEWRIGHT_GRID_CONSTANT DevicePipeline pipeline) {
  TILEWRIGHT_SHARED(shared, DevicePipeline::buffer_alignment());
  // Once in a kernel: the barriers stay alive to its end.
  auto tile =
      pipeline.get_tile(shared, make_coord(blockIdx.x, blockIdx.z), make_coord(blockIdx.y, blockIdx.z));
  for (uint32_t batch = blockIdx.z; batch < batches;) {
    tile.execute([&](auto& accumulator) {
      accumulator.partition_and_store(get_tile(c, MM::c_shape, blockIdx.x, blockIdx.y, batch));
    });
    batch += gridDim.z;
    pipeline.reset_tile(tile, make_coord(blockIdx.x, batch), make_coord(blockIdx.y, batch));
  }
}

int main() {
  const int64_t m = 70, n = 60, k = 48, batches = 5;
  example::Array<f16> a(m * k * batches), b(k * n * batches);
  example::Array<float> c(m * n * batches);
  example::fill_random(a, 1);
  example::fill_random(b, 2);

  const auto pipeline = example::value_of(
      suggest_pipeline<4, MM>(make_gmem_tensor_batched<row_major>(a.data(), m, k, batches),
                              make_gmem_tensor_batched<col_major>(b.data(), k, n, batches)));
  const auto handle = pipeline.get_device_handle();
  const auto tensor_c = make_gmem_tensor_batched<row_major>(c.data(), m, n, batches);
  const Extent3 tiles = pipeline.get_grid_dim();
  example::check(launch(batched_gemm<std::decay_t<decltype(tensor_c)>, std::decay_t<decltype(handle)>>,
                        pipeline, pipeline.launch_config({tiles.x, tiles.y, 2}), tensor_c,
                        static_cast<uint32_t>(batches), handle));
  example::synchronize();

  example::Check result("batched");
  for (int64_t batch = 0; batch < batches; ++batch) {
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t column = 0; column < n; ++column) {
        double sum = 0;
        for (int64_t i = 0; i < k; ++i) {
          sum += static_cast<double>(static_cast<float>(a[(batch * m + row) * k + i])) *
                 static_cast<float>(b[(batch * n + column) * k + i]);
        }
        result.expect(c[(batch * m + row) * n + column], sum, 1e-3, row, column);
      }
    }
  }
  return result.report();
}
