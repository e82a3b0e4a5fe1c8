// expect: BlockScale contradicts Precision: scales belong to e4m3, e5m2 or e2m1 with float accumulators
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using Blackwell = decltype(MaxAlignment() + WithPipeline() + EnableInputStreaming() +
                           SM<1000, arch_specific>() + BlocksPerCluster<2, 1>());
using D =
    decltype(Size<256, 256, 64>() + Precision<bf16, bf16, float>() + BlockScale<32, e8m0>() + Blackwell());
static_assert(path_of_v<D> == path::tcgen05);
