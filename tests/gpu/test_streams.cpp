// Runs beside and behind each other: streams, threads, graphs, dependent launches.
#include <cstdio>
#include <thread>

#include "tests/gpu/gpu_test.h"
#include "tests/kernels/checks.h"

namespace tilewright::testing {
namespace {

using Streams = GpuTest;

/// Operands of ones in a machine's memory, D of zeros.
struct Ones {
  void *a, *b, *d;
  std::vector<uint8_t> zeros;

  Ones(GpuMachine& machine, int64_t m, int64_t n, int64_t k) : zeros(static_cast<size_t>(m * n * 4), 0) {
    const std::vector<uint8_t> codes(static_cast<size_t>(std::max(m, n) * k), 0x38);  // 1 in e4m3
    a = machine.place(codes, "A", false);
    b = machine.place(codes, "B", false);
    d = machine.place(zeros, "D", true);
  }
  Buffers buffers() const { return {.a = a, .b = b, .c = d, .d = d}; }
};

/// Checks that all of D is `value`.
void expect_d(GpuMachine& machine, const Ones& ones, float value) {
  std::vector<float> d(ones.zeros.size() / 4);
  const Status read = machine.download({reinterpret_cast<uint8_t*>(d.data()), ones.zeros.size()}, ones.d);
  ASSERT_FALSE(read) << read->message;
  for (size_t i = 0; i < d.size(); ++i) ASSERT_EQ(d[i], value) << "element " << i;
}

/// D = A B + D of ones.
Problem accumulating(int64_t m, int64_t n, int64_t k) {
  Problem p{.m = m, .n = n, .k = k};
  p.c.type = p.d.type = DType::f32;
  p.beta = 1;
  return p;
}

// Each run reads what the one before it wrote, while that one may still be running: with a tile for each CTA,
// with several, and with so many that the next run begins last.
TEST_F(Streams, runs_in_a_row_see_each_others_results) {
  constexpr int kRuns = 50;
  struct Size {
    int64_t m, k, sms;
  };
  for (const auto [m, k, sms] :
       {Size{64, 256, 132}, {640, 256, 132}, {3000, 256, 132}, {3000, 256, 5}, {3000, 4096, 2}}) {
    const int64_t n = 512;
    for (const bool dependent : {true, false}) {
      GpuMachine machine;
      const Ones ones(machine, m, n, k);
      Options options;
      options.device = Device::gpu;
      options.dependent_launch = dependent;
      options.max_sms = sms;
      const Expected<Plan> planned = plan(accumulating(m, n, k), options);
      ASSERT_TRUE(planned) << planned.error().message;
      for (int i = 0; i < kRuns; ++i) ASSERT_FALSE(planned->run(ones.buffers(), machine.stream()));
      ASSERT_FALSE(machine.synchronize());
      expect_d(machine, ones, static_cast<float>(kRuns * k));
    }
  }
}

TEST_F(Streams, a_run_is_one_node_of_a_graph) {
  constexpr int kLaunches = 5;
  const int64_t m = 500, n = 512, k = 384;
  GpuMachine machine;
  const Ones ones(machine, m, n, k);
  Options options;
  options.device = Device::gpu;
  const Expected<Plan> planned = plan(accumulating(m, n, k), options);
  ASSERT_TRUE(planned) << planned.error().message;
  ASSERT_EQ(cudaStreamBeginCapture(machine.stream(), cudaStreamCaptureModeGlobal), cudaSuccess);
  const Status run = planned->run(ones.buffers(), machine.stream());
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(machine.stream(), &graph), cudaSuccess);
  ASSERT_FALSE(run) << run->message;
  size_t nodes = 0;
  ASSERT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 1u);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  for (int i = 0; i < kLaunches; ++i) ASSERT_EQ(cudaGraphLaunch(executable, machine.stream()), cudaSuccess);
  ASSERT_FALSE(machine.synchronize());
  expect_d(machine, ones, static_cast<float>(kLaunches * k));
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}

// Kernels with more and less shared memory, from several threads at once.
TEST_F(Streams, C95_threads_share_plans_and_kernels) {
  std::vector<GemmCase> cases;
  for (int repeat = 0; repeat < 16; ++repeat) {
    for (const int64_t stages : {2, 3, 4}) {
      GemmCase c = make_case("threads", 300, 260, 640, DType::f16);
      c.options.tile = Shape2{128, 128};
      c.options.stages = stages;
      cases.push_back(c);
    }
  }
  run_on_gpu("the same kernel from threads", cases);

  const int64_t m = 384, n = 256, k = 512;
  Options options;
  options.device = Device::gpu;
  const Expected<Plan> planned = plan(accumulating(m, n, k), options);
  ASSERT_TRUE(planned) << planned.error().message;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      GpuMachine machine;
      const Ones ones(machine, m, n, k);
      for (int run = 0; run < 20; ++run) EXPECT_FALSE(planned->run(ones.buffers(), machine.stream()));
      EXPECT_FALSE(machine.synchronize());
      expect_d(machine, ones, static_cast<float>(20 * k));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("one plan in 8 streams: 160 runs\n");
}

}  // namespace
}  // namespace tilewright::testing
