// Warpgroup MMA: operand layouts, register fragments, groups, and what happens to registers in flight.
#include <array>
#include <vector>

#include "emulator/src/swizzle.h"
#include "tests/emulator/micro.h"
#include "tilewright/numeric/float16.h"
#include "tilewright/numeric/float8.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kA = kSharedBase;          // operand A: at most 64 x 32 bytes in rows of 128
constexpr uint32_t kB = kSharedBase + 16384;  // operand B
constexpr uint32_t kRows = 64;

uint64_t descriptor(uint32_t start, uint32_t leading, uint32_t stride, Swizzle swizzle) {
  constexpr uint64_t kCodes[] = {0, 3, 2, 1};  // none, 32, 64, 128 bytes
  return (start & 0x3FFFF) >> 4 | uint64_t{leading >> 4} << 16 | uint64_t{stride >> 4} << 32 |
         kCodes[static_cast<int>(swizzle)] << 62;
}

int small(uint32_t i) { return static_cast<int>(i * 2654435761u >> 29) - 3; }
int a_at(uint32_t row, uint32_t k) { return small(row * 64 + k); }
int b_at(uint32_t column, uint32_t k) { return small(7777 + column * 64 + k); }

uint32_t bytes_of(MmaType type) {
  return type == MmaType::tf32 ? 4 : type == MmaType::f16 || type == MmaType::bf16 ? 2 : 1;
}

// The code of a small integer, in the low bytes.
uint32_t encode(MmaType type, int value) {
  const auto f = static_cast<float>(value);
  switch (type) {
    case MmaType::f16:
      return f16(f).bits;
    case MmaType::bf16:
      return bf16(f).bits;
    case MmaType::tf32:
      return __builtin_bit_cast(uint32_t, f);
    case MmaType::e4m3:
      return e4m3(f).bits;
    case MmaType::e5m2:
      return e5m2(f).bits;
    default:
      return static_cast<uint8_t>(value);
  }
}

// Where the element (row, k) of an operand goes, relative to its start, and the descriptor's distances.
struct OperandLayout {
  Swizzle swizzle = Swizzle::b128;
  bool mn_major = false;
  uint32_t leading = 0, stride = 0;

  uint32_t offset(uint32_t row, uint32_t k, uint32_t element) const {
    const uint32_t width = swizzle_width(swizzle);
    if (!mn_major) {
      const uint32_t byte = k * element;
      const uint32_t inside = row / 8 * stride + row % 8 * width;
      return swizzle == Swizzle::none ? inside + byte / 16 * leading + byte % 16 : inside + byte;
    }
    const uint32_t slab = width / element;
    if (swizzle == Swizzle::none) return row / 8 * stride + k / 8 * leading + k % 8 * 16 + row % 8 * 2;
    return row / slab * leading + k / 8 * stride + k % 8 * width + row % slab * element;
  }
};

OperandLayout k_major(Swizzle swizzle) {
  if (swizzle == Swizzle::none) return {swizzle, false, 128, 256};
  return {swizzle, false, 16, 8 * swizzle_width(swizzle)};
}
OperandLayout mn_major(Swizzle swizzle, uint32_t rows) {
  const uint32_t width = swizzle_width(swizzle);
  if (swizzle == Swizzle::none) return {swizzle, true, rows / 8 * 128, 128};
  return {swizzle, true, 16 * width, 8 * width};
}

void fill_operand(uint32_t start, uint32_t rows, MmaType type, const OperandLayout& layout,
                  int (*value)(uint32_t, uint32_t)) {
  const uint32_t element = bytes_of(type), depth = 32 / element;
  for (uint32_t i = thread_id(); i < rows * depth; i += 128) {
    const uint32_t row = i / depth, k = i % depth;
    const uint32_t code = encode(type, value(row, k));
    store_shared(swizzled(start + layout.offset(row, k, element), layout.swizzle), &code, element);
  }
}

struct Product {
  WgmmaInstruction instruction;
  OperandLayout a, b;
  bool a_in_registers = false;
  std::vector<float>* result;  // [row][column]

