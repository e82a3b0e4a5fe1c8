// What a pipeline's kernel needs to know of A and B. Mode-neutral: bound on the host, read in kernels.
#pragma once

#include <cstdint>

#include "tilewright/tensor_map.h"

namespace tilewright::blas::detail {

struct PipelineParams {
  // (contiguous index, other index, batch), box and swizzle of the operand's shared layout.
  TensorMap a_map, b_map;
  TensorMap b2_map;           // of the second product, where there is one: shaped like B
  uint32_t m = 0, n = 0;      // extents of the product
  uint32_t k_tiles = 0;       // 0 where K, M or N is: the product is zero, or nothing
  uint32_t a_batch_step = 1;  // 0: all batches of C read the same A
  uint32_t b_batch_step = 1;
};

}  // namespace tilewright::blas::detail
