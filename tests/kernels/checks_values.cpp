// Special values, conversions and factors.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/kernels/checks.h"

namespace tilewright::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

ElementFunction constant(double value) {
  return [value](int64_t, int64_t, int64_t) { return value; };
}
/// `value` at (row, column), `rest` elsewhere.
ElementFunction one_element(int64_t row, int64_t column, double value, double rest) {
  return [=](int64_t, int64_t i, int64_t j) { return i == row && j == column ? value : rest; };
}

// e5m2 outputs: 58000 rounds to 57344, 61440 is a tie that leaves the format, infinity is a value.
void c07_conversion_to_e5m2(TestMachine& machine) {
  const double inputs[] = {57344, 58000, 61440, 65536, kInf, -kInf, -58000, -61440, kNan, 1.5};
  const double saturating[] = {57344, 57344, 57344, 57344, 57344, -57344, -57344, -57344, kNan, 1.5};
  const double overflowing[] = {57344, 57344, kInf, kInf, kInf, -kInf, -57344, -kInf, kNan, 1.5};
  for (const bool saturate : {true, false}) {
    GemmCase c = make_case("C07", 2, 10, 0, DType::e5m2);
    c.problem.c.type = DType::f32;
    c.problem.beta = 1;
    c.problem.saturate = saturate;
    pad_for_bulk(c.problem);
    c.c_value = [&](int64_t, int64_t, int64_t column) { return inputs[column]; };
    const CaseResult result = expect_passes(c, machine);
    for (int64_t i = 0; i < 20; ++i) {
      const double wanted = (saturate ? saturating : overflowing)[i % 10], got = d_at(c, result, i);
      EXPECT_TRUE(got == wanted || (std::isnan(got) && std::isnan(wanted)))
          << inputs[i % 10] << " became " << got << (saturate ? ", saturating" : "");
    }
  }
}

// scale_d multiplies.
void c08_output_scale(TestMachine& machine) {
  const struct {
    double scale, saturating, overflowing;
  } rows[] = {{0.5, 32, 32},   {2, 128, 128}, {0, 0, 0},        {kInf, 448, kNan}, {kNan, kNan, kNan},
              {0x1p-20, 0, 0}, {7, 448, 448}, {7.5, 448, kNan}, {-0.5, -32, -32},  {0x1p-15, 0x1p-9, 0x1p-9}};
  for (const auto& row : rows) {
    for (const bool saturate : {true, false}) {
      for (const bool on_device : {true, false}) {
        GemmCase c = make_case("C08", 64, 64, 64, DType::e4m3);
        c.data = Data::ones;
        c.problem.scale_d = static_cast<float>(row.scale);
        c.problem.saturate = saturate;
        c.device_scalars = on_device;
        c.problem.c.type = DType::f16;  // read by no run: beta is 0
        c.runs = 1;
        expect_d_is(c, expect_passes(c, machine), saturate ? row.saturating : row.overflowing);
      }
    }
  }
}

// A and B do not matter when their factor is zero: they hold NaN.
void c16_alpha_zero(TestMachine& machine) {
  for (const bool on_device : {false, true}) {
    for (const float beta : {0.0f, 1.0f, 0.5f}) {
      GemmCase c = make_case("C16 alpha 0", 70, 72, 96, DType::f16);
      c.problem.alpha = 0;
      c.problem.beta = beta;
      c.device_scalars = on_device;
      c.c_value = constant(3);
      expect_d_is(c, expect_passes(c, machine), 3 * beta);
      c.name = "C16 scale_a 0";
      c.problem.alpha = 1;
      c.problem.scale_a = 0;
      expect_d_is(c, expect_passes(c, machine), 3 * beta);
    }
  }
}

void alpha_nan_gives_nan(TestMachine& machine) {
  for (const bool on_device : {false, true}) {
    GemmCase c = make_case("alpha NaN", 16, 24, 64);
    c.problem.alpha = kNan;
    c.device_scalars = on_device;
    expect_d_is(c, expect_passes(c, machine), kNan);
  }
}

// C holds NaN, and so does its padding.
void beta_zero_reads_no_c(TestMachine& machine) {
  for (const bool on_device : {false, true}) {
    GemmCase c = make_case("beta 0", 40, 48, 64);
    c.data = Data::integers;
    c.device_scalars = on_device;
    expect_passes(c, machine);
  }
}

void infinity_and_nan_follow_ieee(TestMachine& machine) {
  const struct {
    const char* name;
    double a, b, rest, wanted;
  } rows[] = {{"Inf x 2", kInf, 2, 1, kInf},     {"Inf x -2", kInf, -2, 1, -kInf},
              {"Inf x 0", kInf, 0, 1, kNan},     {"NaN x 1", kNan, 1, 1, kNan},
              {"NaN x 0", kNan, 0, 0, kNan},     {"0 x Inf", 0, kInf, 1, kNan},
              {"Inf x Inf", kInf, kInf, 1, kInf}};
  for (const auto& row : rows) {
    GemmCase c = make_case(row.name, 8, 8, 160);
    c.problem.a.type = c.problem.b.type = DType::e5m2;
    c.a_value = one_element(3, 150, row.a, row.rest);
    c.b_value = one_element(150, 5, row.b, row.rest);
    const CaseResult result = expect_passes(c, machine);
    const double got = d_at(c, result, 3 * 8 + 5);
    EXPECT_TRUE(got == row.wanted || (std::isnan(got) && std::isnan(row.wanted)))
        << row.name << " gave " << got;
  }
  GemmCase c = make_case("Inf - Inf", 8, 8, 160);
  c.problem.a.type = DType::e5m2;
  c.a_value = [](int64_t, int64_t row, int64_t k) {
    return row == 3 && k == 20 ? kInf : row == 3 && k == 140 ? -kInf : 1.0;
  };
  c.b_value = constant(1);
  EXPECT_TRUE(std::isnan(d_at(c, expect_passes(c, machine), 3 * 8)));
}