  // One instruction on fresh accumulators, one that adds to them.
  void operator()() const {
    const auto n = static_cast<uint32_t>(instruction.n);
    const uint32_t element = bytes_of(instruction.a), depth = 32 / element;
    fill_operand(kA, kRows, instruction.a, a, a_at);
    fill_operand(kB, n, instruction.b, b, b_at);
    fence_proxy_async(ProxyFence::shared_cta);
    sync_threads();
    uint32_t a_registers[4] = {};
    for (uint32_t r = 0; a_in_registers && r < 4; ++r) {
      for (uint32_t e = 0; e < 4 / element; ++e) {
        const uint32_t row = 16 * warp_id() + lane_id() / 4 + 8 * (r % 2);
        const uint32_t k = 4 / element * (lane_id() % 4) + e + depth / 2 * (r / 2);
        a_registers[r] |= encode(instruction.a, a_at(row, k)) << (8 * element * e);
      }
    }
    std::array<uint32_t, 128> d{};
    wgmma_fence();
    for (const bool accumulate : {false, true}) {
      wgmma(instruction, d.data(), a_in_registers ? a_registers : nullptr,
            descriptor(kA, a.leading, a.stride, a.swizzle), descriptor(kB, b.leading, b.stride, b.swizzle),
            accumulate);
    }
    wgmma_commit();
    wgmma_wait(0);
    for (uint32_t i = 0; i < n / 2; ++i) {
      const uint32_t row = 16 * warp_id() + lane_id() / 4 + 8 * (i / 2 % 2);
      const uint32_t column = 8 * (i / 4) + 2 * (lane_id() % 4) + i % 2;
      float& out = (*result)[row * n + column];
      switch (instruction.d) {
        case AccumulatorType::f32:
          out = __builtin_bit_cast(float, d[i]);
          break;
        case AccumulatorType::s32:
          out = static_cast<float>(static_cast<int32_t>(d[i]));
          break;
        case AccumulatorType::f16:
          out = static_cast<float>(f16::from_bits(d[i / 2] >> 16 * (i % 2) & 0xFFFF));
          break;
      }
    }
  }
};

class Wgmma : public Emulator {
 protected:
  void expect_product(Product product, const MachineOptions& options = {}) {
    const auto n = static_cast<uint32_t>(product.instruction.n);
    std::vector<float> result(kRows * n, -1);
    product.result = &result;
    const LaunchResult launched = run(options, {.shared_bytes = 65536}, product);
    ASSERT_TRUE(launched.reports.empty()) << launched.reports[0].message;
    EXPECT_EQ(launched.statistics.count(Op::wgmma), 2u);
    const uint32_t depth = 32 / bytes_of(product.instruction.a);
    for (uint32_t row = 0; row < kRows; ++row) {
      for (uint32_t column = 0; column < n; ++column) {
        int sum = 0;
        for (uint32_t k = 0; k < depth; ++k) sum += a_at(row, k) * b_at(column, k);
        ASSERT_EQ(result[row * n + column], static_cast<float>(2 * sum)) << row << ' ' << column;
      }
    }
  }
};

WgmmaInstruction instruction(int n, MmaType type, AccumulatorType d = AccumulatorType::f32) {
  return {.n = n, .a = type, .b = type, .d = d};
}

TEST_F(Wgmma, EveryTypeAndSwizzleMultiplies) {
  for (const Swizzle swizzle : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128}) {
    for (const MmaType type : {MmaType::f16, MmaType::bf16, MmaType::tf32, MmaType::e4m3, MmaType::e5m2}) {
      expect_product({instruction(64, type), k_major(swizzle), k_major(swizzle), false, nullptr});
    }
    expect_product({instruction(64, MmaType::s8, AccumulatorType::s32), k_major(swizzle), k_major(swizzle),
                    false, nullptr});
  }
  for (const int n : {8, 24, 256}) {
    expect_product(
        {instruction(n, MmaType::e4m3), k_major(Swizzle::b128), k_major(Swizzle::b128), false, nullptr});
  }
  expect_product({instruction(64, MmaType::f16, AccumulatorType::f16), k_major(Swizzle::b128),
                  k_major(Swizzle::b128), false, nullptr});
}

