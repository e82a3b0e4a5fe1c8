// Speed of the pipeline API beside cuBLASLt and, of FP8, beside the library's own kernel, all in one run:
// bench_pipeline [--only TYPE] [extent...] (default 4096 8192; TYPE as printed, e.g. "e4m3 promoted").
//
// For each type: execute() with one tile a block, and run() with its stores in the shadow of the next tile.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "library_peer.h"
#include "race.h"
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

template <class T, class Out>
class WgmmaRace : public Race<T, Out> {
 public:
  using Race<T, Out>::Race;

  /// The library's own FP8 kernel.
  void add_library(bool promoted) {
    std::string error;
    library_ = LibraryPeer::create(this->extent(), promoted, error);
    if (library_ == nullptr) return void(std::printf("no kernel of the library: %s\n", error.c_str()));
    this->add(library_->name(), [this] {
      if (!library_->run(this->a(), this->b(), this->c().data())) std::printf("plan() failed\n");
    });
    this->set_second_peer();
  }

  template <class D, int Depth>
  void add_execute(const char* name) {
    const auto p = make<D, Depth>();
    const auto out = this->c();
    using Handle = std::decay_t<decltype(p.get_device_handle())>;
    const schedule::TileSchedule tiles = p.make_schedule();
    const Extent3 cluster = p.get_cluster_dim();
    const auto config = p.launch_config({tiles.clusters_total * cluster.x, cluster.y, 1});
    this->add(name, [=] {
      check(arch::launch(execute_kernel<Handle, std::remove_const_t<decltype(out)>>, config, out, tiles,
                         p.get_device_handle()));
    });
  }

  template <class D, int Depth>
  void add_run(const char* name, schedule::Raster raster, uint32_t strip) {
    const auto p = make<D, Depth>();
    const auto epilogue = *make_store_through_smem<D>(this->c());
    using Handle = std::decay_t<decltype(p.get_device_handle())>;
    using Epilogue = std::decay_t<decltype(epilogue)>;
    const schedule::TileSchedule tiles = p.make_schedule(1, raster, strip);
    const auto config = p.persistent_config(run_kernel<Handle, Epilogue>, tiles, Epilogue::scratch_bytes());
    if (!config) return check(Status(config.error()));
    this->add(name, [=, launch = *config] {
      check(arch::launch(run_kernel<Handle, Epilogue>, launch, tiles, p.get_device_handle(), epilogue));
    });
  }

  void report(const char* type) { Race<T, Out>::report(type, this->extent() >= 8192 ? 10 : 40); }

 private:
  template <class D, int Depth>
  auto make() const {
    return *suggest_pipeline<Depth, D>(this->template operand<row_major>(this->a()),
                                       this->template operand<col_major>(this->b()));
  }

  std::unique_ptr<LibraryPeer> library_;
};

/// The type that --only names; null: all.
const char* only = nullptr;

template <class T, class C, class Out, int K, class... More>
void race(const char* name, DType type, int64_t extent) {
  if (only != nullptr && std::string(name) != only) return;
  using schedule::Raster;
  WgmmaRace<T, Out> r(type, extent);
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
    race<bf16, float, bf16, 64>("bf16", DType::bf16, extent);
    race<f16, float, f16, 64>("f16", DType::f16, extent);
    race<int8_t, int32_t, int32_t, 128>("s8", DType::s8, extent);
    race<tf32, float, float, 32>("tf32", DType::tf32, extent);
    race<e4m3, float, f16, 128>("e4m3 promoted", DType::e4m3, extent);
    race<e4m3, float, f16, 128, Accumulation<fast>>("e4m3 fast", DType::e4m3, extent);
  }
  return 0;
}
