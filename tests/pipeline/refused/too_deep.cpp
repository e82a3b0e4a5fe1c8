// expect: so many stages do not fit in shared memory
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
auto make(bf16* a, bf16* b) {
  return suggest_pipeline<5, testing::Bf16Tile>(make_gmem_tensor<row_major>(a, 8, 8),
                                                make_gmem_tensor<col_major>(b, 8, 8));
}
