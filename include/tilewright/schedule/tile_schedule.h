// Which output tile a CTA works on next: persistent, in clusters, rastered in strips for L2 reuse.
#pragma once

#include <cstdint>

#include "tilewright/config.h"

namespace tilewright::schedule {

/// Division by a run-time constant as one multiply-high and a shift (Granlund and Montgomery, 1994): a
/// hardware division costs a persistent kernel several hundred cycles at each tile switch.
struct FastDivisor {
  uint32_t divisor = 1;
  uint32_t multiplier = 0;  // 0: the divisor is a power of two
  uint32_t shift = 0;

  FastDivisor() = default;
  /// divisor in 1..2^31.
  explicit constexpr FastDivisor(uint32_t d) : divisor(d) {
    while ((uint64_t{1} << shift) < d) ++shift;
    if ((uint64_t{1} << shift) != d) {
      multiplier = static_cast<uint32_t>(((uint64_t{1} << (31 + shift)) + d - 1) / d);
      --shift;
    }
  }

  /// Exact for dividends below 2^31.
  TILEWRIGHT_HOST_DEVICE uint32_t divide(uint32_t dividend) const {
    if (multiplier == 0) return dividend >> shift;
#if defined(__CUDA_ARCH__)
    return __umulhi(dividend, multiplier) >> shift;
#else
    return static_cast<uint32_t>((uint64_t{dividend} * multiplier) >> 32) >> shift;
#endif
  }
};

/// Direction that varies fastest inside a strip.
enum class Raster : uint8_t { along_m, along_n };

/// How a persistent cluster comes by its next tile.
enum class TileScheduler : uint8_t {
  static_persistent,       // as many clusters as fit, each takes every so-many-th tile
  cluster_launch_control,  // a cluster for each tile; one that runs takes over those that have not started
};
/// Requests under way or read by some roles of a cluster and not by others yet.
inline constexpr uint32_t launch_answer_slots = 4;
/// Shared memory for them: an answer of 16 bytes and two barriers each.
inline constexpr uint32_t launch_answer_bytes = 32 * launch_answer_slots;

/// Tile coordinates of one CTA, in tiles; batch index last.
struct TileCoord {
  uint32_t m, n, batch;
};

/// The CTAs of a cluster whose tiles lie in the first row of tiles, a bit for each rank.
constexpr uint32_t cluster_row_mask(uint32_t cluster_m, uint32_t cluster_n) {
  uint32_t mask = 0;
  for (uint32_t i = 0; i < cluster_n; ++i) mask |= 1u << (i * cluster_m);
  return mask;
}

/// Order of the output tiles. The unit is a cluster of cluster_m x cluster_n tiles, one tile per CTA; a CTA
/// of rank r in its cluster (M fastest) takes tile (r % cluster_m, r / cluster_m) of it. Tiles past the edge
/// of the matrix are scheduled too, so that all CTAs of a cluster do the same work; copies fill them with
/// zeros and stores drop them.
///
/// along_m: strips of `strip` clusters in N; inside a strip the walk goes down M, and across the strip before
/// each step down. along_n is the same with M and N exchanged. The last strip may be narrower.
struct TileSchedule {
  uint32_t clusters_total = 0;  // clusters in all batches, below 2^31
  uint32_t cluster_m = 1, cluster_n = 1;
  Raster raster = Raster::along_m;
  uint32_t strip = 1;
  uint32_t last_strip = 0;        // first cluster index (within a batch) of the last, narrower strip
  uint32_t last_strip_minor = 0;  // its first minor coordinate
  FastDivisor per_batch, per_strip, strip_width, last_strip_width, cluster_height;

  /// tiles_m, tiles_n, batches >= 1. `strip` is clamped to the grid.
  static constexpr TileSchedule make(uint32_t tiles_m, uint32_t tiles_n, uint32_t batches, uint32_t cluster_m,
                                     uint32_t cluster_n, Raster raster, uint32_t strip) {
    TileSchedule s;
    const uint32_t rows = (tiles_m + cluster_m - 1) / cluster_m;
    const uint32_t columns = (tiles_n + cluster_n - 1) / cluster_n;
    const uint32_t major = raster == Raster::along_m ? rows : columns;
    const uint32_t minor = raster == Raster::along_m ? columns : rows;
    s.clusters_total = rows * columns * batches;
    s.cluster_m = cluster_m;
    s.cluster_n = cluster_n;
    s.raster = raster;
    s.strip = strip < minor ? strip : minor;
    const uint32_t full_strips = minor / s.strip;
    s.last_strip = full_strips * s.strip * major;
    s.last_strip_minor = full_strips * s.strip;
    s.per_batch = FastDivisor(rows * columns);
    s.per_strip = FastDivisor(s.strip * major);
    s.strip_width = FastDivisor(s.strip);
    const uint32_t rest = minor - s.last_strip_minor;
    s.last_strip_width = FastDivisor(rest == 0 ? 1 : rest);
    s.cluster_height = FastDivisor(cluster_m);
    return s;
  }

  /// The tile of the CTA of rank `rank` in the `index`-th cluster, index < clusters_total.
  TILEWRIGHT_HOST_DEVICE TileCoord tile(uint32_t index, uint32_t rank) const {
    const uint32_t batch = per_batch.divide(index);
    const uint32_t in_batch = index - batch * per_batch.divisor;
    uint32_t minor, major;
    if (in_batch < last_strip) {
      const uint32_t which = per_strip.divide(in_batch);
      const uint32_t in_strip = in_batch - which * per_strip.divisor;
      major = strip_width.divide(in_strip);
      minor = which * strip + in_strip - major * strip;
    } else {
      const uint32_t in_strip = in_batch - last_strip;
      major = last_strip_width.divide(in_strip);
      minor = last_strip_minor + in_strip - major * last_strip_width.divisor;
    }
    const uint32_t rank_n = cluster_height.divide(rank);
    const uint32_t rank_m = rank - rank_n * cluster_m;
    const bool down = raster == Raster::along_m;
    return {(down ? major : minor) * cluster_m + rank_m, (down ? minor : major) * cluster_n + rank_n, batch};
  }
};

/// Tiles, and who hands them out.
struct ScheduledTiles {
  TileSchedule tiles;
  TileScheduler scheduler = TileScheduler::static_persistent;
};

}  // namespace tilewright::schedule
