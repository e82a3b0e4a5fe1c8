// What the GPU tests share.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "tests/gpu/gpu_machine.h"
#include "tests/kernels/gemm_case.h"

namespace tilewright::testing {

/// Skips, and says why, where no GPU can run the kernels.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const Status missing = gpu_available()) GTEST_SKIP() << missing->message;
  }
};

/// Runs the cases on host threads, each with a machine of its own, and prints one line: how many passed.
void run_on_gpu(const char* group, const std::vector<GemmCase>& cases);

}  // namespace tilewright::testing
