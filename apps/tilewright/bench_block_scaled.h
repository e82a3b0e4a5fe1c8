// Block-scaled operands of `tilewright bench`, and the same matrices as bf16 for the vendor's library.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewright/gemm.h"
#include "tilewright/layout/scale_tensor.h"

namespace tilewright::cli {

/// A problem as it is benched: leading dimensions of padded K, a bf16 or f32 D (16-bit ones as bf16: the peer
/// has no bf16 x bf16 -> f16). Others stay as they are.
Problem benched_blocks(Problem problem);
/// What the peer multiplies: bf16 x bf16, packed. Others stay as they are.
Problem bf16_peer(Problem problem);

/// One of the two operands, from normal data.
struct BlockScaledSource {
  BlockScaledTensor tensor;
  std::vector<uint8_t> scales;  // packed
  std::vector<uint16_t> bf16;   // [line][k]: its values, which bf16 holds exactly

  static Expected<BlockScaledSource> make(BlockFormat format, int64_t lines, int64_t k, uint64_t seed);
  /// The scales at an address of the GPU's memory.
  PackedBlockScales scales_at(const void* data) const;
};

}  // namespace tilewright::cli
