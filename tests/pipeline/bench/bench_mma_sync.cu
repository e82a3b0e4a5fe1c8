// Speed of the mma_sync path beside cuBLASLt (which may use wgmma where that exists), both in one run:
// bench_mma_sync [extent...] (default 4096). Every contender runs in bursts that take turns; a figure is the
// median of its bursts.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench_support.h"
#include "cublaslt_peer.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::bench;
using namespace tilewright::blas;

namespace {

/// Alignment is what is promised, and so what the copies are made for; the data have 16 bytes.
template <class T, class C, int M, int N, int K, int Threads, int Bytes, arrangement OrderA = row_major,
          arrangement OrderB = col_major>
using Tile = decltype(Size<M, N, K>() + Precision<T, T, C>() + BlockDim<Threads>() +
                      Arrangement<OrderA, OrderB>() + Alignment<Bytes, Bytes, sizeof(C)>() + WithPipeline() +
                      SM<900, arch_specific>() + RequirePath<path::mma_sync>());

template <class Handle, class Out>
__global__ void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    execute_kernel(Out out, const schedule::TileSchedule tiles, const __grid_constant__ Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  using D = typename Handle::descriptor;
  const schedule::TileCoord at = tiles.tile(blockIdx.x, 0);
  auto tile = pipeline.get_tile(shared, at.m, at.n);
  tile.execute(
      [&](auto& accumulator) { accumulator.partition_and_store(get_tile(out, D::c_shape, at.m, at.n)); });
}

template <class Out>
struct Store {
  Out out;
  template <class Accumulator>
  __device__ void operator()(Accumulator& accumulator, schedule::TileCoord at) const {
    constexpr Shape<Accumulator::held_type::rows, Accumulator::held_type::columns> shape{};
    accumulator.partition_and_store(get_tile(out, shape, at.m, at.n));
  }
};

template <class Handle, class Epilogue>
__global__ void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    run_kernel(const schedule::TileSchedule tiles, const __grid_constant__ Handle pipeline,
               const __grid_constant__ Epilogue epilogue) {
  pipeline.run(tiles, epilogue);
}

/// C (n x n) = A B of one type.
template <class T, class C, class Out>
class Race {
 public:
  Race(PeerType type, int64_t extent)
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
    contenders_.push_back({"cuBLASLt", [=, this] {
                             (void)peer_->run(best, a_.data, b_.data, c_.data, workspace_.data, nullptr);
                           }});
    layouts_.push_back({row_major, col_major});
  }

  template <class D>
  void add_execute(const char* name) {
    const auto p = make<D>();
    const auto out = make_gmem_tensor<row_major>(c_.data, n_, n_, n_);
    using Handle = std::decay_t<decltype(p.get_device_handle())>;
    const schedule::TileSchedule tiles = p.make_schedule();
    const auto config = p.launch_config({tiles.clusters_total, 1, 1});
    contenders_.push_back({name, [=] {
                             check(arch::launch(execute_kernel<Handle, std::remove_const_t<decltype(out)>>,
                                                config, out, tiles, p.get_device_handle()));
                           }});
    layouts_.push_back({arrangement_of_v_a<D>, arrangement_of_v_b<D>});
  }

  template <class D>
  void add_run(const char* name) {
    const auto p = make<D>();
    using Handle = std::decay_t<decltype(p.get_device_handle())>;
    using Epilogue = Store<decltype(make_gmem_tensor<row_major>(c_.data, n_, n_, n_))>;
    const schedule::TileSchedule tiles = p.make_schedule();
    const auto config = p.persistent_config(run_kernel<Handle, Epilogue>, tiles);
    if (!config) return check(Status(config.error()));
    const Epilogue epilogue{make_gmem_tensor<row_major>(c_.data, n_, n_, n_)};
    contenders_.push_back(
        {name, [=, launch = *config] {
           check(arch::launch(run_kernel<Handle, Epilogue>, launch, tiles, p.get_device_handle(), epilogue));
         }});
    layouts_.push_back({arrangement_of_v_a<D>, arrangement_of_v_b<D>});
  }

  void report(const char* type) {
    for (size_t i = 0; i < contenders_.size(); ++i) verify(contenders_[i], layouts_[i]);
    constexpr int kRounds = 7;
    for (int round = 0; round < kRounds; ++round) {
      for (Contender& c : contenders_) c.ms.push_back(burst(c, n_ >= 8192 ? 5 : 20));
    }
    const double extent = static_cast<double>(n_), work = 2 * extent * extent * extent;
    const double peer = peer_ != nullptr ? contenders_[0].median() : 0;
    for (Contender& c : contenders_) {
      const double ms = c.median();
      std::printf("%-5s %6lld  %-38s %9.1f us %8.1f T/s  x %.3f\n", type, static_cast<long long>(n_),
                  c.name.c_str(), ms * 1e3, work / ms / 1e9, peer / ms);
    }
  }

 private:
  struct Layout {
    arrangement a, b;
  };

