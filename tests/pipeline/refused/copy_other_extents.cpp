// expect: copy(from, to): the tiles have the same extents
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(Size<32, 32, 32>() + Precision<f16, f16, float>() + BlockDim<64>() + SM<900>());
void move(f16* a, f16* b) {
  copy<D, 16>(
      make_tensor(a, D::get_layout_gmem_a()),
      make_tensor(b, decltype(Size<16, 32, 32>() + Precision<f16>() + SM<900>())::get_layout_smem_a()));
}
