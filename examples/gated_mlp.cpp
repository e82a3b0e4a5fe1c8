// D = SiLU(A G) * (A U): two products of the same A, combined in registers, nothing in between in memory.
//
// One pipeline with two matrices B: a stage holds a tile of A and one of each, and the epilogue gets both
// results at once.
#include "examples/common/machine.h"

using namespace tilewright;
using namespace tilewright::blas;

using MM = decltype(Size<64, 64, 64>() + Precision<bf16, bf16, float>() + BlockDim<128>() + MaxAlignment() +
                    Products<2>() + WithPipeline() + EnableInputStreaming() + SM<900, arch_specific>() +
                    RequirePath<path::wgmma>());

template <class DTensor, class DevicePipeline>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(DevicePipeline::max_threads_per_block)
    gated_mlp(DTensor d, const TILEWRIGHT_GRID_CONSTANT DevicePipeline pipeline) {
  TILEWRIGHT_SHARED(shared, DevicePipeline::buffer_alignment());
  auto tile = pipeline.get_tile(shared, blockIdx.x, blockIdx.y);
  tile.execute([&](auto& gate, auto& up) {
    const auto gates = gate.get_results();
    auto results = up.get_results();
    results.for_each([&](int i, float& value) { value *= gates[i] / (1 + expf(-gates[i])); });
    up.partition_and_copy(results, get_tile(d, MM::c_shape, blockIdx.x, blockIdx.y));
  });
}

int main() {
  const int64_t m = 100, n = 130, k = 192;
  example::Array<bf16> a(m * k), g(k * n), u(k * n), d(m * n);
  example::fill_random(a, 1);
  example::fill_random(g, 2);
  example::fill_random(u, 3);

  const auto tensor_a = make_gmem_tensor<row_major>(a.data(), m, k, k);
  const auto p =
      example::value_of(suggest_pipeline<MM>(tensor_a, make_gmem_tensor<col_major>(g.data(), k, n, k),
                                             make_gmem_tensor<col_major>(u.data(), k, n, k)));
  const auto tensor_d = make_gmem_tensor<row_major>(d.data(), m, n, n);
  using Handle = std::decay_t<decltype(p.get_device_handle())>;
  example::check(launch(gated_mlp<std::decay_t<decltype(tensor_d)>, Handle>, p,
                        p.launch_config(p.get_grid_dim()), tensor_d, p.get_device_handle()));
  example::synchronize();

  example::Check result("gated_mlp");
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      const double x = example::dot(a, g, row, column, k), y = example::dot(a, u, row, column, k);
      const double expected = x / (1 + std::exp(-x)) * y;
      result.expect(static_cast<float>(d[row * n + column]), expected, 1e-2 + std::abs(expected) / 100, row,
                    column);
    }
  }
  return result.report();
}
