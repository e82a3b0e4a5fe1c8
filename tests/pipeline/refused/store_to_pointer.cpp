// expect: results are stored to a tile of memory, get_tile(tensor, D::c_shape, row, column), or to a register
// fragment
#include "tests/pipeline/gemm_case.h"

using namespace tilewright::pipeline_tests;
using D = Tile<tilewright::bf16, tilewright::bf16, float, 64, 64, 64>;
using Handle = DevicePipeline<D, 2, internal_accumulator>;

void kernel(float* c, const Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, 0, 0);
  tile.execute([&](auto& accumulator) { accumulator.axpby(1.0f, 0.0f, c); });
}
