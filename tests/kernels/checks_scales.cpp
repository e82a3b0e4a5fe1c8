// FP32 scales of rows and columns, and of blocks along K.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "tests/kernels/checks.h"
#include "tests/kernels/text.h"

namespace tilewright::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr auto kVectors = ScaleMode::per_row_column;
constexpr auto kBlocks = ScaleMode::block_1x128_128x128;
constexpr ScaleMode kModes[] = {kVectors, kBlocks};

GemmCase scaled_case(const char* name, ScaleMode mode, int64_t m, int64_t n, int64_t k,
                     DType d = DType::bf16) {
  GemmCase c = make_case(name, m, n, k, d);
  c.name = text(name, mode == kVectors ? " (vectors)" : " (blocks)");
  c.problem.scale_mode = mode;
  c.problem.c.type = DType::f16;
  return c;
}

ElementFunction constant(double value) {
  return [value](int64_t, int64_t, int64_t) { return value; };
}

/// Every tile that a kernel with scales is built for.
struct ScaledTile {
  ScaleMode mode;
  Shape2 tile;
  DType d;
  LoadKind load = LoadKind::tma;
};
constexpr ScaledTile kTiles[] = {{kVectors, {128, 128}, DType::f16},
                                 {kVectors, {128, 256}, DType::bf16},
                                 {kVectors, {64, 128}, DType::f16},
                                 {kVectors, {128, 128}, DType::f32},
                                 {kVectors, {64, 128}, DType::bf16, LoadKind::copy},
                                 {kVectors, {64, 128}, DType::f32, LoadKind::copy},
                                 {kBlocks, {64, 128}, DType::f16},
                                 {kBlocks, {128, 128}, DType::bf16},
                                 {kBlocks, {128, 256}, DType::f16},
                                 {kBlocks, {128, 128}, DType::f32},
                                 {kBlocks, {64, 128}, DType::f16, LoadKind::copy},
                                 {kBlocks, {64, 128}, DType::f32, LoadKind::copy}};

GemmCase tile_case(const char* name, const ScaledTile& t, int64_t m, int64_t n, int64_t k) {
  GemmCase c = scaled_case(name, t.mode, m, n, k, t.d);
  c.name += text(", tile ", t.tile.m, 'x', t.tile.n);
  c.options.tile = t.tile;
  c.options.load = t.load;
  if (t.load == LoadKind::copy) c.offset.a = 1, c.problem.a.ld = k + 3;
  return c;
}

// Three tiles and more for each CTA, ragged in M, N and K; few stages, so that their scales' slots are
// reused.
void every_tile(TestMachine& machine) {
  for (const ScaledTile& t : kTiles) {
    for (const int64_t k : {1, 127, 128, 129, 3 * 128, 4 * 128, 5 * 128 + 32}) {
      GemmCase c = tile_case("tiles", t, 2 * t.tile.m - 7, 2 * t.tile.n - 24, k);
      c.options.stages = 2;
      c.options.max_sms = 1;
      c.seed = static_cast<uint64_t>(k);
      c.runs = 1;
      expect_passes(c, machine);
    }
  }
}

// C31 and C55: sizes beside those that tiles, blocks of scales and warps divide.
void c31_ragged_extents(TestMachine& machine) {
  for (const ScaleMode mode : kModes) {
    for (const int64_t m : {1, 7, 8, 63, 65, 129})
      for (const int64_t n : {1, 9, 127, 128, 130, 257})
        for (const int64_t k : {16, 250}) {
          GemmCase c = scaled_case("C31", mode, m, n, k, k == 16 ? DType::f32 : DType::f16);
          c.runs = 1;
          expect_passes(c, machine);
        }
  }
}

// C32: vectors end where the rows do; run_case puts guards there. C28: blocks of N and K have their own
// number.
void c32_scales_are_not_read_past_their_end(TestMachine& machine) {
  for (const ScaleMode mode : kModes) {
    for (const int64_t k : {300, 100}) {
      GemmCase c = scaled_case("C32", mode, 100, 200, k);
      c.problem.l = 2;
      pad_for_bulk(c.problem);
      expect_passes(c, machine);
      c.options.load = LoadKind::copy;
      expect_passes(c, machine);
    }
  }
}

void clusters(TestMachine& machine) {
  for (const ScaleMode mode : kModes) {
    for (const Shape2 cluster : {Shape2{2, 1}, Shape2{1, 2}, Shape2{2, 2}}) {
      for (const Shape2 tile : {Shape2{64, 128}, Shape2{128, 256}}) {
        if (mode == kVectors && tile.m == 64) continue;
        // One tile more than whole clusters: CTAs past the edges have no scales.
        GemmCase c = scaled_case("clusters", mode, 2 * tile.m + 9, 2 * tile.n + 40, 400, DType::f16);
        c.options.tile = tile;
        c.options.cluster = cluster;
        c.options.stages = 2;
        c.options.max_sms = 4;
        c.runs = 1;
        expect_passes(c, machine);
      }
    }
  }
}

