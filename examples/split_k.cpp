// A long K and a small output: the blocks of one output tile each take a slice of K, and add what they have
// to C with atomic additions.
//
// A slice is a batch: tensors of rank 3 view the same matrices, `slice` columns of A (rows of B) further on.
#include "examples/common/machine.h"
#include "tilewright/arch/atomics.h"

using namespace tilewright;
using namespace tilewright::blas;

using MM =
    decltype(Size<64, 64, 64>() + Precision<bf16, bf16, float>() + BlockDim<128>() + MaxAlignment() +
             WithPipeline() + EnableInputStreaming() + SM<900, arch_specific>() + RequirePath<path::wgmma>());

template <class CTensor, class DevicePipeline>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(DevicePipeline::max_threads_per_block)
    split_k_gemm(CTensor c, const TILEWRIGHT_GRID_CONSTANT DevicePipeline pipeline) {
  TILEWRIGHT_SHARED(shared, DevicePipeline::buffer_alignment());
  auto tile =
      pipeline.get_tile(shared, make_coord(blockIdx.x, blockIdx.z), make_coord(blockIdx.y, blockIdx.z));
  tile.execute([&](auto& accumulator) {
    const auto results = accumulator.get_results();
    const auto out = get_tile(c, MM::c_shape, blockIdx.x, blockIdx.y);
    results.for_each([&](int i, const float& value) {
      const Coord at = accumulator.map_fragment_index(i);
      if (accumulator.is_coord_in_bounds(at)) arch::atomic_add(&out(at.m, at.n), value);
    });
  });
}

int main() {
  const int64_t m = 70, n = 60, slices = 4, slice = 256, k = slices * slice;
  example::Array<bf16> a(m * k), b(k * n);
  example::Array<float> c(m * n);
  example::fill_random(a, 1);
  example::fill_random(b, 2);
  example::fill(c, 0);

  const auto pipeline = example::value_of(
      suggest_pipeline<MM>(make_gmem_tensor_batched<row_major>(a.data(), m, slice, slices, k, slice),
                           make_gmem_tensor_batched<col_major>(b.data(), slice, n, slices, k, slice)));
  const auto handle = pipeline.get_device_handle();
  const auto tensor_c = make_gmem_tensor<row_major>(c.data(), m, n, n);
  const Extent3 tiles = pipeline.get_grid_dim();
  example::check(launch(split_k_gemm<std::decay_t<decltype(tensor_c)>, std::decay_t<decltype(handle)>>,
                        pipeline, pipeline.launch_config({tiles.x, tiles.y, static_cast<uint32_t>(slices)}),
                        tensor_c, handle));
  example::synchronize();

  example::Check result("split_k");
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      result.expect(c[row * n + column], example::dot(a, b, row, column, k), 1e-2, row, column);
    }
  }
  return result.report();
}
