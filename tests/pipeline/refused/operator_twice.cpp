// expect: the operator Size is given twice
#include "tilewright/pipeline/descriptor.h"

using namespace tilewright::blas;
using D = decltype(Size<64, 64, 64>() + Block() + Size<64, 64, 32>());
