// expect: is for elements of the descriptor's size
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(Size<32, 32, 32>() + Precision<f16, f16, float>() + BlockDim<64>() + SM<900>());
auto tile(float* a) { return make_tensor(a, D::suggest_layout_smem_a()); }
