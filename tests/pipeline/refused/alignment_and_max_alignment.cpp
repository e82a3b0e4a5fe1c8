// expect: the operator Alignment (or MaxAlignment) is given twice
#include "tilewright/pipeline/descriptor.h"

using namespace tilewright::blas;
using D = decltype(MaxAlignment() + Block() + Alignment<8, 8, 8>());
