// Where the parts of split FP32 operands lie. Host, mode-neutral.
#pragma once

#include <cstdint>

#include "tilewright/mainloop/split_f32_params.h"
#include "tilewright/pipeline/descriptor/facts.h"
#include "tilewright/pipeline/pipeline_binding.h"

namespace tilewright::blas::detail {

/// Sizes and offsets in 32-bit words. Empty products need nothing.
struct SplitPlan {
  uint64_t words = 0, a_begin = 0, b_begin = 0;  // the parts
  uint64_t flags = 0, flags_a = 0, flags_b = 0;  // word 0: any; then those of A's rows and B's columns
  uint32_t blocks = 0;                           // of the kernel that splits
  int64_t row_words = 0;                         // of a row of A, and of a column of B
  mainloop::SplitParams params{};                // without the addresses of parts and flags

  mainloop::SplitParams bind(uint32_t* parts, uint32_t* any) const;
  /// A and B as matrices of tf32 with the K of all parts, K contiguous.
  OperandView parts_of_a(const OperandView& given, const uint32_t* parts) const;
  OperandView parts_of_b(const OperandView& given, const uint32_t* parts) const;
};

SplitPlan plan_split(const OperandView& a, const OperandView& b, const Facts& f);

}  // namespace tilewright::blas::detail
