// expect: Accumulation<promoted<n>>() contradicts Precision
#include "tests/pipeline/descriptors.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(Size<64, 64, 64>() + Precision<f16>() + testing::Hopper() + Accumulation<promoted<4>>());
static_assert(path_of_v<D> == path::wgmma);
