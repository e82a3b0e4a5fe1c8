// expect: execute(functor): with Products<2> the functor takes an accumulator of each product by reference
#include "tests/pipeline/gemm_case.h"

using namespace tilewright::pipeline_tests;
using D = Tile<tilewright::bf16, tilewright::bf16, float, 64, 64, 64, 128, Products<2>>;
using Handle = DevicePipeline<D, 2, internal_accumulator>;

void kernel(const Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  auto tile = pipeline.get_tile(shared, 0, 0);
  tile.execute([](auto& accumulator) { accumulator.discard(); });
}