void zeros_and_subnormals(TestMachine& machine) {
  const struct {
    const char* name;
    double a, b;
  } rows[] = {{"zeros", 0, 1},
              {"negative zeros", -0.0, 1},
              {"least e4m3", 0x1p-9, 0x1p-9},
              {"subnormal", 0x1.8p-8, -1}};
  for (const auto& row : rows) {
    for (const DType d : {DType::f32, DType::f16, DType::bf16, DType::e4m3, DType::e5m2}) {
      GemmCase c = make_case(row.name, 20, 24, 256, d);
      c.a_value = constant(row.a);
      c.b_value = constant(row.b);
      const CaseResult result = expect_passes(c, machine);
      if (row.a == 0) expect_d_is(c, result, 0);
      if (row.a == 0 && d == DType::f32) {
        EXPECT_FALSE(std::signbit(d_at(c, result, 0))) << row.name;
      }
      if (row.b == 0x1p-9 && d == DType::f32) expect_d_is(c, result, 256 * 0x1p-18);
    }
  }
}

// 448 x 448 x 256 = 51380224 leaves f16 and both 8-bit types.
void largest_codes(TestMachine& machine) {
  const struct {
    DType d;
    bool saturate;
    double wanted;
  } rows[] = {{DType::f32, true, 51380224}, {DType::bf16, true, 51380224}, {DType::f16, true, kInf},
              {DType::e4m3, true, 448},     {DType::e4m3, false, kNan},    {DType::e5m2, true, 57344},
              {DType::e5m2, false, kInf}};
  for (const auto& row : rows) {
    GemmCase c = make_case("largest codes", 20, 24, 256, row.d);
    c.a_value = c.b_value = constant(448);
    c.problem.saturate = row.saturate;
    expect_d_is(c, expect_passes(c, machine), row.wanted);
  }
}

void rows_with_special_codes(TestMachine& machine) {
  for (const DType type : {DType::e4m3, DType::e5m2}) {
    for (const DType d : {DType::f32, DType::f16, DType::e4m3, DType::e5m2}) {
      for (const bool saturate : {true, false}) {
        GemmCase c = make_case("special codes", 45, 50, 200, d);
        c.problem.a.type = c.problem.b.type = type;
        c.problem.saturate = saturate;
        c.data = Data::specials;
        expect_passes(c, machine);
        c.name = "all finite codes";
        c.data = Data::codes;
        expect_passes(c, machine);
      }
    }
  }
}

void device_scalars_equal_host_scalars(TestMachine& machine) {
  for (const DType d : {DType::f32, DType::f16, DType::bf16, DType::e4m3}) {
    GemmCase c = make_case("host scalars", 65, 70, 130, d);
    c.problem.alpha = 0.5f;
    c.problem.beta = -0.75f;
    c.problem.scale_a = 4;
    c.problem.scale_b = 0.125f;
    c.problem.scale_d = 2;
    const CaseResult host = expect_passes(c, machine);
    c.name = "device scalars";
    c.device_scalars = true;
    const CaseResult device = expect_passes(c, machine);
    EXPECT_EQ(difference(d, host.d, device.d), "");
  }
}

void in_place(TestMachine& machine) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (const Layout layout : {Layout::row_major, Layout::column_major}) {
      for (const StoreKind store : {StoreKind::tma, StoreKind::direct}) {
        GemmCase c = make_case("C is D", 72, 104, 150, type);
        c.problem.c.type = type;
        c.problem.c.layout = c.problem.d.layout = layout;
        c.problem.beta = 0.5f;
        pad_for_bulk(c.problem, 1);
        c.options.store = store;
        c.in_place = true;
        expect_passes(c, machine);
      }
    }
  }
}

constexpr Check kChecks[] = {
    {"C07_conversion_to_e5m2", c07_conversion_to_e5m2},
    {"C08_output_scale", c08_output_scale},
    {"C16_alpha_zero", c16_alpha_zero},
    {"alpha_nan_gives_nan", alpha_nan_gives_nan},
    {"beta_zero_reads_no_c", beta_zero_reads_no_c},
    {"infinity_and_nan_follow_ieee", infinity_and_nan_follow_ieee},
    {"zeros_and_subnormals", zeros_and_subnormals},
    {"largest_codes", largest_codes},
    {"rows_with_special_codes", rows_with_special_codes},
    {"device_scalars_equal_host_scalars", device_scalars_equal_host_scalars},
    {"in_place", in_place},
};

}  // namespace

std::span<const Check> value_checks() { return kChecks; }

}  // namespace tilewright::testing
