// The same cases on the current GPU, and its bits beside those of the emulated machine.
#include <cstdio>
#include <vector>

#include "tests/gpu/gpu_test.h"
#include "tests/kernels/checks.h"
#include "tests/kernels/emulated_machine.h"
#include "tests/tensor/tensor_cases.h"

namespace tilewright::testing {
namespace {

class TensorGpu : public GpuTest {};

std::vector<GemmCase> all_cases() {
  return cases_of({tensor_covering_cases, tensor_kernel_cases, tensor_edge_cases, tensor_value_cases});
}

// Each passes only with the bits of the model that the emulated machine is checked against too.
TEST_F(TensorGpu, passes_the_cases_of_the_emulated_machine) { run_on_gpu("tensor cases", all_cases()); }

TEST_F(TensorGpu, passes_without_the_emulated_chips_limits) {
  std::vector<GemmCase> cases = all_cases();
  for (GemmCase& c : cases) c.options.max_sms.reset();
  run_on_gpu("tensor cases on the whole chip", cases);
}

TEST_F(TensorGpu, passes_large_shapes_of_every_kernel) {
  std::vector<GemmCase> cases;
  for (const kernels::TensorKernelId& id : tensor_kernel_ids())
    for (const bool exchanged : {false, true}) {
      GemmCase c = tensor_case(id, "large", 1000, 1544, 648, exchanged);
      c.problem.beta = exchanged ? 0.5f : 0.0f;
      c.runs = 3;
      cases.push_back(std::move(c));
    }
  run_on_gpu("large tensor cases", cases);
}

TEST_F(TensorGpu, has_the_bits_of_the_emulated_machine) {
  size_t equal = 0, count = 0;
  GpuMachine gpu;
  for (GemmCase& c : tensor_covering_cases()) {
    if (count++ % 4 != 0) continue;
    c.runs = 1;
    EmulatedMachine emulated;
    const std::string other =
        difference(c.problem.d.type, expect_passes(c, emulated).d, expect_passes(c, gpu).d);
    EXPECT_EQ(other, "") << describe(c);
    if (other.empty()) ++equal;
  }
  std::printf("bits of both machines: %zu of %zu tensor problems equal\n", equal, (count + 3) / 4);
}

}  // namespace
}  // namespace tilewright::testing
