// Where the parts of split FP32 operands lie. Host, mode-neutral.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewright/mainloop/split_f32_params.h"
#include "tilewright/pipeline/descriptor/facts.h"
#include "tilewright/pipeline/pipeline_binding.h"

namespace tilewright::blas::detail {

/// Empty products need nothing.
struct SplitPlan {
  uint64_t bytes = 0, b_begin = 0;  // of the parts: A's, then B's
  /// In 32-bit words, all zero at first: any flag, flags of A's rows and of B's columns, the largest of each.
  uint64_t flags = 0, flags_a = 0, flags_b = 0, largest_a = 0, largest_b = 0;
  uint32_t blocks = 0;             // of the kernels that split
  int64_t row_elements = 0;        // parts of a row of A, and of a column of B
  mainloop::SplitParams params{};  // without the addresses of parts and flags

  /// Whether the rows of A (0) or the columns of B (1) are contiguous and short enough to be read once.
  bool has_short_rows(int which) const {
    const mainloop::SplitOperand& o = params.operand[which];
    return o.k_stride == 1 && o.padded_k <= mainloop::split_rows_max_k;
  }
  mainloop::SplitParams bind(std::byte* parts, uint32_t* any) const;
  /// A and B as matrices of parts, K contiguous.
  OperandView parts_of_a(const OperandView& given, const std::byte* parts) const;
  OperandView parts_of_b(const OperandView& given, const std::byte* parts) const;
};

SplitPlan plan_split(const OperandView& a, const OperandView& b, const Facts& f);

}  // namespace tilewright::blas::detail
