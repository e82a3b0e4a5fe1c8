// What the kernel that splits FP32 operands takes. Mode-neutral.
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
  uint32_t* to;                  // [batch][row][K tile][part][element], each part the word of a tf32
  uint32_t* flags;               // [batch][row]: 1 where a row has an infinity or a NaN
  uint32_t* any;                 // 1 where any row of any operand has
};

struct SplitParams {
  SplitOperand operand[2];
};

}  // namespace tilewright::mainloop
