// What the tests of kernels in plain CUDA have in common.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>

#include "tilewright/blas.h"

namespace dx = tilewright::blas;

namespace tilewright::compat {

inline bool machine_is_there() {
  int major = 0;
  return cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess && major == 9;
}

template <class T>
struct Managed {
  T* data = nullptr;
  explicit Managed(size_t count) { EXPECT_EQ(cudaMallocManaged(&data, count * sizeof(T)), cudaSuccess); }
  ~Managed() { cudaFree(data); }
};

template <class T>
void fill(T* values, size_t count, int seed) {
  for (size_t i = 0; i < count; ++i) {
    values[i] =
        static_cast<T>(static_cast<float>(static_cast<int>((i * 7 + static_cast<size_t>(seed)) % 5) - 2));
  }
}

class Compat : public testing::Test {
 protected:
  void SetUp() override {
    if (!machine_is_there()) GTEST_SKIP() << "no GPU of compute capability 9.x";
  }
};

}  // namespace tilewright::compat
