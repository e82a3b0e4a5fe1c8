#include "src/gemm_problem.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <utility>

#include "src/block_scale_plan.h"
#include "src/fp8_scales.h"
#include "src/gemm_rules.h"
#include "src/plan_text.h"

namespace tilewright {
namespace {

constexpr int64_t kMaxExtent = (int64_t{1} << 31) - 1;
constexpr int64_t kMaxStrideBytes = int64_t{1} << 40;
constexpr int64_t kMaxStrideBits = 8 * kMaxStrideBytes;
constexpr int64_t kMaxSpanBytes = int64_t{1} << 47;
constexpr int64_t kBulkAlignment = 16;

int64_t size_of(DType type) { return bits_of(type) / 8; }
/// "2 bytes"
std::string size_text(DType type) { return type == DType::e2m1 ? "4 bits" : text(size_of(type)) + " bytes"; }

Status check_extents(const Problem& p) {
  const std::pair<const char*, int64_t> extents[] = {{"m", p.m}, {"n", p.n}, {"k", p.k}, {"l", p.l}};
  for (const auto& [name, value] : extents) {
    if (value < 0) return broken(RuleId::extent_range, name, text(value), "0");
    if (value > kMaxExtent) return broken(RuleId::extent_range, name, text(value), text(kMaxExtent));
  }
  return {};
}

Status check_outputs_not_blocked(const Problem& p) {
  const Operand* const aux = p.epilogue.aux ? &*p.epilogue.aux : nullptr;
  for (const auto& [name, operand] : {std::pair{"C", &p.c}, std::pair{"D", &p.d}, std::pair{"aux", aux}})
    if (operand != nullptr && operand->block)
      return broken(RuleId::block_operand, name, name_of(*operand->block), "no format");
  return {};
}

bool is_byte(DType t) { return t == DType::s8 || t == DType::u8; }
bool is_tensor_type(DType t) {
  return t == DType::f16 || t == DType::bf16 || t == DType::tf32 || t == DType::f64 || is_byte(t) ||
         is_complex(t);
}

Family family_of(const Problem& p) {
  const auto either = [&](auto is) { return is(p.a.type) || is(p.b.type); };
  if (either([](DType t) { return t == DType::f32; })) return Family::simt;
  return either(is_tensor_type) ? Family::tensor : Family::fp8;
}

bool is_wide(DType t) { return t == DType::f16 || t == DType::bf16 || t == DType::f32; }

std::string type_text(DType type) { return std::string("type ") + name_of(type); }

Status check_tensor_types(const Problem& p) {
  const DType a = p.a.type, b = p.b.type;
  if (a != b && !(is_byte(a) && is_byte(b))) {
    const bool a_known = is_tensor_type(a);
    return broken(RuleId::type_ab, a_known ? "B" : "A", type_text(a_known ? b : a), name_of(a_known ? a : b));
  }
  const DType wide = is_complex(a) ? DType::cf32 : DType::f32;
  const DType usual = is_byte(a) ? DType::s32 : real_type_of(a) == DType::tf32 ? wide : a;
  if (p.d.type != usual && (real_type_of(a) == DType::f64 || p.d.type != wide))
    return broken(RuleId::type_d_tensor, "D", type_text(p.d.type), name_of(usual));
  if (p.beta != 0 && p.c.type != p.d.type)
    return broken(RuleId::type_c_tensor, "C", type_text(p.c.type), name_of(p.d.type));
  return {};
}

Status check_types(const Problem& p) {
  if (family_of(p) == Family::simt) {
    const std::pair<const char*, DType> types[] = {
        {"A", p.a.type}, {"B", p.b.type}, {"D", p.d.type}, {"C", p.beta != 0 ? p.c.type : DType::f32}};
    for (const auto& [name, type] : types)
      if (type != DType::f32) return broken(RuleId::type_f32, name, type_text(type), "f32");
    return {};
  }
  if (family_of(p) == Family::tensor) return check_tensor_types(p);
  for (const auto& [name, type] : {std::pair{"A", p.a.type}, std::pair{"B", p.b.type}}) {
    if (type != DType::e4m3 && type != DType::e5m2)
      return broken(RuleId::type_ab, name, type_text(type), "e4m3");
  }
  if (!is_wide(p.d.type) && p.d.type != DType::e4m3 && p.d.type != DType::e5m2)
    return broken(RuleId::type_d, "D", type_text(p.d.type), "f16");
  if (p.beta != 0 && !is_wide(p.c.type)) return broken(RuleId::type_c, "C", type_text(p.c.type), "f16");
  return {};
}

Status check_scale_mode(const Problem& p) {
  if (p.scale_mode == ScaleMode::per_tensor) return {};
  for (const auto& [name, operand] : {std::pair{"A", &p.a}, std::pair{"B", &p.b}}) {
    if (operand->block)
      return broken(RuleId::scale_mode, name, std::string("block-scaled ") + name_of(*operand->block),
                    "per_tensor");
    if (operand->type != DType::e4m3)
      return broken(RuleId::scale_mode, name, type_text(operand->type), "e4m3");
  }
  if (bits_of(p.d.type) == 8) return broken(RuleId::scale_mode, "D", type_text(p.d.type), "f16");
  if (p.scale_mode != ScaleMode::block_1x128_128x128) return {};
  if (p.accumulation != Accumulation::promoted)
    return broken(RuleId::scale_promotion, "accumulation", "fast", "promoted");
  if (p.interval != 4) return broken(RuleId::scale_promotion, "interval", text(p.interval), "4");
  return {};
}

Expected<ScaleLines> scale_lines(const char* name, const ScaleStrides& s, const ScaleGrid& grid,
                                 int64_t batches) {
  ScaleLines out{s.line_stride, s.k_stride, 0};
  if (out.line_stride == 0 && out.k_stride == 0) out = {grid.line_stride(), grid.k_stride(), 0};
  constexpr int64_t kMost = kMaxStrideBytes / 4 - 1;
  const auto check = [&](const std::string& word, int64_t stride) -> Status {
    if (stride >= 0 && stride <= kMost) return {};
    return broken(RuleId::scale_stride, name, word + text(stride), text(stride < 0 ? 0 : kMost));
  };
  if (Status e = check("line stride ", out.line_stride)) return *e;
  if (Status e = check("K stride ", out.k_stride)) return *e;
  if (batches > 1) {
    // Below 2^38 x 2^31 elements. Which of the strides is the longer one says nothing where K is one block.
    const __int128 packed = std::max(static_cast<__int128>(out.line_stride) * grid.lines,
                                     static_cast<__int128>(out.k_stride) * grid.k_blocks);
    out.batch_stride = s.batch_stride.value_or(static_cast<int64_t>(std::min<__int128>(packed, kMost + 1)));
    if (Status e = check("batch stride ", out.batch_stride)) return *e;
  }
  return out;
}

/// In the caller's order.
Status set_scales(const Problem& p, KernelProblem& out) {
  out.scale_mode = p.scale_mode;
  if (p.scale_mode == ScaleMode::per_tensor) return {};
  const Expected<ScaleLines> a = scale_lines("scale_a", p.a_scales, scales_of_a(p), p.l);
  if (!a) return a.error();
  const Expected<ScaleLines> b = scale_lines("scale_b", p.b_scales, scales_of_b(p), p.l);
  if (!b) return b.error();
  out.a_scales = *a;
  out.b_scales = *b;
  return {};
}

}  // namespace

Expected<Strides> strides_of(const char* name, const Operand& operand, const Extents& e) {
  const std::string subject = name;
  const int64_t bits = bits_of(operand.type), size = std::max<int64_t>(1, bits / 8);
  if (operand.alignment < size || !std::has_single_bit(static_cast<unsigned>(operand.alignment))) {
    const int64_t nearest =
        operand.alignment < size ? size : std::bit_floor(static_cast<unsigned>(operand.alignment));
    return broken(RuleId::alignment_value, subject, "alignment " + text(operand.alignment), text(nearest));
  }
  const bool row_major = operand.layout == Layout::row_major;
  const int64_t line = row_major ? e.columns : e.rows, lines = row_major ? e.rows : e.columns;

  int64_t ld = line;
  if (operand.ld != 0 && lines > 1) {
    ld = operand.ld;
    if (ld < line) return broken(RuleId::ld_length, subject, "leading dimension " + text(ld), text(line));
    if (ld > (kMaxStrideBits - 1) / bits)
      return broken(RuleId::stride_range, subject,
                    "leading dimension " + text(ld) + " of " + size_text(operand.type),
                    text((kMaxStrideBits - 1) / bits));
  }
  __int128 batch = 0;
  if (e.batches > 1) {
    // A single line does not stride over its leading dimension, but packed batches of it still do.
    const int64_t pitch = std::max(ld, operand.ld);
    batch = operand.batch_stride ? static_cast<__int128>(*operand.batch_stride)
                                 : static_cast<__int128>(pitch) * lines;
    if (batch < 0)
      return broken(RuleId::batch_stride_sign, subject, "batch stride " + text(*operand.batch_stride),
                    e.written ? text(pitch) + " x " + text(lines) : "0");
    if (batch * bits >= kMaxStrideBits) {
      const std::string found =
          operand.batch_stride ? text(*operand.batch_stride) : text(pitch) + " x " + text(lines);
      return broken(RuleId::stride_range, subject, "batch stride " + found + " of " + size_text(operand.type),
                    text((kMaxStrideBits - 1) / bits));
    }
  }
  const __int128 last = static_cast<__int128>(lines > 0 ? lines - 1 : 0) * ld +
                        (e.batches > 0 ? e.batches - 1 : 0) * batch + line;
  if (last * bits >= __int128{8} * kMaxSpanBytes)
    return broken(RuleId::operand_span, subject,
                  text(lines) + " lines of stride " + text(ld) + ", " + text(e.batches) +
                      " batches of stride " + text(static_cast<int64_t>(batch)),
                  "smaller strides or extents");
  Strides s{row_major ? ld : 1, row_major ? 1 : ld, static_cast<int64_t>(batch)};
  if (e.rows <= 1) s.row = 0;
  if (e.columns <= 1) s.column = 0;
  return s;
}

namespace {

/// Whether elements of neighbouring columns are neighbours in memory.
bool contiguous_columns(const Strides& s) { return s.column <= 1; }

bool bulk(int64_t lines, int64_t ld, int64_t batches, int64_t batch_stride, int64_t size, int alignment) {
  return alignment % kBulkAlignment == 0 && (lines <= 1 || ld * size % kBulkAlignment == 0) &&
         (batches <= 1 || batch_stride * size % kBulkAlignment == 0);
}

/// s: of the rows and of K.
KernelOperand kernel_operand(char name, const Operand& operand, const Strides& s, int64_t rows, int64_t k,
                             int64_t batches) {
  const int64_t size = size_of(operand.type);
  const auto addressable = [&](int64_t line_stride, int64_t lines, int64_t ld) {
    return line_stride <= 1 && bulk(lines, ld, batches, s.batch, size, operand.alignment);
  };
  return {.name = name,
          .type = operand.type,
          .rows = rows,
          .row_stride = s.row,
          .k_stride = s.column,
          .batch_stride = s.batch,
          .alignment = operand.alignment,
          .bulk_along_k = addressable(s.column, rows, s.row),
          .bulk_along_rows = addressable(s.row, k, s.column)};
}

Status check_k_major(const KernelOperand& o, Layout layout) {
  if (o.k_stride <= 1) return {};
  return broken(RuleId::layout_k_major, std::string(1, o.name),
                layout == Layout::row_major ? "layout row_major" : "layout column_major",
                o.name == 'A' ? "row_major" : "column_major");
}

/// Batches of an output may be apart, or interleaved within its leading dimension.
Status check_batches_apart(const char* name, const Strides& d, const Extents& e) {
  if (e.batches <= 1 || e.rows == 0 || e.columns == 0) return {};
  const int64_t ld = d.row > d.column ? d.row : d.column;
  const bool rows_long = d.row >= d.column;
  const int64_t lines = rows_long ? e.rows : e.columns, line = rows_long ? e.columns : e.rows;
  const __int128 matrix = static_cast<__int128>(lines - 1) * ld + line;
  const bool apart = d.batch >= matrix;
  const bool interleaved = d.batch >= line && static_cast<__int128>(e.batches - 1) * d.batch + line <= ld;
  if (apart || interleaved) return {};
  __int128 nearest = matrix;
  const auto distance = [&](__int128 stride) {
    return stride > d.batch ? stride - d.batch : d.batch - stride;
  };
  if (static_cast<__int128>(e.batches) * line <= ld)
    for (const int64_t within : {line, (ld - line) / (e.batches - 1)})
      if (distance(within) < distance(nearest)) nearest = within;
  return broken(RuleId::batch_stride_d, name, "batch stride " + text(d.batch),
                text(static_cast<int64_t>(nearest)));
}

/// Fills in A and B, in the order that the kernel takes them.
Status set_operands(const Problem& p, const Strides& a, const Strides& b, KernelProblem& out) {
  out.a = kernel_operand('A', p.a, a, p.m, p.k, p.l);
  out.b = kernel_operand('B', p.b, transposed(b), p.n, p.k, p.l);
  if (out.family == Family::fp8) {
    if (Status s = check_k_major(out.a, p.a.layout)) return s;
    if (Status s = check_k_major(out.b, p.b.layout)) return s;
  }
  if (out.exchanged) {
    std::swap(out.a, out.b);
    std::swap(out.m, out.n);
    std::swap(out.a_scales, out.b_scales);
  }
  return {};
}

Status set_c(const Problem& p, const Strides& d, KernelProblem& out) {
  const Expected<Strides> c = strides_of("C", p.c, {p.m, p.n, p.l});
  if (!c) return c.error();
  out.c_type = p.c.type;
  out.c_alignment = p.c.alignment;
  out.in_place_ok = p.c.type == p.d.type && *c == d;
  out.c = out.exchanged ? transposed(*c) : *c;
  const bool any_layout = out.family == Family::simt || out.scale_mode == ScaleMode::block_1x128_128x128;
  if (!any_layout && !contiguous_columns(out.c)) {
    const bool row_major = p.d.layout == Layout::row_major;
    return broken(RuleId::layout_c, "C", row_major ? "layout column_major" : "layout row_major",
                  row_major ? "row_major" : "column_major");
  }
  return {};
}

/// Whether elements of a single row that goes with D's lie apart: to a kernel it is a column then.
bool row_lies_apart(const Problem& p, const KernelProblem& out) {
  const auto apart = [](const Operand& o) { return o.layout == Layout::column_major && o.ld > 1; };
  if (p.m > 1 || p.n <= 1) return false;
  return (out.reads_c && out.family != Family::simt && apart(p.c)) ||
         (p.epilogue.aux && apart(*p.epilogue.aux));
}

/// What does not depend on strides.
Status check_epilogue(const Problem& p) {
  if (is_block_scaled(p))
    return broken(RuleId::epilogue_operands, p.a.block ? "A" : "B", "block-scaled", "e4m3");
  const auto built = [](DType type) { return is_fp8(type) || type == DType::f16 || type == DType::bf16; };
  const auto nearest = [&](DType type, DType other) -> std::string {
    if (is_fp8(other)) return "e4m3";
    if (built(other)) return name_of(other);
    return type == DType::f32 ? "bf16" : "f16";
  };
  if (!built(p.a.type))
    return broken(RuleId::epilogue_operands, "A", type_text(p.a.type), nearest(p.a.type, p.b.type));
  if (!built(p.b.type))
    return broken(RuleId::epilogue_operands, "B", type_text(p.b.type), nearest(p.b.type, p.a.type));
  if (is_fp8(p.a.type)) {
    if (p.scale_mode != ScaleMode::per_tensor)
      return broken(RuleId::epilogue_sums, "scales",
                    p.scale_mode == ScaleMode::per_row_column ? "of rows and columns" : "of blocks",
                    "per_tensor");
    if (p.accumulation != Accumulation::promoted)
      return broken(RuleId::epilogue_sums, "accumulation", "fast", "promoted");
    if (p.interval != 4) return broken(RuleId::epilogue_sums, "interval", text(p.interval), "4");
  }
  const EpilogueOps& e = p.epilogue;
  if (e.bias != BiasKind::none && !is_wide(e.bias_type))
    return broken(RuleId::epilogue_types, "bias", type_text(e.bias_type), "f32");
  if (e.aux && !is_wide(e.aux->type))
    return broken(RuleId::epilogue_types, "aux", type_text(e.aux->type), "f32");
  return {};
}

/// After everything about D.
Status set_epilogue(const Problem& p, KernelProblem& out) {
  const EpilogueOps& e = p.epilogue;
  KernelEpilogue& to = out.epilogue;
  to.any = true;
  to.activation = e.activation;
  to.amax = e.amax_d;
  to.scale_d = factors_of(p).after;
  if (e.bias != BiasKind::none) {
    constexpr int64_t kMost = kMaxStrideBytes / 4 - 1;
    if (e.bias_batch_stride < 0)
      return broken(RuleId::batch_stride_sign, "bias", "batch stride " + text(e.bias_batch_stride), "0");
    if (e.bias_batch_stride > kMost)
      return broken(RuleId::stride_range, "bias", "batch stride " + text(e.bias_batch_stride), text(kMost));
    const int64_t lines = e.bias == BiasKind::row ? p.m : p.n;
    const __int128 span = static_cast<__int128>(p.l > 0 ? p.l - 1 : 0) * e.bias_batch_stride + lines;
    if (span * 4 >= kMaxSpanBytes)
      return broken(RuleId::operand_span, "bias",
                    text(p.l) + " batches of stride " + text(e.bias_batch_stride), "a smaller stride");
    const bool of_rows = (e.bias == BiasKind::row) != out.exchanged;
    to.bias = of_rows ? BiasKind::row : BiasKind::column;
    to.bias_type = e.bias_type;
    to.bias_batch_stride = p.l > 1 ? e.bias_batch_stride : 0;
  }
  if (!e.aux) return {};
  const Extents extents{p.m, p.n, p.l, true};
  const Expected<Strides> aux = strides_of("aux", *e.aux, extents);
  if (!aux) return aux.error();
  if (Status s = check_batches_apart("aux", *aux, extents)) return s;
  to.aux = true;
  to.aux_type = e.aux->type;
  to.aux_alignment = e.aux->alignment;
  to.aux_strides = out.exchanged ? transposed(*aux) : *aux;
  if (contiguous_columns(to.aux_strides)) return {};
  const bool row_major = p.d.layout == Layout::row_major;
  return broken(RuleId::epilogue_layout, "aux", row_major ? "layout column_major" : "layout row_major",
                row_major ? "row_major" : "column_major");
}

}  // namespace

BulkObstacle bulk_obstacle_of(const KernelOperand& o) {
  const int64_t size = size_of(o.type), step = kBulkAlignment / size;
  const std::string bytes = " of " + text(size) + (size == 1 ? " byte" : " bytes");
  if (o.alignment < kBulkAlignment) return {"base aligned to " + text(o.alignment), text(kBulkAlignment)};
  const int64_t ld = std::max(o.row_stride, o.k_stride);  // 1 or less where there is a single line
  if (ld > 1 && ld % step != 0) return {"leading dimension " + text(ld) + bytes, text(round_up(ld, step))};
  return {"batch stride " + text(o.batch_stride) + bytes, text(round_up(o.batch_stride, step))};
}

KernelProblem KernelProblem::flipped() const {
  KernelProblem out = *this;
  out.exchanged = !exchanged;
  std::swap(out.m, out.n);
  std::swap(out.a, out.b);
  std::swap(out.a_scales, out.b_scales);
  out.c = transposed(c);
  out.d = transposed(d);
  return out;
}

Factors factors_of(const Problem& p) {
  // The product of some floats, rounded once. A zero factor wins over Inf and NaN, of factors in device
  // memory too.
  const auto factor = [](std::initializer_list<float> factors) {
    double product = 1;
    for (const float f : factors) {
      if (f == 0) return 0.0f;
      product *= f;
    }
    return static_cast<float>(product);
  };
  // An activation comes between the sum and its scale.
  const float after = p.epilogue.any() ? p.scale_d : 1, scale_d = p.epilogue.any() ? 1 : p.scale_d;
  return {.scale = p.k == 0 ? 0.0f : factor({p.alpha, p.scale_a, p.scale_b, scale_d}),
          .beta = factor({p.beta, scale_d}),
          .after = after};
}

void set_factors(const Problem& p, KernelProblem& out) {
  const Factors f = factors_of(p);
  out.scale = f.scale;
  out.beta = f.beta;
  out.reads_ab = !out.empty && f.reads_ab();
  out.reads_c = !out.empty && f.reads_c();
}

Expected<KernelProblem> canonical(const Problem& p) {
  if (Status s = check_outputs_not_blocked(p)) return *s;
  if (p.epilogue.any())
    if (Status s = check_epilogue(p)) return *s;
  if (Status s = check_extents(p)) return *s;
  const bool block_scaled = is_block_scaled(p);
  if (!block_scaled)
    if (Status s = check_types(p)) return *s;
  if (Status s = check_scale_mode(p)) return *s;
  if (block_scaled) return canonical_block_scaled(p);
  const Expected<Strides> a = strides_of("A", p.a, {p.m, p.k, p.l});
  if (!a) return a.error();
  const Expected<Strides> b = strides_of("B", p.b, {p.k, p.n, p.l});
  if (!b) return b.error();
  const Expected<Strides> d = strides_of("D", p.d, {p.m, p.n, p.l, true});
  if (!d) return d.error();
  if (Status s = check_batches_apart("D", *d, {p.m, p.n, p.l})) return *s;

  KernelProblem out;
  out.family = family_of(p);
  out.m = p.m;
  out.n = p.n;
  out.k = p.k;
  out.l = p.l;
  out.empty = p.m == 0 || p.n == 0 || p.l == 0;
  set_factors(p, out);
  out.d_type = p.d.type;
  out.d_alignment = p.d.alignment;
  if (Status s = set_scales(p, out)) return *s;
  // The scales of blocks of A and B are not alike, so that these cannot change places.
  out.exchanged =
      (!contiguous_columns(*d) || row_lies_apart(p, out)) && p.scale_mode != ScaleMode::block_1x128_128x128;
  out.d = out.exchanged ? transposed(*d) : *d;
  if (out.reads_c)
    if (Status s = set_c(p, *d, out)) return *s;
  if (p.epilogue.any())
    if (Status s = set_epilogue(p, out)) return *s;
  if (Status s = set_operands(p, *a, *b, out)) return *s;
  // TMA cuts a store at the end of a row of D in units of 16 bytes, not of elements.
  const int64_t size = size_of(p.d.type);
  out.d_bulk = contiguous_columns(out.d) && out.n * size % 16 == 0 &&
               bulk(out.m, out.d.row, out.l, out.d.batch, size, p.d.alignment);
  return out;
}

}  // namespace tilewright
