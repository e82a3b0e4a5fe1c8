// The planner's choices for users of pipelines.
#include <algorithm>
#include <limits>
#include <vector>

#include "src/device_info.h"
#include "src/gemm_heuristic.h"
#include "tilewright/pipeline/suggest_schedule.h"

namespace tilewright::blas::detail {
namespace {

constexpr int kModelSms = 132;  // of an H200

TileCandidate tile_of(const Facts& f) { return {{f.m, f.n, f.interval != 0}, {f.cluster_m, f.cluster_n}}; }

TilingQuery query_of(const Facts& f, int64_t m, int64_t n, int64_t k, int64_t batches, int sms) {
  return {m, n, k * bytes_of(f.a) * (f.is_complex ? 2 : 1), batches, sms};
}

bool is_fp8(const Facts& f) { return is_float8(f.a) && is_float8(f.b); }

int sms_of(int asked) {
  if (asked > 0) return asked;
  const Expected<GpuLimits> gpu = current_gpu();
  return gpu ? gpu->sms : kModelSms;
}

}  // namespace

ScheduleChoice choose_schedule(const Candidate& of, int64_t m, int64_t n, int64_t k, int64_t batches) {
  const auto [tile, cluster] = tile_of(of.facts);
  const RasterChoice chosen =
      is_fp8(of.facts) ? choose_raster(query_of(of.facts, m, n, k, batches, kModelSms), tile, cluster)
                       : choose_tensor_raster(tile, cluster);
  return {chosen.raster,
          static_cast<uint32_t>(std::min<int64_t>(chosen.strip, std::numeric_limits<int32_t>::max()))};
}

int choose_descriptor(std::span<const Candidate> of, int64_t m, int64_t n, int64_t k, int64_t batches,
                      int sms) {
  path fastest = path::none;
  for (const Candidate& c : of) fastest = std::min(fastest, c.taken);
  std::vector<int> index;
  std::vector<TileChoice> tiles;
  std::vector<TileCandidate> candidates;
  for (size_t i = 0; i < of.size(); ++i) {
    if (of[i].taken != fastest) continue;
    index.push_back(static_cast<int>(i));
    candidates.push_back(tile_of(of[i].facts));
    tiles.push_back(candidates.back().tile);
  }
  const Facts& first = of[static_cast<size_t>(index.front())].facts;
  const TilingQuery query = query_of(first, m, n, k, batches, sms_of(sms));
  const TileChoice tile = tiles[static_cast<size_t>(choose_tile(query, tiles))];
  const Cluster cluster =
      is_fp8(first) ? Cluster{} : choose_tensor_cluster(query, tile, 8 * bytes_of(first.a));
  return index[static_cast<size_t>(choose_candidate(candidates, tile, cluster))];
}

}  // namespace tilewright::blas::detail
