// A layer with the library's own epilogue: D = e4m3(scale * GELU(A B + bias)), the values before the
// activation as bf16, and the largest magnitude after it, from which the next step takes its scale.
#include "examples/common/machine.h"

using namespace tilewright;
using namespace tilewright::blas;

using MM =
    decltype(Size<128, 128, 128>() + Precision<e4m3, e4m3, float>() + BlockDim<256>() + MaxAlignment() +
             WithPipeline() + EnableInputStreaming() + SM<900, arch_specific>() + RequirePath<path::wgmma>());

template <class DevicePipeline, class Epilogue>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(DevicePipeline::max_threads_per_block)
    fused_layer(const schedule::TileSchedule tiles, const TILEWRIGHT_GRID_CONSTANT DevicePipeline pipeline,
                const TILEWRIGHT_GRID_CONSTANT Epilogue epilogue) {
  pipeline.run(tiles, epilogue);
}

int main() {
  const int64_t m = 200, n = 272, k = 256;
  const float scale = 4;
  example::Array<e4m3> a(m * k), b(k * n), d(m * n);
  example::Array<bf16> aux(m * n), bias(n);
  example::Array<float> amax(1);
  example::fill_random(a, 1);
  example::fill_random(b, 2);
  example::fill_random(bias, 3);
  amax[0] = 0;  // the kernel raises it

  const auto pipeline = example::value_of(suggest_pipeline<4, MM>(
      make_gmem_tensor<row_major>(a.data(), m, k, k), make_gmem_tensor<col_major>(b.data(), k, n, k)));
  const auto handle = pipeline.get_device_handle();
  const FusedOps ops{.bias_kind = BiasKind::column,
                     .bias_type = DType::bf16,
                     .bias = bias.data(),
                     .activation = Activation::gelu,
                     .aux_type = DType::bf16,
                     .aux = aux.data(),
                     .aux_ld = n,
                     .amax = amax.data(),
                     .scale = scale};
  const auto epilogue =
      example::value_of(make_fused_store<MM>(make_gmem_tensor<row_major>(d.data(), m, n, n), 1, ops));
  const schedule::TileSchedule tiles = pipeline.make_schedule();
  using Handle = std::decay_t<decltype(handle)>;
  using Epilogue = std::decay_t<decltype(epilogue)>;
  const auto config = example::value_of(pipeline.persistent_config(fused_layer<Handle, Epilogue>, tiles,
                                                                   Epilogue::scratch_bytes(), nullptr, 2));
  example::check(launch(fused_layer<Handle, Epilogue>, pipeline, config, tiles, handle, epilogue));
  example::synchronize();

  example::Check result("fused_layer");
  double most = 0;
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      const double x = example::dot(a, b, row, column, k) + static_cast<float>(bias[column]);
      const double expected = activate(Activation::gelu, x);
      most = std::max(most, std::abs(expected));
      result.expect(static_cast<float>(aux[row * n + column]), x, 2e-2 + std::abs(x) / 128, row, column);
      result.expect(static_cast<float>(d[row * n + column]), scale * expected,
                    0.1 + scale * std::abs(expected) / 14, row, column);
    }
  }
  result.expect(amax[0], most, 2e-2, 0, 0);
  return result.report();
}
