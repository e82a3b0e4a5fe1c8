// What the kernels that split FP32 operands take. Mode-neutral.
#pragma once

#include <cstdint>

namespace tilewright::mainloop {

/// One operand: `rows` rows of k elements in each batch, of any strides (elements).
struct SplitOperand {
  const float* from;  // null: nothing to split
  int64_t row_stride, k_stride, batch_stride;
  uint32_t rows, k, batches;
  uint32_t tiles_rows, tiles_k;  // of 64 elements, over rows and padded_k
  uint32_t padded_k;             // whole K tiles
  void* to;                      // [batch][row][K tile][part][element]: f16, or the words of tf32
  uint32_t* flags;               // [batch][row]: 1 where a row has an infinity or a NaN
  uint32_t* any;                 // 1 where any row of any operand has
  uint32_t* largest;             // [batch][padded row]: bits of the largest finite |element|; f16 parts only
  uint32_t padded_rows;          // whole tiles
};

/// The longest row, in elements of whole K tiles, that a block of the kernel for contiguous rows can keep.
inline constexpr uint32_t split_rows_max_k = 8192;

struct SplitParams {
  SplitOperand operand[2];
};

}  // namespace tilewright::mainloop
