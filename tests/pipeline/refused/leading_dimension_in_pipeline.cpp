// expect: LeadingDimension is of matrices in shared memory, which a pipeline lays out by itself
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
auto make(bf16* a, bf16* b) {
  return suggest_pipeline<decltype(testing::Bf16Tile() + LeadingDimension<64, 64, 256>())>(
      make_gmem_tensor<row_major>(a, 8, 8), make_gmem_tensor<col_major>(b, 8, 8));
}
