// The fast form: a persistent loop with split roles, clusters that share the loads of B, and stores that run
// under the next tile's MMAs.
#include "examples/common/machine.h"

using namespace tilewright;
using namespace tilewright::blas;

using MM = decltype(Size<128, 256, 64>() + Precision<bf16, bf16, float>() + BlockDim<256>() + MaxAlignment() +
                    WithPipeline() + EnableInputStreaming() + SM<900, arch_specific>() +
                    BlocksPerCluster<2, 1>() + RequireMulticast() + RequirePath<path::wgmma>());

/// What happens to each element on its way: here a ReLU.
struct Relu {
  TILEWRIGHT_HOST_DEVICE float operator()(float x, Coord) const { return x > 0 ? x : 0; }
};

template <class DevicePipeline, class Epilogue>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(DevicePipeline::max_threads_per_block)
    persistent_gemm(const schedule::TileSchedule tiles,
                    const TILEWRIGHT_GRID_CONSTANT DevicePipeline pipeline,
                    const TILEWRIGHT_GRID_CONSTANT Epilogue epilogue) {
  pipeline.run(tiles, epilogue);
}

int main() {
  const int64_t m = 520, n = 520, k = 256;
  example::Array<bf16> a(m * k), b(k * n), c(m * n);
  example::fill_random(a, 1);
  example::fill_random(b, 2);

  const auto pipeline = example::value_of(suggest_pipeline<4, MM>(
      make_gmem_tensor<row_major>(a.data(), m, k, k), make_gmem_tensor<col_major>(b.data(), k, n, k)));
  const auto handle = pipeline.get_device_handle();
  const auto epilogue =
      example::value_of(make_store_through_smem<MM>(make_gmem_tensor<row_major>(c.data(), m, n, n), Relu{}));
  // In the order that the library's planner takes: strips of tiles whose operands stay in L2.
  const schedule::TileSchedule tiles = pipeline.suggest_schedule();
  using Handle = std::decay_t<decltype(handle)>;
  using Epilogue = std::decay_t<decltype(epilogue)>;
  // As many clusters as the device holds at once; two here, so that each has several tiles.
  const auto config = example::value_of(pipeline.persistent_config(persistent_gemm<Handle, Epilogue>, tiles,
                                                                   Epilogue::scratch_bytes(), nullptr, 2));
  example::check(launch(persistent_gemm<Handle, Epilogue>, pipeline, config, tiles, handle, epilogue));
  example::synchronize();

  example::Check result("persistent_cluster");
  for (int64_t row = 0; row < m; row += 3) {
    for (int64_t column = 0; column < n; column += 7) {
      const double expected = std::max(0.0, example::dot(a, b, row, column, k));
      result.expect(static_cast<float>(c[row * n + column]), expected, 1e-3 + expected / 128, row, column);
    }
  }
  return result.report();
}
