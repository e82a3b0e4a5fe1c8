// expect: the elements of tensor A are not exactly the descriptor's a_value_type
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
auto make(f16* a, bf16* b) {
  return suggest_pipeline<2, testing::Bf16Tile>(make_gmem_tensor<row_major>(a, 8, 8),
                                                make_gmem_tensor<col_major>(b, 8, 8));
}
