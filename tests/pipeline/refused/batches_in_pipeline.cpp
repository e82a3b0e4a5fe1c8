// expect: BatchesPerBlock multiplies without a pipeline: leave WithPipeline() out
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
auto make(bf16* a, bf16* b) {
  return suggest_pipeline<decltype(testing::Bf16Tile() + BatchesPerBlock<2>())>(
      make_gmem_tensor<row_major>(a, 8, 8), make_gmem_tensor<col_major>(b, 8, 8));
}
