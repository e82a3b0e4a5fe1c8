// What a kernel that multiplies split FP32 operands needs to know of A and B. Mode-neutral.
#pragma once

#include <cstdint>

#include "tilewright/pipeline/simt_pipeline_params.h"

namespace tilewright::blas::detail {

/// The maps are those of the parts; pointers and strides those of the tensors themselves, which are read
/// where a row has an infinity or a NaN.
struct SplitPipelineParams : SimtPipelineParams {
  const uint32_t* a_flags = nullptr;  // [batch][row of A], see mainloop::SplitOperand
  const uint32_t* b_flags = nullptr;  // [batch][column of B]
  const uint32_t* any = nullptr;
  // Where parts are scaled: [batch][row of A], [batch][column of B], in whole tiles.
  const uint32_t* a_largest = nullptr;
  const uint32_t* b_largest = nullptr;
};

}  // namespace tilewright::blas::detail
