// expect: execute(): A is an M x K tile and B a K x N one
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(Size<32, 32, 32>() + Precision<f16, f16, float>() + BlockDim<64>() + SM<900>());
auto multiply(f16* a, f16* b) {
  using Wide = decltype(Size<32, 32, 64>() + Precision<f16, f16, float>() + BlockDim<64>() + SM<900>());
  return D().execute(make_tensor(a, Wide::get_layout_smem_a()), make_tensor(b, D::get_layout_smem_b()));
}
