// What the GPU tests share.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "tests/gpu/gpu_machine.h"
#include "tests/kernels/gemm_case.h"

namespace tilewright::testing {

/// For the end of SetUp(): skips, and says why, where the GPU is none of the chips. One that is must take the
/// problem; a refusal is a failure.
inline void require_gpu(std::initializer_list<Chip> chips, const Problem& problem) {
  Status other;
  for (const Chip chip : chips) {
    other = gpu_is(chip);
    if (other) continue;
    const Status refused = can_run(problem, {.device = Device::gpu, .chip = chip});
    ASSERT_FALSE(refused) << refused->message;
    return;
  }
  GTEST_SKIP() << other->message;
}

/// Of the chip that has all kernels but the block-scaled ones.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override { require_gpu({Chip::sm_90a}, {.m = 64, .n = 64, .k = 64}); }
};

/// Runs the cases on host threads, each with a machine of its own, and prints one line: how many passed.
void run_on_gpu(const char* group, const std::vector<GemmCase>& cases);

}  // namespace tilewright::testing
