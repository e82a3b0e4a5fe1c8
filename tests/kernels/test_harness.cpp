// run_case() sees what it claims to see: a machine that does its work and then spoils something is found out.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "tests/kernels/checks.h"
#include "tests/kernels/emulated_machine.h"

namespace tilewright::testing {
namespace {

constexpr size_t kGuard = 64;

/// Spoils memory after each run; `run` counts from 0.
class SpoilingMachine : public EmulatedMachine {
 public:
  using Spoil = std::function<void(const Buffers& buffers, int run)>;
  explicit SpoilingMachine(Spoil spoil) : spoil_(std::move(spoil)) {}

  size_t guard_bytes() const override { return kGuard; }
  Status run(const Plan& plan, const Buffers& buffers) override {
    Status failed = EmulatedMachine::run(plan, buffers);
    spoil_(buffers, count_++);
    return failed;
  }

 private:
  Spoil spoil_;
  int count_ = 0;
};

// 20 x 20 of f32 in rows of 24.
GemmCase padded_case() {
  GemmCase c = make_case("harness", 20, 20, 64);
  c.problem.d.ld = 24;
  return c;
}

void expect_found(const GemmCase& c, const char* sentence, const SpoilingMachine::Spoil& spoil) {
  SpoilingMachine machine(spoil);
  const CaseResult result = run_case(c, machine);
  EXPECT_NE(result.failure.find(sentence), std::string::npos) << sentence << ": " << result.failure;
}

/// Changes the lowest bit of the mantissa of element (1, 2) of D.
void nudge(const Buffers& buffers) {
  auto* d = static_cast<uint32_t*>(buffers.d);
  d[24 + 2] ^= 1;
}

TEST(Harness, passes_what_is_right) {
  SpoilingMachine machine([](const Buffers&, int) {});
  EXPECT_EQ(expect_passes(padded_case(), machine).comparison.failures, 0);
}

TEST(Harness, finds_a_wrong_element) {
  expect_found(padded_case(), "1 of 400 elements are outside their bound, the first at (0, 1, 2)",
               [](const Buffers& b, int) { static_cast<float*>(b.d)[24 + 2] += 100; });
  expect_found(padded_case(), "element (0, 1, 2) has bits 0x", [](const Buffers& b, int) { nudge(b); });
}

TEST(Harness, finds_an_element_that_was_not_written) {
  for (const uint8_t pattern : {0xFF, 0xA5}) {
    expect_found(padded_case(), "elements are outside their bound",
                 [=](const Buffers& b, int) { std::memset(b.d, pattern, 4); });
  }
}

TEST(Harness, finds_a_run_that_differs) {
  GemmCase c = padded_case();
  c.check_model = false;
  expect_found(c, "run 1 gives other bits than the one before: element 22 is", [](const Buffers& b, int run) {
    if (run == 1) nudge(b);
  });
}

// An epilogue's outputs and operands are watched as D is.
TEST(Harness, finds_what_is_wrong_with_an_epilogue) {
  GemmCase c = padded_case();
  c.problem.epilogue = {.bias = BiasKind::column, .activation = Activation::gelu, .amax_d = true};
  c.problem.epilogue.aux = Operand{.type = DType::f32, .ld = 24};
  const auto aux = [](const Buffers& b) { return static_cast<float*>(b.aux); };
  expect_found(c, "D: 1 of 400 elements are outside",
               [](const Buffers& b, int) { static_cast<float*>(b.d)[24] += 1; });
  expect_found(c, "aux: 1 of 400 elements are outside their bound, the first at (0, 1, 2)",
               [&](const Buffers& b, int) { aux(b)[24 + 2] += 100; });
  expect_found(c, "aux: element (0, 1, 2) has bits 0x",
               [&](const Buffers& b, int) { reinterpret_cast<uint32_t*>(b.aux)[24 + 2] ^= 1; });
  expect_found(c, "the padding of aux has changed at byte 80",
               [&](const Buffers& b, int) { aux(b)[20] = 0; });
  expect_found(c, "bytes around aux have changed", [&](const Buffers& b, int) { aux(b)[-1] = 0; });
  expect_found(c, "bytes around amax have changed", [](const Buffers& b, int) { b.amax_d[1] = 0; });
  expect_found(c, "amax is nan without a NaN", [](const Buffers& b, int) { *b.amax_d = std::nanf(""); });
  expect_found(c, " by FP64", [](const Buffers& b, int) { *b.amax_d *= 1.5f; });
  expect_found(c, ", but D has ", [](const Buffers& b, int) { *b.amax_d = std::nextafter(*b.amax_d, 0.0f); });
  expect_found(c, "the bias or bytes around it have changed",
               [](const Buffers& b, int) { *static_cast<uint8_t*>(const_cast<void*>(b.bias)) ^= 1; });
}

TEST(Harness, finds_writes_to_padding_guards_and_inputs) {
  expect_found(padded_case(), "the padding of D has changed at byte 80",
               [](const Buffers& b, int) { static_cast<uint8_t*>(b.d)[20 * 4] = 0; });
  expect_found(padded_case(), "bytes around D have changed",
               [](const Buffers& b, int) { static_cast<uint8_t*>(b.d)[-1] = 0; });
  expect_found(padded_case(), "bytes around D have changed",
               [](const Buffers& b, int) { static_cast<uint8_t*>(b.d)[(19 * 24 + 20) * 4] = 0; });
  expect_found(padded_case(), "A or bytes around it have changed",
               [](const Buffers& b, int) { *const_cast<uint8_t*>(static_cast<const uint8_t*>(b.a)) ^= 1; });
}

}  // namespace
}  // namespace tilewright::testing
