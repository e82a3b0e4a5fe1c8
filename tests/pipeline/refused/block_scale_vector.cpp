// expect: BlockScale: a scale belongs to 16 or to 32 elements
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using Blackwell = decltype(MaxAlignment() + WithPipeline() + EnableInputStreaming() +
                           SM<1000, arch_specific>() + BlocksPerCluster<2, 1>());
using D = decltype(Size<256, 256, 128>() + BlockScale<64, e8m0>());
