// What a kernel of the mma_sync path needs to know of A and B. Mode-neutral.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewright/pipeline/pipeline_params.h"

namespace tilewright::blas::detail {

/// The maps are encoded for operands that TMA brings; the rest is for the others. Leading dimensions and
/// batch strides in bytes; the latter are 0 where all batches of C read the same matrix.
struct MmaSyncPipelineParams : PipelineParams {
  uint32_t k = 0;
  const std::byte* a = nullptr;
  const std::byte* b = nullptr;
  int64_t a_ld = 0, b_ld = 0;
  int64_t a_batch_stride = 0, b_batch_stride = 0;
};

}  // namespace tilewright::blas::detail
