// Extents, layouts, strides and addresses.
#include <gtest/gtest.h>

#include <limits>

#include "tests/kernels/checks.h"
#include "tests/kernels/text.h"

namespace tilewright::testing {
namespace {

GemmCase integer_case(const char* name, int64_t m, int64_t n, int64_t k, DType d = DType::f32) {
  GemmCase c = make_case(name, m, n, k, d);
  c.data = Data::integers;
  return c;
}

void c17_no_k(TestMachine& machine) {
  const auto passes = [&](const GemmCase& c) {
    const CaseResult result = expect_passes(c, machine);
    EXPECT_EQ(result.info.promotions, 0);
    EXPECT_EQ(d_at(c, result, 255), 255 * c.problem.beta);
  };
  for (const float beta : {0.0f, 0.5f}) {
    GemmCase c = make_case("C17 K = 0", 16, 16, 0, DType::f16);
    c.problem.beta = beta;
    c.c_value = [](int64_t, int64_t row, int64_t column) { return static_cast<double>(16 * row + column); };
    for (const StoreKind store : {StoreKind::tma, StoreKind::direct}) {
      c.options.store = store;
      passes(c);
    }
    // There is nothing that an infinite factor could multiply.
    for (const float factor :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      for (const bool on_device : {false, true}) {
        c.device_scalars = on_device;
        c.problem.alpha = factor;
        passes(c);
        c.problem.alpha = 1;
        c.problem.scale_a = factor;
        passes(c);
        c.problem.scale_a = 1;
      }
    }
  }
}

void c17_no_output(TestMachine& machine) {
  const struct { int64_t m, n, l; } rows[] = {{0, 16, 1}, {16, 0, 1}, {16, 16, 0}, {0, 0, 0}};
  for (const auto& row : rows) {
    GemmCase c = make_case("C17 no output", row.m, row.n, 64);
    c.problem.l = row.l;
    EXPECT_EQ(expect_passes(c, machine).info.grid_ctas, 0);
  }
}

// Bases off by 1 to 16 bytes. Loads without bulk copies, stores of single elements.
void c37_odd_addresses(TestMachine& machine) {
  for (const int past : {1, 2, 4, 8, 16}) {
    GemmCase c = integer_case("C37 A", 70, 72, 144, DType::f16);
    c.problem.c.type = DType::f32;
    c.problem.beta = 2;
    c.offset.a = past;
    EXPECT_EQ(expect_passes(c, machine).info.tma_load, past == 16);
    c.options.load = LoadKind::tma;
    if (past < 16) expect_refused(c, machine, "load.tma", text("A: base aligned to ", past).c_str());
    c.options.load = LoadKind::automatic;
    c.name = "C37 B";
    c.offset = {.b = past};
    EXPECT_EQ(expect_passes(c, machine).info.tma_load, past == 16);
    if (past < 2) continue;
    c.name = "C37 D";
    c.offset = {.d = past};
    EXPECT_EQ(expect_passes(c, machine).info.tma_store, past == 16);
    c.options.store = StoreKind::tma;
    if (past < 16) expect_refused(c, machine, "store.tma", text("D: base aligned to ", past).c_str());
    c.options.store = StoreKind::automatic;
    if (past < 4) continue;
    c.name = "C37 C";
    c.offset = {.c = past};
    expect_passes(c, machine);
  }
}

void c40_output_rows_off_the_bulk_grid(TestMachine& machine) {
  for (const int64_t n : {2, 6, 10, 66, 130}) {
    GemmCase c = integer_case("C40", 70, n, 64, DType::bf16);
    c.problem.d.ld = 0;
    EXPECT_FALSE(expect_passes(c, machine).info.tma_store);
    c.options.store = StoreKind::tma;
    expect_refused(c, machine, "store.tma", "D: rows of");
  }
}

// Views of 80 x 80 inside 160 x 160, one operand at a time and all.
void c41_padded_leading_dimensions(TestMachine& machine) {
  for (int which = 0; which < 5; ++which) {
    for (const Layout layout : {Layout::row_major, Layout::column_major}) {
      GemmCase c = integer_case("C41", 80, 80, 80);
      c.problem.c.type = DType::f32;
      c.problem.c.layout = c.problem.d.layout = layout;
      c.problem.beta = 1;
      Operand* operands[] = {&c.problem.a, &c.problem.b, &c.problem.c, &c.problem.d};
      for (int i = 0; i < 4; ++i)
        if (i == which || which == 4) operands[i]->ld = 160;
      expect_passes(c, machine);
    }
  }
}

// Strides of dimensions of one element are not looked at.
void c44_extents_of_one(TestMachine& machine) {
  GemmCase c = integer_case("C44 batch strides of one batch", 64, 64, 64);
  c.problem.a.batch_stride = int64_t{1} << 40;
  c.problem.b.batch_stride = 7;
  c.problem.d.batch_stride = 0;
  EXPECT_TRUE(expect_passes(c, machine).info.tma_load);
  c = integer_case("C44 leading dimensions of one line", 1, 1, 64);
  c.problem.a.ld = 1;
  c.problem.b.ld = 3;
  c.problem.d.ld = int64_t{1} << 45;
  EXPECT_TRUE(expect_passes(c, machine).info.tma_load);
  // But batches that are not told apart otherwise lie as far apart as their one line is wide.
  c = integer_case("C44 packed batches of one line", 1, 70, 80);
  c.problem.l = 3;
  c.problem.a.ld = 96;
  c.problem.d.ld = 80;
  EXPECT_TRUE(expect_passes(c, machine).info.tma_load);
  // A single row has either layout; column-major, its elements may lie apart.
  for (const int64_t d_ld : {0, 1, 3})
    for (const int64_t c_ld : {0, 1, 5}) {
      c = integer_case("C44 a row of C or D apart", 1, 70, 80);
      c.problem.c.type = DType::f32;
      c.problem.beta = 1;
      const std::pair<Operand*, int64_t> outputs[] = {{&c.problem.d, d_ld}, {&c.problem.c, c_ld}};
      for (const auto& [operand, ld] : outputs) {
        operand->layout = ld == 0 ? Layout::row_major : Layout::column_major;
        operand->ld = ld;
      }
      EXPECT_EQ(expect_passes(c, machine).info.exchanged, d_ld > 1 || c_ld > 1);
    }
}

void c47_operand_layouts(TestMachine& machine) {
  for (const Layout a : {Layout::row_major, Layout::column_major}) {
    for (const Layout b : {Layout::row_major, Layout::column_major}) {
      GemmCase c = integer_case("C47", 64, 64, 64);
      c.problem.a.layout = a;
      c.problem.b.layout = b;
      if (a == Layout::row_major && b == Layout::column_major) {
        expect_passes(c, machine);
      } else {
        expect_refused(c, machine, "layout.k_major",
                       a == Layout::row_major ? "B: layout row_major" : "A: layout col");
      }
    }
  }
}

void c52_batch_strides(TestMachine& machine) {
  for (const LoadKind load : {LoadKind::tma, LoadKind::copy}) {
    GemmCase c = integer_case("C52 strides", 10, 12, 20);
    c.problem.l = 3;
    c.problem.c.type = DType::f32;
    c.problem.beta = 1;
    c.options.load = load;
    c.problem.a.batch_stride = 800;
    c.problem.b.batch_stride = 1600;
    expect_passes(c, machine);
    c.name = "C52 one A";
    c.problem.a.batch_stride = 0;
    expect_passes(c, machine);
    c.name = "C52 one B and C";
    c.problem.a.batch_stride = 800;
    c.problem.b.batch_stride = 0;
    c.problem.c.batch_stride = 0;
    expect_passes(c, machine);
    c.problem.d.batch_stride = 0;
    expect_refused(c, machine, "batch_stride.d", "D: batch stride 0");
  }
  GemmCase c = integer_case("batches of D within its rows", 30, 16, 40);
  c.problem.l = 3;
  c.problem.d.ld = 3 * 16;
  c.problem.d.batch_stride = 16;
  expect_passes(c, machine);
}

// For each number of stages, K around a full ring: only the last index of K is not zero.
void c58_last_k(TestMachine& machine) {
  for (const LoadKind load : {LoadKind::tma, LoadKind::copy}) {
    for (const int64_t stages : {2, 3, 4}) {
      for (const int64_t k : {stages * 128 - 1, stages * 128, stages * 128 + 1, stages * 128 + 64}) {
        GemmCase c = make_case("C58", 65, 70, k);
        c.options.stages = stages;
        c.options.load = load;
        const auto value = [k](int64_t at) { return at == k - 1 ? 3.0 : 0.0; };
        c.a_value = [=](int64_t, int64_t, int64_t at) { return value(at); };
        c.b_value = [=](int64_t, int64_t at, int64_t) { return value(at); };
        expect_d_is(c, expect_passes(c, machine), 9);
      }
    }
  }
}

// The stores of a tile are spread over the first K tiles of the next one: all of them fit in, some, or none.
void c59_short_and_long_k_loops(TestMachine& machine) {
  const struct {
    Shape2 tile;
    bool fast;
  } kernels[] = {{{64, 64}, false},   {{256, 64}, false}, {{64, 256}, false}, {{128, 256}, false},
                 {{256, 128}, false}, {{128, 128}, true}, {{256, 128}, true}};
  for (const auto& kernel : kernels) {
    for (const int64_t k_tiles : {0, 1, 2, 3, 4, 5, 6, 11}) {
      GemmCase c =
          integer_case("K tiles", kernel.tile.m - 3, 2 * kernel.tile.n - 8, 128 * k_tiles, DType::f16);
      c.problem.accumulation = kernel.fast ? Accumulation::fast : Accumulation::promoted;
      c.options.tile = kernel.tile;
      c.options.stages = 4;
      c.options.max_sms = 1;
      c.runs = 1;
      expect_passes(c, machine);
    }
  }
}

// Large promoted tiles are packed and stored in steps around the switch to the next one: with results of one
// and two bytes, in place of C or added to it, through TMA or not.
void c59_steps_around_a_tile_switch(TestMachine& machine) {
  for (const Shape2 tile : {Shape2{128, 256}, Shape2{256, 128}}) {
    for (const DType d : {DType::bf16, DType::e4m3}) {
      for (const int64_t k_tiles : {3, 4, 6}) {
        GemmCase c = integer_case("steps", 3 * tile.m - 5, tile.n - 16, 128 * k_tiles, d);
        c.options.tile = tile;
        c.options.max_sms = 1;
        c.runs = 1;
        expect_passes(c, machine);
        c.problem.beta = 1;
        expect_passes(c, machine);
        c.problem.beta = 0;
        c.options.store = StoreKind::direct;
        expect_passes(c, machine);
      }
    }
  }
}

constexpr Check kChecks[] = {
    {"C17_no_k", c17_no_k},
    {"C17_no_output", c17_no_output},
    {"C37_odd_addresses", c37_odd_addresses},
    {"C40_output_rows_off_the_bulk_grid", c40_output_rows_off_the_bulk_grid},
    {"C41_padded_leading_dimensions", c41_padded_leading_dimensions},
    {"C44_extents_of_one", c44_extents_of_one},
    {"C47_operand_layouts", c47_operand_layouts},
    {"C52_batch_strides", c52_batch_strides},
    {"C58_last_k", c58_last_k},
    {"C59_short_and_long_k_loops", c59_short_and_long_k_loops},
    {"C59_steps_around_a_tile_switch", c59_steps_around_a_tile_switch},
};

}  // namespace

std::span<const Check> shape_checks() { return kChecks; }

}  // namespace tilewright::testing