TEST_F(Wgmma, MnMajorOperandsMultiply) {
  for (const Swizzle swizzle : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128}) {
    WgmmaInstruction both = instruction(128, MmaType::bf16);
    both.transpose_a = both.transpose_b = true;
    expect_product({both, mn_major(swizzle, 64), mn_major(swizzle, 128), false, nullptr});
    WgmmaInstruction second = instruction(128, MmaType::f16);
    second.transpose_b = true;
    expect_product({second, k_major(swizzle), mn_major(swizzle, 128), false, nullptr});
  }
}

TEST_F(Wgmma, AFromRegistersMultiplies) {
  for (const MmaType type : {MmaType::f16, MmaType::bf16, MmaType::tf32, MmaType::e4m3}) {
    expect_product({instruction(64, type), k_major(Swizzle::b128), k_major(Swizzle::b128), true, nullptr});
  }
}

TEST_F(Wgmma, ResultsDoNotDependOnTheSchedule) {
  for (const MachineOptions& options : schedules()) {
    expect_product(
        {instruction(64, MmaType::e4m3), k_major(Swizzle::b128), k_major(Swizzle::b128), false, nullptr},
        options);
    expect_product(
        {instruction(64, MmaType::bf16), k_major(Swizzle::b128), k_major(Swizzle::b128), true, nullptr},
        options);
    if (HasFailure()) return;
  }
}

// ---- groups: a ring of two stages that the warpgroup itself fills, one group in flight

struct RingKernel {
  int steps = 5;
  bool read_early = false;

  static constexpr uint32_t kStage = 2048;  // 64 rows of 32 bytes, 32-byte swizzle

  void operator()() const {
    float d[32] = {};
    const WgmmaInstruction mma = {.n = 64, .a = MmaType::e4m3, .b = MmaType::e4m3, .d = AccumulatorType::f32};
    name_shared(kA, kStage, "A", 0);
    name_shared(kA + kStage, kStage, "A", 1);
    for (int step = 0; step < steps; ++step) {
      const uint32_t stage = kA + kStage * static_cast<uint32_t>(step % 2);
      const uint32_t ones = 0x38383838;
      for (uint32_t i = 0; i < 4; ++i) store_shared(stage + 16 * thread_id() + 4 * i, &ones, 4);
      fence_proxy_async(ProxyFence::shared_cta);
      named_barrier_sync(1, 128);
      wgmma_fence();
      const uint64_t operand = descriptor(stage, 16, 256, Swizzle::b32);
      wgmma(mma, d, nullptr, operand, operand, step > 0);
      wgmma_commit();
      wgmma_wait(1);  // the stage before is free
      named_barrier_sync(2, 128);
    }
    if (read_early) {
      EXPECT_NE(d[3], -1.0f);
    }
    wgmma_wait(0);
    for (const float value : d) EXPECT_EQ(value, 32.0f * static_cast<float>(steps));
  }
};

constexpr Grid kRing{.shared_bytes = 8192};
MachineOptions without_arithmetic() {
  MachineOptions options;
  options.arithmetic = false;
  return options;
}

TEST_F(Wgmma, OneGroupInFlightIsClean) { expect_clean(kRing, RingKernel{}); }

// The stage is released while the pending group still reads it.
TEST_F(Wgmma, C74_StageReleasedWhileAGroupReadsIt) {
  using Action = FaultSpec::Action;
  const Report report = expect_fault({ReportKind::overwrite_in_use},
                                     {.op = Op::wgmma_wait,
                                      .action = Action::replace,
                                      .value = 2,
                                      .occurrence = FaultSpec::Occurrence::only_nth,
                                      .nth = 2},
                                     kRing, RingKernel{});
  EXPECT_EQ(report.place, "A");
  EXPECT_NE(report.message.find("wgmma group 2 "), std::string::npos) << report.message;
}

