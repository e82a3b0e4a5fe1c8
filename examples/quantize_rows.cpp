// D = quantised A B: E4M3 codes with a scale for each row of a tile, scale = largest magnitude / 448.
//
// Results are read once, into a fragment; the rows' maxima come from the fragment, the codes from the
// fragment and the maxima. A row of zeros has scale 1.
#include "examples/common/machine.h"
#include "tilewright/arch/warp.h"

using namespace tilewright;
using namespace tilewright::blas;

using MM =
    decltype(Size<64, 64, 64>() + Precision<bf16, bf16, float>() + BlockDim<128>() + MaxAlignment() +
             WithPipeline() + EnableInputStreaming() + SM<900, arch_specific>() + RequirePath<path::wgmma>());

template <class DTensor, class DevicePipeline>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(DevicePipeline::max_threads_per_block)
    quantize(DTensor d, float* scales, uint32_t tiles_n,
             const TILEWRIGHT_GRID_CONSTANT DevicePipeline pipeline) {
  TILEWRIGHT_SHARED(shared, DevicePipeline::buffer_alignment());
  auto tile = pipeline.get_tile(shared, blockIdx.x, blockIdx.y);
  tile.execute([&](auto& accumulator) {
    auto results = accumulator.get_results();  // zeros where nothing exists
    const Coord upper = accumulator.map_fragment_index(0), lower = accumulator.map_fragment_index(2);
    float largest[2] = {0, 0};
    results.for_each([&](int i, const float& value) {
      const bool second = accumulator.map_fragment_index(i).m != upper.m;
      largest[second] = fmaxf(largest[second], fabsf(value));
    });
    for (uint32_t step = 1; step < 4; step *= 2) {
      largest[0] = fmaxf(largest[0], arch::shuffle_xor(largest[0], step));
      largest[1] = fmaxf(largest[1], arch::shuffle_xor(largest[1], step));
    }
    const float scale[2] = {largest[0] > 0 ? largest[0] / 448.0f : 1.0f,
                            largest[1] > 0 ? largest[1] / 448.0f : 1.0f};
    results.for_each(
        [&](int i, float& value) { value /= scale[accumulator.map_fragment_index(i).m != upper.m]; });
    accumulator.partition_and_copy(results, get_tile(d, MM::c_shape, blockIdx.x, blockIdx.y));
    if (upper.n != 0) return;
    const Coord rows[2] = {upper, lower};
    for (int r = 0; r < 2; ++r) {
      if (!accumulator.is_coord_in_bounds({rows[r].m, 0})) continue;
      scales[(blockIdx.x * size_of_v_m<MM> + rows[r].m) * tiles_n + blockIdx.y] = scale[r];
    }
  });
}

int main() {
  const int64_t m = 100, n = 150, k = 64;
  example::Array<bf16> a(m * k), b(k * n);
  example::fill_random(a, 1);
  example::fill_random(b, 2);
  for (int64_t i = 0; i < k; ++i) a[3 * k + i] = bf16(0.0f);

  const auto pipeline = example::value_of(suggest_pipeline<MM>(
      make_gmem_tensor<row_major>(a.data(), m, k, k), make_gmem_tensor<col_major>(b.data(), k, n, k)));
  const auto handle = pipeline.get_device_handle();
  const Extent3 grid = pipeline.get_grid_dim();
  example::Array<e4m3> d(m * n);
  example::Array<float> scales(m * grid.y);
  const auto tensor_d = make_gmem_tensor<row_major>(d.data(), m, n, n);
  example::check(launch(quantize<std::decay_t<decltype(tensor_d)>, std::decay_t<decltype(handle)>>, pipeline,
                        pipeline.launch_config(grid), tensor_d, scales.data(), grid.y, handle));
  example::synchronize();

  example::Check result("quantize_rows");
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      const double expected = example::dot(a, b, row, column, k);
      const double scale = scales[row * grid.y + column / 64];
      // Half a unit of E4M3: 2^-4 of the value, or of the least normal one.
      const double tolerance = std::abs(expected) / 16 + scale * 0x1p-10 + 1e-4;
      result.expect(static_cast<float>(d[row * n + column]) * scale, expected, tolerance, row, column);
    }
  }
  return result.report();
}
