#include "src/simt_heuristic.h"

#include <algorithm>

#include "src/plan_text.h"

namespace tilewright {
namespace {

using kernels::SimtKernelId;

// ---- every constant of the model, for an H200
constexpr double kClockMhz = 1980;       // FP32 is not power limited
constexpr double kFmasPerCycle = 128;    // of an SM
constexpr double kBytesPerUs = 3.7e6;    // of global memory, read and written
constexpr double kLaunchUs = 3;          // another kernel behind
constexpr double kRepackUs = 5;          // another kernel in front, which nothing runs beside
constexpr double kSegmentCycles = 2500;  // first copies, epilogue and switch of a piece of work
constexpr double kAloneSpeed = 0.52;     // of a CTA that has an SM to itself, to that of two
constexpr double kGatherCycles = 0.065;  // of an SM, for an element copied by itself
constexpr double kAsyncSpeed = 0.8;      // of copies by the threads that multiply
constexpr double kWholeGain = 1.01;      // of kernels without predicates
constexpr int64_t kLeastSplitK = 128;    // elements of K worth a CTA
constexpr int64_t kStripRows = 2048;     // of D in a raster strip
constexpr int64_t kRepackBlocksPerSm = 8;

/// Part of the FFMA pipe that two CTAs keep busy inside the K loop, operands in place. Measured with bulk
/// copies: what larger tiles gain is fewer loads from shared memory for each FFMA.
double pipe_use(const SimtKernelId& id) {
  const int64_t accumulators = int64_t{id.tile_m} * id.tile_n;
  const double tile = accumulators >= 128 * 128 ? 0.855 : accumulators >= 64 * 128 ? 0.74 : 0.5;
  const double pipeline = id.pipeline == kernels::SimtPipeline::async ? kAsyncSpeed : 1;
  return tile * pipeline * (id.whole ? kWholeGain : 1);
}

/// Cycles of an SM for one element of K of a tile.
double k_cycles(const SimtConfiguration& c) {
  const auto gathered = [](SimtSource source, int rows) { return source == SimtSource::gathered ? rows : 0; };
  return static_cast<double>(c.id.tile_m) * c.id.tile_n / (kFmasPerCycle * pipe_use(c.id)) +
         kGatherCycles * (gathered(c.a, c.id.tile_m) + gathered(c.b, c.id.tile_n));
}

double repack_us(const SimtQuery& q, const SimtConfiguration& c) {
  const double a = c.a == SimtSource::repacked ? static_cast<double>(q.m * q.a_batches) : 0;
  const double b = c.b == SimtSource::repacked ? static_cast<double>(q.n * q.b_batches) : 0;
  const double bytes = 2 * 4 * (a + b) * static_cast<double>(q.k);
  return bytes == 0 ? 0 : kRepackUs + bytes / kBytesPerUs;
}

/// Of the CTA with the most work, while two share each SM or one has it to itself.
double compute_us(const SimtQuery& q, const SimtConfiguration& c, int64_t tiles) {
  const int64_t tile_k = kernels::simt_plan(c.id).tile_k;
  const auto k_tiles = static_cast<double>(ceil_div(q.k, tile_k));
  const double k_tile = 2 * k_cycles(c) * static_cast<double>(tile_k);
  const int64_t whole = tiles - c.work.shared_tiles;
  const int64_t rounds = whole / c.work.ctas, rest = whole % c.work.ctas;
  const auto slowness = [&](int64_t ctas) { return ctas <= q.sms ? 1 / (2 * kAloneSpeed) : 1.0; };
  const auto cycles = [&](double k_tiles_each, double segments) {
    return k_tiles_each * k_tile + segments * 2 * kSegmentCycles;
  };
  double total = static_cast<double>(rounds) * cycles(k_tiles, 1) * slowness(c.work.ctas);
  if (rest > 0) total += cycles(k_tiles, 1) * slowness(rest);
  if (c.work.shared_tiles > 0) {
    const double piece =
        k_tiles * static_cast<double>(c.work.shared_tiles) / static_cast<double>(c.work.ctas);
    total += cycles(piece, 2) * slowness(c.work.ctas);
  }
  return total / kClockMhz;
}

double fixup_us(const SimtConfiguration& c) {
  if (c.work.shared_tiles == 0) return 0;
  // A partial tile of each CTA, and another where it begins one tile and ends another, written and read; and
  // the shared tiles of D.
  const double tile_bytes = 4.0 * c.id.tile_m * c.id.tile_n;
  const bool aligned = c.work.ctas % c.work.shared_tiles == 0;
  const int64_t partials = c.work.ctas + (aligned ? 0 : c.work.shared_tiles);
  const auto pieces = static_cast<double>(2 * partials + c.work.shared_tiles);
  return kLaunchUs + tile_bytes * pieces / kBytesPerUs;
}

/// Whether CTAs can share tiles: it takes a cut, and `least` K tiles for each of them.
bool may_share(int64_t ctas, int64_t shared, int64_t k_tiles, int64_t least) {
  constexpr int64_t kMostKTiles = int64_t{1} << 31;
  return shared % ctas != 0 && k_tiles < kMostKTiles / shared && shared * k_tiles / ctas >= least;
}

}  // namespace

std::vector<SimtDivision> divisions(const SimtKernelId& id, int64_t tiles, int64_t k_tiles, int64_t limit) {
  std::vector<SimtDivision> out{{std::min(tiles, limit), 0}};
  const int64_t least = ceil_div(kLeastSplitK, kernels::simt_plan(id).tile_k);
  const auto add = [&](int64_t ctas, int64_t shared) {
    if (may_share(ctas, shared, k_tiles, least)) out.push_back({ctas, shared});
  };
  if (tiles < limit) {
    for (int64_t splits = 2; splits * tiles <= limit; ++splits) add(splits * tiles, tiles);
    add(limit, tiles);
  } else {
    add(limit, tiles % limit);
    add(limit, tiles % limit + limit);
  }
  return out;
}

SimtDivision division_by(int64_t splits, int64_t tiles, int64_t k_tiles, int64_t limit) {
  const int64_t parts = std::min(splits, std::max<int64_t>(k_tiles, 1));
  const bool fits = parts <= limit / tiles;
  const SimtDivision cut{fits ? tiles * parts : limit, tiles < limit ? tiles : tiles % limit + limit};
  if (parts > 1 && may_share(cut.ctas, cut.shared_tiles, k_tiles, 1)) return cut;
  return {std::min(tiles, limit), 0};
}

double estimate_us(const SimtQuery& q, const SimtConfiguration& c) {
  const int64_t tiles = ceil_div(q.m, c.id.tile_m) * ceil_div(q.n, c.id.tile_n) * q.l;
  const double bytes =
      4 * (static_cast<double>(q.m * q.a_batches + q.n * q.b_batches) * static_cast<double>(q.k) +
           static_cast<double>(q.m) * static_cast<double>(q.n * q.l));
  return std::max(compute_us(q, c, tiles), bytes / kBytesPerUs) + repack_us(q, c) + fixup_us(c);
}

RasterOrder choose_simt_raster(const SimtKernelId& id) {
  return {schedule::Raster::along_n, std::max<int64_t>(1, kStripRows / id.tile_m)};
}

int64_t repack_blocks(int sms) { return kRepackBlocksPerSm * sms; }

}  // namespace tilewright
