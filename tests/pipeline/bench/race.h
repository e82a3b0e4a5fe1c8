// A race of kernels that multiply the same matrices, cuBLASLt first.
#pragma once

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench_support.h"
#include "cublaslt_peer.h"
#include "tilewright/blas.h"

namespace tilewright::bench {

template <class Handle, class Epilogue>
__global__ void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    run_kernel(const schedule::TileSchedule tiles, const __grid_constant__ Handle pipeline,
               const __grid_constant__ Epilogue epilogue) {
  pipeline.run(tiles, epilogue);
}

/// C (n x n, of Out) = A B (of T). Every contender runs in bursts that take turns; a figure is the median of
/// its bursts.
template <class T, class Out>
class Race {
 public:
  Race(DType type, int64_t extent)
      : n_(extent), a_(count()), b_(count()), c_(count()), workspace_(CublasLtPeer::kWorkspace) {
    host_a_ = random_values<T>(count(), 1);
    host_b_ = random_values<T>(count(), 2);
    check(cudaMemcpy(a_.data, host_a_.data(), count() * sizeof(T), cudaMemcpyHostToDevice), "copy");
    check(cudaMemcpy(b_.data, host_b_.data(), count() * sizeof(T), cudaMemcpyHostToDevice), "copy");
    std::string error;
    peer_ = CublasLtPeer::create(type, n_, n_, n_, error);
    if (peer_ == nullptr) {
      std::printf("no peer: %s\n", error.c_str());
      return;
    }
    const int best = fastest_candidate(*peer_, a_.data, b_.data, c_.data, workspace_.data);
    add("cuBLASLt", [=, this] {
      if (!peer_->run(best, a_.data, b_.data, c_.data, workspace_.data, nullptr))
        std::printf("peer failed\n");
    });
  }

  int64_t extent() const { return n_; }
  const T* a() const { return a_.data; }
  const T* b() const { return b_.data; }
  auto c() { return blas::make_gmem_tensor<blas::row_major>(c_.data, n_, n_, n_); }
  /// A or B as a descriptor has it.
  template <blas::arrangement Order>
  auto operand(const T* data) const {
    return blas::make_gmem_tensor<Order>(data, n_, n_, n_);
  }

  /// order_a, order_b: how the contender reads the memory of A and B.
  void add(const std::string& name, std::function<void()> run, blas::arrangement order_a = blas::row_major,
           blas::arrangement order_b = blas::col_major) {
    contenders_.push_back({name, std::move(run)});
    orders_.push_back({order_a, order_b});
  }
  /// The one added last is what others are compared with too.
  void set_second_peer() { second_ = static_cast<int>(contenders_.size()) - 1; }

  /// Checks all and prints their times. launches: in a burst.
  void report(const char* type, int launches) {
    for (size_t i = 0; i < contenders_.size(); ++i) verify(contenders_[i], orders_[i]);
    constexpr int kRounds = 7;
    for (int round = 0; round < kRounds; ++round) {
      for (Contender& c : contenders_) c.ms.push_back(burst(c, launches));
    }
    const double extent = static_cast<double>(n_), work = 2 * extent * extent * extent;
    const double peer = peer_ != nullptr ? contenders_[0].median() : 0;
    const double second = second_ >= 0 ? contenders_[static_cast<size_t>(second_)].median() : 0;
    for (Contender& c : contenders_) {
      const double ms = c.median();
      std::printf("%-13s %6lld  %-38s %9.1f us %8.1f T/s  x %.3f", type, static_cast<long long>(n_),
                  c.name.c_str(), ms * 1e3, work / ms / 1e9, peer / ms);
      if (second > 0) std::printf("  x %.3f", second / ms);
      std::printf("\n");
    }
  }

 private:
  struct Orders {
    blas::arrangement a, b;
  };

  size_t count() const { return static_cast<size_t>(n_ * n_); }

  template <class Value>
  static double to_double(Value x) {
    if constexpr (std::is_arithmetic_v<Value>) return static_cast<double>(x);
    if constexpr (!std::is_arithmetic_v<Value>) return static_cast<double>(static_cast<float>(x));
  }

  /// Some elements against a sum in double.
  void verify(const Contender& c, Orders order) {
    check(cudaMemset(c_.data, 0xFF, count() * sizeof(Out)), "memset");
    c.run();
    check(cudaDeviceSynchronize(), c.name.c_str());
    std::mt19937 random(3);
    for (int i = 0; i < 200; ++i) {
      const int64_t row = random() % n_, column = random() % n_;
      double sum = 0, size = 0;
      for (int64_t k = 0; k < n_; ++k) {
        const int64_t at_a = order.a == blas::row_major ? row * n_ + k : k * n_ + row;
        const int64_t at_b = order.b == blas::row_major ? k * n_ + column : column * n_ + k;
        const double product =
            to_double(host_a_[static_cast<size_t>(at_a)]) * to_double(host_b_[static_cast<size_t>(at_b)]);
        sum += product;
        size += std::abs(product);
      }
      Out found;
      check(cudaMemcpy(&found, c_.data + row * n_ + column, sizeof(Out), cudaMemcpyDeviceToHost), "copy");
      const double allowed = std::is_integral_v<Out>       ? 0
                             : std::is_same_v<Out, double> ? 1e-12 * size
                                                           : 1e-3 * size + std::abs(sum) / 128;
      if (std::abs(to_double(found) - sum) <= allowed) continue;
      std::printf("%s: C(%lld, %lld) = %g, not %g\n", c.name.c_str(), static_cast<long long>(row),
                  static_cast<long long>(column), to_double(found), sum);
      std::exit(1);
    }
  }

  int64_t n_;
  Device<T> a_, b_;
  Device<Out> c_;
  Device<uint8_t> workspace_;
  std::vector<T> host_a_, host_b_;
  std::unique_ptr<CublasLtPeer> peer_;
  std::vector<Contender> contenders_;
  std::vector<Orders> orders_;
  int second_ = -1;  // among the contenders
};

}  // namespace tilewright::bench
