// How many tiles a problem has, and how many CTAs work on them: what both planners need.
#pragma once

#include <cstdint>
#include <functional>

#include "src/gemm_target.h"

namespace tilewright {

constexpr int64_t kMaxSms = 65536;
constexpr int64_t kLargestChip = 132;  // of the emulated machine, unless asked for

/// Tiles of D of a kernel tile shape, those that only fill clusters included.
struct TileGrid {
  int64_t tiles_m, tiles_n, tiles;
};
TileGrid grid_of(const KernelProblem& problem, Shape2 tile, Shape2 cluster = {1, 1});
/// The rule tiles.count.
Status check_tiles(const TileGrid& grid, const KernelProblem& problem);

/// What kernels of tensor cores have no use for. Errors: rules of splits, pipelines and static shapes.
Status check_tensor_core_options(const Options& options);

/// CTAs that share the multiprocessors that may be used, `ctas_per_sm` on each. Without a limit, the emulated
/// machine has as many as give each of them three of `tiles`, `least` at least.
int64_t working_ctas(const Target& target, const Options& options, int64_t tiles, int64_t ctas_per_sm,
                     int64_t least);

/// Clusters that work at once on `tiles`, at most as many as `max_active` says that the device holds.
Expected<int64_t> working_clusters(const PlanRequest& request, int64_t cluster_ctas, int64_t tiles,
                                   const std::function<Expected<int>()>& max_active);
/// The rule cluster.resident. `cluster`: as the kernel sees it.
Status check_resident(const PlanRequest& request, Shape2 cluster, int64_t clusters);

/// The stride of a dimension of one line is never used, but must be legal.
int64_t legal_ld(int64_t stride, int64_t lines, int64_t line, DType type);

/// Order and strip width: the planner's choice, unless asked for, as the kernel sees them.
struct RasterOrder {
  schedule::Raster raster;
  int64_t strip;  // clusters
};
RasterOrder raster_of(const PlanRequest& request, RasterOrder chosen);
/// The direction as the caller sees it, or back.
schedule::Raster flip_if(bool exchanged, schedule::Raster raster);

/// The tiles of a grid, of which so many clusters compute some at once; evenly: as few as even_clusters()
/// says. Fills in what `info` has of them, and of one launch.
schedule::TileSchedule schedule_tiles(const PlanRequest& request, const TileGrid& grid, Shape2 cluster,
                                      int64_t clusters, RasterOrder chosen, bool evenly, PlanInfo& info);

/// Fills in the order of the tiles.
void describe_tiles(const PlanRequest& request, const schedule::TileSchedule& tiles, PlanInfo& info);

}  // namespace tilewright
