// What the benchmarks share: memory, data, bursts of launches.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "cublaslt_peer.h"
#include "tilewright/error.h"

namespace tilewright::bench {

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

inline void check(const Status& failed) {
  if (!failed) return;
  std::printf("%s\n", failed->message.c_str());
  std::exit(1);
}

/// Device memory.
template <class T>
struct Device {
  T* data = nullptr;
  explicit Device(size_t count) { check(cudaMalloc(&data, count * sizeof(T)), "cudaMalloc"); }
  ~Device() { cudaFree(data); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
};

template <class T>
std::vector<T> random_values(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<T> table(1 << 20);
  for (T& value : table) {
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(std::clamp(normal(random) * 40, -127.0f, 127.0f));
    } else {
      value = T(normal(random));
    }
  }
  // A table that is read from ever new places: no two rows are equal.
  std::vector<T> values(count);
  for (size_t i = 0; i < count; i += 4096) {
    const size_t from = random() % (table.size() - 4096);
    std::copy_n(table.begin() + static_cast<std::ptrdiff_t>(from), std::min<size_t>(4096, count - i),
                values.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return values;
}

struct Contender {
  std::string name;
  std::function<void()> run;
  std::vector<double> ms = {};

  double median() {
    std::sort(ms.begin(), ms.end());
    return ms[ms.size() / 2];
  }
};

/// Milliseconds of a launch. The pause lets the chip return to the clock that its power allows for a while.
inline double burst(const Contender& c, int launches, int pause_ms = 0) {
  std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  for (int i = 0; i < 3; ++i) c.run();
  cudaEventRecord(start);
  for (int i = 0; i < launches; ++i) c.run();
  cudaEventRecord(stop);
  check(cudaEventSynchronize(stop), c.name.c_str());
  float ms = 0;
  cudaEventElapsedTime(&ms, start, stop);
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  return ms / launches;
}

/// The fastest of the library's candidates for C = A B, or -1.
inline int fastest_candidate(const CublasLtPeer& peer, const void* a, const void* b, void* c,
                             void* workspace) {
  int best = -1;
  double best_ms = 0;
  for (int i = 0; i < peer.candidates(); ++i) {
    if (!peer.run(i, a, b, c, workspace, nullptr)) continue;
    const double ms = burst({"cuBLASLt", [&] { (void)peer.run(i, a, b, c, workspace, nullptr); }}, 5);
    if (best >= 0 && ms >= best_ms) continue;
    best = i;
    best_ms = ms;
  }
  return best;
}

}  // namespace tilewright::bench
