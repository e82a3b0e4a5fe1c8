// expect: products accumulate in f16 (__half), float, double or an integer of 32 or 64 bits
#include "tilewright/pipeline/descriptor.h"

using namespace tilewright;
using D = decltype(blas::Size<64, 64, 64>() + blas::Precision<bf16, bf16, bf16>());
