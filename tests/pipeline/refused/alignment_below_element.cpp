// expect: Alignment is below the size of an element
#include "tests/pipeline/descriptors.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(Size<64, 64, 64>() + Precision<f16>() + Alignment<1, 2, 2>() + SM<900>());
static_assert(path_of_v<D> == path::mma_sync);
