// The machine that a test is compiled for: memory that host and kernels share, and waiting.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "tilewright/blas.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/machine.h"
#else
#  include <cuda_runtime_api.h>
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {

#if defined(TILEWRIGHT_EMULATE)
inline void* allocate(size_t bytes, bool writable, const char* name) {
  return emulator::Machine::default_machine().allocate_global(bytes, {name, writable, true});
}
inline void release(void* pointer) { emulator::Machine::default_machine().free_global(pointer); }
inline void finish() {}
inline bool machine_is_there() { return true; }
#else
inline void* allocate(size_t bytes, bool, const char*) {
  void* pointer = nullptr;
  EXPECT_EQ(cudaMallocManaged(&pointer, bytes), cudaSuccess);
  return pointer;
}
inline void release(void* pointer) { cudaFree(pointer); }
inline void finish() {
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << cudaGetErrorString(cudaGetLastError());
}
inline bool machine_is_there() {
  int major = 0;
  return cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess && major == 9;
}
#endif

/// `count` elements between two guard bands. Everything starts as the byte 0xFF: a NaN in every format that
/// has one.
template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count, bool writable = true, const char* name = "buffer")
      : count_(count), base_(static_cast<uint8_t*>(allocate(bytes(), writable, name))) {
    std::memset(base_, 0xFF, bytes());
  }
  ~Buffer() { release(base_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T* data() { return reinterpret_cast<T*>(base_ + kGuard); }
  T& operator[](size_t i) { return data()[i]; }
  size_t size() const { return count_; }
  bool guards_are_intact() const {
    for (size_t i = 0; i < kGuard; ++i) {
      if (base_[i] != 0xFF || base_[bytes() - 1 - i] != 0xFF) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kGuard = 1024;
  size_t bytes() const { return 2 * kGuard + (count_ * sizeof(T) + 1023) / 1024 * 1024; }
  size_t count_;
  uint8_t* base_;
};

class OnMachine : public testing::Test {
 protected:
  void SetUp() override {
    if (!machine_is_there()) GTEST_SKIP() << "no GPU of compute capability 9.x";
  }
};

/// Runs a kernel and waits; the machine's report, if any, fails the test.
template <class... P, class... A>
void run(void (*kernel)(P...), const arch::LaunchConfig& config, A&&... arguments) {
  const Status failed = arch::launch(kernel, config, std::forward<A>(arguments)...);
  ASSERT_FALSE(failed) << failed->message;
  finish();
}

}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
