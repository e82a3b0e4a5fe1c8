// The matrices of one block-scaled run, in host memory and in that of the machine which computes it.
#pragma once

#include <cstdint>
#include <vector>

#include "src/block_scale_random.h"
#include "src/reference.h"
#include "tilewright/gemm.h"

namespace tilewright::cli {

struct BlockScaledOperands {
  Problem problem;  // with the leading dimensions of these matrices
  BlockScaledTensor a, b;
  std::vector<uint8_t> a_scales, b_scales;  // packed
  std::vector<uint8_t> c, d;                // packed rows; C only when it is read

  /// From a seed. Errors: extents that no memory holds.
  static Expected<BlockScaledOperands> make(const Problem& problem, BlockInit init, uint64_t seed);
  /// D of a plan against FP64 of the dequantised operands.
  Expected<Comparison> judge(const PlanInfo& plan) const;

  /// The scales at some address of the machine's memory.
  static PackedBlockScales scales_at(const BlockScaledTensor& tensor, const void* data);
};

}  // namespace tilewright::cli