/// Strides of scales in floats; the case's shape is 2 batches of 70 x 300 x 260.
struct Strides {
  const char* name;
  ScaleStrides a, b;
};
void expect_strides(ScaleMode mode, std::span<const Strides> rows, TestMachine& machine) {
  for (const Strides& row : rows) {
    // Where rows are contiguous, 16 bytes of them are copied at once if they are aligned.
    for (const auto& [load, offset] :
         {std::pair{LoadKind::tma, 4}, {LoadKind::tma, 16}, {LoadKind::copy, 4}}) {
      GemmCase c = scaled_case(row.name, mode, 70, 300, 260);
      c.problem.l = 2;
      pad_for_bulk(c.problem);
      c.problem.a_scales = row.a;
      c.problem.b_scales = row.b;
      c.options.load = load;
      c.offset.scales = offset;
      c.runs = 1;
      expect_passes(c, machine);
    }
  }
}

void strides(TestMachine& machine) {
  const Strides blocks[] = {
      {"rows of A contiguous, padded for TMA", {1, 72, 72 * 3}, {3, 1, 9}},
      {"K contiguous", {3, 1}, {1, 3}},
      {"padding between all", {2, 150, 500}, {5, 1, 40}},
      {"one set for all batches", {1, 70, 0}, {3, 1, 0}},
      {"one row for all", {0, 1, 3}, {3, 1}},
      {"batches interleaved", {2, 140, 1}, {6, 2, 1}},
  };
  expect_strides(kBlocks, blocks, machine);
  const Strides vectors[] = {
      {"packed", {1, 0}, {1, 0}},
      {"padded batches", {1, 0, 100}, {1, 0, 301}},
      {"not contiguous", {3, 0, 210}, {2, 0}},
      {"one set for all batches", {1, 0, 0}, {1, 0, 0}},
  };
  expect_strides(kVectors, vectors, machine);
}

// Each scale changes its own row, column or block, and nothing else.
void every_scale_has_its_place(TestMachine& machine) {
  for (const ScaleMode mode : kModes) {
    GemmCase c = scaled_case("places", mode, 130, 260, 384, DType::f32);
    c.data = Data::ones;
    c.a_scale = [](int64_t, int64_t row, int64_t block) {
      return static_cast<double>(1 + row) * (1 << block);
    };
    c.b_scale = [](int64_t, int64_t line, int64_t block) {
      return static_cast<double>(1 + line) * (1 << (2 * block));
    };
    c.runs = 1;
    const CaseResult result = expect_passes(c, machine);
    for (const auto& [row, column] :
         {std::pair{0, 0}, {1, 0}, {129, 259}, {64, 127}, {65, 128}, {8, 255}, {9, 256}}) {
      const int64_t line = mode == kVectors ? column : column / 128;
      const double blocks = mode == kVectors ? 384 : 128 * (1 + 8 + 64);
      EXPECT_EQ(d_at(c, result, row * 260 + column), static_cast<double>((1 + row) * (1 + line)) * blocks)
          << c.name << " (" << row << ", " << column << ")";
    }
  }
}

void types_layouts_and_sources(TestMachine& machine) {
  for (const ScaleMode mode : kModes) {
    for (const DType d : {DType::f16, DType::bf16, DType::f32}) {
      for (const Layout layout : {Layout::row_major, Layout::column_major}) {
        for (const StoreKind store : {StoreKind::automatic, StoreKind::direct}) {
          for (const float beta : {0.0f, -0.5f}) {
            GemmCase c = scaled_case("types", mode, 72, 136, 200, d);
            c.problem.l = 2;
            c.problem.c.type = d == DType::f32 ? DType::bf16 : DType::f32;
            c.problem.c.layout = c.problem.d.layout = layout;
            c.problem.beta = beta;
            c.problem.alpha = 0.375f;
            c.problem.scale_a = 2, c.problem.scale_b = 0.5f, c.problem.scale_d = 4;
            pad_for_bulk(c.problem, 1);
            c.options.store = store;
            c.device_scalars = store == StoreKind::direct;
            c.runs = 1;
            const CaseResult result = expect_passes(c, machine);
            EXPECT_EQ(result.info.exchanged, mode == kVectors && layout == Layout::column_major);
            EXPECT_EQ(result.info.scale_mode, mode);
          }
        }
      }
    }
  }
}

