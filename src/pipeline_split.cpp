// Where the parts of split FP32 operands lie.
#include <algorithm>
#include <utility>

#include "src/rounding.h"
#include "tilewright/pipeline/split_plan.h"

namespace tilewright::blas::detail {
namespace {

constexpr int64_t kSplitTile = 64;        // rows and elements of K (mainloop/repack_tiles.h)
constexpr uint32_t kMaxBlocks = 1 << 14;  // each then splits several tiles

// One operand; rows are columns of B.
mainloop::SplitOperand operand(const OperandView& v, int64_t rows, int64_t row_stride, int64_t k,
                               int64_t k_stride, int64_t padded_k, int64_t tile) {
  mainloop::SplitOperand o{};
  o.from = static_cast<const float*>(v.data);
  o.row_stride = row_stride;
  o.k_stride = k_stride;
  o.batch_stride = v.batch_stride;
  o.rows = static_cast<uint32_t>(rows);
  o.k = static_cast<uint32_t>(k);
  o.batches = v.batch_stride == 0 ? 1 : static_cast<uint32_t>(v.batches);
  o.padded_k = static_cast<uint32_t>(padded_k);
  o.padded_rows = static_cast<uint32_t>(round_up(rows, tile));
  o.tiles_rows = static_cast<uint32_t>(ceil_div(rows, kSplitTile));
  o.tiles_k = static_cast<uint32_t>(ceil_div(padded_k, kSplitTile));
  return o;
}

uint64_t lines(const mainloop::SplitOperand& o) { return uint64_t{o.batches} * o.rows; }
uint64_t padded_lines(const mainloop::SplitOperand& o) { return uint64_t{o.batches} * o.padded_rows; }
uint64_t tiles(const mainloop::SplitOperand& o) { return uint64_t{o.batches} * o.tiles_rows * o.tiles_k; }

OperandView parts(const OperandView& given, int64_t rows, int64_t row_elements, const std::byte* data) {
  OperandView v = given;
  if (data == nullptr) v.batches = 0;
  v.data = data;
  v.rows = rows;
  v.columns = row_elements;
  v.row_stride = row_elements;
  v.column_stride = 1;
  v.batch_stride = given.batch_stride == 0 ? 0 : rows * row_elements;
  return v;
}

}  // namespace

SplitPlan plan_split(const OperandView& a, const OperandView& b, const Facts& f) {
  SplitPlan plan;
  const int64_t k = a.columns;
  const int64_t padded_k = ceil_div(k, f.k) * f.k;
  plan.row_elements = padded_k * f.split_parts();
  const bool nothing = a.rows == 0 || k == 0 || b.columns == 0 || a.batches == 0 || b.batches == 0;
  if (nothing) return plan;
  mainloop::SplitOperand& of_a = plan.params.operand[0];
  mainloop::SplitOperand& of_b = plan.params.operand[1];
  of_a = operand(a, a.rows, f.k_major_a() ? a.row_stride : 1, k, f.k_major_a() ? 1 : a.column_stride,
                 padded_k, f.m);
  of_b = operand(b, b.columns, f.k_major_b() ? b.column_stride : 1, k, f.k_major_b() ? 1 : b.row_stride,
                 padded_k, f.n);
  const auto row_bytes = static_cast<uint64_t>(plan.row_elements * f.stage_bytes_a());
  plan.b_begin = lines(of_a) * row_bytes;
  plan.bytes = plan.b_begin + lines(of_b) * row_bytes;
  plan.flags_a = 1;
  plan.flags_b = plan.flags_a + lines(of_a);
  plan.largest_a = plan.flags_b + lines(of_b);
  plan.largest_b = plan.largest_a + padded_lines(of_a);
  plan.flags = plan.largest_b + padded_lines(of_b);
  plan.blocks = static_cast<uint32_t>(std::min<uint64_t>(tiles(of_a) + tiles(of_b), kMaxBlocks));
  return plan;
}

mainloop::SplitParams SplitPlan::bind(std::byte* parts, uint32_t* any) const {
  mainloop::SplitParams bound = params;
  bound.operand[0].to = parts;
  bound.operand[1].to = parts + b_begin;
  bound.operand[0].flags = any + flags_a;
  bound.operand[1].flags = any + flags_b;
  bound.operand[0].largest = any + largest_a;
  bound.operand[1].largest = any + largest_b;
  bound.operand[0].any = bound.operand[1].any = any;
  return bound;
}

OperandView SplitPlan::parts_of_a(const OperandView& given, const std::byte* data) const {
  return parts(given, given.rows, row_elements, data);
}
OperandView SplitPlan::parts_of_b(const OperandView& given, const std::byte* data) const {
  OperandView v = parts(given, given.columns, row_elements, data == nullptr ? data : data + b_begin);
  std::swap(v.rows, v.columns);
  std::swap(v.row_stride, v.column_stride);
  return v;
}

}  // namespace tilewright::blas::detail
