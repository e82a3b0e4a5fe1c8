// How many tiles a problem has, and how many CTAs work on them: what both planners need.
#pragma once

#include <cstdint>

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

/// CTAs that share the multiprocessors that may be used, `ctas_per_sm` on each. Without a limit, the emulated
/// machine has as many as give each of them three of `tiles`, `least` at least.
int64_t working_ctas(const Target& target, const Options& options, int64_t tiles, int64_t ctas_per_sm,
                     int64_t least);

/// Order and strip width: the planner's choice, unless asked for, as the kernel sees them.
struct RasterOrder {
  schedule::Raster raster;
  int64_t strip;  // clusters
};
RasterOrder raster_of(const PlanRequest& request, RasterOrder chosen);
/// The direction as the caller sees it, or back.
schedule::Raster flip_if(bool exchanged, schedule::Raster raster);

/// Fills in the order of the tiles.
void describe_tiles(const PlanRequest& request, const schedule::TileSchedule& tiles, PlanInfo& info);

}  // namespace tilewright
