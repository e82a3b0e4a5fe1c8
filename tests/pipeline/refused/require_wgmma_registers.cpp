// expect: RequirePath<path::wgmma>: the rule wgmma.registers is broken
#include "tests/pipeline/descriptors.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(Size<256, 192, 128>() + Precision<e4m3, e4m3, float>() + BlockDim<256>() +
                   testing::Hopper() + RequirePath<path::wgmma>());
static_assert(path_of_v<D> == path::wgmma);
