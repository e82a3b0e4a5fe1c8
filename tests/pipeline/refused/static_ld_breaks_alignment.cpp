// expect: the leading dimension known at compile time breaks the alignment of 16 bytes
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
auto make(bf16* a, bf16* b) {
  return suggest_pipeline<2, testing::Bf16Tile>(make_gmem_tensor<row_major>(a, 8, 8, static_ld<9>),
                                                make_gmem_tensor<col_major>(b, 8, 8));
}
