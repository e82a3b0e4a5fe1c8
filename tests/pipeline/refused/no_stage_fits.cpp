// expect: The tile is too large: not even one pipeline stage fits in shared memory
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D =
    decltype(Size<128, 256, 512>() + Precision<bf16, bf16, float>() + BlockDim<256>() + testing::Hopper());
auto make(bf16* a, bf16* b) {
  return suggest_pipeline<D>(make_gmem_tensor<row_major>(a, 8, 8), make_gmem_tensor<col_major>(b, 8, 8));
}
