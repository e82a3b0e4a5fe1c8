// What a pipeline's kernel needs to know of A and B. Mode-neutral: bound on the host, read in kernels.
#pragma once

#include <cstdint>

#include "tilewright/mainloop/wgmma_tile_plan.h"
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

/// Of descriptors with Tunable, CopiedInput or ScaledPromotion.
struct TunedPipelineParams : PipelineParams {
  uint32_t stages = 0, cluster_m = 1, cluster_n = 1, log2_cluster_m = 0, row_mask = 1;
  uint32_t group_tiles = 1;  // K tiles of a promotion group
  // Operands that are copied: lines of K as they lie in memory, in bytes.
  uint32_t k_bytes = 0;
  const uint8_t *a = nullptr, *b = nullptr;
  int64_t a_ld = 0, b_ld = 0, a_batch_stride = 0, b_batch_stride = 0;
  tiles::ScaleLines a_scales, b_scales;
};

}  // namespace tilewright::blas::detail
