// Which part of which tile a CTA of an FP32 GEMM works on: whole tiles first, then an equal piece of the K
// tiles of those that are left (stream-K: Osama et al., PPoPP 2023), so that all CTAs end together.
#pragma once

#include <cstdint>

#include "tilewright/config.h"
#include "tilewright/mainloop/simt_gemm_params.h"

namespace tilewright::kernels {

/// A range of K tiles of one tile.
struct SimtSegment {
  uint32_t tile;  // index in the schedule
  uint32_t first, count;
  /// Where its sums go when it is not the whole tile: of the CTA's two places, 0 for the end of a tile (or a
  /// piece of its middle), 1 for the beginning of one.
  uint32_t place;
};

/// The segments of CTA `cta` of `ctas`, in order. The producer and the consumers walk it alike.
class SimtWork {
 public:
  TILEWRIGHT_HOST_DEVICE SimtWork(const SimtGemmParams& p, uint32_t cta, uint32_t ctas)
      : next_(cta), ctas_(ctas), unit_(piece_begin(p, cta)), end_(piece_begin(p, cta + 1)) {}

  /// False when there is no more.
  TILEWRIGHT_HOST_DEVICE bool take(const SimtGemmParams& p, SimtSegment& s) {
    if (next_ < p.whole_tiles) {
      s = {next_, 0, p.k_tiles, 0};
      next_ += ctas_;
      return true;
    }
    if (unit_ >= end_) return false;
    const uint32_t tile = p.by_k_tiles.divide(unit_);
    s.tile = p.whole_tiles + tile;
    s.first = unit_ - tile * p.k_tiles;
    const uint32_t left = p.k_tiles - s.first;
    s.count = end_ - unit_ < left ? end_ - unit_ : left;
    s.place = s.first == 0 ? 1 : 0;
    unit_ += s.count;
    return true;
  }

  /// First of the shared K tiles (fewer than 2^31) that belong to CTA `cta`.
  TILEWRIGHT_HOST_DEVICE static uint32_t piece_begin(const SimtGemmParams& p, uint32_t cta) {
    return cta * p.piece_k_tiles + (cta < p.longer_pieces ? cta : p.longer_pieces);
  }
  /// The CTA that computes shared K tile `unit`.
  TILEWRIGHT_HOST_DEVICE static uint32_t cta_of(const SimtGemmParams& p, uint32_t unit) {
    const uint32_t in_longer = p.longer_pieces * (p.piece_k_tiles + 1);
    if (unit < in_longer) return unit / (p.piece_k_tiles + 1);
    return p.longer_pieces + (unit - in_longer) / p.piece_k_tiles;
  }

 private:
  uint32_t next_, ctas_;
  uint32_t unit_, end_;
};

}  // namespace tilewright::kernels
