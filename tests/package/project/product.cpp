// plan() and run() on the emulated machine: A of ones, B of twos.
#include <cstdio>
#include <vector>

#include "tilewright/gemm.h"

int main() {
  using tilewright::bf16;
  tilewright::Problem problem;
  problem.m = 64, problem.n = 128, problem.k = 64;
  problem.a.type = problem.b.type = problem.d.type = tilewright::DType::bf16;
  const auto plan = tilewright::plan(problem, {.device = tilewright::Device::emulator});
  if (!plan) return std::printf("%s\n", plan.error().message.c_str()), 1;
  const std::vector<bf16> a(64 * 64, bf16(1.0f)), b(64 * 128, bf16(2.0f));
  std::vector<bf16> d(64 * 128);
  if (const auto status = plan->run({.a = a.data(), .b = b.data(), .d = d.data()}))
    return std::printf("%s\n", status->message.c_str()), 1;
  for (const bf16 x : d)
    if (float(x) != 128.0f) return std::printf("found %g; needed 128\n", float(x)), 1;
  return 0;
}
