// Speed of the pipeline API beside cuBLASLt and, of FP8, beside the library's own kernel, all in one run:
// bench_pipeline [--only TYPE] [extent...] (default 4096 8192; TYPE as printed, e.g. "e4m3 promoted").
//
// For each type: execute() with one tile a block, and run() with its stores in the shadow of the next tile.
// Every contender runs in bursts that take turns; a figure is the median of its bursts.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "bench_support.h"
#include "cublaslt_peer.h"
#include "library_peer.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::bench;
using namespace tilewright::blas;

namespace {

template <class T, class C, int M, int N, int K, int ClusterM, int ClusterN, class... More>
using Tile = decltype(((Size<M, N, K>() + Precision<T, T, C>() + BlockDim<256>() + MaxAlignment() +
                        WithPipeline() + EnableInputStreaming() + SM<900, arch_specific>() +
                        BlocksPerCluster<ClusterM, ClusterN>() + RequirePath<path::wgmma>()) +
                       ... + More()));

template <class Handle, class Out>
__global__ void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    execute_kernel(Out out, const schedule::TileSchedule tiles, const __grid_constant__ Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  using D = typename Handle::descriptor;
  const schedule::TileCoord at = tiles.tile(blockIdx.x / D::cluster_operator::m, arch::cluster_rank());
  auto tile = pipeline.get_tile(shared, at.m, at.n);
  tile.execute(
      [&](auto& accumulator) { accumulator.partition_and_store(get_tile(out, D::c_shape, at.m, at.n)); });
}

template <class Handle, class Epilogue>
__global__ void TILEWRIGHT_LAUNCH_BOUNDS(Handle::max_threads_per_block)
    run_kernel(const schedule::TileSchedule tiles, const __grid_constant__ Handle pipeline,
               const __grid_constant__ Epilogue epilogue) {
  pipeline.run(tiles, epilogue);
}

/// The operands of one product, and what is timed on them.
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
    if (peer_ == nullptr) std::printf("no peer: %s\n", error.c_str());
    if (peer_ != nullptr) add_peer();
  }

  /// The library's own FP8 kernel.
  void add_library(bool promoted) {
    std::string error;
    library_ = LibraryPeer::create(n_, promoted, error);
    if (library_ == nullptr) return void(std::printf("no kernel of the library: %s\n", error.c_str()));
    library_index_ = static_cast<int>(contenders_.size());
    contenders_.push_back({library_->name(), [this] {
                             if (!library_->run(a_.data, b_.data, c_.data)) std::printf("plan() failed\n");
                           }});
  }

  template <class D, int Depth>
  void add_execute(const char* name) {
    const auto p = *suggest_pipeline<Depth, D>(tensor_a(), tensor_b());
    const auto out = make_gmem_tensor<row_major>(c_.data, n_, n_, n_);
    using Handle = std::decay_t<decltype(p.get_device_handle())>;
    const schedule::TileSchedule tiles = p.make_schedule();
    const Extent3 cluster = p.get_cluster_dim();
    const auto config = p.launch_config({tiles.clusters_total * cluster.x, cluster.y, 1});
    contenders_.push_back({name, [=] {
                             check(arch::launch(execute_kernel<Handle, std::remove_const_t<decltype(out)>>,
                                                config, out, tiles, p.get_device_handle()));
                           }});
  }

  template <class D, int Depth>
  void add_run(const char* name, schedule::Raster raster, uint32_t strip) {
    const auto p = *suggest_pipeline<Depth, D>(tensor_a(), tensor_b());
    const auto epilogue = *make_store_through_smem<D>(make_gmem_tensor<row_major>(c_.data, n_, n_, n_));
    using Handle = std::decay_t<decltype(p.get_device_handle())>;
    using Epilogue = std::decay_t<decltype(epilogue)>;
    const schedule::TileSchedule tiles = p.make_schedule(1, raster, strip);
    const auto config = p.persistent_config(run_kernel<Handle, Epilogue>, tiles, Epilogue::scratch_bytes());
    if (!config) return check(Status(config.error()));
    contenders_.push_back(
        {name, [=, launch = *config] {
           check(arch::launch(run_kernel<Handle, Epilogue>, launch, tiles, p.get_device_handle(), epilogue));
         }});
  }

  void report(const char* type) {
    for (const Contender& c : contenders_) verify(c);
    constexpr int kRounds = 7;
    const int launches = n_ >= 8192 ? 10 : 40;
    for (int round = 0; round < kRounds; ++round) {
      for (Contender& c : contenders_) c.ms.push_back(burst(c, launches));
    }
    const double work = 2.0 * static_cast<double>(n_) * static_cast<double>(n_) * static_cast<double>(n_);
    const double peer = peer_ != nullptr ? contenders_[0].median() : 0;
    const double library =
        library_index_ >= 0 ? contenders_[static_cast<size_t>(library_index_)].median() : 0;
    for (Contender& c : contenders_) {
      const double ms = c.median();
      std::printf("%-13s %6lld  %-36s %9.1f us %8.1f T/s  x %.3f", type, static_cast<long long>(n_),
                  c.name.c_str(), ms * 1e3, work / ms / 1e9, peer / ms);
      if (library > 0) std::printf("  x %.3f", library / ms);
      std::printf("\n");
    }
  }

 private:
  size_t count() const { return static_cast<size_t>(n_ * n_); }
  auto tensor_a() const { return make_gmem_tensor<row_major>(static_cast<const T*>(a_.data), n_, n_, n_); }
  auto tensor_b() const { return make_gmem_tensor<col_major>(static_cast<const T*>(b_.data), n_, n_, n_); }

  void add_peer() {
    const int best = fastest_candidate(*peer_, a_.data, b_.data, c_.data, workspace_.data);
    contenders_.push_back({"cuBLASLt", [=, this] { run_peer(best); }});
  }
  void run_peer(int candidate) const {
    if (!peer_->run(candidate, a_.data, b_.data, c_.data, workspace_.data, nullptr))
      std::printf("peer failed\n");
  }

  /// Some elements against a sum in double.
  void verify(const Contender& c) {
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
        const double product = value(host_a_[static_cast<size_t>(row * n_ + k)]) *
                               value(host_b_[static_cast<size_t>(column * n_ + k)]);
        sum += product;
        size += std::abs(product);
      }
      Out found;
      cudaMemcpy(&found, c_.data + row * n_ + column, sizeof(Out), cudaMemcpyDeviceToHost);
      const double allowed = std::is_integral_v<Out> ? 0 : 1e-3 * size + std::abs(sum) / 128;
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
  std::unique_ptr<LibraryPeer> library_;
  int library_index_ = -1;  // among the contenders
  std::vector<Contender> contenders_;
};

