// The tensor maps of block-scaled operands.
#pragma once

#include "src/block_scale_gemm.h"

namespace tilewright {

using EncodeMap = std::function<Expected<TensorMap>(const TensorMapSpec&)>;

inline const ScaleShape& shape_of(const BlockScaledOperand& operand) {
  return std::visit([](const auto& scales) -> const ScaleShape& { return scales.shape(); }, operand.scales);
}

/// Matrices that the operand has.
inline int64_t batches_of(const BlockScaledOperand& operand, const BlockScaledProblem& p) {
  return operand.shared ? 1 : p.batches;
}

/// Whether the operand is FP4 that is padded to bytes in shared memory.
inline bool beside_fp8(const BlockScaledOperand& operand, const BlockScaledProblem& p) {
  return is_fp4(operand.format) && !kernels::multiplies_packed(p.a.format, p.b.format);
}

/// What the main loop is given of a problem that keeps the rules of its operands. Errors: those of the maps,
/// which begin with the operand's name.
Status encode_block_scaled_operands(const BlockScaledProblem& problem, const EncodeMap& encode,
                                    kernels::BlockScaledOperandParams& out);

/// The map of D for bulk stores.
Status encode_block_scaled_output(const BlockScaledProblem& problem, const EncodeMap& encode, TensorMap& map);

}  // namespace tilewright
