#include "src/gemm_grid.h"

#include <algorithm>
#include <limits>

#include "src/gemm_heuristic.h"
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

Expected<int64_t> working_clusters(const PlanRequest& r, int64_t cluster_ctas, int64_t tiles,
                                   const std::function<Expected<int>()>& max_active) {
  const int64_t clusters = working_ctas(r.target, r.options, tiles, 1, cluster_ctas) / cluster_ctas;
  // The runtime counts clusters of several CTAs only.
  if (r.target.device == Device::emulator || cluster_ctas == 1) return clusters;
  const Expected<int> resident = max_active();
  if (!resident) return resident.error();
  return std::min<int64_t>(*resident, clusters);
}

Status check_resident(const PlanRequest& r, Shape2 cluster, int64_t clusters) {
  if (clusters >= 1) return {};
  return broken(RuleId::cluster_resident, "cluster",
                text(r.problem.to_caller(cluster)) + " on " + text(r.options.max_sms.value_or(r.target.sms)) +
                    " multiprocessors",
                cluster != Shape2{1, 1} ? "1x1" : "1 multiprocessor or more");
}

Status check_tensor_core_options(const Options& o) {
  if (o.splits && *o.splits != 1) return broken(RuleId::splits_value, "splits", text(*o.splits), "1");
  if (o.pipeline == PipelineKind::async)
    return broken(RuleId::pipeline_built, "pipeline", "async on tensor cores", "a producer warpgroup");
  if (o.static_shape)
    return broken(RuleId::shape_static, "static shape", "operands of tensor cores", "a dynamic one");
  return {};
}

int64_t legal_ld(int64_t stride, int64_t lines, int64_t line, DType type) {
  return lines > 1 ? stride : round_up(std::max<int64_t>(line, 1), 128 / bits_of(type));
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

schedule::TileSchedule schedule_tiles(const PlanRequest& r, const TileGrid& grid, Shape2 cluster,
                                      int64_t clusters, RasterOrder chosen, bool evenly, PlanInfo& info) {
  const RasterOrder order = raster_of(r, chosen);
  const schedule::TileSchedule tiles = schedule::TileSchedule::make(
      static_cast<uint32_t>(grid.tiles_m), static_cast<uint32_t>(grid.tiles_n),
      static_cast<uint32_t>(r.problem.l), static_cast<uint32_t>(cluster.m), static_cast<uint32_t>(cluster.n),
      order.raster, static_cast<uint32_t>(order.strip));
  const int64_t ctas = cluster.m * cluster.n;
  info.sms = static_cast<int>(clusters * ctas);
  info.tiles = grid.tiles;
  const int64_t row_bytes = evenly ? r.problem.k * bits_of(r.problem.a.type) / 8 : 0;
  const int64_t present = grid.tiles / ctas, working = even_clusters(clusters, present, ctas, row_bytes);
  info.grid_ctas = working * ctas;
  if (working < std::min(clusters, present))
    info.why += ", on " + text(info.grid_ctas) + " of " + text(info.sms) + " SMs all rounds are full";
  info.launches = 1;
  describe_tiles(r, tiles, info);
  return tiles;
}

void describe_tiles(const PlanRequest& request, const schedule::TileSchedule& tiles, PlanInfo& info) {
  info.raster = flip_if(request.problem.exchanged, tiles.raster);
  info.swizzle = tiles.strip;
}

}  // namespace tilewright
