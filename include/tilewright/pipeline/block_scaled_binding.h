// Binding operands with scales to a pipeline: the rules, and the encoding of TMA descriptors. Host,
// mode-neutral.
#pragma once

#include <type_traits>

#include "tilewright/layout/scale_factors.h"
#include "tilewright/mainloop/tcgen05_block_scaled_params.h"
#include "tilewright/pipeline/pipeline_binding.h"

namespace tilewright::blas::detail {

/// A (M x K, row_major) or B (K x N, col_major) with its scales, one for each vector of a row of A or a
/// column of B.
struct ScaledOperandView {
  OperandView elements;  // e2m1: two to a byte, the even one in the low nibble; strides in elements
  BlockFormat format = BlockFormat::mxfp8;
  PackedBlockScales scales;
};

/// Checks A and B and fills in `params`. No allocation but for errors, no GPU work. Errors: incompatible_k,
/// incompatible_batches, arrangement_mismatch, scale_mismatch, and those of an operand.
pipeline_status bind_block_scaled_operands(const ScaledOperandView& a, const ScaledOperandView& b,
                                           EncodeFunction encode, kernels::BlockScaledOperandParams& params);

/// What rebind() takes for scales of A or B.
template <class T>
struct IsScales : std::false_type {};
template <class T, ScaleLayout kLayout>
struct IsScales<ScaleFactors<T, kLayout>> : std::true_type {};
template <class T>
concept AnyScales = IsScales<std::remove_cvref_t<T>>::value;

}  // namespace tilewright::blas::detail
