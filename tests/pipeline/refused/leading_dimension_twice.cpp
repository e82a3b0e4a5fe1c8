// expect: the operator LeadingDimension is given twice
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(Size<32, 32, 32>() + Precision<f16, f16, float>() + BlockDim<64>() + SM<900>());
using Twice = decltype(D() + LeadingDimension<32, 32, 32>() + LeadingDimension<32, 32, 32>());
