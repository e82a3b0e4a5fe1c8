// expect: Precision of e2m1 needs BlockScale<vector, type>()
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using Blackwell = decltype(MaxAlignment() + WithPipeline() + EnableInputStreaming() +
                           SM<1000, arch_specific>() + BlocksPerCluster<2, 1>());
using D = decltype(Size<256, 256, 256>() + Precision<e2m1, e2m1, float>() + Blackwell());
static_assert(path_of_v<D> == path::tcgen05);
