// Split rows whose K is contiguous and not too long, read once: their scale is known before they are written.
#pragma once

#include <cstdint>

#include "tilewright/arch/index.h"
#include "tilewright/arch/named_barrier.h"
#include "tilewright/arch/shared.h"
#include "tilewright/arch/warp.h"
#include "tilewright/mainloop/split_f32.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// The lines of an operand, one at a time, by blocks of kRepackThreads threads that keep them in registers.
template <class Part, uint32_t TileK, uint32_t Parts>
struct SplitRows {
  using Quad = SplitQuad<Part>;
  static constexpr uint32_t kQuads = split_rows_max_k / (4 * kRepackThreads);  // of a thread
  static_assert(Quad::kScaled, "other parts need not see a whole row");

  const SplitOperand& o;
  uint32_t thread, shared;  // shared: a word for each warp

  TILEWRIGHT_DEVICE void split(uint32_t line) const {
    float x[kQuads][4];
    const uint32_t largest = read(line, x);
    const RowScale scale = RowScale::of(largest, false);
    Part* const to = static_cast<Part*>(o.to) + static_cast<uint64_t>(line) * o.padded_k * Parts;
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < kQuads; ++i) {
      const uint32_t k = first_k(i);
      if (k >= o.padded_k) continue;
      TILEWRIGHT_UNROLL
      for (float& value : x[i]) value = scale(value);
      const Quad quad(x[i]);
      Part* const at = to + k / TileK * TileK * Parts + k % TileK;
      *reinterpret_cast<typename Quad::Words*>(at) = quad.high;
      if constexpr (Parts == 2) *reinterpret_cast<typename Quad::Words*>(at + TileK) = quad.low;
    }
    if (thread == 0) o.largest[padded_line(o, line)] = largest;
  }

 private:
  TILEWRIGHT_DEVICE uint32_t first_k(uint32_t quad) const { return 4 * (thread + quad * kRepackThreads); }

  /// The line, with zeros for what is not finite and what lies beyond it; returns the bits of its largest
  /// magnitude.
  TILEWRIGHT_DEVICE uint32_t read(uint32_t line, float (&x)[kQuads][4]) const {
    const float* const from = o.from + static_cast<int64_t>(line / o.rows) * o.batch_stride +
                              static_cast<int64_t>(line % o.rows) * o.row_stride;
    const bool aligned = reinterpret_cast<uintptr_t>(from) % 16 == 0;
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < kQuads; ++i) {
      const uint32_t k = first_k(i);
      if (aligned && k + 3 < o.k) {
        const auto quad = *reinterpret_cast<const Float4*>(from + k);
        x[i][0] = quad.x, x[i][1] = quad.y, x[i][2] = quad.z, x[i][3] = quad.w;
      } else {
        TILEWRIGHT_UNROLL
        for (uint32_t j = 0; j < 4; ++j) x[i][j] = k + j < o.k ? from[k + j] : 0.0f;
      }
    }
    uint32_t largest = 0;
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < kQuads; ++i) {
      TILEWRIGHT_UNROLL
      for (float& value : x[i]) {
        if (!is_finite(value)) value = flag_special(o, line);
        const uint32_t magnitude = arch::float_bits(value) & 0x7FFFFFFFu;
        largest = magnitude > largest ? magnitude : largest;
      }
    }
    return largest_of_block(largest);
  }

  TILEWRIGHT_DEVICE uint32_t largest_of_block(uint32_t largest) const {
    constexpr uint32_t kWarps = kRepackThreads / 32;
    largest = largest_of_lanes<32>(largest);
    if (thread % 32 == 0) arch::store_shared(shared + 4 * (thread / 32), largest);
    arch::sync_threads();
    const uint32_t of_warp = arch::load_shared<uint32_t>(shared + 4 * (thread % kWarps));
    arch::sync_threads();  // before the next line's words
    return largest_of_lanes<kWarps>(of_warp);
  }
};

/// Every line of every operand, shared among the blocks of the grid.
template <class Part, uint32_t TileK, uint32_t Parts>
TILEWRIGHT_DEVICE void split_rows(const SplitParams& params, uint32_t shared) {
  TILEWRIGHT_NO_UNROLL
  for (const SplitOperand& o : params.operand) {
    if (o.from == nullptr) continue;
    const SplitRows<Part, TileK, Parts> rows{o, arch::thread_index().x, shared};
    TILEWRIGHT_NO_UNROLL
    for (uint32_t line = arch::block_index().x; line < o.rows * o.batches; line += arch::grid_dim().x) {
      rows.split(line);
    }
  }
}

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
