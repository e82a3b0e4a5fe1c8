// expect: RequirePath<path::simt>: the rule simt.precision is broken; needed: float inputs
#include "tests/pipeline/descriptors.h"

using namespace tilewright::blas;
static_assert(path_of_v<decltype(testing::Bf16Tile() + RequirePath<path::simt>())> == path::simt);
