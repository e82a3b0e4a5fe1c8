// What the examples need of the machine they are compiled for: memory, waiting, and a check of their results.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "tilewright/blas.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/machine.h"
#else
#  include <cuda_runtime_api.h>
#endif

namespace example {

/// `count` elements that the host and kernels share.
template <class T>
class Array {
 public:
  explicit Array(size_t count) : count_(count) {
#if defined(TILEWRIGHT_EMULATE)
    data_ =
        static_cast<T*>(tilewright::emulator::Machine::default_machine().allocate_global(count * sizeof(T)));
#else
    const cudaError_t error = cudaMallocManaged(reinterpret_cast<void**>(&data_), count * sizeof(T));
    if (error != cudaSuccess) {
      std::printf("no GPU memory: %s\n", cudaGetErrorString(error));
      std::exit(error == cudaErrorMemoryAllocation ? 1 : 77);  // 77: nothing to run on
    }
#endif
  }
  ~Array() {
#if defined(TILEWRIGHT_EMULATE)
    tilewright::emulator::Machine::default_machine().free_global(data_);
#else
    cudaFree(data_);
#endif
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  T* data() { return data_; }
  T& operator[](size_t i) { return data_[i]; }
  size_t size() const { return count_; }

 private:
  size_t count_;
  T* data_ = nullptr;
};

/// Uniform in [-1, 1).
template <class T>
void fill_random(Array<T>& values, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (size_t i = 0; i < values.size(); ++i) values[i] = T(uniform(random));
}

inline void fill(Array<float>& values, float value) {
  for (size_t i = 0; i < values.size(); ++i) values[i] = value;
}

/// Ends the program with the sentence of an error.
inline void check(const tilewright::Status& failed) {
  if (!failed) return;
  std::printf("%s\n", failed->message.c_str());
  std::exit(1);
}

/// The value of a result, or the end of the program with its error.
template <class Result>
auto value_of(Result&& result) {
  if (!result) {
    std::printf("%s\n", result.error().message.c_str());
    std::exit(1);
  }
  return *result;
}

/// On a GPU of another compute capability there is nothing to run.
inline void require_capability([[maybe_unused]] int major) {
#if !defined(TILEWRIGHT_EMULATE)
  int found = 0;
  const cudaError_t error = cudaDeviceGetAttribute(&found, cudaDevAttrComputeCapabilityMajor, 0);
  if (error == cudaSuccess && found == major) return;
  std::printf("no GPU of compute capability %d.x\n", major);
  std::exit(77);
#endif
}

inline void synchronize() {
#if !defined(TILEWRIGHT_EMULATE)
  const cudaError_t status = cudaDeviceSynchronize();
  if (status == cudaSuccess) return;
  std::printf("%s\n", cudaGetErrorString(status));
  std::exit(1);
#endif
}

/// Sum over k of A(row, k) B(k, column), both K-major and packed, in double.
template <class A, class B>
double dot(Array<A>& a, Array<B>& b, int64_t row, int64_t column, int64_t k) {
  double sum = 0;
  for (int64_t i = 0; i < k; ++i) {
    sum += static_cast<double>(static_cast<float>(a[static_cast<size_t>(row * k + i)])) *
           static_cast<float>(b[static_cast<size_t>(column * k + i)]);
  }
  return sum;
}

/// Compares results one by one; the last call's report() is what main() returns.
class Check {
 public:
  explicit Check(const char* name) : name_(name) {}
  void expect(double found, double expected, double tolerance, int64_t row, int64_t column) {
    ++compared_;
    if (std::abs(found - expected) <= tolerance) return;
    if (++wrong_ <= 5) {
      std::printf("%s: (%lld, %lld) is %g, not %g\n", name_, static_cast<long long>(row),
                  static_cast<long long>(column), found, expected);
    }
  }
  int report() const {
    std::printf("%s: %lld values compared, %lld wrong\n", name_, static_cast<long long>(compared_),
                static_cast<long long>(wrong_));
    return wrong_ == 0 && compared_ > 0 ? 0 : 1;
  }

 private:
  const char* name_;
  int64_t compared_ = 0, wrong_ = 0;
};

}  // namespace example