// One synchronisation line left out at a time.
TEST_F(Wgmma, C83_MissingSynchronisationIsFoundWithoutTimingLuck) {
  expect_fault({ReportKind::missing_proxy_fence}, {.op = Op::fence_proxy_async}, kRing, RingKernel{});
  expect_fault({ReportKind::missing_proxy_fence}, {.op = Op::fence_proxy_async, .thread = 99}, kRing,
               RingKernel{});
  expect_fault({ReportKind::missing_wgmma_fence}, {.op = Op::wgmma_fence}, kRing, RingKernel{});
  expect_fault({ReportKind::deadlock}, {.op = Op::named_barrier_sync, .thread = 5}, kRing, RingKernel{});
  expect_fault({ReportKind::overwrite_in_use}, {.op = Op::wgmma_wait}, kRing, RingKernel{});
  expect_fault(
      {ReportKind::overwrite_in_use, ReportKind::exit_with_pending_work, ReportKind::accumulator_in_flight},
      {.op = Op::wgmma_commit}, kRing, RingKernel{});
  expect_fault({ReportKind::non_uniform}, {.op = Op::wgmma, .thread = 64}, kRing, RingKernel{});
  expect_fault({ReportKind::non_uniform}, {.op = Op::wgmma_commit, .thread = 64}, kRing, RingKernel{});
  // No barrier between the writes of the warpgroup and its wgmma.
  expect_fault({ReportKind::read_before_ready, ReportKind::uninitialised_read, ReportKind::unordered_writes,
                ReportKind::overwrite_in_use},
               {.op = Op::named_barrier_sync}, kRing, RingKernel{});
}

TEST_F(Wgmma, AccumulatorsInFlightAreNotTouched) {
  TILEWRIGHT_NEEDS_ACCESSES();
  expect_report({ReportKind::accumulator_in_flight}, kRing, RingKernel{.read_early = true});
  const FaultSpec last_wait{.op = Op::wgmma_wait, .occurrence = FaultSpec::Occurrence::from_nth, .nth = 5};
  expect_fault({ReportKind::accumulator_in_flight}, last_wait, kRing, RingKernel{});
}

TEST_F(Wgmma, LeavingWithAGroupInFlightIsReported) {
  auto kernel = [] {
    float d[32];
    fill_operand(kA, 64, MmaType::e4m3, k_major(Swizzle::b128), a_at);
    fence_proxy_async(ProxyFence::shared_cta);
    sync_threads();
    wgmma_fence();
    const uint64_t operand = descriptor(kA, 16, 1024, Swizzle::b128);
    wgmma({.n = 64, .a = MmaType::e4m3, .b = MmaType::e4m3, .d = AccumulatorType::f32}, d, nullptr, operand,
          operand, false);
    wgmma_commit();
  };
  expect_report({ReportKind::exit_with_pending_work}, {}, kernel);
}

// An accumulator that ordinary code changed between two wgmmas needs a fence (promotion does that).
TEST_F(Wgmma, TouchedAccumulatorsNeedAFence) {
  TILEWRIGHT_NEEDS_ACCESSES();
  auto kernel = [](bool fence, bool touch) {
    return [fence, touch] {
      float d[32];
      fill_operand(kA, 64, MmaType::e4m3, k_major(Swizzle::b128), a_at);
      fence_proxy_async(ProxyFence::shared_cta);
      sync_threads();
      wgmma_fence();
      const uint64_t operand = descriptor(kA, 16, 1024, Swizzle::b128);
      for (int step = 0; step < 2; ++step) {
        wgmma({.n = 64, .a = MmaType::e4m3, .b = MmaType::e4m3, .d = AccumulatorType::f32}, d, nullptr,
              operand, operand, step != 0);
        wgmma_commit();
        wgmma_wait(0);
        if (touch && step == 0) d[1] *= 2;
        if (fence) wgmma_fence();
      }
    };
  };
  expect_clean({}, kernel(true, true));
  expect_clean({}, kernel(false, false));
  expect_report({ReportKind::missing_wgmma_fence}, {}, kernel(false, true));
}

/// Operands of 64 rows in shared memory, where a wgmma may read them. All threads.
WgmmaInstruction place_bf16() {
  fill_operand(kA, 64, MmaType::bf16, k_major(Swizzle::b128), a_at);
  fill_operand(kB, 64, MmaType::bf16, k_major(Swizzle::b128), b_at);
  fence_proxy_async(ProxyFence::shared_cta);
  sync_threads();
  return {.n = 64, .a = MmaType::bf16, .b = MmaType::bf16, .d = AccumulatorType::f32};
}

