// Descriptors that the tests share.
#pragma once

#include "tilewright/pipeline/descriptor.h"

namespace tilewright::blas::testing {

/// Everything that the wgmma path asks for but tile, types and threads.
using Hopper = decltype(MaxAlignment() + WithPipeline() + EnableInputStreaming() + SM<900, arch_specific>());

using Bf16Tile = decltype(Size<128, 256, 64>() + Precision<bf16, bf16, float>() + BlockDim<256>() + Hopper());

}  // namespace tilewright::blas::testing
