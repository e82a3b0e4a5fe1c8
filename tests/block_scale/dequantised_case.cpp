#include "tests/block_scale/dequantised_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "src/matrix_init.h"
#include "tests/kernels/text.h"
#include "tilewright/numeric/element.h"

namespace tilewright::testing {
namespace {

constexpr uint8_t kPoison = 0x7F;  // NaN as e4m3
constexpr int64_t kGuard = 256;

/// Elements behind K and their scales hold what nobody may read.
void poison_padding(BlockScaledTensor& t, int64_t k) {
  const int vector = scale_vector(t.format);
  for (int64_t line = 0; line < t.batches * t.rows; ++line) {
    for (int64_t column = k; column < t.padded_k; ++column) {
      const int64_t index = line * t.padded_k + column;
      if (is_fp4(t.format)) {
        store_e2m1(t.elements.data(), index, e2m1::from_bits(7));
      } else {
        t.elements[static_cast<size_t>(index)] = kPoison;
      }
    }
    for (int64_t v = (k + vector - 1) / vector; v < t.padded_k / vector; ++v)
      t.scales[static_cast<size_t>(line * (t.padded_k / vector) + v)] = 0xFF;
  }
}

/// Rows `ld` elements apart.
std::vector<uint8_t> spread(const BlockScaledTensor& t, int64_t ld) {
  const auto row = static_cast<size_t>(t.row_bytes());
  const auto pitch = static_cast<size_t>(bytes_of(element_type(t.format), ld));
  std::vector<uint8_t> out(pitch * static_cast<size_t>(t.batches * t.rows), kPoison);
  for (size_t line = 0; line < static_cast<size_t>(t.batches * t.rows); ++line)
    std::memcpy(out.data() + line * pitch, t.elements.data() + line * row, row);
  return out;
}

/// One piece of a machine's memory: guard, contents, guard.
class Piece {
 public:
  Piece(TestMachine& machine, const char* name, const std::vector<uint8_t>& contents, bool output,
        size_t offset = 0)
      : machine_(machine), skip_(machine.guard_bytes() + offset), size_(contents.size()) {
    image_.assign(skip_ + size_ + machine.guard_bytes(), 0xFF);
    std::copy(contents.begin(), contents.end(), image_.begin() + static_cast<std::ptrdiff_t>(skip_));
    memory_ = machine.place(image_, name, output);
    EXPECT_NE(memory_, nullptr) << name;
  }
  ~Piece() {
    if (memory_ != nullptr) machine_.release(memory_);
  }
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;

  void* data() const { return static_cast<uint8_t*>(memory_) + skip_; }
  void write(const std::vector<uint8_t>& contents) {
    std::copy(contents.begin(), contents.end(), image_.begin() + static_cast<std::ptrdiff_t>(skip_));
    EXPECT_FALSE(machine_.upload(memory_, image_));
  }
  /// Empty and a failure when a guard has changed.
  std::vector<uint8_t> read(std::string& failure, const char* name) const {
    std::vector<uint8_t> now(image_.size());
    EXPECT_FALSE(machine_.download(now, memory_));
    const auto begin = now.begin() + static_cast<std::ptrdiff_t>(skip_);
    const auto end = begin + static_cast<std::ptrdiff_t>(size_);
    const auto is_guard = [](uint8_t byte) { return byte == 0xFF; };
    if (!std::all_of(now.begin(), begin, is_guard) || !std::all_of(end, now.end(), is_guard))
      failure += text("bytes around ", name, " have changed\n");
    return {begin, end};
  }

