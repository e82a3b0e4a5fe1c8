// expect: the descriptor has no SM<architecture, modifier>()
#include "tests/pipeline/descriptors.h"

using namespace tilewright;
using namespace tilewright::blas;
static_assert(path_of_v<decltype(Size<64, 64, 64>() + Precision<f16>())> == path::wgmma);
