// The kernel that docs/pipeline.md begins with: C = 2 A B + C / 2 with A of ones, B of twos and C of fours.
#include <cstdio>
#include <type_traits>

#include "tilewright/blas.h"
#include "tilewright/emulator/machine.h"

using namespace tilewright;
using namespace tilewright::blas;

using MM =
    decltype(Size<64, 64, 64>() + Precision<bf16, bf16, float>() + BlockDim<128>() + MaxAlignment() +
             WithPipeline() + EnableInputStreaming() + SM<900, arch_specific>() + RequirePath<path::wgmma>());

template <class C, class Pipeline>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Pipeline::max_threads_per_block)
    gemm(C c, const TILEWRIGHT_GRID_CONSTANT Pipeline pipeline) {
  TILEWRIGHT_SHARED(shared, Pipeline::buffer_alignment());
  auto tile = pipeline.get_tile(shared, blockIdx.x, blockIdx.y);
  tile.execute([&](auto& accumulator) {
    accumulator.axpby(2.0f, 0.5f, get_tile(c, MM::c_shape, blockIdx.x, blockIdx.y));
  });
}

namespace {
template <class T>
T* filled(int count, float value) {
  T* values = static_cast<T*>(emulator::Machine::default_machine().allocate_global(count * sizeof(T)));
  for (int i = 0; i < count; ++i) values[i] = T(value);
  return values;
}
}  // namespace

int main() {
  const int n = 64;
  bf16 *a = filled<bf16>(n * n, 1), *b = filled<bf16>(n * n, 2);
  float* c = filled<float>(n * n, 4);
  const auto p =
      suggest_pipeline<MM>(make_gmem_tensor<row_major>(a, n, n), make_gmem_tensor<col_major>(b, n, n));
  if (!p) return std::printf("%s\n", p.error().message.c_str()), 1;
  const auto tensor_c = make_gmem_tensor<row_major>(c, n, n);
  const auto handle = p->get_device_handle();
  if (const auto status = launch(gemm<std::decay_t<decltype(tensor_c)>, std::decay_t<decltype(handle)>>, *p,
                                 p->launch_config(p->get_grid_dim()), tensor_c, handle))
    return std::printf("%s\n", status->message.c_str()), 1;
  for (int i = 0; i < n * n; ++i)
    if (c[i] != 258) return std::printf("found %g; needed 258\n", c[i]), 1;
  return 0;
}
