// Operands with scales of a pipeline: the rules of block-scaled problems, in the words of the pipeline API.
#include <limits>
#include <sstream>
#include <string_view>

#include "src/block_scale_maps.h"
#include "tilewright/pipeline/block_scaled_binding.h"

namespace tilewright::blas::detail {
namespace {

using Code = pipeline_error_code;

template <class... Pieces>
pipeline_status failure(Code code, const Pieces&... pieces) {
  std::ostringstream text;
  (text << ... << pieces);
  return pipeline_error{code, std::move(text).str()};
}

// The code of a rule of block_scaled_rules().
Code code_of(std::string_view rule) {
  if (rule == "block_scaled.extent") return Code::extent_out_of_range;
  if (rule == "block_scaled.scale_shape") return Code::scale_mismatch;
  if (rule == "block_scaled.k_multiple" || rule == "block_scaled.leading_dimension" ||
      rule == "block_scaled.null")
    return Code::alignment_unfulfilled;
  return Code::tensor_map;
}

pipeline_status as_pipeline(const Status& broken) {
  if (!broken) return {};
  const bool device = broken->code == ErrorCode::no_device;
  return failure(device ? Code::cuda : code_of(broken->rule), broken->message);
}

// rows x k elements with K contiguous.
BlockScaledOperand operand_of(const ScaledOperandView& v, int64_t ld, bool shared) {
  BlockScaledOperand out;
  out.format = v.format;
  out.elements = v.elements.data;
  out.ld = ld;
  out.batch_stride = shared ? 0 : v.elements.batch_stride;
  out.scales = v.scales;
  out.shared = shared;
  return out;
}

pipeline_status check_contiguous(const char* name, int64_t stride, int64_t extent) {
  if (stride == 1 || extent <= 1) return {};
  return failure(Code::arrangement_mismatch, name, ": neighbours along K are ", stride,
                 " elements apart; the nearest legal value is 1");
}

}  // namespace

pipeline_status bind_block_scaled_operands(const ScaledOperandView& a, const ScaledOperandView& b,
                                           EncodeFunction encode, kernels::BlockScaledOperandParams& params) {
  const OperandView &left = a.elements, &right = b.elements;
  for (const auto& [name, view] : {std::pair{"A", &left}, std::pair{"B", &right}}) {
    if (view->rows < 0 || view->columns < 0 || view->batches < 0)
      return failure(Code::negative_extent, name, ": ", view->rows, " x ", view->columns, " x ",
                     view->batches, "; the nearest legal value of an extent is 0");
  }
  if (left.columns != right.rows)
    return failure(Code::incompatible_k, "A has ", left.columns, " columns and B ", right.rows, " rows");
  if (left.batched && right.batched && left.batches != right.batches)
    return failure(Code::incompatible_batches, "A has ", left.batches, " matrices and B ", right.batches);
  if (pipeline_status s = check_contiguous("A", left.column_stride, left.columns); !s) return s;
  if (pipeline_status s = check_contiguous("B", right.row_stride, right.rows); !s) return s;
  const int64_t batches = left.batched ? left.batches : right.batches;
  BlockScaledProblem p;
  p.m = left.rows, p.n = right.columns, p.k = left.columns, p.batches = batches;
  p.a = operand_of(a, left.row_stride, !left.batched && right.batched);
  p.b = operand_of(b, right.column_stride, !right.batched && left.batched);
  // The rules of D do not apply.
  p.d = &p, p.d_ld = p.n, p.d_batch_stride = std::numeric_limits<int64_t>::max();
  if (Status broken = check_bound_block_scaled(p)) return as_pipeline(broken);
  return as_pipeline(encode_block_scaled_operands(p, encode, params));
}

}  // namespace tilewright::blas::detail
