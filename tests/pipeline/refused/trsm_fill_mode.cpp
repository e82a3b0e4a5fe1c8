// expect: FillMode belongs to the triangular solve TRSM
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(Size<4, 4, 4>() + FillMode<fill_mode::lower>());