// Registers that no wgmma has used yet: what the last fence did not see needs another.
TEST_F(Wgmma, RegistersWrittenSinceTheFenceNeedAnother) {
  TILEWRIGHT_NEEDS_ACCESSES();
  enum class Writes { accumulators, second_accumulators, a_registers, a_by_ldmatrix };
  auto kernel = [](Writes writes, bool fence_again) {
    return [=] {
      const WgmmaInstruction instruction = place_bf16();
      const uint64_t a = descriptor(kA, 16, 1024, Swizzle::b128), b = descriptor(kB, 16, 1024, Swizzle::b128);
      std::array<float, 32> first, second;
      std::array<uint32_t, 4> a_registers;
      wgmma_fence();
      if (writes == Writes::second_accumulators) {
        wgmma(instruction, first.data(), nullptr, a, b, false);
        wgmma_commit();
        wgmma_wait(0);
        second.fill(0);
      }
      if (writes == Writes::accumulators) first.fill(0);
      if (writes == Writes::a_registers) a_registers.fill(thread_id());
      if (writes == Writes::a_by_ldmatrix) ldmatrix(kA + 144 * (lane_id() % 8), a_registers.data(), 4, false);
      asm volatile("" ::"r"(first.data()), "r"(second.data()), "r"(a_registers.data()) : "memory");
      if (fence_again) wgmma_fence();
      const bool in_registers = writes == Writes::a_registers || writes == Writes::a_by_ldmatrix;
      wgmma(instruction, writes == Writes::second_accumulators ? second.data() : first.data(),
            in_registers ? a_registers.data() : nullptr, a, b, !in_registers);
      wgmma_commit();
      wgmma_wait(0);
    };
  };
  const Grid grid{.shared_bytes = 65536};
  for (const Writes writes :
       {Writes::accumulators, Writes::second_accumulators, Writes::a_registers, Writes::a_by_ldmatrix}) {
    expect_clean(grid, kernel(writes, true));
    expect_report({ReportKind::missing_wgmma_fence}, grid, kernel(writes, false));
  }
}

// Variables whose life is over may have been where the accumulators of a first wgmma are now.
TEST_F(Wgmma, AccumulatorsMayTakeThePlaceOfOtherVariables) {
  TILEWRIGHT_NEEDS_ACCESSES();
  expect_clean({.shared_bytes = 65536}, [] {
    const WgmmaInstruction instruction = place_bf16();
    wgmma_fence();
    {
      std::array<float, 32> other;
      other.fill(1);
      asm volatile("" ::"r"(other.data()) : "memory");
    }
    std::array<float, 32> d;
    wgmma(instruction, d.data(), nullptr, descriptor(kA, 16, 1024, Swizzle::b128),
          descriptor(kB, 16, 1024, Swizzle::b128), false);
    wgmma_commit();
    wgmma_wait(0);
  });
}

TEST_F(Wgmma, MatrixLoadsAndStoresDoNotTouchRegistersInFlight) {
  auto kernel = [](bool load, bool wait_first) {
    return [=] {
      fill_operand(kB, 64, MmaType::f16, k_major(Swizzle::b128), b_at);
      fence_proxy_async(ProxyFence::shared_cta);
      sync_threads();
      const uint32_t row = kB + 144 * (lane_id() % 8), free_row = kA + 512 * warp_id() + 16 * lane_id();
      std::array<uint32_t, 16> d;
      std::array<uint32_t, 4> a;
      ldmatrix(row, a.data(), 4, false);
      wgmma_fence();
      wgmma({.n = 64, .a = MmaType::f16, .b = MmaType::f16, .d = AccumulatorType::f16}, d.data(), a.data(), 0,
            descriptor(kB, 16, 1024, Swizzle::b128), false);
      wgmma_commit();
      if (wait_first) wgmma_wait(0);
      load ? ldmatrix(row, a.data(), 4, false) : stmatrix(free_row, d.data(), 4, false);
      wgmma_wait(0);
    };
  };
  const Grid grid{.shared_bytes = 65536};
  for (const bool load : {false, true}) {
    expect_clean(grid, kernel(load, true));
    expect_report({load ? ReportKind::operand_register_in_flight : ReportKind::accumulator_in_flight}, grid,
                  kernel(load, false));
  }
}

