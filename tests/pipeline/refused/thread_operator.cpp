// expect: Thread(): products of one thread are not part of this library; use Block()
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(Size<4, 4, 4>() + Thread());
