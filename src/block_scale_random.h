// Block-scaled test data. As in matrix_init.h, an element or a scale depends on the seed and on its place
// alone.
#pragma once

#include <cstdint>

#include "tilewright/layout/scale_tensor.h"

namespace tilewright {

/// moderate    elements are random E2M1 values in every format, scales random powers of two from 2^-7 to 2
/// full_range  elements are random finite codes of their type; scales have mantissas where the type has them
///             (all finite codes without a sign, zero and subnormals included) and lie in 2^-20 .. 2^20 for
///             e8m0; about one block in 16 is all zeros
enum class BlockInit : uint8_t { moderate, full_range };

/// Error: as make_block_scaled.
Expected<BlockScaledTensor> random_block_scaled(BlockFormat format, int64_t rows, int64_t k, int64_t batches,
                                                BlockInit init, uint64_t seed,
                                                int64_t k_multiple = block_scaled_k_multiple);

}  // namespace tilewright
