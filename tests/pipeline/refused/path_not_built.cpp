// expect: resolves to the path mma_sync, which is not built yet
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(testing::Bf16Tile() + RequirePath<path::mma_sync>());
auto make(bf16* a, bf16* b) {
  return suggest_pipeline<2, D>(make_gmem_tensor<row_major>(a, 8, 8), make_gmem_tensor<col_major>(b, 8, 8));
}
