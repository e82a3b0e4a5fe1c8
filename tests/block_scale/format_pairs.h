// The pairs of formats that block-scaled products are built for.
#pragma once

#include <array>

#include "tilewright/numeric/block_format.h"

namespace tilewright {

/// Formats of A and of B.
using FormatPair = std::array<BlockFormat, 2>;
inline constexpr std::array<FormatPair, 4> kFormatPairs{{{BlockFormat::mxfp8, BlockFormat::mxfp8},
                                                         {BlockFormat::mxfp8, BlockFormat::mxfp4},
                                                         {BlockFormat::mxfp4, BlockFormat::mxfp4},
                                                         {BlockFormat::nvfp4, BlockFormat::nvfp4}}};

/// The finest K that all kernels of a pair take.
constexpr int64_t finest_k(BlockFormat a, BlockFormat b) { return !is_fp4(b) ? 32 : is_fp4(a) ? 64 : 128; }

}  // namespace tilewright
