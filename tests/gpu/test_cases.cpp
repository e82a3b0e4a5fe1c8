// The cases of the emulated machine on the GPU, and more of them; the bits of both compared.
#include <cstdio>
#include <string>

#include "tests/gpu/gpu_test.h"
#include "tests/kernels/axes.h"
#include "tests/kernels/checks.h"
#include "tests/kernels/emulated_machine.h"
#include "tests/kernels/random_cases.h"

namespace tilewright::testing {

namespace {

using Cases = GpuTest;

TEST_F(Cases, all_pairs_of_options_meet) { run_on_gpu("covering array", covering_cases(Device::gpu)); }

TEST_F(Cases, values_on_a_small_tile) { run_on_gpu("product of values", value_product(Device::gpu, true)); }

TEST_F(Cases, orders_on_a_small_tile) { run_on_gpu("product of orders", order_product(Device::gpu)); }

TEST_F(Cases, random_problems) { run_on_gpu("random problems", random_cases(Device::gpu, 1, 1500)); }

TEST_F(Cases, larger_random_problems) {
  std::vector<GemmCase> cases = random_cases(Device::gpu, 2, 200, 8);
  for (GemmCase& c : cases) c.check_model = false;
  run_on_gpu("larger random problems", cases);
}

TEST_F(Cases, random_problems_with_scales) {
  run_on_gpu("random problems with scales", random_scaled_cases(Device::gpu, 5, 800));
  std::vector<GemmCase> cases = random_scaled_cases(Device::gpu, 6, 100, 8);
  for (GemmCase& c : cases) c.check_model = false;
  run_on_gpu("larger random problems with scales", cases);
}

TEST_F(Cases, with_known_answers) {
  GpuMachine machine;
  size_t count = 0;
  for (const auto checks : {value_checks(), shape_checks(), scale_checks(), option_checks()}) {
    for (const Check& check : checks) {
      SCOPED_TRACE(check.name);
      check.run(machine);
      ++count;
    }
  }
  std::printf("cases with known answers: %zu groups\n", count);
}

// fast, promoted by every interval, all outputs, ragged.
TEST_F(Cases, have_the_bits_of_the_emulated_machine) {
  constexpr DType kOutputs[] = {DType::f32, DType::f16, DType::bf16, DType::e4m3, DType::e5m2};
  constexpr int64_t kIntervals[] = {0, 1, 2, 4, 8};
  std::vector<GemmCase> cases;
  for (const DType d : kOutputs) {
    for (const int64_t interval : kIntervals) {
      const auto number = static_cast<int64_t>(cases.size());
      GemmCase c = make_case("both machines", 40 + 11 * number, 230 - 7 * number, 150 + 37 * number, d);
      c.problem.accumulation = interval == 0 ? Accumulation::fast : Accumulation::promoted;
      if (interval != 0) c.problem.interval = interval;
      if (interval == 0 || interval == 4) c.problem.a.type = DType::e5m2;
      c.problem.saturate = number % 2 == 0;
      c.data = number % 3 == 0 ? Data::codes : number % 3 == 1 ? Data::normal : Data::specials;
      c.seed = static_cast<uint64_t>(number);
      cases.push_back(c);
    }
  }
  for (GemmCase& c : random_cases(Device::gpu, 3, 15)) cases.push_back(std::move(c));
  for (GemmCase& c : random_scaled_cases(Device::gpu, 7, 25)) cases.push_back(std::move(c));
  for (GemmCase& c : cases) c.runs = 1;
  size_t equal = 0;
  GpuMachine gpu;
  for (const GemmCase& c : cases) {
    EmulatedMachine emulated;
    const std::string other =
        difference(c.problem.d.type, expect_passes(c, emulated).d, expect_passes(c, gpu).d);
    EXPECT_EQ(other, "") << describe(c);
    if (other.empty()) ++equal;
  }
  std::printf("bits of both machines: %zu of %zu problems equal\n", equal, cases.size());
}

}  // namespace
}  // namespace tilewright::testing
