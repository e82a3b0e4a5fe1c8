// A fused epilogue: D = GELU(A B + bias), a bias for each column, stored as bf16.
#include "examples/common/machine.h"

using namespace tilewright;
using namespace tilewright::blas;

using MM =
    decltype(Size<128, 128, 64>() + Precision<f16, f16, float>() + BlockDim<256>() + MaxAlignment() +
             WithPipeline() + EnableInputStreaming() + SM<900, arch_specific>() + RequirePath<path::wgmma>());

TILEWRIGHT_HOST_DEVICE float gelu(float x) {
  return 0.5f * x * (1 + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
}

template <class DTensor, class DevicePipeline>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(DevicePipeline::max_threads_per_block)
    linear_gelu(const float* bias, DTensor d, const TILEWRIGHT_GRID_CONSTANT DevicePipeline pipeline) {
  TILEWRIGHT_SHARED(shared, DevicePipeline::buffer_alignment());
  auto tile = pipeline.get_tile(shared, blockIdx.x, blockIdx.y);
  tile.execute([&](auto& accumulator) {
    // Coordinates are tile-local, so the tile's origin is added. Elements that do not exist are never
    // visited: bias is not read past its end.
    const float* const tile_bias = bias + blockIdx.y * size_of_v_n<MM>;
    accumulator.reduce_and_store(
        get_tile(d, MM::c_shape, blockIdx.x, blockIdx.y),
        [&](float result, auto, Coord at) { return gelu(result + tile_bias[at.n]); });
  });
}

int main() {
  const int64_t m = 130, n = 200, k = 128;
  example::Array<f16> a(m * k), b(k * n);
  example::Array<float> bias(n);
  example::Array<bf16> d(m * n);
  example::fill_random(a, 1);
  example::fill_random(b, 2);
  example::fill_random(bias, 3);
  for (size_t i = 0; i < d.size(); ++i) d[i] = bf16(0.0f);

  const auto pipeline = example::value_of(suggest_pipeline<MM>(
      make_gmem_tensor<row_major>(a.data(), m, k, k), make_gmem_tensor<col_major>(b.data(), k, n, k)));
  const auto handle = pipeline.get_device_handle();
  const auto tensor_d = make_gmem_tensor<row_major>(d.data(), m, n, n);
  const float* const bias_data = bias.data();
  example::check(launch(linear_gelu<std::decay_t<decltype(tensor_d)>, std::decay_t<decltype(handle)>>,
                        pipeline, pipeline.launch_config(pipeline.get_grid_dim()), bias_data, tensor_d,
                        handle));
  example::synchronize();

  example::Check result("bias_gelu");
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      const double x = example::dot(a, b, row, column, k) + bias[column];
      const double expected = 0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
      result.expect(static_cast<float>(d[row * n + column]), expected, 1e-3 + std::abs(expected) / 128, row,
                    column);
    }
  }
  return result.report();
}
