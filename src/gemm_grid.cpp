#include "src/gemm_grid.h"

#include <algorithm>
#include <limits>

#include "src/gemm_rules.h"
#include "src/plan_text.h"

namespace tilewright {

constexpr int64_t kTilesPerCta = 3;

TileGrid grid_of(const KernelProblem& p, Shape2 tile, Shape2 cluster) {
  TileGrid g{ceil_div(p.m, tile.m), ceil_div(p.n, tile.n), 0};
  const int64_t rows = ceil_div(g.tiles_m, cluster.m), columns = ceil_div(g.tiles_n, cluster.n);
  const __int128 tiles = static_cast<__int128>(rows) * columns * p.l * cluster.m * cluster.n;
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  g.tiles = tiles > kMost ? kMost : static_cast<int64_t>(tiles);
  return g;
}

Status check_tiles(const TileGrid& grid, const KernelProblem& p) {
  if (grid.tiles <= std::numeric_limits<int32_t>::max()) return {};
  return broken(RuleId::tiles_count, "tiles",
                text(grid.tiles_m) + " x " + text(grid.tiles_n) + " x " + text(p.l) + " batches",
                "a larger tile or fewer batches");
}

int64_t working_ctas(const Target& target, const Options& options, int64_t tiles, int64_t ctas_per_sm,
                     int64_t least) {
  const int64_t asked = options.max_sms.value_or(target.sms);
  if (target.device == Device::gpu) return std::min<int64_t>(asked, target.sms) * ctas_per_sm;
  if (asked != 0) return asked * ctas_per_sm;
  return std::clamp(tiles / kTilesPerCta, least, kLargestChip * ctas_per_sm);
}

schedule::Raster flip_if(bool exchanged, schedule::Raster raster) {
  using schedule::Raster;
  if (!exchanged) return raster;
  return raster == Raster::along_m ? Raster::along_n : Raster::along_m;
}

RasterOrder raster_of(const PlanRequest& request, RasterOrder order) {
  const Options& o = request.options;
  if (o.raster) order.raster = flip_if(request.problem.exchanged, *o.raster);
  if (o.swizzle) order.strip = *o.swizzle;
  order.strip = std::min<int64_t>(order.strip, std::numeric_limits<int32_t>::max());
  return order;
}

void describe_tiles(const PlanRequest& request, const schedule::TileSchedule& tiles, PlanInfo& info) {
  info.raster = flip_if(request.problem.exchanged, tiles.raster);
  info.swizzle = tiles.strip;
}

}  // namespace tilewright
