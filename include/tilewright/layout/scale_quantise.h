// What the kernels take that quantise, and that bring scales from one layout into the other. Mode-neutral.
#pragma once

#include <cstdint>

#include "tilewright/config.h"
#include "tilewright/layout/scale_factors.h"
#include "tilewright/numeric/block_format.h"

namespace tilewright {

/// Matrices to quantise on the machine that runs the kernel: as quantise() of layout/scale_tensor.h does on
/// the host, bit for bit, with the scales in packed layout.
struct QuantiseKernelParams {
  const void* source;  // f32, f16 or bf16: element (batch, i, j) is number batch * source_batch_stride + i *
                       // source_ld + j
  int64_t source_ld, source_batch_stride;
  int64_t rows, k, batches;
  int64_t padded_k;   // columns k.. hold zeros; a multiple of the scale vector
  uint8_t* elements;  // [batch][row][padded_k], e2m1 packed; aligned to 16 bytes, as its rows are
  PackedScaleCodes<uint8_t> scales;  // of {rows, padded_k / vector, batches}; padding gets zero_block_scale
  const float* tensor_scale;         // null: 1. nvfp4 only
};

/// Threads that the kernel works with: one for each scale, padding included.
template <BlockFormat kFormat>
TILEWRIGHT_HOST_DEVICE constexpr int64_t quantise_threads(const QuantiseKernelParams& p) {
  return scale_bytes<ScaleLayout::packed>({p.rows, p.padded_k / BlockTraits<kFormat>::vector, p.batches});
}

/// Scales to be brought from one layout into the other, of either type: their bytes.
struct ScalePackingParams {
  ScaleShape shape;
  const uint8_t* from;
  uint8_t* to;      // in packed layout: aligned to 4 bytes
  uint8_t padding;  // what packing puts into the padding
};

/// Threads that the kernel works with: one for four scales of a packed row, padding included.
TILEWRIGHT_HOST_DEVICE constexpr int64_t scale_packing_threads(const ScalePackingParams& p) {
  return scale_bytes<ScaleLayout::packed>(p.shape) / scale_block_columns;
}

}  // namespace tilewright
