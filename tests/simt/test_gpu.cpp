// The FP32 cases on the current GPU, and its bits beside those of the emulated machine.
#include <cstdio>
#include <vector>

#include "tests/gpu/gpu_test.h"
#include "tests/kernels/checks.h"
#include "tests/kernels/emulated_machine.h"
#include "tests/simt/simt_cases.h"

namespace tilewright::testing {
namespace {

/// Of a chip that has all kernels of the list.
class SimtGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    require_gpu({Chip::sm_100a, Chip::sm_90a}, simt_case("probe", 64, 64, 64).problem);
  }
};

// Each passes only with the bits of the chains that the emulated machine also gives.
TEST_F(SimtGpu, passes_the_cases_of_the_emulated_machine) { run_on_gpu("f32 cases", simt_cases()); }

TEST_F(SimtGpu, passes_without_the_emulated_chips_limits) {
  std::vector<GemmCase> cases = simt_cases();
  for (GemmCase& c : cases) c.options.max_sms.reset();
  run_on_gpu("f32 cases on the whole chip", cases);
}

TEST_F(SimtGpu, passes_large_shapes_of_every_layout) {
  std::vector<GemmCase> cases;
  constexpr Layout kBoth[] = {Layout::row_major, Layout::column_major};
  for (const Layout a : kBoth)
    for (const Layout b : kBoth)
      for (const Layout d : kBoth)
        for (const int64_t odd : {0, 1}) {
          GemmCase c = simt_case("large", 1024 + odd, 640 + 3 * odd, 700 + 5 * odd);
          c.problem.a.layout = a;
          c.problem.b.layout = b;
          c.problem.c.layout = c.problem.d.layout = d;
          c.problem.beta = 1.0f;
          c.options.tile.reset();
          c.options.splits.reset();
          cases.push_back(std::move(c));
        }
  run_on_gpu("large f32 cases", cases);
}

// Every kernel of the list, and the bits of both machines.
TEST_F(SimtGpu, has_the_bits_of_the_emulated_machine) {
  std::vector<GemmCase> cases;
  for (const GemmCase& c : simt_covering_cases()) cases.push_back(c);
  for (const GemmCase& c : simt_shared_cases())
    if (cases.size() % 3 == 0 || c.problem.m > 100) cases.push_back(c);
  size_t equal = 0;
  GpuMachine gpu;
  for (GemmCase& c : cases) {
    c.runs = 1;
    if (!c.options.max_sms) c.options.max_sms = 2;  // the same division on both
    EmulatedMachine emulated;
    const std::string other = difference(DType::f32, expect_passes(c, emulated).d, expect_passes(c, gpu).d);
    EXPECT_EQ(other, "") << describe(c);
    if (other.empty()) ++equal;
  }
  std::printf("bits of both machines: %zu of %zu f32 problems equal\n", equal, cases.size());
}

}  // namespace
}  // namespace tilewright::testing
