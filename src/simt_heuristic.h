// What an FP32 problem would take with each kernel: plain functions over plain structs, tested without a GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "src/gemm_grid.h"
#include "tilewright/mainloop/simt_gemm_params.h"

namespace tilewright {

/// How an operand reaches a kernel.
enum class SimtSource : uint8_t {
  bulk,      // bulk copies of what the caller gave
  repacked,  // copied to the workspace first, then as above
  gathered,  // single elements
};

/// A problem as the kernels see it (row-major D), and the chip.
struct SimtQuery {
  int64_t m, n, k, l;
  int64_t a_batches, b_batches;  // 1 where every batch reads the same matrix
  int sms;
};

/// CTAs, and how many of the tiles they cut along K between them (see kernels::SimtWork). Either no tile is
/// shared, or every CTA has at least one K tile of those that are.
struct SimtDivision {
  int64_t ctas = 0, shared_tiles = 0;

  friend bool operator==(const SimtDivision&, const SimtDivision&) = default;
};

/// A kernel, and how it would be used.
struct SimtConfiguration {
  kernels::SimtKernelId id;
  SimtSource a, b;
  SimtDivision work;
};

/// Divisions worth an estimate, of `tiles` tiles of `k_tiles` K tiles between at most `limit` CTAs; the first
/// shares no tile.
std::vector<SimtDivision> divisions(const kernels::SimtKernelId& id, int64_t tiles, int64_t k_tiles,
                                    int64_t limit);
/// The division for tiles cut into about `splits` parts.
SimtDivision division_by(int64_t splits, int64_t tiles, int64_t k_tiles, int64_t limit);

/// Modelled microseconds of everything a run launches.
double estimate_us(const SimtQuery& query, const SimtConfiguration& configuration);

/// Strips of tiles whose rows stay in L2.
RasterOrder choose_simt_raster(const kernels::SimtKernelId& id);

/// Blocks of the repacking kernel that work at once.
int64_t repack_blocks(int sms);

}  // namespace tilewright
