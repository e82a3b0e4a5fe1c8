// expect: no path can carry this descriptor out
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(Size<32, 32, 32>() + Precision<f16, f16, float>() + BlockDim<64>() + SM<700>());
void multiply(f16* a, f16* b, float* c) { D().execute(1.0f, a, b, 0.0f, c); }
