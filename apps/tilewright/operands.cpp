#include "operands.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>

#include "src/fp8_scales.h"
#include "src/gemm_problem.h"
#include "src/npy.h"
#include "tolerance.h"

namespace tilewright::cli {
namespace {

int64_t size_of(DType type) { return bits_of(type) / 8; }

/// Codes of A or B, [batches][rows][k].
struct FileOperand {
  std::vector<uint8_t> codes;
  int64_t batches = 1, rows = 0, k = 0;
  float scale = 1;
};

std::string text(const std::vector<int64_t>& shape) {
  std::string out;
  for (const int64_t extent : shape) out += (out.empty() ? "" : ", ") + std::to_string(extent);
  return "(" + out + ")";
}

/// Elements between neighbours of a packed batch of matrices.
MatrixShape packed(DType type, int64_t batches, int64_t rows, int64_t columns, Layout layout) {
  const bool row = layout == Layout::row_major;
  return {type, rows, columns, batches, row ? columns : 1, row ? 1 : rows, rows * columns};
}

/// The bytes of an array, moved from one order to another.
std::vector<uint8_t> reordered(const std::vector<uint8_t>& bytes, const MatrixShape& from,
                               const MatrixShape& to) {
  const auto size = static_cast<size_t>(size_of(from.type));
  std::vector<uint8_t> out(bytes.size());
  if (out.empty()) return out;  // whatever the other extents are
  const auto index = [](const MatrixShape& s, int64_t b, int64_t i, int64_t j) {
    return static_cast<size_t>(b * s.batch_stride + i * s.row_stride + j * s.column_stride);
  };
  for (int64_t b = 0; b < from.batches; ++b)
    for (int64_t i = 0; i < from.rows; ++i)
      for (int64_t j = 0; j < from.columns; ++j)
        std::memcpy(&out[index(to, b, i, j) * size], &bytes[index(from, b, i, j) * size], size);
  return out;
}

/// `layout`: of the rows and K that the operand is wanted in.
Expected<FileOperand> read_operand(const std::string& path, const char* axes, DType type, Layout layout) {
  Expected<NpyArray> array = read_npy(path);
  if (!array) return array.error();
  const std::vector<int64_t>& shape = array->shape;
  if (shape.size() != 2 && shape.size() != 3)
    return Error{
        ErrorCode::io, "file.shape",
        fmt::format("{}: the shape is {}, but it has to be {} or (L, {}", path, text(shape), axes, axes + 1)};
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  for (const int64_t extent : shape)
    if (extent > kMost)
      return Error{
          ErrorCode::io, "file.shape",
          fmt::format("{}: the shape is {}; nearest legal: {} for {}", path, text(shape), kMost, extent)};
  FileOperand out;
  out.batches = shape.size() == 3 ? shape[0] : 1;
  out.rows = shape[shape.size() - 2];
  out.k = shape[shape.size() - 1];
  const DType as_it_is = type == DType::tf32 ? DType::f32 : type == DType::ctf32 ? DType::cf32 : type;
  if (!is_fp8(type) && array->type != as_it_is)
    return Error{ErrorCode::io, "file.type",
                 fmt::format("{}: elements of type {}, but {} operands come from {} files", path,
                             name_of(array->type), name_of(type), name_of(as_it_is))};
  if (!is_fp8(type) || array->type == DType::u8) {
    out.codes = std::move(array->bytes);
  } else {
    Expected<QuantisedTensor> quantised =
        quantise_fp8(array->bytes.data(), array->type, array->elements(), type);
    if (!quantised) {
      const Error& e = quantised.error();
      const bool of_type = e.code == ErrorCode::invalid_argument;
      return Error{ErrorCode::io, of_type ? "file.type" : "file.range", path + ": " + e.message};
    }
    out.codes = std::move(quantised->codes);
    out.scale = quantised->scale;
  }
  MatrixShape from = packed(type, out.batches, out.rows, out.k, Layout::row_major);
  if (array->fortran_order)
    from = {type, out.rows, out.k, out.batches, out.batches, out.batches * out.rows, 1};
  if (array->fortran_order || layout == Layout::column_major)
    out.codes = reordered(out.codes, from, packed(type, out.batches, out.rows, out.k, layout));
  return out;
}

/// Sets an extent from a file, or says which two do not agree.
Status agree(const std::string& path, const char* name, int64_t in_file, bool known, int64_t& extent) {
  if (known && extent != in_file)
    return Error{ErrorCode::io, "file.extents",
                 fmt::format("{}: {} is {} in the file, but {} elsewhere", path, name, in_file, extent)};
  extent = in_file;
  return {};
}

Layout transposed(Layout layout) {
  return layout == Layout::row_major ? Layout::column_major : Layout::row_major;
}

struct Files {
  FileOperand a, b;
};

/// Multiplies a scale that `option` named by that of a file's elements. Error: FP32 does not hold the
/// product.
Status multiply_scale(const std::string& path, const char* option, float of_file, float& scale) {
  using Float = std::numeric_limits<float>;
  const double product = double{scale} * of_file, magnitude = std::abs(product);
  const bool normal = magnitude >= Float::min() && magnitude <= Float::max(),
             exact = std::isnan(product) || static_cast<float>(product) == product;
  if (!normal && !exact) {
    // Off the edge, so that what is printed is legal.
    const double nearest = magnitude > 1 ? 0.999 * Float::max() : 1.001 * Float::min();
    return Error{
        ErrorCode::io, "file.scale",
        fmt::format("{}: its elements have the scale {}, and {} times that is {:.3g}, no normal number of "
                    "FP32; nearest legal: {} {:.6g}",
                    path, of_file, scale, product, option, std::copysign(nearest / of_file, product))};
  }
  scale = static_cast<float>(product);
  return {};
}

Expected<Files> read_files(Problem& p, bool extents_given, const OperandSource& source) {
  Files files;
  const bool have_a = !source.a_file.empty(), have_b = !source.b_file.empty();
  if (have_a) {
    Expected<FileOperand> a = read_operand(source.a_file, "(M, K)", p.a.type, p.a.layout);
    if (!a) return a.error();
    files.a = std::move(*a);
    if (Status s = agree(source.a_file, "M", files.a.rows, extents_given, p.m)) return *s;
    if (Status s = agree(source.a_file, "K", files.a.k, extents_given, p.k)) return *s;
    if (Status s = agree(source.a_file, "L", files.a.batches, extents_given, p.l)) return *s;
    if (Status s = multiply_scale(source.a_file, "--scale_a", files.a.scale, p.scale_a)) return *s;
  }
  if (have_b) {
    Expected<FileOperand> b = read_operand(source.b_file, "(N, K)", p.b.type, transposed(p.b.layout));
    if (!b) return b.error();
    files.b = std::move(*b);
    if (Status s = agree(source.b_file, "N", files.b.rows, extents_given, p.n)) return *s;
    if (Status s = agree(source.b_file, "K", files.b.k, extents_given || have_a, p.k)) return *s;
    if (Status s = agree(source.b_file, "L", files.b.batches, extents_given || have_a, p.l)) return *s;
    if (Status s = multiply_scale(source.b_file, "--scale_b", files.b.scale, p.scale_b)) return *s;
  }
  return files;
}

/// Bytes of a packed operand. Error: more than this machine can hold.
Expected<int64_t> bytes_of_operand(const char* name, int64_t batches, int64_t rows, int64_t columns,
                                   DType type) {
  constexpr int64_t kMost = int64_t{1} << 40;
  const __int128 bytes = static_cast<__int128>(rows) * columns * batches * size_of(type);
  if (batches < 0 || rows < 0 || columns < 0 || bytes > kMost)
    return Error{ErrorCode::out_of_range, "host.memory",
                 fmt::format("{}: {} x {} x {} elements do not fit in memory; the most is 2^40 bytes", name,
                             batches, rows, columns)};
  return static_cast<int64_t>(bytes);
}

/// Bytes that programs may still have: what the system has free, and no more than its limit for a container.
/// Nothing where it does not say.
std::optional<double> free_memory() {
  std::ifstream file("/proc/meminfo");
  std::optional<double> available;
  std::string word;
  double kilobytes = 0, swap = 0, limit = 0;
  while (file >> word)
    if ((word == "MemAvailable:" || word == "SwapFree:") && file >> kilobytes)
      (word == "SwapFree:" ? swap : available.emplace()) = 1024 * kilobytes;
  for (const char* limits : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
    if (std::ifstream(limits) >> limit) available = std::min(available.value_or(limit), limit);
  if (available) *available += swap;
  return available;
}

MatrixView view(const std::vector<uint8_t>& bytes, const Operand& operand, int64_t rows, int64_t columns) {
  const MatrixShape s = packed(operand.type, 1, rows, columns, operand.layout);
  return {bytes.data(), operand.type, s.row_stride, s.column_stride, s.batch_stride};
}

Status fill_epilogue(Operands& out, const OperandSource& source) {
  const Problem& p = out.problem;
  const EpilogueOps& e = p.epilogue;
  if (e.bias != BiasKind::none) {
    const int64_t count = e.bias == BiasKind::row ? p.m : p.n;
    out.bias.resize(static_cast<size_t>(bytes_of(e.bias_type, count)));
    fill_matrix(out.bias.data(), packed(e.bias_type, 1, count, 1, Layout::row_major), source.init,
                source.seed * 4 + 4);
  }
  if (e.aux) {
    const Expected<int64_t> aux = bytes_of_operand("aux", p.l, p.m, p.n, e.aux->type);
    if (!aux) return aux.error();
    out.aux.resize(static_cast<size_t>(*aux), 0xFF);
  }
  if (e.amax_d) out.amax.assign(1, std::numeric_limits<float>::quiet_NaN());
  return {};
}

}  // namespace

ReferenceGemm Operands::reference() const {
  const Problem& p = problem;
  ReferenceGemm r;
  r.m = p.m;
  r.n = p.n;
  r.k = p.k;
  r.batches = p.l;
  r.a = view(a, p.a, p.m, p.k);
  r.b = view(b, p.b, p.k, p.n);
  r.c = view(c, p.c, p.m, p.n);
  r.a_scales = packed_scale_view(scales_of_a(p), a_scales.data());
  r.b_scales = packed_scale_view(scales_of_b(p), b_scales.data());
  // Where the kernel applies them: otherwise a scale of D could hide what overflows, or seem to.
  const Factors factors = factors_of(p);
  r.alpha = factors.scale;
  r.beta = factors.beta;
  r.scale_d = factors.after;
  const EpilogueOps& e = p.epilogue;
  r.epilogue = {e.bias, e.bias_type, bias.data(), e.bias_batch_stride, e.activation};
  return r;
}

MatrixView Operands::d_view() const { return view(d, problem.d, problem.m, problem.n); }

MatrixView Operands::aux_view() const {
  return view(aux, problem.epilogue.aux.value_or(Operand{}), problem.m, problem.n);
}

Expected<Operands> read_operands(const Problem& problem, bool extents_given,
                                 const std::array<int64_t, 3>& default_mnk, const OperandSource& source) {
  Operands out;
  out.problem = problem;
  Problem& p = out.problem;
  if (!extents_given) p.m = default_mnk[0], p.n = default_mnk[1], p.k = default_mnk[2];
  Expected<Files> files = read_files(p, extents_given, source);
  if (!files) return files.error();
  out.a = std::move(files->a.codes);
  out.b = std::move(files->b.codes);
  return out;
}

Status check_memory(double run, double judged) {
  const std::optional<double> free = free_memory();
  if (!free || std::max(run, judged) <= *free) return {};
  const std::string check = judged > 0 ? fmt::format(", its check {:.3g} GB", judged / 1e9) : "";
  return Error{
      ErrorCode::out_of_range, "host.memory",
      fmt::format("the run needs {:.3g} GB of memory{}, but {:.3g} GB are free; nearest legal: {}", run / 1e9,
                  check, *free / 1e9, run <= *free ? "--skip_ref_check" : "smaller extents")};
}

Status check_memory(const Operands& operands, bool emulated, bool checked) {
  const Problem& p = operands.problem;
  const auto bytes = [&](int64_t rows, int64_t columns, double of_element) {
    return static_cast<double>(p.l) * static_cast<double>(rows) * static_cast<double>(columns) * of_element;
  };
  const auto size = [](DType type) { return static_cast<double>(size_of(type)); };
  const double a = bytes(p.m, p.k, size(p.a.type)), b = bytes(p.n, p.k, size(p.b.type)),
               outputs = bytes(p.m, p.n,
                               size(p.d.type) + (p.beta != 0 ? size(p.c.type) : 0) +
                                   (p.epilogue.aux ? size(p.epilogue.aux->type) : 0)),
               read = static_cast<double>(operands.a.size() + operands.b.size()),
               run = (emulated ? 2 : 1) * (a + b + outputs) - read,
               // The reference and the sums of magnitudes, in FP64; the emulated machine is gone by then.
      judged = checked ? a + b + outputs - read + bytes(p.m, p.n, 16 * parts_of(p.d.type)) : 0;
  return check_memory(run, judged);
}

Status fill_operands(Operands& out, const OperandSource& source) {
  const Problem& p = out.problem;
  const Expected<int64_t> a = bytes_of_operand("A", p.l, p.m, p.k, p.a.type);
  if (!a) return a.error();
  const Expected<int64_t> b = bytes_of_operand("B", p.l, p.n, p.k, p.b.type);
  if (!b) return b.error();
  const Expected<int64_t> d = bytes_of_operand("D", p.l, p.m, p.n, p.d.type);
  if (!d) return d.error();
  const Expected<int64_t> c = bytes_of_operand("C", p.l, p.m, p.n, p.c.type);
  if (!c) return c.error();
  if (source.a_file.empty()) {
    out.a.resize(static_cast<size_t>(*a));
    fill_matrix(out.a.data(), packed(p.a.type, p.l, p.m, p.k, p.a.layout), source.init, source.seed * 4 + 1);
  }
  if (source.b_file.empty()) {
    out.b.resize(static_cast<size_t>(*b));
    fill_matrix(out.b.data(), packed(p.b.type, p.l, p.n, p.k, transposed(p.b.layout)), source.init,
                source.seed * 4 + 2);
  }
  if (p.beta != 0) {
    out.c.resize(static_cast<size_t>(*c));
    fill_matrix(out.c.data(), packed(p.c.type, p.l, p.m, p.n, p.c.layout), source.init, source.seed * 4 + 3);
  }
  out.d.resize(static_cast<size_t>(*d), 0xFF);
  if (Status s = fill_epilogue(out, source)) return s;
  out.a_scales = random_scales(scales_of_a(p), p.l, source.seed * 2 + 1);
  out.b_scales = random_scales(scales_of_b(p), p.l, source.seed * 2 + 2);
  return {};
}

Status write_d(const Operands& operands, const std::string& path) {
  const Problem& p = operands.problem;
  const MatrixView view = operands.d_view();
  const size_t size = static_cast<size_t>(size_of(p.d.type));
  std::vector<uint8_t> rows(operands.d.size());
  size_t at = 0;
  for (int64_t b = 0; b < p.l && !rows.empty(); ++b)
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j, at += size)
        std::memcpy(&rows[at], &operands.d[static_cast<size_t>(view.index(b, i, j)) * size], size);
  const std::array<int64_t, 3> shape{p.l, p.m, p.n};
  return write_npy(path, p.d.type, std::span(shape).subspan(p.l == 1 ? 1 : 0), rows.data());
}

}  // namespace tilewright::cli
