// expect: Accumulator(const tilewright::blas::
#include "tests/pipeline/gemm_case.h"

using namespace tilewright::pipeline_tests;
using D = Tile<tilewright::bf16, tilewright::bf16, float, 64, 64, 64>;
using Handle = DevicePipeline<D, 2, internal_accumulator>;

void kernel(const Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, 0, 0);
  tile.execute([](auto& accumulator) { auto copy = accumulator; });
}
