// What a kernel of the simt path needs to know of A and B. Mode-neutral.
#pragma once

#include <cstdint>

#include "tilewright/pipeline/pipeline_params.h"

namespace tilewright::blas::detail {

/// The maps are encoded for operands that TMA brings; the rest is for the others. Strides in elements; batch
/// strides are 0 where all batches of C read the same matrix.
struct SimtPipelineParams : PipelineParams {
  uint32_t k = 0;
  const float* a = nullptr;
  const float* b = nullptr;
  int64_t a_row_stride = 0, a_k_stride = 0, a_batch_stride = 0;
  int64_t b_row_stride = 0, b_k_stride = 0, b_batch_stride = 0;  // a row of B is a column of the product
};

}  // namespace tilewright::blas::detail
