// expect: RequirePath contradicts AllowPaths
#include "tests/pipeline/descriptors.h"

using namespace tilewright::blas;
using D = decltype(testing::Bf16Tile() + RequirePath<path::wgmma>() + AllowPaths<path::mma_sync>());
static_assert(path_of_v<D> == path::wgmma);
