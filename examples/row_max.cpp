// Statistics of rows without storing the product: the maximum and the sum of exponentials that a softmax over
// the columns of one tile needs.
//
// A thread holds pieces of several rows. map_fragment_index tells which: rows are grouped by it, never by
// guessing. Columns that do not exist are masked, or a row of negative numbers would have a maximum of zero.
#include "examples/common/machine.h"
#include "tilewright/arch/warp.h"

using namespace tilewright;
using namespace tilewright::blas;

using MM =
    decltype(Size<64, 128, 64>() + Precision<bf16, bf16, float>() + BlockDim<128>() + MaxAlignment() +
             WithPipeline() + EnableInputStreaming() + SM<900, arch_specific>() + RequirePath<path::wgmma>());

template <class DevicePipeline>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(DevicePipeline::max_threads_per_block)
    row_statistics(float* maximum, float* sum, const TILEWRIGHT_GRID_CONSTANT DevicePipeline pipeline) {
  TILEWRIGHT_SHARED(shared, DevicePipeline::buffer_alignment());
  auto tile = pipeline.get_tile(shared, blockIdx.x, 0);
  tile.execute([&](auto& accumulator) {
    const auto results = accumulator.get_results();
    // The two rows of this thread: those of its elements 0 and 2.
    const Coord upper = accumulator.map_fragment_index(0), lower = accumulator.map_fragment_index(2);
    float largest[2] = {-INFINITY, -INFINITY};
    results.for_each([&](int i, const float& value) {
      const bool second = accumulator.map_fragment_index(i).m != upper.m;
      if (accumulator.is_index_in_bounds(i)) largest[second] = fmaxf(largest[second], value);
    });
    // Four neighbouring lanes hold the rest of the same rows.
    for (uint32_t step = 1; step < 4; step *= 2) {
      largest[0] = fmaxf(largest[0], arch::shuffle_xor(largest[0], step));
      largest[1] = fmaxf(largest[1], arch::shuffle_xor(largest[1], step));
    }
    float total[2] = {0, 0};
    results.for_each([&](int i, const float& value) {
      const bool second = accumulator.map_fragment_index(i).m != upper.m;
      if (accumulator.is_index_in_bounds(i)) total[second] += expf(value - largest[second]);
    });
    for (uint32_t step = 1; step < 4; step *= 2) {
      total[0] += arch::shuffle_xor(total[0], step);
      total[1] += arch::shuffle_xor(total[1], step);
    }
    if (upper.n != 0) return;  // one lane of four writes
    const Coord rows[2] = {upper, lower};
    for (int r = 0; r < 2; ++r) {
      if (!accumulator.is_coord_in_bounds({rows[r].m, 0})) continue;
      const uint32_t row = blockIdx.x * size_of_v_m<MM> + rows[r].m;
      maximum[row] = largest[r];
      sum[row] = total[r];
    }
  });
}

int main() {
  const int64_t m = 150, n = 100, k = 64;
  example::Array<bf16> a(m * k), b(k * n);
  example::Array<float> maximum(m), sum(m);
  example::fill_random(a, 1);
  example::fill_random(b, 2);
  // One row of nothing but negative results.
  for (int64_t i = 0; i < k; ++i) a[7 * k + i] = bf16(-1.0f);
  for (size_t i = 0; i < b.size(); ++i) b[i] = bf16(std::abs(static_cast<float>(b[i])));

  const auto pipeline = example::value_of(suggest_pipeline<MM>(
      make_gmem_tensor<row_major>(a.data(), m, k, k), make_gmem_tensor<col_major>(b.data(), k, n, k)));
  const auto handle = pipeline.get_device_handle();
  const Extent3 grid = pipeline.get_grid_dim();
  example::check(launch(row_statistics<std::decay_t<decltype(handle)>>, pipeline,
                        pipeline.launch_config({grid.x, 1, 1}), maximum.data(), sum.data(), handle));
  example::synchronize();

  example::Check result("row_max");
  for (int64_t row = 0; row < m; ++row) {
    double largest = -INFINITY, total = 0;
    for (int64_t column = 0; column < n; ++column)
      largest = std::max(largest, example::dot(a, b, row, column, k));
    for (int64_t column = 0; column < n; ++column)
      total += std::exp(example::dot(a, b, row, column, k) - largest);
    result.expect(maximum[row], largest, 1e-4, row, 0);
    result.expect(sum[row], total, 1e-3 * total, row, 1);
  }
  return result.report();
}
