// expect: the triangular solve TRSM is not part of this library
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(Size<4, 4, 4>() + Function<function::TRSM>());
