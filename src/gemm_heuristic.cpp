#include "src/gemm_heuristic.h"

#include <algorithm>
#include <cmath>

#include "src/rounding.h"

namespace tilewright {
namespace {

/// Part of the tensor pipe that a tile keeps busy inside the K loop. One consumer warpgroup (64 rows) cannot
/// cover the additions between its own groups of MMAs; two cover each other's if a group is longer than those
/// additions.
double pipe_use(const TileChoice& tile) {
  constexpr double kGapCycles =
      140;  // wait, poll, release and 64 additions between two groups of a warpgroup
  const bool two = tile.tile_m >= 128;
  const int halves = tile.tile_m == 64 && tile.tile_n == 256 && tile.promoted ? 2 : 1;
  // m64nNk32 takes N / 2 cycles; a group has four of them.
  const double group = 4.0 * (tile.tile_n / halves) / 2;
  const double gap = tile.promoted ? kGapCycles : kGapCycles / 2;
  if (!two) return group / (group + gap);
  return 0.95 * std::min(1.0, 2 * group / (group + gap + 40));
}

}  // namespace

double estimate_cycles(const TilingQuery& q, const TileChoice& tile) {
  constexpr double kCopyBytesPerCycle = 56;  // into one SM's shared memory, all SMs at work
  constexpr double kSwitchCycles =
      1500;  // between tiles: schedule, first copies, what of the stores does not hide
  constexpr double kMacsPerCycle = 4096;
  // A full chip runs at its power limit: copies that the 128 x 256 tile would not make cost clock.
  constexpr double kLeastCopies = 1.0 / 128 + 1.0 / 256, kEnergyOfCopies = 0.3;
  const int64_t tiles = ceil_div(q.m, tile.tile_m) * ceil_div(q.n, tile.tile_n) * q.l;
  const auto rounds = static_cast<double>(ceil_div(tiles, q.sms));
  const auto k_tiles = static_cast<double>(ceil_div(q.k, 128));
  const double mma = tile.tile_m * tile.tile_n * 128 / kMacsPerCycle / pipe_use(tile);
  const double copies = (tile.tile_m + tile.tile_n) * 128 / kCopyBytesPerCycle;
  // The larger of the two, a little more when they are close and hide each other badly.
  const double k_tile = std::pow(std::pow(mma, 4) + std::pow(copies, 4), 0.25);
  const double more_copies = (1.0 / tile.tile_m + 1.0 / tile.tile_n) / kLeastCopies - 1;
  const double slowdown = rounds > 1 ? 1 + kEnergyOfCopies * more_copies : 1;
  return rounds * (k_tiles * k_tile * slowdown + kSwitchCycles);
}

int choose_tile(const TilingQuery& query, std::span<const TileChoice> tiles) {
  const auto cheaper = [&](const TileChoice& a, const TileChoice& b) {
    return estimate_cycles(query, a) < estimate_cycles(query, b);
  };
  return static_cast<int>(std::min_element(tiles.begin(), tiles.end(), cheaper) - tiles.begin());
}

std::vector<std::pair<TileChoice, double>> ranked_tiles(const TilingQuery& query,
                                                        std::span<const TileChoice> tiles) {
  std::vector<std::pair<TileChoice, double>> ranked;
  for (const TileChoice& tile : tiles) ranked.emplace_back(tile, estimate_cycles(query, tile));
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.second < b.second; });
  return ranked;
}

Cluster choose_tensor_cluster(const TilingQuery& q, const TileChoice& tile, int element_bits) {
  constexpr int64_t kLongRow = 16384;
  const int64_t rows = ceil_div(q.m, tile.tile_m), columns = ceil_div(q.n, tile.tile_n);
  const bool pays =
      element_bits == 16 && q.k < kLongRow && q.sms >= 2 && rows % 2 == 0 && rows * columns * q.l >= q.sms;
  return pays ? Cluster{2, 1} : Cluster{1, 1};
}

RasterChoice choose_tensor_raster(const TileChoice& tile, const Cluster& cluster) {
  constexpr int64_t kStripColumns = 2048;
  const int64_t columns = int64_t{tile.tile_n} * cluster.n * cluster.m;
  return {schedule::Raster::along_m, std::max<int64_t>(1, kStripColumns / columns)};
}

int64_t even_clusters(int64_t resident, int64_t total, int64_t cluster_ctas, int64_t row_bytes) {
  const int64_t least_row_bytes = cluster_ctas == 1 ? 2048 : 4096;
  const int64_t most = std::min(resident, total);
  if (most == 0 || row_bytes < least_row_bytes) return most;
  const int64_t rounds = ceil_div(total, most), even = total / rounds;
  return total % rounds == 0 && 16 * even >= 15 * most ? even : most;
}

int choose_candidate(std::span<const TileCandidate> candidates, const TileChoice& tile,
                     const Cluster& wanted) {
  int chosen = -1;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!(candidates[i].tile == tile)) continue;
    const Cluster& of_i = candidates[i].cluster;
    if (chosen < 0 || of_i == wanted ||
        (of_i == Cluster{} && !(candidates[static_cast<size_t>(chosen)].cluster == wanted)))
      chosen = static_cast<int>(i);
  }
  return chosen;
}

RasterChoice choose_raster(const TilingQuery& q, const TileChoice& tile, const Cluster& cluster) {
  // A strip's rows of A are read again for every column of tiles, a column of B once per strip: taller strips
  // as long as their rows stay in L2 (measured at K = 1536 to 8192).
  constexpr int64_t kStripRows = 2048, kStripBytes = int64_t{16} << 20;
  const int64_t rows = 2 * kStripRows * q.k <= kStripBytes ? 2 * kStripRows : kStripRows;
  return {schedule::Raster::along_n, std::max<int64_t>(1, rows / (int64_t{tile.tile_m} * cluster.m))};
}

}  // namespace tilewright
