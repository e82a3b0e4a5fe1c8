// expect: BlocksPerCluster: a cluster has at most 16 blocks
#include "tilewright/pipeline/descriptor.h"

using D = decltype(tilewright::blas::Block() + tilewright::blas::BlocksPerCluster<8, 4>());
