// The same cases on the current GPU, and its results beside those of the emulated machine.
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "tests/fused/fused_cases.h"
#include "tests/gpu/gpu_test.h"
#include "tests/kernels/checks.h"
#include "tests/kernels/emulated_machine.h"

namespace tilewright::testing {
namespace {

class FusedGpu : public GpuTest {};

std::vector<GemmCase> all_cases() {
  return cases_of({fused_covering_cases, fused_edge_cases, fused_value_cases});
}

TEST_F(FusedGpu, passes_the_cases_of_the_emulated_machine) { run_on_gpu("fused cases", all_cases()); }

TEST_F(FusedGpu, passes_without_the_emulated_chips_limits) {
  std::vector<GemmCase> cases = all_cases();
  for (GemmCase& c : cases) c.options.max_sms.reset();
  run_on_gpu("fused cases on the whole chip", cases);
}

TEST_F(FusedGpu, passes_large_shapes_of_every_kernel) {
  std::vector<GemmCase> cases;
  for (const kernels::TensorKernelId& id : fused_kernel_ids())
    for (const bool exchanged : {false, true}) {
      GemmCase c = fused_case(id, "large", 1000, 1552, 656, exchanged);
      c.options.max_sms.reset();
      c.problem.beta = exchanged ? 0.5f : 0.0f;
      c.problem.epilogue = {.bias = exchanged ? BiasKind::row : BiasKind::column,
                            .activation = exchanged ? Activation::relu : Activation::gelu,
                            .amax_d = true};
      c.problem.epilogue.aux = aux_of(c.problem, DType::bf16);
      c.runs = 3;
      cases.push_back(std::move(c));
    }
  run_on_gpu("large fused cases", cases);
}

/// Runs out of a CUDA graph, three times.
class GraphMachine : public GpuMachine {
 public:
  Status run(const Plan& plan, const Buffers& buffers) override {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    if (Status s = cuda_status(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal))) return s;
    const Status failed = plan.run(buffers, stream());
    const Status ended = cuda_status(cudaStreamEndCapture(stream(), &graph));
    if (failed) return failed;
    if (ended) return ended;
    if (Status s = cuda_status(cudaGraphInstantiate(&executable, graph, 0))) return s;
    for (int i = 0; i < 3; ++i) {
      // A maximum that the graph does not set anew would be NaN.
      if (Status s = cuda_status(cudaMemsetAsync(buffers.amax_d, 0xFF, sizeof(float), stream()))) return s;
      if (Status s = cuda_status(cudaGraphLaunch(executable, stream()))) return s;
    }
    if (Status s = synchronize()) return s;
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    return {};
  }
};

// amax is set anew by each run, in a graph too.
TEST_F(FusedGpu, runs_out_of_graphs) {
  GraphMachine machine;
  for (const DType type : {DType::bf16, DType::e4m3}) {
    GemmCase c = fused_case(small_fused_kernel(type, DType::f32), "graph", 300, 400, 256);
    c.options.max_sms.reset();
    c.problem.epilogue = {.bias = BiasKind::row, .activation = Activation::gelu, .amax_d = true};
    expect_passes(c, machine);
  }
}

// Without gelu the bits are the same; with it they differ by its stated error at most, which the cases check.
TEST_F(FusedGpu, has_the_bits_of_the_emulated_machine) {
  size_t equal = 0, count = 0;
  GpuMachine gpu;
  for (GemmCase& c : fused_covering_cases()) {
    if (c.problem.epilogue.activation == Activation::gelu) continue;
    c.runs = 1;
    EmulatedMachine emulated;
    const CaseResult there = expect_passes(c, emulated), here = expect_passes(c, gpu);
    std::string other = difference(c.problem.d.type, there.d, here.d);
    if (other.empty() && c.problem.epilogue.aux)
      other = difference(c.problem.epilogue.aux->type, there.aux, here.aux);
    const bool same_amax = there.amax == here.amax || (std::isnan(there.amax) && std::isnan(here.amax));
    EXPECT_EQ(other, "") << describe(c);
    EXPECT_TRUE(same_amax) << describe(c) << ": " << there.amax << " and " << here.amax;
    if (other.empty() && same_amax) ++equal;
    ++count;
  }
  std::printf("bits of both machines: %zu of %zu fused problems equal\n", equal, count);
}

}  // namespace
}  // namespace tilewright::testing
