#include "src/gemm_problem.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "src/gemm_rules.h"

namespace tilewright {
namespace {

constexpr int64_t kMaxExtent = (int64_t{1} << 31) - 1;
constexpr int64_t kMaxStrideBytes = int64_t{1} << 40;
constexpr int64_t kMaxSpanBytes = int64_t{1} << 47;
constexpr int64_t kBulkAlignment = 16;

std::string text(int64_t value) { return std::to_string(value); }

int64_t size_of(DType type) { return bits_of(type) / 8; }

Status check_extents(const Problem& p) {
  const std::pair<const char*, int64_t> extents[] = {{"m", p.m}, {"n", p.n}, {"k", p.k}, {"l", p.l}};
  for (const auto& [name, value] : extents) {
    if (value < 0) return broken(RuleId::extent_range, name, text(value), "0");
    if (value > kMaxExtent) return broken(RuleId::extent_range, name, text(value), text(kMaxExtent));
  }
  return {};
}

Status check_types(const Problem& p) {
  for (const auto& [name, type] : {std::pair{"A", p.a.type}, std::pair{"B", p.b.type}}) {
    if (type != DType::e4m3 && type != DType::e5m2)
      return broken(RuleId::type_ab, name, std::string("type ") + name_of(type), "e4m3");
  }
  const auto wide = [](DType t) { return t == DType::f16 || t == DType::bf16 || t == DType::f32; };
  if (!wide(p.d.type) && p.d.type != DType::e4m3 && p.d.type != DType::e5m2)
    return broken(RuleId::type_d, "D", std::string("type ") + name_of(p.d.type), "f16");
  if (p.beta != 0 && !wide(p.c.type))
    return broken(RuleId::type_c, "C", std::string("type ") + name_of(p.c.type), "f16");
  return {};
}

/// An operand of one extent: the value of its strides, with the packed ones filled in.
struct Extents {
  int64_t rows, columns, batches;
};

Expected<Strides> strides_of(const char* name, const Operand& operand, const Extents& e) {
  const std::string subject = name;
  const int64_t size = size_of(operand.type);
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
    if (ld > (kMaxStrideBytes - 1) / size)
      return broken(RuleId::stride_range, subject,
                    "leading dimension " + text(ld) + " of " + text(size) + " bytes",
                    text((kMaxStrideBytes - 1) / size));
  }
  __int128 batch = 0;
  if (e.batches > 1) {
    // A single line does not stride over its leading dimension, but packed batches of it still do.
    const int64_t pitch = std::max(ld, operand.ld);
    batch = operand.batch_stride ? static_cast<__int128>(*operand.batch_stride)
                                 : static_cast<__int128>(pitch) * lines;
    if (batch < 0)
      return broken(RuleId::batch_stride_sign, subject, "batch stride " + text(*operand.batch_stride), "0");
    if (batch * size >= kMaxStrideBytes) {
      const std::string found =
          operand.batch_stride ? text(*operand.batch_stride) : text(pitch) + " x " + text(lines);
      return broken(RuleId::stride_range, subject, "batch stride " + found + " of " + text(size) + " bytes",
                    text((kMaxStrideBytes - 1) / size));
    }
  }
  const __int128 last = static_cast<__int128>(lines > 0 ? lines - 1 : 0) * ld +
                        (e.batches > 0 ? e.batches - 1 : 0) * batch + line;
  if (last * size >= kMaxSpanBytes)
    return broken(RuleId::operand_span, subject,
                  text(lines) + " lines of stride " + text(ld) + ", " + text(e.batches) +
                      " batches of stride " + text(static_cast<int64_t>(batch)),
                  "smaller strides or extents");
  Strides s{row_major ? ld : 1, row_major ? 1 : ld, static_cast<int64_t>(batch)};
  if (e.rows <= 1) s.row = 0;
  if (e.columns <= 1) s.column = 0;
  return s;
}

/// Whether elements of neighbouring columns are neighbours in memory.
bool contiguous_columns(const Strides& s) { return s.column <= 1; }

Strides transposed(const Strides& s) { return {s.column, s.row, s.batch}; }

bool bulk(int64_t lines, int64_t ld, int64_t batches, int64_t batch_stride, int64_t size, int alignment) {
  return alignment % kBulkAlignment == 0 && (lines <= 1 || ld * size % kBulkAlignment == 0) &&
         (batches <= 1 || batch_stride * size % kBulkAlignment == 0);
}

Expected<KernelOperand> k_major(char name, const Operand& operand, const Strides& s, int64_t rows,
                                int64_t batches) {
  if (!contiguous_columns(s)) {
    return broken(
        RuleId::layout_k_major, std::string(1, name),
        std::string("layout ") + (operand.layout == Layout::row_major ? "row_major" : "column_major"),
        name == 'A' ? "row_major" : "column_major");
  }
  return KernelOperand{name,
                       operand.type,
                       rows,
                       s.row,
                       s.batch,
                       operand.alignment,
                       bulk(rows, s.row, batches, s.batch, 1, operand.alignment)};
}

/// Batches of D may be apart, or interleaved within its leading dimension.
Status check_batches_apart(const Strides& d, const Extents& e) {
  if (e.batches <= 1 || e.rows == 0 || e.columns == 0) return {};
  const int64_t ld = d.row > d.column ? d.row : d.column;
  const bool rows_long = d.row >= d.column;
  const int64_t lines = rows_long ? e.rows : e.columns, line = rows_long ? e.columns : e.rows;
  const __int128 matrix = static_cast<__int128>(lines - 1) * ld + line;
  const bool apart = d.batch >= matrix;
  const bool interleaved = d.batch >= line && static_cast<__int128>(e.batches - 1) * d.batch + line <= ld;
  if (apart || interleaved) return {};
  return broken(RuleId::batch_stride_d, "D", "batch stride " + text(d.batch),
                text(static_cast<int64_t>(matrix)));
}

bool same_strides(const Strides& x, const Strides& y) {
  return x.row == y.row && x.column == y.column && x.batch == y.batch;
}

/// Fills in A and B, in the order that the kernel takes them.
Expected<KernelProblem> with_operands(const Problem& p, KernelProblem out, const Strides& a,
                                      const Strides& b) {
  Expected<KernelOperand> ka = k_major('A', p.a, a, p.m, p.l);
  if (!ka) return ka.error();
  Expected<KernelOperand> kb = k_major('B', p.b, transposed(b), p.n, p.l);
  if (!kb) return kb.error();
  out.a = *ka;
  out.b = *kb;
  if (out.exchanged) {
    std::swap(out.a, out.b);
    std::swap(out.m, out.n);
  }
  return out;
}

}  // namespace