  size_t count() const { return static_cast<size_t>(n_ * n_); }
  template <class D>
  auto make() const {
    const auto p = suggest_pipeline<D>(
        make_gmem_tensor<arrangement_of_v_a<D>>(static_cast<const T*>(a_.data), n_, n_, n_),
        make_gmem_tensor<arrangement_of_v_b<D>>(static_cast<const T*>(b_.data), n_, n_, n_));
    if (!p) {
      std::printf("%s\n", p.error().message.c_str());
      std::exit(1);
    }
    return *p;
  }

  /// Some elements against a sum in double.
  void verify(const Contender& c, Layout layout) {
    check(cudaMemset(c_.data, 0xFF, count() * sizeof(Out)), "memset");
    c.run();
    check(cudaDeviceSynchronize(), c.name.c_str());
    std::mt19937 random(3);
    const auto value = [](auto x) {
      if constexpr (std::is_arithmetic_v<decltype(x)>) return static_cast<double>(x);
      if constexpr (!std::is_arithmetic_v<decltype(x)>) return static_cast<double>(static_cast<float>(x));
    };
    for (int i = 0; i < 200; ++i) {
      const int64_t row = random() % n_, column = random() % n_;
      double sum = 0, size = 0;
      for (int64_t k = 0; k < n_; ++k) {
        const int64_t at_a = layout.a == row_major ? row * n_ + k : k * n_ + row;
        const int64_t at_b = layout.b == row_major ? k * n_ + column : column * n_ + k;
        const double product =
            value(host_a_[static_cast<size_t>(at_a)]) * value(host_b_[static_cast<size_t>(at_b)]);
        sum += product;
        size += std::abs(product);
      }
      Out found;
      cudaMemcpy(&found, c_.data + row * n_ + column, sizeof(Out), cudaMemcpyDeviceToHost);
      const double allowed = std::is_integral_v<Out>       ? 0
                             : std::is_same_v<Out, double> ? 1e-12 * size
                                                           : 1e-3 * size + std::abs(sum) / 128;
      if (std::abs(value(found) - sum) <= allowed) continue;
      std::printf("%s: C(%lld, %lld) = %g, not %g\n", c.name.c_str(), static_cast<long long>(row),
                  static_cast<long long>(column), value(found), sum);
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
  std::vector<Layout> layouts_;
};

void race_bf16(int64_t extent) {
  Race<bf16, float, bf16> r(PeerType::bf16, extent);
  r.add_execute<Tile<bf16, float, 128, 128, 64, 256, 16>>("execute 128x128, TMA");
  r.add_run<Tile<bf16, float, 128, 128, 64, 256, 16>>("run 128x128, TMA");
  r.add_run<Tile<bf16, float, 128, 128, 64, 128, 16>>("run 128x128, 4 warps, TMA");
  r.add_run<Tile<bf16, float, 128, 128, 64, 256, 8>>("run 128x128, cp.async of 8");
  r.add_run<Tile<bf16, float, 128, 128, 64, 256, 4>>("run 128x128, cp.async of 4");
  r.add_run<Tile<bf16, float, 128, 128, 64, 256, 2>>("run 128x128, stores");
  r.add_run<Tile<bf16, float, 128, 128, 64, 256, 16, col_major, row_major>>("run 128x128, TMA, MN-major");
  r.report("bf16");
}

void race_others(int64_t extent) {
  {
    Race<tf32, float, float> r(PeerType::tf32, extent);
    r.add_run<Tile<tf32, float, 128, 128, 32, 256, 16>>("run 128x128, TMA");
    r.add_run<Tile<tf32, float, 128, 128, 32, 256, 16, col_major, row_major>>(
        "run 128x128, cp.async, MN-major");
    r.report("tf32");
  }
  {
    Race<int8_t, int32_t, int32_t> r(PeerType::s8, extent);
    r.add_run<Tile<int8_t, int32_t, 128, 128, 128, 256, 16>>("run 128x128, TMA");
    r.add_run<Tile<int8_t, int32_t, 128, 128, 64, 256, 16, col_major, row_major>>(
        "run 128x128, cp.async, MN-major");
    r.report("s8");
  }
  {
    Race<double, double, double> r(PeerType::f64, extent);
    r.add_execute<Tile<double, double, 64, 64, 16, 128, 16>>("execute 64x64");
    r.add_run<Tile<double, double, 64, 64, 16, 128, 16>>("run 64x64");
    r.add_run<Tile<double, double, 128, 64, 16, 256, 16>>("run 128x64");
    r.add_run<Tile<double, double, 64, 128, 16, 256, 8>>("run 64x128, cp.async of 8");
    r.report("f64");
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int64_t> extents;
  for (int i = 1; i < argc; ++i) extents.push_back(std::atoll(argv[i]));
  if (extents.empty()) extents = {4096};
  std::printf(
      "type  extent  contender                                     time      speed  ratio to cuBLASLt\n");
  for (const int64_t extent : extents) {
    race_bf16(extent);
    race_others(extent);
  }
  return 0;
}
