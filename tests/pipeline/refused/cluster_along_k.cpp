// expect: BlocksPerCluster: the extent along K is 1
#include "tilewright/pipeline/descriptor.h"

using D = decltype(tilewright::blas::Block() + tilewright::blas::BlocksPerCluster<1, 1, 2>());
