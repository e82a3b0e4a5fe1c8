// FP32 matrices as sums of tf32 numbers, laid out for wgmma: in each row K tiles, and in each of them the
// high parts of its elements, then the low ones. 22 significant bits in two parts, 11 in one.
//
// Infinities and NaN have no parts that multiply as they do: they become zeros, their row is flagged, and
// what they contribute is added by ordinary arithmetic (pipeline/split_loop.h).
#pragma once

#include <cstdint>

#include "tilewright/arch/atomics.h"
#include "tilewright/arch/convert.h"
#include "tilewright/arch/math.h"
#include "tilewright/mainloop/repack_tiles.h"
#include "tilewright/mainloop/split_f32_params.h"
#include "tilewright/numeric/detail/codec.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// A finite number is the sum of the values of its parts, but for bits below the 22nd and below 2^-136.
struct SplitFloat {
  uint32_t high, low;

  TILEWRIGHT_DEVICE explicit SplitFloat(float x) : high(arch::to_tf32(x)) {
    // Rounding must not make the largest numbers infinite, nor their sum.
    const bool largest = (high & 0x7FFFFFFFu) == 0x7F800000u;
    if (largest) high = arch::float_bits(x) & kTf32;
    const float rest = x - tilewright::detail::float_from_bits(high);  // exact
    low = largest ? arch::float_bits(rest) & kTf32 : arch::to_tf32(rest);
  }

 private:
  static constexpr uint32_t kTf32 = ~0x1FFFu;
};

struct alignas(16) SplitWords {
  uint32_t x, y, z, w;
};

template <uint32_t TileK, uint32_t Parts>
struct SplitTile : RepackTile<SplitOperand> {
  TILEWRIGHT_DEVICE void write(uint32_t thread) const {
    const uint32_t kk = thread % 16 * 4;
    if (this->k + kk >= o.padded_k) return;
    const uint32_t k_tile = (this->k + kk) / TileK;
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t r = thread / 16 + 16 * i;
      if (row + r >= o.rows) continue;
      const uint64_t of_batch = static_cast<uint64_t>(batch) * o.rows + row + r;
      uint32_t* const to =
          o.to + of_batch * o.padded_k * Parts + k_tile * TileK * Parts + (this->k + kk) % TileK;
      const SplitFloat x(finite(r, kk)), y(finite(r, kk + 1)), z(finite(r, kk + 2)), w(finite(r, kk + 3));
      *reinterpret_cast<SplitWords*>(to) = {x.high, y.high, z.high, w.high};
      if constexpr (Parts == 2) {
        *reinterpret_cast<SplitWords*>(to + TileK) = {x.low, y.low, z.low, w.low};
      }
    }
  }

 private:
  TILEWRIGHT_DEVICE float finite(uint32_t r, uint32_t kk) const {
    const float x = at(r, kk);
    if ((arch::float_bits(x) & 0x7F800000u) != 0x7F800000u) return x;
    arch::atomic_exchange(&o.flags[static_cast<uint64_t>(batch) * o.rows + row + r], 1u);
    arch::atomic_exchange(o.any, 1u);
    return 0;
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