/// The type that --only names; null: all.
const char* only = nullptr;

template <class T, class C, class Out, int K, class... More>
void race(const char* name, PeerType type, int64_t extent) {
  if (only != nullptr && std::string(name) != only) return;
  using schedule::Raster;
  Race<T, C, Out> r(type, extent);
  using Single = Tile<T, C, 128, 256, K, 1, 1, More...>;
  using Pair = Tile<T, C, 128, 256, K, 2, 1, More...>;
  using Tall = Tile<T, C, 256, 128, K, 1, 1, More...>;
  constexpr int kDepth = 4;
  if constexpr (std::is_same_v<T, e4m3>) r.add_library(sizeof...(More) == 0);
  r.template add_execute<Single, kDepth>("execute 128x256");
  r.template add_run<Single, kDepth>("run 128x256, strip 4", Raster::along_m, 4);
  r.template add_run<Single, kDepth>("run 128x256, strip 8", Raster::along_m, 8);
  r.template add_run<Single, kDepth>("run 128x256, strip 16", Raster::along_m, 16);
  r.template add_run<Single, kDepth>("run 128x256, along n 4", Raster::along_n, 4);
  r.template add_run<Pair, kDepth>("run 128x256 cluster 2x1, strip 4", Raster::along_m, 4);
  r.template add_run<Pair, kDepth>("run 128x256 cluster 2x1, strip 8", Raster::along_m, 8);
  r.template add_run<Tall, kDepth>("run 256x128, strip 4", Raster::along_m, 4);
  r.report(name);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int64_t> extents;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--only" && i + 1 < argc) {
      only = argv[++i];
    } else {
      extents.push_back(std::atoll(argv[i]));
    }
  }
  if (extents.empty()) extents = {4096, 8192};
  std::printf(
      "type          extent  contender                                   time      speed  ratio to cuBLASLt, "
      "to plan()\n");
  for (const int64_t extent : extents) {
    race<bf16, float, bf16, 64>("bf16", PeerType::bf16, extent);
    race<f16, float, f16, 64>("f16", PeerType::f16, extent);
    race<int8_t, int32_t, int32_t, 128>("s8", PeerType::s8, extent);
    race<tf32, float, float, 32>("tf32", PeerType::tf32, extent);
    race<e4m3, float, f16, 128>("e4m3 promoted", PeerType::e4m3, extent);
    race<e4m3, float, f16, 128, Accumulation<fast>>("e4m3 fast", PeerType::e4m3, extent);
  }
  return 0;
}
