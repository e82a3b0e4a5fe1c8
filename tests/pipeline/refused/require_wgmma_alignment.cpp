// expect: RequirePath<path::wgmma>: the rule wgmma.alignment is broken; needed: A and B aligned to 16 bytes
#include "tests/pipeline/descriptors.h"

using namespace tilewright;
using namespace tilewright::blas;
using D =
    decltype(Size<64, 64, 64>() + Precision<bf16, bf16, float>() + Alignment<8, 16, 16>() + WithPipeline() +
             EnableInputStreaming() + SM<900, arch_specific>() + RequirePath<path::wgmma>());
static_assert(path_of_v<D> == path::wgmma);
