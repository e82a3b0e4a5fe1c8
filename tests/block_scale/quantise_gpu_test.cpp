// Quantising and packing scales on a GPU of any kind.
#include <gtest/gtest.h>

#include "src/device_info.h"
#include "tests/block_scale/quantise_cases.h"
#include "tests/gpu/gpu_machine.h"

namespace tilewright::testing {
namespace {

class QuantiseGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    const Expected<GpuLimits> gpu = current_gpu();
    if (!gpu) GTEST_SKIP() << gpu.error().message;
  }
  GpuMachine machine;
};

TEST_F(QuantiseGpu, has_the_bits_of_the_host) {
  for (const BlockFormat format :
       {BlockFormat::mxfp8, BlockFormat::mxfp8_e5m2, BlockFormat::mxfp4, BlockFormat::nvfp4})
    for (const DType source : {DType::f32, DType::bf16, DType::f16})
      expect_quantised_as_on_host(format, source, machine);
}

TEST_F(QuantiseGpu, packs_and_unpacks_scales_as_the_host_does) {
  expect_packed_as_on_host<e8m0>(machine);
  expect_packed_as_on_host<e4m3>(machine);
}

}  // namespace
}  // namespace tilewright::testing
