// The matrices of one block-scaled run, in host memory and in that of the machine which computes it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "src/block_scale_random.h"
#include "src/reference.h"
#include "tilewright/gemm.h"
#include "tolerance.h"

namespace tilewright::cli {

/// A check of D against FP64 of the dequantised operands.
struct BlockScaledVerdict {
  Comparison comparison;
  std::optional<ToleranceCheck> tolerance;

  bool passed() const { return comparison.passed() && (!tolerance || tolerance->passed()); }
};

struct BlockScaledOperands {
  Problem problem;  // with the leading dimensions of these matrices
  BlockScaledTensor a, b;
  std::vector<uint8_t> a_scales, b_scales;  // packed
  std::vector<uint8_t> c, d;                // packed rows; C only when it is read

  /// From a seed. Errors: extents that no memory holds.
  static Expected<BlockScaledOperands> make(const Problem& problem, BlockInit init, uint64_t seed);
  /// Compares every element of D, which a plan computed, with FP64 of the dequantised operands, within the
  /// bound of the plan's path; besides within a tolerance, if there is one. Errors: those of the reference.
  Expected<BlockScaledVerdict> judge(const PlanInfo& plan, const std::optional<Tolerance>& tolerance) const;

  /// The scales at some address of the machine's memory.
  static PackedBlockScales scales_at(const BlockScaledTensor& tensor, const void* data);
};

}  // namespace tilewright::cli
