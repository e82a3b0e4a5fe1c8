// expect: RequirePath<path::simt>: the rule simt.tile_n is broken; needed: N of 128
#include "tests/pipeline/descriptors.h"

using namespace tilewright::blas;
using D = decltype(Size<128, 256, 32>() + Precision<float>() + testing::Hopper() + RequirePath<path::simt>());
static_assert(path_of_v<D> == path::simt);