 private:
  TestMachine& machine_;
  size_t skip_, size_;
  std::vector<uint8_t> image_;
  void* memory_ = nullptr;
};

float power(int exponent) { return std::ldexp(1.0f, exponent); }

}  // namespace

DequantisedOperands::DequantisedOperands(const DequantisedCase& c)
    : case_(c),
      a(*random_block_scaled(c.a, c.m, c.k, c.l, c.init, 2 * c.seed)),
      b(*random_block_scaled(c.b, c.n, c.k, c.l, c.init, 2 * c.seed + 1)) {
  if (c.edit) c.edit(a, b);
  poison_padding(a, c.k);
  poison_padding(b, c.k);
  a_ld = a.padded_k + c.operand_padding;
  b_ld = b.padded_k + c.operand_padding;
  a_elements = spread(a, a_ld);
  b_elements = spread(b, b_ld);
  a_scales = packed_scale_bytes(a, 0xFF);
  b_scales = packed_scale_bytes(b, 0xFF);
  d_ld = c.n + c.d_padding;
  c_ld = c.n + (c.d_padding > 0 ? c.d_padding + 1 : 0);
  d_bytes = static_cast<size_t>(c.l * c.m * d_ld * bits_of(c.d) / 8);
  if (c.beta == 0) return;
  c_matrix.assign(static_cast<size_t>(c.l * c.m * c_ld * bits_of(c.c) / 8), 0xFF);
  fill_matrix(c_matrix.data(), {c.c, c.m, c.n, c.l, c_ld, 1, c.m * c_ld}, Init::integers, c.seed);
}

Problem DequantisedOperands::problem() const {
  const DequantisedCase& c = case_;
  const auto operand = [](const BlockScaledTensor& t, int64_t ld, Layout layout) {
    return Operand{
        .type = element_type(t.format), .layout = layout, .ld = ld, .alignment = 128, .block = t.format};
  };
  Problem p;
  p.m = c.m, p.n = c.n, p.k = c.k, p.l = c.l;
  p.a = operand(a, a_ld, Layout::row_major);
  p.b = operand(b, b_ld, Layout::column_major);
  p.c = {.type = c.c, .ld = c_ld, .alignment = bits_of(c.c) / 8};
  p.d = {.type = c.d, .ld = d_ld, .alignment = c.d_offset == 0 ? 16 : bits_of(c.d) / 8};
  p.alpha = c.alpha, p.beta = c.beta;
  p.scale_a = c.scale_a, p.scale_b = c.scale_b, p.scale_d = c.scale_d;
  return p;
}

PackedBlockScales DequantisedOperands::scales_at(const BlockScaledTensor& tensor, const void* data) {
  const int64_t bytes = scale_bytes<ScaleLayout::packed>(tensor.scale_shape());
  if (tensor.format == BlockFormat::nvfp4)
    return *PackedScales<const e4m3>::make(static_cast<const e4m3*>(data), bytes, tensor.scale_shape());
  return *PackedScales<const e8m0>::make(static_cast<const e8m0*>(data), bytes, tensor.scale_shape());
}

int line_shift(const BlockScaledTensor& t, int64_t batch, int64_t line) {
  if (scale_type(t.format) != DType::e8m0) return 0;
  const int highest = is_fp4(t.format) ? 125 : 119, lowest = is_fp4(t.format) ? -132 : -124;
  int least = 127, greatest = -127;
  const int64_t columns = t.padded_k / 32;
  for (int64_t v = 0; v < t.k / 32; ++v) {
    const int code = t.scales[static_cast<size_t>((batch * t.rows + line) * columns + v)];
    const int exponent = std::min(code, 254) - 127;
    least = std::min(least, exponent);
    greatest = std::max(greatest, exponent);
  }
  if (greatest > highest) return greatest - highest;
  if (least < lowest) return -std::min(lowest - least, highest - greatest);
  return 0;
}

std::vector<uint16_t> dequantised_bits(const BlockScaledTensor& t, int64_t k) {
  std::vector<uint16_t> out;
  out.reserve(static_cast<size_t>(t.batches * t.rows * k));
  for (int64_t batch = 0; batch < t.batches; ++batch)
    for (int64_t line = 0; line < t.rows; ++line) {
      const int shift = line_shift(t, batch, line);
      for (int64_t column = 0; column < k; ++column) {
        const double value = std::ldexp(t.value(batch, line, column), -shift);
        out.push_back(bf16(static_cast<float>(value)).bits);
      }
    }
  return out;
}

DequantisedReference::DequantisedReference(const DequantisedOperands& o)
    : operands(o), a(dequantised_bits(o.a, o.case_.k)), b(dequantised_bits(o.b, o.case_.k)) {
  const DequantisedCase& c = o.case_;
  for (int64_t batch = 0; batch < c.l; ++batch) {
    for (int64_t row = 0; row < c.m; ++row) a_powers.push_back(power(line_shift(o.a, batch, row)));
    for (int64_t row = 0; row < c.n; ++row) b_powers.push_back(power(line_shift(o.b, batch, row)));
  }
  gemm = {.m = c.m,
          .n = c.n,
          .k = c.k,
          .batches = c.l,
          .a = {a.data(), DType::bf16, c.k, 1, c.m * c.k},
          .b = {b.data(), DType::bf16, 1, c.k, c.n * c.k},
          .c = {o.c_matrix.data(), c.c, o.c_ld, 1, c.m * o.c_ld},
          .alpha = double{c.alpha} * c.scale_a * c.scale_b,
          .beta = c.beta,
          .scale_d = c.scale_d};
  const int64_t depth = std::max<int64_t>(1, c.k);
  gemm.a_scales = {a_powers.data(), 1, depth, 1, 0, c.m};
  gemm.b_scales = {b_powers.data(), 1, depth, 1, 0, c.n};
  d.resize(static_cast<size_t>(c.l * c.m * c.n));
  abs_sum.resize(d.size());
  EXPECT_FALSE(reference_gemm(gemm, d.data(), abs_sum.data()));
}

Comparison DequantisedReference::judge(const void* got) const {
  const DequantisedCase& c = operands.case_;
  return compare(gemm, d.data(), abs_sum.data(), {got, c.d, operands.d_ld, 1, c.m * operands.d_ld},
                 {.accumulation = wgmma_f32_bound(DType::bf16, c.k, 0), .saturate = false});
}

DequantisedResult run_dequantised_case(const DequantisedCase& c, TestMachine& machine, bool judged) {
  DequantisedResult result;
  const DequantisedOperands o(c);
  Options options = c.options;
  options.device = machine.device();
  options.chip = Chip::sm_90a;
  const Expected<Plan> plan = tilewright::plan(o.problem(), options);
  if (!plan) return {c.name + ": " + plan.error().message, {}, {}, {}};
  result.info = plan->info();
  const auto size = static_cast<size_t>(bits_of(c.d) / 8);
  std::vector<uint8_t> before(static_cast<size_t>(2 * kGuard) + o.d_bytes, 0xA5);
  const size_t first = static_cast<size_t>(kGuard) + static_cast<size_t>(c.d_offset) * size;
  Piece a(machine, "A", o.a_elements, false), b(machine, "B", o.b_elements, false);
  Piece a_scales(machine, "scales of A", o.a_scales, false),
      b_scales(machine, "scales of B", o.b_scales, false);
  Piece source(machine, "C", o.c_matrix, false), d(machine, "D", before, true);
  Piece workspace(machine, "workspace",
                  std::vector<uint8_t>(static_cast<size_t>(plan->workspace_bytes()), 0xFF), true);
  const Buffers buffers{.a = a.data(),
                        .b = b.data(),
                        .c = c.beta != 0 ? source.data() : nullptr,
                        .d = static_cast<uint8_t*>(d.data()) + first,
                        .a_scales = DequantisedOperands::scales_at(o.a, a_scales.data()),
                        .b_scales = DequantisedOperands::scales_at(o.b, b_scales.data()),
                        .workspace = plan->workspace_bytes() > 0 ? workspace.data() : nullptr};
  std::vector<uint8_t> all;
  for (int run = 0; run < c.runs; ++run) {
    d.write(before);
    if (Status s = machine.run(*plan, buffers)) return {c.name + ": " + s->message, result.info, {}, {}};
    const std::vector<uint8_t> now = d.read(result.failure, "D");
    if (run > 0 && now != all) result.failure += text("run ", run, " gives other bits\n");
    all = now;
  }
  result.workspace = workspace.read(result.failure, "the workspace");
  result.d.assign(all.begin() + static_cast<std::ptrdiff_t>(first),
                  all.begin() + static_cast<std::ptrdiff_t>(first + o.d_bytes));
  for (size_t i = 0; i < all.size(); ++i) {
    const bool inside =
        i >= first && i < first + o.d_bytes && static_cast<int64_t>((i - first) / size) % o.d_ld < c.n;
    if (inside || all[i] == 0xA5) continue;
    result.failure +=
        text("wrote at byte ", static_cast<int64_t>(i) - static_cast<int64_t>(first), " of D\n");
    break;
  }
  if (judged && !result.d.empty()) {
    const DequantisedReference reference(o);
    const Comparison found = reference.judge(result.d.data());
    if (!found.passed())
      result.failure +=
          text(found.failures, " of ", found.elements, " wrong, first at ", found.batch, ',', found.row, ',',
               found.column, ": got ", found.got, ", want ", found.reference, " +- ", found.bound, '\n');
  }
  if (!result.failure.empty())
    result.failure = text(c.name, " (", result.info.kernel, "):\n", result.failure);
  return result;
}

void expect_dequantised_pass(const char* group, const std::vector<DequantisedCase>& cases,
                             TestMachine& machine) {
  size_t passed = 0;
  for (const DequantisedCase& c : cases) {
    const DequantisedResult result = run_dequantised_case(c, machine);
    EXPECT_EQ(result.failure, "");
    EXPECT_EQ(result.info.path, "wgmma") << c.name;
    passed += result.failure.empty();
  }
  std::printf("%s: %zu of %zu cases passed\n", group, passed, cases.size());
}

}  // namespace tilewright::testing
