#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

#include "tests/gpu/gpu_test.h"
#include "tests/kernels/checks.h"

namespace tilewright::testing {

void run_on_gpu(const char* group, const std::vector<GemmCase>& cases) {
  std::atomic<size_t> next{0}, passed{0};
  const auto work = [&] {
    GpuMachine machine;
    for (size_t i = next++; i < cases.size(); i = next++) {
      const CaseResult result = expect_passes(cases[i], machine);
      if (!result.refusal && result.failure.empty()) ++passed;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::clamp(std::thread::hardware_concurrency(), 1u, 16u); ++i)
    threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  std::printf("%s: %zu of %zu cases passed\n", group, passed.load(), cases.size());
}

}  // namespace tilewright::testing
