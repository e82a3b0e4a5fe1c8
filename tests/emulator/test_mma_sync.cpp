// mma.sync as an operation of a whole warp: what its lanes may do, and what is not an instruction.
#include "tests/emulator/micro.h"
#include "tilewright/arch/mma_sync.h"

namespace tilewright::emulator {
namespace {

using MmaSync = Emulator;

TEST_F(MmaSync, ChainsOnItsOwnAccumulators) {
  // Each element of A and B is 1: every MMA adds k to all of D.
  float seen[32][4] = {};
  auto kernel = [&] {
    const uint32_t one = 0x3C003C00, a[4] = {one, one, one, one}, b[2] = {one, one};
    float d[4] = {0.5f, 0.5f, 0.5f, 0.5f};
    for (int i = 0; i < 3; ++i) arch::mma_sync<arch::m16n8k16, f16, f16>(d, a, b, d);
    for (int i = 0; i < 4; ++i) seen[lane_id()][i] = d[i];
  };
  expect_clean({.threads = 64}, kernel, [&] {
    for (const auto& lane : seen) {
      for (const float value : lane) EXPECT_EQ(value, 48.5f);
    }
    EXPECT_EQ(machine_.last_result().statistics.count(Op::mma_sync), 2u * 3) << "one a warp";
  });
}

TEST_F(MmaSync, StoresOnesWithoutArithmetic) {
  double seen[4] = {};
  auto kernel = [&] {
    const double a[8] = {}, b[4] = {};
    double d[4] = {};
    arch::mma_sync<arch::m16n8k16, double, double>(d, a, b, d);
    for (int i = 0; i < 4; ++i) seen[i] = d[i];
  };
  expect_clean({.threads = 32}, kernel, [&] { EXPECT_EQ(seen[0] + seen[1] + seen[2] + seen[3], 4); },
               {.arithmetic = false});
}

TEST_F(MmaSync, NeedsAllLanesAtTheSameInstruction) {
  auto kernel = [] {
    const uint32_t a[4] = {}, b[2] = {};
    int32_t d[4] = {};
    arch::mma_sync<arch::m16n8k32, int8_t, int8_t>(d, a, b, d);
  };
  expect_clean({.threads = 32}, kernel);
  expect_fault({ReportKind::non_uniform}, {.op = Op::mma_sync, .thread = 7}, {.threads = 32}, kernel);
  expect_report({ReportKind::non_uniform}, {.threads = 24}, kernel);
  const Report report = expect_report({ReportKind::non_uniform}, {.threads = 32}, [] {
    const uint32_t a[4] = {}, b[2] = {};
    int32_t d[4] = {};
    if (lane_id() < 16) {
      arch::mma_sync<arch::m16n8k32, int8_t, int8_t>(d, a, b, d);
    } else {
      arch::mma_sync<arch::m16n8k32, int8_t, uint8_t>(d, a, b, d);
    }
  });
  EXPECT_NE(report.message.find("other types"), std::string::npos) << report.message;
}

TEST_F(MmaSync, RefusesWhatIsNoInstruction) {
  const auto refused = [&](MmaSyncInstruction instruction) {
    expect_report({ReportKind::invalid_argument}, {.threads = 32}, [instruction] {
      uint32_t d[4] = {}, a[4] = {}, b[2] = {};
      mma_sync(instruction, d, a, b);
    });
  };
  refused({32, MmaType::f16, MmaType::f16, AccumulatorType::f32});
  refused({16, MmaType::f16, MmaType::bf16, AccumulatorType::f32});
  refused({16, MmaType::bf16, MmaType::bf16, AccumulatorType::f16});
  refused({16, MmaType::s8, MmaType::s8, AccumulatorType::f32});
  refused({16, MmaType::f16, MmaType::f16, AccumulatorType::f32, true});
  expect_report({ReportKind::invalid_argument}, {.threads = 32}, [] {
    double d[4] = {}, a[8] = {}, b[4] = {};
    mma_sync_f64(8, 16, d, a, b);
  });
}

}  // namespace
}  // namespace tilewright::emulator