Expected<KernelProblem> canonical(const Problem& p) {
  if (Status s = check_extents(p)) return *s;
  if (Status s = check_types(p)) return *s;
  const Expected<Strides> a = strides_of("A", p.a, {p.m, p.k, p.l});
  if (!a) return a.error();
  const Expected<Strides> b = strides_of("B", p.b, {p.k, p.n, p.l});
  if (!b) return b.error();
  const Expected<Strides> d = strides_of("D", p.d, {p.m, p.n, p.l});
  if (!d) return d.error();
  if (Status s = check_batches_apart(*d, {p.m, p.n, p.l})) return *s;

  KernelProblem out;
  out.m = p.m;
  out.n = p.n;
  out.k = p.k;
  out.l = p.l;
  out.empty = p.m == 0 || p.n == 0 || p.l == 0;
  out.reads_ab = !out.empty && p.k != 0 && p.alpha != 0;
  out.reads_c = !out.empty && p.beta != 0;
  const bool scaled =
      p.scale_a != 0 && p.scale_b != 0 && p.scale_d != 0;  // a zero factor wins over Inf and NaN
  out.scale =
      out.reads_ab && scaled ? static_cast<float>(double{p.alpha} * p.scale_a * p.scale_b * p.scale_d) : 0.0f;
  out.beta = out.reads_c ? static_cast<float>(double{p.beta} * p.scale_d) : 0.0f;
  out.d_type = p.d.type;
  out.d_alignment = p.d.alignment;
  out.exchanged = !contiguous_columns(*d);
  const Strides kernel_d = out.exchanged ? transposed(*d) : *d;
  out.d_ld = kernel_d.row;
  out.d_batch_stride = kernel_d.batch;
  if (out.reads_c) {
    const Expected<Strides> c = strides_of("C", p.c, {p.m, p.n, p.l});
    if (!c) return c.error();
    out.c_type = p.c.type;
    out.c_alignment = p.c.alignment;
    out.in_place_ok = p.c.type == p.d.type && same_strides(*c, *d);
    const Strides kernel_c = out.exchanged ? transposed(*c) : *c;
    if (!contiguous_columns(kernel_c)) {
      const bool row_major = p.d.layout == Layout::row_major;
      return broken(RuleId::layout_c, "C", row_major ? "layout column_major" : "layout row_major",
                    row_major ? "row_major" : "column_major");
    }
    out.c_ld = kernel_c.row;
    out.c_batch_stride = kernel_c.batch;
  }
  Expected<KernelProblem> done = with_operands(p, out, *a, *b);
  if (done) {
    // TMA cuts a store at the end of a row of D in units of 16 bytes, not of elements.
    const int64_t size = size_of(p.d.type);
    done->d_bulk = done->n * size % 16 == 0 &&
                   bulk(done->m, done->d_ld, done->l, done->d_batch_stride, size, p.d.alignment);
  }
  return done;
}

}  // namespace tilewright
