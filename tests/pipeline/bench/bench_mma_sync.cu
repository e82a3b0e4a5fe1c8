// Speed of the mma_sync path beside cuBLASLt (which may use wgmma where that exists), both in one run:
// bench_mma_sync [extent...] (default 4096).
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "race.h"
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

template <class T, class Out>
class MmaSyncRace : public Race<T, Out> {
 public:
  using Race<T, Out>::Race;

  template <class D>
  void add_execute(const char* name) {
    const auto p = make<D>();
    const auto out = this->c();
    using Handle = std::decay_t<decltype(p.get_device_handle())>;
    const schedule::TileSchedule tiles = p.make_schedule();
    const auto config = p.launch_config({tiles.clusters_total, 1, 1});
    add<D>(name, [=] {
      check(arch::launch(execute_kernel<Handle, std::remove_const_t<decltype(out)>>, config, out, tiles,
                         p.get_device_handle()));
    });
  }

  template <class D>
  void add_run(const char* name) {
    const auto p = make<D>();
    using Handle = std::decay_t<decltype(p.get_device_handle())>;
    using Epilogue = Store<decltype(this->c())>;
    const schedule::TileSchedule tiles = p.make_schedule();
    const auto config = p.persistent_config(run_kernel<Handle, Epilogue>, tiles);
    if (!config) return check(Status(config.error()));
    const Epilogue epilogue{this->c()};
    add<D>(name, [=, launch = *config] {
      check(arch::launch(run_kernel<Handle, Epilogue>, launch, tiles, p.get_device_handle(), epilogue));
    });
  }

  void report(const char* type) { Race<T, Out>::report(type, this->extent() >= 8192 ? 5 : 20); }

 private:
  template <class D>
  void add(const char* name, std::function<void()> run) {
    Race<T, Out>::add(name, std::move(run), arrangement_of_v_a<D>, arrangement_of_v_b<D>);
  }
  template <class D>
  auto make() const {
    const auto p = suggest_pipeline<D>(this->template operand<arrangement_of_v_a<D>>(this->a()),
                                       this->template operand<arrangement_of_v_b<D>>(this->b()));
    if (!p) {
      std::printf("%s\n", p.error().message.c_str());
      std::exit(1);
    }
    return *p;
  }
};

void race_bf16(int64_t extent) {
  MmaSyncRace<bf16, bf16> r(DType::bf16, extent);
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
    MmaSyncRace<tf32, float> r(DType::tf32, extent);
    r.add_run<Tile<tf32, float, 128, 128, 32, 256, 16>>("run 128x128, TMA");
    r.add_run<Tile<tf32, float, 128, 128, 32, 256, 16, col_major, row_major>>(
        "run 128x128, cp.async, MN-major");
    r.report("tf32");
  }
  {
    MmaSyncRace<int8_t, int32_t> r(DType::s8, extent);
    r.add_run<Tile<int8_t, int32_t, 128, 128, 128, 256, 16>>("run 128x128, TMA");
    r.add_run<Tile<int8_t, int32_t, 128, 128, 64, 256, 16, col_major, row_major>>(
        "run 128x128, cp.async, MN-major");
    r.report("s8");
  }
  {
    MmaSyncRace<double, double> r(DType::f64, extent);
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
      "type          extent  contender                                     time      speed  ratio to "
      "cuBLASLt\n");
  for (const int64_t extent : extents) {
    race_bf16(extent);
    race_others(extent);
  }
  return 0;
}
