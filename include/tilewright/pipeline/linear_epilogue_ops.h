// What a linear_epilogue is told when it is made. Mode-neutral.
#pragma once

#include "tilewright/mainloop/wgmma_tile_plan.h"
#include "tilewright/numeric/dtype.h"

namespace tilewright::blas {

/// What a linear_epilogue does:
///   t = scale * result, with vectors ((scale * rows[m]) * columns[n]) * result
///   D = convert(fma(beta, C, t)), or convert(t) where beta is zero: C is not read then
/// in FP32, each operation rounded once. All pointers are to device memory.
struct LinearEpilogueOps {
  float scale = 1, beta = 0;
  /// More factors of either, where not null. A factor of zero remains zero: with a zero scale A and B do not
  /// matter, and are not read.
  const float* scale_device[4] = {};
  const float* beta_device[2] = {};
  /// FP32 scales of the rows and columns of D (k_stride is not looked at); null: none.
  tiles::ScaleLines rows, columns;

  DType c_type = DType::f32;  // f32, f16 or bf16, where beta is not zero
  DType d_type = DType::f32;  // of the epilogue's element size: f32; f16 or bf16; e4m3 or e5m2
  /// D of 8 bits: clamp to the largest finite value; otherwise overflow gives NaN (e4m3) or infinity (e5m2).
  bool saturate = true;
  /// Store by TMA: a D that it cannot address is refused. Otherwise elements are stored one by one, wherever
  /// they lie.
  bool bulk = true;
};
}  // namespace tilewright::blas