void c_by_columns_and_d_by_rows(TestMachine& machine) {
  GemmCase c = scaled_case("C by columns", kBlocks, 72, 136, 200, DType::f16);
  c.problem.c.layout = Layout::column_major;
  c.problem.beta = 2;
  pad_for_bulk(c.problem);
  expect_passes(c, machine);
  c.problem.scale_mode = kVectors;
  expect_refused(c, machine, "layout.c", "column_major");
}

void in_place(TestMachine& machine) {
  for (const ScaleMode mode : kModes) {
    for (const Layout layout : {Layout::row_major, Layout::column_major}) {
      GemmCase c = scaled_case("in place", mode, 72, 136, 200, DType::f16);
      c.problem.c.layout = c.problem.d.layout = layout;
      c.problem.beta = 0.5f;
      pad_for_bulk(c.problem, 1);
      c.in_place = true;
      expect_passes(c, machine);
    }
  }
}

// A scale is a factor like another: its zero times infinity is NaN, and NaN goes to its own elements alone.
void special_scales(TestMachine& machine) {
  for (const ScaleMode mode : kModes) {
    for (const double value : {0.0, -0.0, kInf, -kInf, static_cast<double>(kNan), 0x1p-140, 0x1p100}) {
      GemmCase c = scaled_case("special scales", mode, 40, 140, 256, DType::f32);
      c.data = Data::ones;
      c.a_scale = [=](int64_t, int64_t row, int64_t block) { return row == 5 && block == 0 ? value : 1.0; };
      c.b_scale = constant(1);
      c.runs = 1;
      const CaseResult result = expect_passes(c, machine);
      const double wanted = mode == kVectors ? 256 * value : 128 * value + 128;
      const double got = d_at(c, result, 5 * 140);
      EXPECT_TRUE(got == wanted || (std::isnan(got) && std::isnan(wanted)))
          << c.name << ": " << value << " gave " << got;
      EXPECT_EQ(d_at(c, result, 4 * 140), 256);
      c.name += ", of B";
      c.a_scale = constant(1);
      c.b_scale = [=](int64_t, int64_t line, int64_t block) { return line == 1 && block == 0 ? value : 1.0; };
      const CaseResult other = expect_passes(c, machine);
      const int64_t column = mode == kVectors ? 1 : 128;
      const double b = d_at(c, other, column);
      EXPECT_TRUE(b == wanted || (std::isnan(b) && std::isnan(wanted)))
          << c.name << ": " << value << " gave " << b;
      EXPECT_EQ(d_at(c, other, 0), 256);
    }
    GemmCase c = scaled_case("zero scale of a NaN", mode, 16, 24, 128, DType::f32);
    c.a_value = constant(kNan);
    c.a_scale = c.b_scale = constant(0);
    c.runs = 1;
    expect_d_is(c, expect_passes(c, machine), kNan);
  }
}

void special_elements(TestMachine& machine) {
  for (const ScaleMode mode : kModes) {
    for (const Data data : {Data::specials, Data::codes, Data::uniform, Data::integers}) {
      GemmCase c = scaled_case(name_of(data), mode, 45, 150, 300, DType::f32);
      c.data = data;
      c.runs = 1;
      expect_passes(c, machine);
    }
  }
}

// Scales may hold anything when A and B do not matter, and they are not read.
void c16_alpha_zero_reads_no_scales(TestMachine& machine) {
  for (const ScaleMode mode : kModes) {
    for (const bool on_device : {false, true}) {
      for (const float beta : {0.0f, 0.5f}) {
        GemmCase c = scaled_case("C16", mode, 70, 136, 96, DType::f16);
        c.problem.alpha = 0;
        c.problem.beta = beta;
        c.device_scalars = on_device;
        c.c_value = constant(3);
        c.runs = 1;
        expect_d_is(c, expect_passes(c, machine), 3 * beta);
        c.name = "K = 0";
        c.problem.alpha = 1;
        c.problem.k = 0;
        pad_for_bulk(c.problem);
        expect_d_is(c, expect_passes(c, machine), 3 * beta);
      }
    }
  }
}

// Vectors with other ways to accumulate: the main loop is that of kernels without scales.
void vectors_with_intervals_and_fast(TestMachine& machine) {
  for (const int64_t interval : {0, 4, 8, 1 << 20}) {
    for (const DType d : {DType::f16, DType::f32}) {
      GemmCase c = scaled_case("interval", kVectors, 100, 200, 700, d);
      c.data = Data::uniform;
      if (interval == 0) c.problem.accumulation = Accumulation::fast;
      if (interval != 0) c.problem.interval = interval;
      c.runs = 1;
      expect_passes(c, machine);
    }
  }
}

