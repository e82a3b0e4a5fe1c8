// expect: suggest_pipeline needs WithPipeline() in the descriptor
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(Size<32, 32, 32>() + Precision<f16, f16, float>() + BlockDim<64>() + SM<900>());
auto make(f16* a, f16* b) {
  return suggest_pipeline<D>(make_gmem_tensor<row_major>(a, 8, 8), make_gmem_tensor<col_major>(b, 8, 8));
}
