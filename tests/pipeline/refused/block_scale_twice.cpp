// expect: the operator BlockScale is given twice
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using Blackwell = decltype(MaxAlignment() + WithPipeline() + EnableInputStreaming() +
                           SM<1000, arch_specific>() + BlocksPerCluster<2, 1>());
using D = decltype(BlockScale<32, e8m0>() + BlockScale<16, e4m3>());
