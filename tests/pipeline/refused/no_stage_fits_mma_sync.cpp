// expect: The tile is too large: not even one pipeline stage fits in shared memory
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(Size<64, 64, 256>() + Precision<double>() + testing::Hopper());
auto make(double* a, double* b) {
  return suggest_pipeline<D>(make_gmem_tensor<row_major>(a, 8, 8), make_gmem_tensor<col_major>(b, 8, 8));
}
