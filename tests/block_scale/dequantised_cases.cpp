#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/block_scale/dequantised_case.h"
#include "tests/kernels/text.h"

namespace tilewright::testing {
namespace {

ProblemCase case_of(const FormatPair& formats, const char* what) {
  ProblemCase c;
  c.a = formats[0], c.b = formats[1];
  c.name = text(name_of(c.a), " x ", name_of(c.b), ' ', what);
  // Sums of products of the full range do not fit in f16.
  c.scale_a = 0x1p-10f;
  return c;
}

void add_shapes(const FormatPair& f, std::vector<ProblemCase>& cases) {
  const int64_t k = finest_k(f[0], f[1]);
  const std::array<std::array<int64_t, 4>, 9> shapes{{{140, 200, 256, 1},
                                                      {1, 1, k, 1},
                                                      {33, 257, k, 2},
                                                      {129, 40, 3 * k, 1},
                                                      {64, 8, 640, 3},
                                                      {256, 256, 0, 1},
                                                      {0, 64, k, 1},
                                                      {70, 136, 2176, 1},
                                                      {5, 31, 5 * k, 2}}};
  for (const auto& [m, n, depth, l] : shapes)
    for (const DType d : kOutputs) {
      ProblemCase c = case_of(f, "");
      c.m = m, c.n = n, c.k = depth, c.l = l, c.d = c.c = d;
      c.seed = cases.size() + 1;
      c.d_padding = cases.size() % 2 == 0 ? 0 : 8;
      c.beta = cases.size() % 3 == 0 ? -2.0f : 0.0f;
      c.runs = cases.size() % 4 == 0 ? 2 : 1;
      c.name += text(m, 'x', n, 'x', depth, 'x', l, ' ', name_of(d));
      cases.push_back(c);
    }
}

void add_options(const FormatPair& f, std::vector<ProblemCase>& cases) {
  const auto add = [&](const char* what, const auto& change) {
    ProblemCase c = case_of(f, what);
    c.seed = cases.size() + 1;
    c.runs = 1;
    change(c);
    cases.push_back(std::move(c));
  };
  for (const Shape2 tile : {Shape2{128, 256}, Shape2{128, 128}, Shape2{64, 128}})
    for (const DType d : kOutputs)
      add("tile", [&](ProblemCase& c) {
        c.m = tile.m + 9, c.n = tile.n + 24, c.d = c.c = d, c.options.tile = tile;
        c.alpha = 0.75f;
      });
  for (const DType d : kOutputs)
    add("cluster", [&](ProblemCase& c) {
      c.m = 300, c.n = 512, c.d = c.c = d;
      c.options.tile = Shape2{128, 256}, c.options.cluster = Shape2{2, 1};
    });
  for (const DType d : kOutputs)
    for (const DType source : kOutputs)
      add("C", [&](ProblemCase& c) {
        c.d = d, c.c = source, c.beta = 1.5f, c.alpha = -0.5f, c.scale_d = 2, c.scale_b = 0.25f;
        c.n = d == source ? 200 : 199;
      });
  add("direct stores", [](ProblemCase& c) { c.options.store = StoreKind::direct; });
  add("an odd D", [](ProblemCase& c) { c.n = 131, c.d_padding = 3, c.d_offset = 1; });
  add("an odd D and C", [](ProblemCase& c) { c.n = 131, c.d_padding = 3, c.d_offset = 1, c.beta = 1; });
  add("padded operands", [](ProblemCase& c) { c.operand_padding = 64, c.l = 2; });
  add("C52 one A", [](ProblemCase& c) { c.m = 300, c.l = 3, c.shared_a = true; });
  add("C52 one B", [](ProblemCase& c) { c.n = 264, c.l = 2, c.shared_b = true, c.beta = 1; });
  add("one multiprocessor", [](ProblemCase& c) { c.m = 300, c.n = 300, c.options.max_sms = 1; });
  add("zero alpha", [](ProblemCase& c) { c.alpha = 0, c.beta = 2; });
  add("no K, alpha NaN",
      [](ProblemCase& c) { c.k = 0, c.beta = 2, c.alpha = std::numeric_limits<float>::quiet_NaN(); });
  add("no K, scale infinite",
      [](ProblemCase& c) { c.k = 0, c.beta = 2, c.scale_a = std::numeric_limits<float>::infinity(); });
  add("zero scale", [](ProblemCase& c) { c.scale_b = 0; });
  for (const ExtremeFactors& factors : kExtremeFactors)
    add(factors.name, [&](ProblemCase& c) { factors.set(c); });
  add("moderate data", [](ProblemCase& c) { c.init = BlockInit::moderate, c.scale_a = 1; });
  add("several spans", [](ProblemCase& c) { c.m = 70, c.n = 72, c.k = 5 * 512 + 128; });
}

/// Lines of e8m0 scales around one code, in A or in B.
void add_outer(const FormatPair& f, bool in_a, int code, int spread, std::vector<ProblemCase>& cases) {
  ProblemCase c = case_of(f, in_a ? "outer scales of A " : "outer scales of B ");
  c.name += text(code, " spread ", spread);
  c.m = 135, c.n = 140, c.k = 384, c.d = c.c = DType::f32;
  c.seed = cases.size() + 1;
  c.scale_a = 1;
  // Every tile, both stores, with and without C.
  constexpr Shape2 kTiles[] = {{64, 128}, {128, 256}, {128, 128}, {128, 256}};
  c.options.tile = kTiles[cases.size() % 4];
  if (cases.size() % 8 == 3) c.options.cluster = Shape2{2, 1};
  c.l = cases.size() % 5 == 1 ? 2 : 1;
  c.beta = cases.size() % 3 == 1 ? 1.0f : 0.0f;
  if (cases.size() % 7 == 2) c.options.store = StoreKind::direct;
  c.edit = [in_a, code, spread](BlockScaledTensor& a, BlockScaledTensor& b) {
    const auto set = [](BlockScaledTensor& t, int64_t line, int64_t v, int value) {
      scale_of(t, line, v) = static_cast<uint8_t>(std::clamp(value, 0, 255));
    };
    BlockScaledTensor &outer = in_a ? a : b, &other = in_a ? b : a;
    // Lines without such scales stay among them, and the other side brings the products back.
    for (int64_t line = 0; line < outer.batches * outer.rows; ++line)
      for (int64_t v = 0; v < outer.k / 32; ++v)
        if (line % 5 != 1) set(outer, line, v, code + static_cast<int>((line + v) % (spread + 1)));
    for (int64_t line = 0; line < other.batches * other.rows; ++line)
      for (int64_t v = 0; v < other.k / 32; ++v)
        set(other, line, v, 254 - code + static_cast<int>((line * 7 + v) % 9) - 4 - (line % 3 == 0 ? 10 : 0));
  };
  cases.push_back(std::move(c));
}

}  // namespace

std::vector<ProblemCase> dequantised_cases() {
  std::vector<ProblemCase> cases;
  for (const FormatPair& f : kFormatPairs) {
    add_shapes(f, cases);
    add_options(f, cases);
  }
  return cases;
}

std::vector<ProblemCase> outer_scale_cases() {
  std::vector<ProblemCase> cases;
  for (const FormatPair& f : kFormatPairs) {
    if (f[0] == BlockFormat::nvfp4) continue;
    for (const bool in_a : {true, false})
      for (const auto& [code, spread] :
           {std::array{0, 0}, std::array{0, 6}, std::array{2, 1}, std::array{3, 0}, std::array{240, 14},
            std::array{246, 1}, std::array{254, 0}})
        add_outer(f, in_a, code, spread, cases);
  }
  // Factors that alone would overflow, or lose what the shifts bring back.
  for (const float alpha : {0x1p-100f, 0x1p100f, -0x1p-126f}) {
    add_outer(kFormatPairs[0], true, alpha < 1 ? 246 : 0, 6, cases);
    ProblemCase& c = cases.back();
    c.alpha = alpha;
    c.name += text(" alpha ", alpha);
  }
  // Shifts of lines that all batches share.
  for (const bool in_a : {true, false}) {
    add_outer(kFormatPairs[0], in_a, 0, 6, cases);
    ProblemCase& c = cases.back();
    c.l = 3;
    (in_a ? c.shared_a : c.shared_b) = true;
    c.name += " C52 shared";
  }
  for (const FormatPair& f :
       kFormatPairs) {  // NaN scales, alone and beside the outermost ones; C and outputs of 16 bits
    for (const DType d : kOutputs) {
      ProblemCase c = case_of(f, "NaN scales ");
      c.name += name_of(d);
      c.m = 130, c.n = 72, c.k = 256, c.d = c.c = d, c.beta = d == DType::bf16 ? 1.0f : 0.0f;
      c.edit = [](BlockScaledTensor& a, BlockScaledTensor& b) {
        const bool e8m0 = scale_type(a.format) == DType::e8m0;
        scale_of(a, 3, 1) = e8m0 ? 0xFF : 0x7F;
        scale_of(b, 70, 0) = e8m0 ? 0xFF : 0x7F;
        if (!e8m0) return;
        scale_of(a, 129, 2) = 0xFF, scale_of(a, 129, 1) = 0;
        scale_of(b, 5, 0) = 250, scale_of(b, 5, 1) = 127;
        scale_of(b, 6, 0) = 0;
      };
      cases.push_back(std::move(c));
    }
  }
  return cases;
}

void expect_every_code_dequantised(BlockFormat format, TestMachine& machine) {
  const bool fp4 = is_fp4(format);
  const int vector = scale_vector(format);
  ProblemCase c;
  c.name = text("codes of ", name_of(format));
  c.a = c.b = format;
  c.m = 256, c.n = 16, c.k = 256;
  c.runs = 1;
  c.edit = [&](BlockScaledTensor& a, BlockScaledTensor&) {
    for (int64_t line = 0; line < a.rows; ++line) {
      for (int64_t v = 0; v < a.k / vector; ++v) scale_of(a, line, v) = static_cast<uint8_t>(line);
      for (int64_t k = 0; k < a.k; ++k) {
        const auto code = static_cast<uint8_t>(k + line);
        if (fp4) store_e2m1(a.elements.data(), line * a.padded_k + k, e2m1::from_bits(code));
        if (!fp4) a.elements[static_cast<size_t>(line * a.padded_k + k)] = code;
      }
    }
  };
  const ProblemResult result = run_dequantised_case(c, machine, false);
  ASSERT_EQ(result.failure, "");
  ProblemOperands operands(c);
  if (format == BlockFormat::nvfp4)  // unsigned: the sign of a scale is not looked at
    for (uint8_t& scale : operands.a.scales) scale &= 0x7F;
  const std::vector<uint16_t> wanted = dequantised_bits(operands.a, c.k);
  size_t wrong = 0;
  for (int64_t line = 0; line < c.m; ++line) {
    const int shift = line_shift(operands.a, 0, line);
    for (int64_t k = 0; k < c.k; ++k) {
      const auto index = static_cast<size_t>(line * c.k + k);
      uint16_t bits;
      std::memcpy(&bits, result.workspace.data() + 2 * index, 2);
      const double value = operands.a.value(0, line, k);
      const double got = std::ldexp(static_cast<double>(static_cast<float>(bf16::from_bits(bits))), shift);
      // Every one of these is exact.
      const bool right = std::isnan(value) ? std::isnan(got) : bits == wanted[index] && got == value;
      if (!right && wrong++ == 0)
        ADD_FAILURE() << c.name << ": scale " << line << ", element " << ((k + line) & 0xFF) << ": got "
                      << got << ", want " << value;
    }
  }
  EXPECT_EQ(wrong, 0u);
}

void expect_bits_of_bf16_product(BlockFormat a, BlockFormat b, TestMachine& machine) {
  ProblemCase c = case_of({a, b}, "beside bf16");
  c.m = 300, c.n = 264, c.k = 384, c.d = c.c = DType::bf16, c.scale_a = 1;
  const ProblemResult result = run_dequantised_case(c, machine);
  ASSERT_EQ(result.failure, "");
  const ProblemOperands o(c);
  const std::vector<uint16_t> bits_a = dequantised_bits(o.a, c.k), bits_b = dequantised_bits(o.b, c.k);
  const auto bytes = [](const std::vector<uint16_t>& v) {
    return std::span(reinterpret_cast<const uint8_t*>(v.data()), 2 * v.size());
  };
  Problem p{.m = c.m, .n = c.n, .k = c.k};
  p.a.type = p.b.type = p.c.type = p.d.type = DType::bf16;
  const Expected<Plan> plan = tilewright::plan(p, {.device = machine.device()});
  ASSERT_TRUE(plan) << plan.error().message;
  std::vector<uint8_t> d(o.d_bytes);
  void* const at_a = machine.place(bytes(bits_a), "bf16 A", false);
  void* const at_b = machine.place(bytes(bits_b), "bf16 B", false);
  void* const at_d = machine.place(d, "bf16 D", true);
  const Status failed = machine.run(*plan, {.a = at_a, .b = at_b, .d = at_d});
  EXPECT_FALSE(failed) << failed->message;
  EXPECT_FALSE(machine.download(d, at_d));
  EXPECT_EQ(d, result.d) << c.name;
  for (void* memory : {at_a, at_b, at_d}) machine.release(memory);
}

}  // namespace tilewright::testing
