// expect: as many matrices of each as BatchesPerBlock says
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
template <int Count>
using D = decltype(Size<32, 32, 32>() + Precision<f16, f16, float>() + BlockDim<64>() + SM<900>() +
                   BatchesPerBlock<Count>());
void multiply(f16* a, f16* b, float* c) {
  D<3>().execute(1.0f, make_tensor(a, D<2>::get_layout_smem_a()), make_tensor(b, D<3>::get_layout_smem_b()),
                 0.0f, make_tensor(c, D<3>::get_layout_smem_c()));
}
