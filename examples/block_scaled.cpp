// FP4 operands with scales (nvfp4) and a fused epilogue: D = ReLU(A B + bias), stored as bf16. Blackwell.
#include <memory>
#include <vector>

#include "examples/common/machine.h"
#include "tilewright/layout/scale_tensor.h"

using namespace tilewright;
using namespace tilewright::blas;

// 16 neighbours along K share a scale of e4m3. The tile is that of a pair of blocks.
using MM = decltype(Size<256, 256, 256>() + Precision<e2m1, e2m1, float>() + BlockScale<16, e4m3>() +
                    MaxAlignment() + WithPipeline() + EnableInputStreaming() + SM<1000, arch_specific>() +
                    BlocksPerCluster<2, 1>() + RequirePath<path::tcgen05>());

// What run() calls with each result, on the warps that read tensor memory.
template <class DTensor>
struct BiasRelu {
  const float* bias;
  DTensor d;

  template <class Accumulator>
  TILEWRIGHT_DEVICE void operator()(Accumulator& accumulator, schedule::TileCoord tile) const {
    constexpr Shape<Accumulator::rows, Accumulator::columns> block;
    const float* const tile_bias = bias + tile.n * static_cast<uint32_t>(Accumulator::columns);
    accumulator.reduce_and_store(get_tile(d, block, tile.m, tile.n), [&](float result, auto, Coord at) {
      const float x = result + tile_bias[at.n];
      return x > 0 ? x : 0;
    });
  }
};

template <class Epilogue, class DevicePipeline>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(DevicePipeline::max_threads_per_block)
    linear_relu(const TILEWRIGHT_GRID_CONSTANT schedule::ScheduledTiles tiles,
                const TILEWRIGHT_GRID_CONSTANT DevicePipeline pipeline,
                const TILEWRIGHT_GRID_CONSTANT Epilogue epilogue) {
  pipeline.run(tiles, epilogue);
}

// Random numbers as nvfp4: elements and packed scales in memory that kernels read, and what they stand for.
struct Quantised {
  Quantised(int64_t rows, int64_t k, uint32_t seed)
      : values(make(rows, k, seed)), elements(values.elements.size()) {
    const std::vector<uint8_t> packed = packed_scale_bytes(values);
    scale_bytes = std::make_unique<example::Array<uint8_t>>(packed.size());
    for (size_t i = 0; i < elements.size(); ++i) elements[i] = values.elements[i];
    for (size_t i = 0; i < packed.size(); ++i) (*scale_bytes)[i] = packed[i];
  }

  static BlockScaledTensor make(int64_t rows, int64_t k, uint32_t seed) {
    example::Array<float> source(static_cast<size_t>(rows * k));
    example::fill_random(source, seed);
    return *quantise({.data = source.data(), .rows = rows, .k = k, .row_stride = k}, BlockFormat::nvfp4);
  }
  const e2m1* data() { return reinterpret_cast<const e2m1*>(elements.data()); }
  PackedScales<const e4m3> scales() {
    return *PackedScales<const e4m3>::make(reinterpret_cast<const e4m3*>(scale_bytes->data()),
                                           static_cast<int64_t>(scale_bytes->size()), values.scale_shape());
  }

  BlockScaledTensor values;
  example::Array<uint8_t> elements;
  std::unique_ptr<example::Array<uint8_t>> scale_bytes;
};

int main() {
  example::require_capability(10);
  const int64_t m = 300, n = 200, k = 512;
  Quantised a(m, k, 1), b(n, k, 2);  // B as N rows: K is contiguous
  example::Array<float> bias(n);
  example::Array<bf16> d(m * n);
  example::fill_random(bias, 3);

  const auto pipeline = example::value_of(suggest_pipeline<MM>(make_gmem_tensor<row_major>(a.data(), m, k, k),
                                                               make_gmem_tensor<col_major>(b.data(), k, n, k),
                                                               a.scales(), b.scales()));
  const auto tensor_d = make_gmem_tensor<row_major>(d.data(), m, n, n);
  const BiasRelu<std::decay_t<decltype(tensor_d)>> epilogue{bias.data(), tensor_d};
  const auto kernel =
      linear_relu<std::decay_t<decltype(epilogue)>, std::decay_t<decltype(pipeline.get_device_handle())>>;

  example::Check result("block_scaled");
  // As many clusters as fit take every so-many-th tile, or each takes over those that have not started.
  for (const schedule::ScheduledTiles& tiles :
       {schedule::ScheduledTiles{pipeline.make_schedule()}, pipeline.make_controlled_schedule()}) {
    for (size_t i = 0; i < d.size(); ++i) d[i] = bf16(-1.0f);
    const auto config = example::value_of(pipeline.persistent_config(kernel, tiles));
    example::check(launch(kernel, pipeline, config, tiles, pipeline.get_device_handle(), epilogue));
    example::synchronize();
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t column = 0; column < n; ++column) {
        double x = bias[static_cast<size_t>(column)];
        for (int64_t i = 0; i < k; ++i) x += a.values.value(0, row, i) * b.values.value(0, column, i);
        const double expected = x > 0 ? x : 0;
        result.expect(static_cast<float>(d[static_cast<size_t>(row * n + column)]), expected,
                      1e-3 + expected / 128, row, column);
      }
    }
  }
  return result.report();
}