// A registers overwritten before the group that reads them was waited for.
TEST_F(Wgmma, OperandRegistersInFlightAreNotOverwritten) {
  TILEWRIGHT_NEEDS_ACCESSES();
  auto kernel = [](bool wait_first) {
    return [wait_first] {
      float d[32];
      uint32_t a[4] = {1, 2, 3, 4};
      fill_operand(kB, 64, MmaType::tf32, k_major(Swizzle::b128), b_at);
      fence_proxy_async(ProxyFence::shared_cta);
      sync_threads();
      wgmma_fence();
      const uint64_t operand = descriptor(kB, 16, 1024, Swizzle::b128);
      wgmma({.n = 64, .a = MmaType::tf32, .b = MmaType::tf32, .d = AccumulatorType::f32}, d, a, 0, operand,
            false);
      wgmma_commit();
      if (wait_first) wgmma_wait(0);
      a[2] = thread_id();
      if (!wait_first) wgmma_wait(0);
      EXPECT_EQ(a[2], thread_id());
    };
  };
  const Grid grid{.shared_bytes = 65536};
  expect_clean(grid, kernel(true));
  expect_report({ReportKind::operand_register_in_flight}, grid, kernel(false));
}

TEST_F(Wgmma, DescriptorsFollowTheRules) {
  const Product product{instruction(64, MmaType::e4m3), k_major(Swizzle::b128), k_major(Swizzle::b128), false,
                        nullptr};
  std::vector<float> result(kRows * 64);
  auto kernel = [&](uint64_t change) {
    return [&, change] {
      float d[32];
      fill_operand(kA, kRows, MmaType::e4m3, product.a, a_at);
      fence_proxy_async(ProxyFence::shared_cta);
      sync_threads();
      wgmma_fence();
      const uint64_t operand = descriptor(kA, 16, 1024, Swizzle::b128);
      wgmma(product.instruction, d, nullptr, operand ^ change, operand, false);
      wgmma_commit();
      wgmma_wait(0);
    };
  };
  expect_clean({}, kernel(0));
  expect_report({ReportKind::descriptor}, {}, kernel(uint64_t{1} << 49));  // base offset
  expect_report({ReportKind::descriptor}, {}, kernel(uint64_t{1} << 46));  // set on later chips only
  expect_report({ReportKind::descriptor}, {}, kernel(0x10));               // 256 bytes into an atom
  expect_report({ReportKind::uninitialised_read}, {}, kernel(0x2));        // K past what was written
  auto differing = [&] {
    float d[32];
    wgmma_fence();
    wgmma(product.instruction, d, nullptr, descriptor(kA + (warp_id() << 10), 16, 1024, Swizzle::b128), 0,
          false);
  };
  expect_report({ReportKind::non_uniform}, {}, differing);
}

TEST_F(Wgmma, RefusesWhatDoesNotExist) {
  for (WgmmaInstruction wrong :
       {WgmmaInstruction{.n = 12, .a = MmaType::f16, .b = MmaType::f16, .d = AccumulatorType::f32},
        {.n = 264, .a = MmaType::f16, .b = MmaType::f16, .d = AccumulatorType::f32},
        {.n = 40, .a = MmaType::s8, .b = MmaType::s8, .d = AccumulatorType::s32},
        {.n = 64, .a = MmaType::f16, .b = MmaType::bf16, .d = AccumulatorType::f32},
        {.n = 64, .a = MmaType::bf16, .b = MmaType::bf16, .d = AccumulatorType::f16},
        {.n = 64, .a = MmaType::s8, .b = MmaType::s8, .d = AccumulatorType::f32},
        {.n = 64, .a = MmaType::e4m3, .b = MmaType::e4m3, .d = AccumulatorType::f32, .transpose_b = true}}) {
    expect_report(
        {ReportKind::invalid_argument}, {},
        [wrong] {
          float d[128];
          wgmma_fence();
          wgmma(wrong, d, nullptr, 0, 0, false);
        },
        without_arithmetic());
  }
}

}  // namespace
}  // namespace tilewright::emulator