// Scales of powers of two change nothing but exponents: the bits are those of a product without scales.
void powers_of_two_give_the_bits_of_no_scales(TestMachine& machine) {
  for (const ScaleMode mode : kModes) {
    GemmCase c = scaled_case("powers of two", mode, 100, 200, 600, DType::f32);
    c.a_scale = constant(4), c.b_scale = constant(0.25);
    c.runs = 1;
    const CaseResult scaled = expect_passes(c, machine);
    c.problem.scale_mode = ScaleMode::per_tensor;
    EXPECT_EQ(difference(DType::f32, scaled.d, expect_passes(c, machine).d), "") << c.name;
  }
}

void refusals(TestMachine& machine) {
  for (const ScaleMode mode : kModes) {
    GemmCase c = scaled_case("types", mode, 64, 64, 128, DType::f16);
    c.problem.a.type = DType::e5m2;
    expect_refused(c, machine, "scale.mode", "A: type e5m2");
    c.problem.a.type = DType::e4m3;
    c.problem.b.type = DType::e5m2;
    expect_refused(c, machine, "scale.mode", "B: type e5m2");
    c.problem.b.type = DType::e4m3;
    c.problem.d.type = DType::e4m3;
    expect_refused(c, machine, "scale.mode", "D: type e4m3");
    c.problem.d.type = DType::f16;
    c.problem.a_scales.line_stride = -1;
    expect_refused(c, machine, "scale.stride", "scale_a: line stride -1");
    c.problem.a_scales = {1, int64_t{1} << 38};
    expect_refused(c, machine, "scale.stride", "K stride");
    c.problem.a_scales = {};
    c.problem.l = 2;
    pad_for_bulk(c.problem);
    c.problem.b_scales.batch_stride = -4;
    expect_refused(c, machine, "scale.stride", "scale_b: batch stride -4");
  }
  GemmCase c = scaled_case("promotion", kBlocks, 64, 64, 512, DType::f16);
  c.problem.interval = 8;
  expect_refused(c, machine, "scale.promotion", "interval: 8");
  c.problem.accumulation = Accumulation::fast;
  expect_refused(c, machine, "scale.promotion", "fast");
  c = scaled_case("store", kBlocks, 64, 64, 512, DType::f16);
  c.problem.d.layout = Layout::column_major;
  pad_for_bulk(c.problem);
  c.options.store = StoreKind::tma;
  expect_refused(c, machine, "store.tma", "columns of a product with block scales");
}

// C37: a pointer that is missing or off is named.
void c37_pointers(TestMachine& machine) {
  for (const ScaleMode mode : kModes) {
    const GemmCase c = scaled_case("pointers", mode, 64, 64, 128, DType::f16);
    const Expected<Plan> planned = plan(planned_problem(c), planned_options(c, machine.device()));
    ASSERT_TRUE(planned) << planned.error().message;
    alignas(256) static uint8_t memory[256];
    const auto* scales = reinterpret_cast<const float*>(memory);
    const auto* odd = reinterpret_cast<const float*>(memory + 2);
    const Buffers good{.a = memory, .b = memory, .d = memory + 128, .scale_a = scales, .scale_b = scales};
    const struct {
      const float *a, *b;
      const char *rule, *mention;
    } rows[] = {{nullptr, scales, "pointer.null", "scale_a: null"},
                {scales, nullptr, "pointer.null", "scale_b: null"},
                {odd, scales, "pointer.alignment", "scale_a: address is 2 modulo 4"},
                {scales, odd, "pointer.alignment", "scale_b: address is 2 modulo 4"}};
    for (const auto& row : rows) {
      Buffers buffers = good;
      buffers.scale_a = row.a, buffers.scale_b = row.b;
      const Status refused = planned->run(buffers);
      ASSERT_TRUE(refused);
      EXPECT_EQ(refused->rule, row.rule);
      EXPECT_NE(refused->message.find(row.mention), std::string::npos) << refused->message;
    }
  }
}

constexpr Check kChecks[] = {
    {"every_tile", every_tile},
    {"C31_ragged_extents", c31_ragged_extents},
    {"C32_scales_are_not_read_past_their_end", c32_scales_are_not_read_past_their_end},
    {"clusters", clusters},
    {"strides", strides},
    {"every_scale_has_its_place", every_scale_has_its_place},
    {"types_layouts_and_sources", types_layouts_and_sources},
    {"c_by_columns_and_d_by_rows", c_by_columns_and_d_by_rows},
    {"in_place", in_place},
    {"special_scales", special_scales},
    {"special_elements", special_elements},
    {"C16_alpha_zero_reads_no_scales", c16_alpha_zero_reads_no_scales},
    {"vectors_with_intervals_and_fast", vectors_with_intervals_and_fast},
    {"powers_of_two_give_the_bits_of_no_scales", powers_of_two_give_the_bits_of_no_scales},
    {"refusals", refusals},
    {"C37_pointers", c37_pointers},
};

}  // namespace

std::span<const Check> scale_checks() { return kChecks; }

}  // namespace tilewright::testing
