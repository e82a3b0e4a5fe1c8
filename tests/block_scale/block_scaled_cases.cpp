#include "tests/block_scale/block_scaled_cases.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "src/block_scale_gemm.h"
#include "src/block_scale_reference.h"
#include "tests/kernels/text.h"

namespace tilewright::testing {
namespace {

using schedule::TileScheduler;

constexpr std::array<TileScheduler, 2> kSchedulers{TileScheduler::static_persistent,
                                                   TileScheduler::cluster_launch_control};

/// Formats, and whether accumulators overlap.
struct Kind {
  BlockFormat a, b;
  bool overlap;

  int64_t tile_k() const { return kernels::block_scaled_tile_k(a, b); }
};

ProblemCase case_of(const Kind& kind, const char* what) {
  ProblemCase c;
  c.a = kind.a, c.b = kind.b;
  c.options.overlap = kind.overlap;
  c.options.max_sms = 2;
  c.name = text(name_of(c.a), " x ", name_of(c.b), kind.overlap ? " overlap " : " single ", what);
  c.scale_a = 0x1p-10f;  // sums of products of the full range do not fit in f16
  return c;
}

/// Six tiles for one pair of CTAs, of one K tile each.
void add_outputs_and_schedulers(const Kind& kind, std::vector<ProblemCase>& cases) {
  for (const DType d : kOutputs)
    for (const TileScheduler scheduler : kSchedulers) {
      ProblemCase c = case_of(kind, "one K tile ");
      c.m = 300, c.n = 520, c.k = kind.tile_k(), c.d = c.c = d;
      c.options.scheduler = scheduler;
      c.seed = cases.size() + 1;
      c.name += text(name_of(d), scheduler == TileScheduler::static_persistent ? " static" : " clc");
      cases.push_back(c);
    }
}

void add_shapes(const Kind& kind, std::vector<ProblemCase>& cases) {
  const auto add = [&](const char* what, const auto& change) {
    ProblemCase c = case_of(kind, what);
    c.seed = cases.size() + 1;
    c.d = c.c = kOutputs[cases.size() % 3];
    c.options.scheduler = kSchedulers[cases.size() % 2];
    change(c);
    cases.push_back(std::move(c));
  };
  const int64_t tile = kind.tile_k(), finest = finest_k(kind.a, kind.b);
  // The ring of stages wraps, and K ends within a K tile.
  add("long K", [&](ProblemCase& c) { c.m = 200, c.n = 264, c.k = 6 * tile + 128; });
  add("batches", [](ProblemCase& c) { c.m = 100, c.n = 200, c.l = 3, c.options.max_sms = 4; });
  add("C52 one A", [](ProblemCase& c) { c.m = 300, c.l = 3, c.shared_a = true; });
  add("C52 one B", [](ProblemCase& c) { c.n = 264, c.l = 2, c.shared_b = true, c.beta = 1; });
  add("an element", [&](ProblemCase& c) { c.m = c.n = 1, c.k = finest; });
  for (const int64_t m : {127, 129, 255, 257})
    add("ragged M", [&](ProblemCase& c) { c.m = m, c.n = 264, c.k = 3 * finest; });
  add("an odd N", [](ProblemCase& c) { c.m = 130, c.n = 259, c.d_padding = 2; });
  add("an odd D and C", [](ProblemCase& c) { c.n = 131, c.d_padding = 3, c.d_offset = 1, c.beta = 1; });
  add("direct stores", [](ProblemCase& c) { c.options.store = StoreKind::direct; });
  add("C", [](ProblemCase& c) { c.m = 300, c.beta = -2, c.alpha = 1.5f, c.scale_d = 2, c.scale_b = 0.75f; });
  add("C, padded", [](ProblemCase& c) { c.n = 264, c.d_padding = 8, c.beta = 0.5f, c.l = 2; });
  add("padded operands", [](ProblemCase& c) { c.operand_padding = 128, c.l = 2; });
  add("no K", [](ProblemCase& c) { c.k = 0, c.beta = 0.5f; });
  add("no K, alpha NaN", [](ProblemCase& c) {
    c.m = 16, c.n = 16, c.k = 0, c.beta = 2, c.alpha = std::numeric_limits<float>::quiet_NaN();
  });
  add("zero alpha", [](ProblemCase& c) { c.alpha = 0, c.beta = 2; });
  add("empty", [](ProblemCase& c) { c.m = 0; });
  for (const ExtremeFactors& factors : kExtremeFactors)
    add(factors.name, [&](ProblemCase& c) { factors.set(c); });
  add("moderate data", [](ProblemCase& c) { c.k = 512, c.init = BlockInit::moderate, c.scale_a = 1; });
}

Comparison judge(const ProblemOperands& o, const void* d) {
  const ProblemCase& c = o.case_;
  const MatrixView source{o.c_matrix.data(), c.c, o.c_ld, 1, c.m * o.c_ld};
  const auto reference = reference_block_scaled(o.a, o.b, source, c.sum_factor(), c.c_factor());
  EXPECT_TRUE(reference) << reference.error().message;
  if (!reference) return {};
  return compare(reference->gemm, reference->d.data(), reference->abs_sum.data(),
                 {d, c.d, o.d_ld, 1, c.m * o.d_ld}, {.accumulation = reference->bound, .saturate = false});
}

}  // namespace

ProblemResult run_block_scaled_case(const ProblemCase& c, TestMachine& machine, bool judged) {
  ProblemResult result = run_problem_case(c, machine, Chip::sm_100a, judged ? Judge(judge) : Judge());
  if (!result.failure.empty()) return result;
  const PlanInfo& info = result.info;
  if (info.path != "tcgen05" || info.overlap != c.options.overlap || info.scheduler != c.options.scheduler)
    result.failure = text(c.name, ": planned is ", info.kernel, " (", info.path, ")\n");
  return result;
}

std::vector<ProblemCase> block_scaled_cases() {
  std::vector<ProblemCase> cases;
  for (const bool overlap : {true, false})
    for (const auto& [a, b] : kFormatPairs) {
      add_outputs_and_schedulers({a, b, overlap}, cases);
      add_shapes({a, b, overlap}, cases);
    }
  return cases;
}

void expect_scale_padding_unread(BlockFormat format, TestMachine& machine) {
  for (const int64_t m : {1, 17, 32}) {
    std::vector<uint8_t> first;
    for (const uint8_t padding : {uint8_t{0x7F}, uint8_t{0x7E}, uint8_t{0xFF}, uint8_t{0x00}}) {
      ProblemCase c = case_of({format, format, true}, "scale padding");
      c.m = m, c.n = 256, c.k = 512 + (is_fp4(format) ? 64 : 32);
      c.scale_padding = padding;
      const ProblemResult result = run_block_scaled_case(c, machine);
      ASSERT_EQ(result.failure, "") << "padding " << int{padding};
      if (first.empty()) first = result.d;
      EXPECT_EQ(result.d, first) << c.name << ' ' << int{padding};
    }
  }
}

void expect_one_result(BlockFormat a, BlockFormat b, TestMachine& machine) {
  std::vector<uint8_t> first;
  for (const bool overlap : {true, false})
    for (const TileScheduler scheduler : kSchedulers)
      for (const bool whole_chip : {false, true}) {
        ProblemCase c = case_of({a, b, overlap}, "one result");
        c.m = 300, c.n = 520, c.k = 640, c.d = c.c = DType::f32, c.beta = 1.5f, c.runs = 1;
        c.options.scheduler = scheduler;
        if (whole_chip) c.options.max_sms.reset();
        const ProblemResult result = run_block_scaled_case(c, machine, false);
        ASSERT_EQ(result.failure, "");
        if (first.empty()) first = result.d;
        EXPECT_EQ(result.d, first) << c.name;
      }
}

void expect_large_is_right(const ProblemCase& c, TestMachine& machine) {
  expect_samples_are_right(c, machine, run_block_scaled_case, block_scaled_bound(c.a, c.b, c.k),
                           [packed = is_fp4(c.a) && is_fp4(c.b)](const BlockScaledTensor& t, int64_t batch,
                                                                 int64_t line, int64_t k) {
                             return block_scaled_magnitude(t, batch, line, k, packed);
                           });
}

void expect_zeros_cost_no_bits(TestMachine& machine) {
  for (const ProblemCase& c : data_and_zeros_cases())
    expect_samples_are_right(c, machine, run_block_scaled_case, block_scaled_bound(c.a, c.b, c.k),
                             value_magnitude);
}

}  // namespace tilewright::testing
