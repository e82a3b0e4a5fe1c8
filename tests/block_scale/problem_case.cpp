#include "tests/block_scale/problem_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>

#include "src/matrix_init.h"
#include "tests/block_scale/piece.h"
#include "tests/kernels/text.h"
#include "tilewright/numeric/element.h"

namespace tilewright::testing {
namespace {

constexpr uint8_t kPoison = 0x7F;  // NaN as e4m3
constexpr int64_t kGuard = 256;

/// Elements behind K and their scales hold what nobody may read.
void poison_padding(BlockScaledTensor& t, int64_t k, uint8_t scale_padding) {
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
      scale_of(t, line, v) = scale_padding;
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

/// A matrix that all batches share, as a batch of them.
void repeat(BlockScaledTensor& t, int64_t batches) {
  for (std::vector<uint8_t>* bytes : {&t.elements, &t.scales}) {
    const std::vector<uint8_t> one = *bytes;
    for (int64_t batch = 1; batch < batches; ++batch) bytes->insert(bytes->end(), one.begin(), one.end());
  }
  t.batches = batches;
}

}  // namespace

uint8_t& scale_of(BlockScaledTensor& t, int64_t line, int64_t v) {
  return t.scales[static_cast<size_t>(line * (t.padded_k / scale_vector(t.format)) + v)];
}

void ExtremeFactors::set(ProblemCase& c) const {
  c.alpha = alpha, c.beta = beta, c.scale_a = scale_a, c.scale_b = scale_b, c.scale_d = scale_d;
  c.d = c.c = DType::f32;
  c.init = BlockInit::moderate;
}

ProblemOperands::ProblemOperands(const ProblemCase& c)
    : case_(c),
      a(*random_block_scaled(c.a, c.m, c.k, c.shared_a ? 1 : c.l, c.init, 2 * c.seed)),
      b(*random_block_scaled(c.b, c.n, c.k, c.shared_b ? 1 : c.l, c.init, 2 * c.seed + 1)) {
  if (c.edit) c.edit(a, b);
  poison_padding(a, c.k, c.scale_padding);
  poison_padding(b, c.k, c.scale_padding);
  a_ld = a.padded_k + c.operand_padding;
  b_ld = b.padded_k + c.operand_padding;
  a_elements = spread(a, a_ld);
  b_elements = spread(b, b_ld);
  a_scales = packed_scale_bytes(a, c.scale_padding);
  b_scales = packed_scale_bytes(b, c.scale_padding);
  if (c.shared_a) repeat(a, c.l);
  if (c.shared_b) repeat(b, c.l);
  d_ld = c.n + c.d_padding;
  c_ld = c.n + (c.d_padding > 0 ? c.d_padding + 1 : 0);
  d_bytes = static_cast<size_t>(c.l * c.m * d_ld * bits_of(c.d) / 8);
  if (c.beta == 0) return;
  c_matrix.assign(static_cast<size_t>(c.l * c.m * c_ld * bits_of(c.c) / 8), 0xFF);
  fill_matrix(c_matrix.data(), {c.c, c.m, c.n, c.l, c_ld, 1, c.m * c_ld}, Init::integers, c.seed);
}

Problem ProblemOperands::problem() const {
  const ProblemCase& c = case_;
  const auto operand = [](const BlockScaledTensor& t, int64_t ld, Layout layout, bool shared) {
    return Operand{.type = element_type(t.format),
                   .layout = layout,
                   .ld = ld,
                   .batch_stride = shared ? std::optional<int64_t>(0) : std::nullopt,
                   .alignment = 128,
                   .block = t.format};
  };
  Problem p;
  p.m = c.m, p.n = c.n, p.k = c.k, p.l = c.l;
  p.a = operand(a, a_ld, Layout::row_major, c.shared_a);
  p.b = operand(b, b_ld, Layout::column_major, c.shared_b);
  p.c = {.type = c.c, .ld = c_ld, .alignment = bits_of(c.c) / 8};
  p.d = {.type = c.d, .ld = d_ld, .alignment = c.d_offset == 0 ? 16 : bits_of(c.d) / 8};
  p.alpha = c.alpha, p.beta = c.beta;
  p.scale_a = c.scale_a, p.scale_b = c.scale_b, p.scale_d = c.scale_d;
  return p;
}

PackedBlockScales ProblemOperands::scales_at(const BlockScaledTensor& tensor, const void* data, bool shared) {
  ScaleShape shape = tensor.scale_shape();
  if (shared) shape.batches = 1;
  const int64_t bytes = scale_bytes<ScaleLayout::packed>(shape);
  if (tensor.format == BlockFormat::nvfp4)
    return *PackedScales<const e4m3>::make(static_cast<const e4m3*>(data), bytes, shape);
  return *PackedScales<const e8m0>::make(static_cast<const e8m0*>(data), bytes, shape);
}

ProblemResult run_problem_case(const ProblemCase& c, TestMachine& machine, Chip chip, const Judge& judge) {
  ProblemResult result;
  const ProblemOperands o(c);
  Options options = c.options;
  options.device = machine.device();
  options.chip = chip;
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
                        .a_scales = ProblemOperands::scales_at(o.a, a_scales.data(), c.shared_a),
                        .b_scales = ProblemOperands::scales_at(o.b, b_scales.data(), c.shared_b),
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
  if (judge && !result.d.empty()) {
    const Comparison found = judge(o, result.d.data());
    if (!found.passed())
      result.failure +=
          text(found.failures, " of ", found.elements, " wrong, first at ", found.batch, ',', found.row, ',',
               found.column, ": got ", found.got, ", want ", found.reference, " +- ", found.bound, '\n');
  }
  if (!result.failure.empty())
    result.failure = text(c.name, " (", result.info.kernel, "):\n", result.failure);
  return result;
}

void expect_pass(const char* group, const std::vector<ProblemCase>& cases, TestMachine& machine, Runner run) {
  size_t passed = 0;
  for (const ProblemCase& c : cases) {
    const ProblemResult result = run(c, machine, true);
    EXPECT_EQ(result.failure, "");
    passed += result.failure.empty();
  }
  std::printf("%s: %zu of %zu cases passed\n", group, passed, cases.size());
}

void print_differences(const ProblemCase& c, const ProblemResult& emulated, const ProblemResult& gpu) {
  const size_t size = static_cast<size_t>(bits_of(c.d)) / 8;
  size_t count = 0;
  for (size_t at = 0; at + size <= emulated.d.size(); at += size) {
    uint32_t here = 0, there = 0;
    std::memcpy(&here, &emulated.d[at], size);
    std::memcpy(&there, &gpu.d[at], size);
    if (here == there) continue;
    if (++count <= 4)
      std::printf("  %s, %lld x %lld x %lld: element %zu is %#x, on the GPU %#x\n", c.name.c_str(),
                  static_cast<long long>(c.m), static_cast<long long>(c.n), static_cast<long long>(c.k),
                  at / size, here, there);
  }
  if (count > 4) std::printf("  and %zu more\n", count - 4);
}

double value_magnitude(const BlockScaledTensor& tensor, int64_t batch, int64_t line, int64_t k) {
  return std::fabs(tensor.value(batch, line, k));
}

std::vector<ProblemCase> data_and_zeros_cases() {
  struct Data {
    const char* what;
    float a, b;         // magnitudes
    int64_t zero_from;  // K of a block of zeros in every line of A and B
    int64_t k;          // padded to 384
  };
  std::vector<ProblemCase> cases;
  for (const auto& [a, b] : kFormatPairs)
    for (const Data& data : {Data{"1e-5, K padded", 1e-5f, 1e-5f, 384, 300},
                             {"1e-6, K padded", 1e-6f, 1e-6f, 384, 300},
                             {"2^-40 x 1, K padded", 0x1p-40f, 1, 384, 300},
                             {"1e-6, a block of zeros", 1e-6f, 1e-6f, 64, 384},
                             {"2^-40 x 1, a block of zeros", 0x1p-40f, 1, 64, 384},
                             {"2^126 x 2^-120, a block of zeros", 0x1p126f, 0x1p-120f, 64, 384}}) {
      ProblemCase c;
      c.a = a, c.b = b;
      c.m = 70, c.n = 72, c.k = 384, c.d = c.c = DType::f32;
      c.seed = cases.size() + 1;
      c.name = text(name_of(a), " x ", name_of(b), ' ', data.what);
      c.edit = [data, seed = c.seed](BlockScaledTensor& left, BlockScaledTensor& right) {
        const auto fill = [&](BlockScaledTensor& t, float magnitude, uint64_t of) {
          std::vector<float> values(static_cast<size_t>(t.rows * data.k));
          fill_matrix(values.data(), {DType::f32, t.rows, data.k, 1, data.k}, Init::normal, of);
          for (size_t i = 0; i < values.size(); ++i) {
            const auto k = static_cast<int64_t>(i) % data.k - data.zero_from;
            constexpr float kMost = std::numeric_limits<float>::max();
            values[i] = k >= 0 && k < 32 ? 0 : std::clamp(values[i] * magnitude, -kMost, kMost);
          }
          const bool fits = scale_type(t.format) == DType::e4m3;  // their scales have few binades
          t = *quantise({values.data(), DType::f32, t.rows, data.k, 1, data.k}, t.format,
                        {.tensor_scale = fits});
          t.k = t.padded_k;
          t.tensor_scale = 1;  // a factor of D
        };
        fill(left, data.a, 2 * seed);
        fill(right, data.b, 2 * seed + 1);
      };
      cases.push_back(std::move(c));
    }
  return cases;
}

void expect_samples_are_right(const ProblemCase& c, TestMachine& machine, Runner run,
                              const AccumulationBound& bound, const Magnitude& magnitude) {
  ASSERT_EQ(c.d, DType::f32);
  const ProblemResult result = run(c, machine, false);
  ASSERT_EQ(result.failure, "");
  const ProblemOperands o(c);
  std::mt19937_64 random(c.seed);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  const auto* values = reinterpret_cast<const float*>(result.d.data());
  const double factor = c.sum_factor();
  double worst = 0;
  for (int sample = 0; sample < 4000; ++sample) {
    // The corners, and anywhere.
    const int64_t batch = below(c.l),
                  row = sample % 8 == 0 ? c.m - 1 - below(std::min<int64_t>(c.m, 3)) : below(c.m);
    const int64_t column = sample % 8 == 1 ? c.n - 1 - below(std::min<int64_t>(c.n, 3)) : below(c.n);
    double sum = 0, magnitudes = 0;
    for (int64_t k = 0; k < c.k; ++k) {
      sum += o.a.value(batch, row, k) * o.b.value(batch, column, k);
      magnitudes += magnitude(o.a, batch, row, k) * magnitude(o.b, batch, column, k);
    }
    const double got = double{values[(batch * c.m + row) * o.d_ld + column]};
    const double allowed = std::fabs(factor) * (bound.relative + 0x1p-22) * magnitudes + 0x1p-100;
    worst = std::max(worst, std::fabs(got - factor * sum) / allowed);
    ASSERT_LE(std::fabs(got - factor * sum), allowed)
        << c.name << " at " << batch << ',' << row << ',' << column << ": got " << got << ", want "
        << factor * sum;
  }
  std::printf("%s: %s, worst of 4000 elements at %.3f of its bound\n", c.name.c_str(),
              result.info.kernel.c_str(), worst);
}

}  // namespace tilewright::testing
