// expect: the rule tcgen05.tile is broken; needed: with BlockScale: Size<256, 256, 128>() for a pair of
// blocks
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using Blackwell = decltype(MaxAlignment() + WithPipeline() + EnableInputStreaming() +
                           SM<1000, arch_specific>() + BlocksPerCluster<2, 1>());
using D = decltype(Size<128, 256, 128>() + Precision<e4m3, e4m3, float>() + BlockScale<32, e8m0>() +
                   Blackwell() + RequirePath<path::tcgen05>());
static_assert(path_of_v<D> == path::tcgen05);
