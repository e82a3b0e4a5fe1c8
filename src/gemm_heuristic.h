// Which tile, cluster and raster suit a problem: plain functions over plain structs, tested without a GPU.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tilewright/schedule/tile_schedule.h"

namespace tilewright {

/// A problem as the kernels see it (row-major D; k in bytes of a row of A), and the chip.
struct TilingQuery {
  int64_t m, n, k, l;
  int sms;
};

/// A tile that a kernel is built for.
struct TileChoice {
  int tile_m, tile_n;
  bool promoted;  // adds a temporary accumulator to the main one

  friend bool operator==(const TileChoice&, const TileChoice&) = default;
};

/// Modelled cycles of the whole problem: rounds of tiles over the chip x the slower of MMA and operand
/// traffic, plus the switch between tiles.
double estimate_cycles(const TilingQuery& query, const TileChoice& tile);

/// The tiles with their modelled cycles, the cheapest first.
std::vector<std::pair<TileChoice, double>> ranked_tiles(const TilingQuery& query,
                                                        std::span<const TileChoice> tiles);

/// Index of the cheapest of `tiles` (at least one); the first of equals.
int choose_tile(const TilingQuery& query, std::span<const TileChoice> tiles);

struct Cluster {
  int m = 1, n = 1;
  friend bool operator==(const Cluster&, const Cluster&) = default;
};

struct RasterChoice {
  schedule::Raster raster;
  int64_t strip;  // clusters
};
/// Of FP8: strips of 2048 or 4096 rows of D: one strip of A stays in L2 while B streams by.
RasterChoice choose_raster(const TilingQuery& query, const TileChoice& tile, const Cluster& cluster);

/// Of the other types: two CTAs that share B where 16-bit tiles fill the chip in pairs and rows of K are
/// short (H200, cold L2, short bursts: 4096 x 7168 x 2048 gains 0.3 %, 8192^3 loses 1.3 %). TF32 and integers
/// lose.
Cluster choose_tensor_cluster(const TilingQuery& query, const TileChoice& tile, int element_bits);
/// Of the other types: strips of 2048 columns: their slab of B stays in L2 while A streams by (measured).
RasterChoice choose_tensor_raster(const TileChoice& tile, const Cluster& cluster);

/// How many of `resident` clusters of so many CTAs work on `total` tiles of clusters: a few less if with them
/// all rounds are full, and as many. Each round is then a whole block of tiles, whose operands meet in L2.
/// (H200, wgmma, 128 CTAs instead of 132: rows of K of 4096 bytes and more are 0 to 1.4 % quicker, CTAs alone
/// from 2048 bytes on up to 0.3 %; below that as much is lost as gained, and pairs at 1536 lose 2 to 3 %.)
int64_t even_clusters(int64_t resident, int64_t total, int64_t cluster_ctas, int64_t row_bytes);

/// A tile that a kernel is built for, with its cluster.
struct TileCandidate {
  TileChoice tile;
  Cluster cluster;
};
/// Index of the candidate of a tile (one of theirs) whose cluster is the wanted one, else 1 x 1, else any.
int choose_candidate(std::span<const TileCandidate> candidates, const TileChoice& tile,
                     const Cluster& wanted);

}  // namespace tilewright
