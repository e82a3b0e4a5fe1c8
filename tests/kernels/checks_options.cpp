// Accumulation, promotion, and the choices that must not change a bit.
#include <gtest/gtest.h>

#include "tests/kernels/checks.h"
#include "tests/kernels/text.h"

namespace tilewright::testing {
namespace {

// One product of 65536, then 64 MMAs of 32 products 1/8: what is lost tells the promotion intervals apart.
void c02_interval_is_told_by_the_sum(TestMachine& machine) {
  const struct {
    int64_t interval;  // 0: fast
    double wanted;
  } rows[] = {{0, 65536}, {1, 65792}, {4, 65780}, {8, 65764}, {16, 65732}};
  for (const auto& row : rows) {
    GemmCase c = make_case("C02", 40, 48, 2080);
    if (row.interval == 0) {
      c.problem.accumulation = Accumulation::fast;
    } else {
      c.problem.interval = row.interval;
    }
    const auto value = [](int64_t k, double rest) { return k == 0 ? 256.0 : k < 32 ? 0.0 : rest; };
    c.a_value = [=](int64_t, int64_t, int64_t k) { return value(k, 0.125); };
    c.b_value = [=](int64_t, int64_t k, int64_t) { return value(k, 1); };
    c.runs = 1;
    expect_d_is(c, expect_passes(c, machine), row.wanted);
  }
}

void c02_ones(TestMachine& machine) {
  for (const bool fast : {false, true}) {
    GemmCase c = make_case("ones", 20, 24, 1 << 15);
    c.data = Data::ones;
    c.problem.accumulation = fast ? Accumulation::fast : Accumulation::promoted;
    c.runs = 1;
    const CaseResult result = expect_passes(c, machine);
    if (fast) {
      EXPECT_LT(d_at(c, result, 0), 1 << 15);
    } else {
      expect_d_is(c, result, 1 << 15);
    }
  }
}

void c04_edges_of_the_interval(TestMachine& machine) {
  constexpr int64_t kLong = int64_t{1} << 50;
  for (const int64_t k : {0, 32, 96, 128, 160, 1024 + 32}) {
    for (const int64_t interval : {int64_t{1}, int64_t{2}, int64_t{4}, int64_t{8}, int64_t{16}, kLong}) {
      GemmCase c = make_case("C04", 33, 40, k);
      c.data = Data::uniform;
      c.problem.interval = interval;
      c.runs = 1;
      const CaseResult result = expect_passes(c, machine);
      const int64_t mmas = (k + 31) / 32;
      EXPECT_EQ(result.info.promotions, (mmas + interval - 1) / interval) << k << ", " << interval;
    }
  }
  for (const int64_t interval : {int64_t{0}, int64_t{-4}, int64_t{3}, int64_t{5}, int64_t{6}}) {
    GemmCase c = make_case("C04 refused", 33, 40, 256);
    c.problem.interval = interval;
    expect_refused(c, machine, "interval.value", text("interval: ", interval).c_str());
  }
}

/// The same problem under other options must give the same bits.
void expect_same_bits(const std::vector<GemmCase>& cases, TestMachine& machine) {
  std::vector<uint8_t> first;
  for (const GemmCase& c : cases) {
    const CaseResult result = expect_passes(c, machine);
    if (first.empty()) first = result.d;
    EXPECT_EQ(difference(c.problem.d.type, first, result.d), "") << describe(c);
  }
}

void choices_change_no_bit(TestMachine& machine) {
  GemmCase c = make_case("choices", 100, 200, 200, DType::f16);
  std::vector<GemmCase> cases{c};
  for (const Shape2 tile :
       {Shape2{64, 64}, Shape2{64, 256}, Shape2{128, 128}, Shape2{128, 192}, Shape2{256, 64}}) {
    for (const Shape2 cluster : {Shape2{1, 1}, Shape2{2, 2}}) {
      c.options.tile = tile;
      c.options.cluster = cluster;
      cases.push_back(c);
    }
  }
  c.options = {};
  c.options.load = LoadKind::copy;
  c.options.store = StoreKind::direct;
  cases.push_back(c);
  for (GemmCase& each : cases) each.runs = 1;
  expect_same_bits(cases, machine);
}

// Lines at a multiple of 8, 4, 2 and 1 bytes, or some of one and some of the other operand: the same bits as
// by TMA. Long enough for K tiles that are neither the first nor the last, and a K that ends within a word.
void copied_lines_of_every_alignment(TestMachine& machine) {
  const struct {
    int64_t base, ld;  // behind 16-byte alignment
  } places[] = {{0, 0}, {8, 8}, {4, 4}, {0, 4}, {12, 8}, {2, 2}, {1, 0}, {0, 1}, {3, 7}};
  std::vector<GemmCase> cases;
  for (const int64_t k : {4 * 128 + 3, 4 * 128 + 4, 3 * 128 + 9}) {
    for (size_t i = 0; i < std::size(places); ++i) {
      GemmCase c = make_case("copied lines", 70, 140, k, DType::f16);
      const auto &a = places[i], &b = places[i * 4 % std::size(places)];
      c.options.load = LoadKind::copy;
      c.options.stages = 2 + static_cast<int64_t>(i % 3);
      c.problem.a.ld = 4 * 128 + 16 + a.ld;
      c.problem.b.ld = 4 * 128 + 16 + b.ld;
      c.offset.a = a.base;
      c.offset.b = b.base;
      c.runs = 1;
      cases.push_back(c);
    }
    GemmCase whole = make_case("copied lines", 70, 140, k, DType::f16);
    whole.problem.a.ld = whole.problem.b.ld = 4 * 128 + 16;
    whole.runs = 1;
    cases.push_back(whole);
    expect_same_bits(cases, machine);
    cases.clear();
  }
}

// C94: the limit holds, and only changes how tiles are shared out.
void c94_multiprocessor_limit(TestMachine& machine) {
  GemmCase c = make_case("C94", 150, 200, 100);
  c.options.tile = Shape2{64, 64};
  std::vector<GemmCase> cases;
  for (const int64_t sms : {1, 2, 3, 5, 1000}) {
    for (const Shape2 cluster : {Shape2{1, 1}, Shape2{2, 1}, Shape2{2, 2}}) {
      c.options.max_sms = sms;
      c.options.cluster = cluster;
      const int64_t ctas = cluster.m * cluster.n;
      if (sms < ctas) {
        expect_refused(c, machine, "cluster.resident", text(" on ", sms, " multiprocessors").c_str());
        continue;
      }
      const Expected<Plan> planned = plan(planned_problem(c), planned_options(c, machine.device()));
      ASSERT_TRUE(planned) << planned.error().message;
      EXPECT_LE(planned->info().grid_ctas, sms);
      EXPECT_EQ(planned->info().grid_ctas % ctas, 0);
      c.runs = 1;
      cases.push_back(c);
    }
  }
  expect_same_bits(cases, machine);
}

constexpr Check kChecks[] = {
    {"C02_interval_is_told_by_the_sum", c02_interval_is_told_by_the_sum},
    {"C02_ones", c02_ones},
    {"C04_edges_of_the_interval", c04_edges_of_the_interval},
    {"choices_change_no_bit", choices_change_no_bit},
    {"copied_lines_of_every_alignment", copied_lines_of_every_alignment},
    {"C94_multiprocessor_limit", c94_multiprocessor_limit},
};

}  // namespace

std::span<const Check> option_checks() { return kChecks; }

}  // namespace tilewright::testing
