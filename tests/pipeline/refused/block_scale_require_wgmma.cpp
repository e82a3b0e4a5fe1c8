// expect: the rule wgmma.arch is broken
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using Blackwell = decltype(MaxAlignment() + WithPipeline() + EnableInputStreaming() +
                           SM<1000, arch_specific>() + BlocksPerCluster<2, 1>());
using D = decltype(Size<256, 256, 128>() + Precision<e4m3, e4m3, float>() + BlockScale<32, e8m0>() +
                   Blackwell() + RequirePath<path::wgmma>());
static_assert(path_of_v<D> == path::wgmma);
