// FP32 matrices as sums of shorter numbers, laid out for wgmma: in each row K tiles, and in each of them the
// high parts of its elements, then the low ones. 22 significant bits in two parts, 11 in one.
//
// Infinities and NaN have no parts that multiply as they do: they become zeros, their row is flagged, and
// what they contribute is added by ordinary arithmetic (pipeline/split_loop.h).
#pragma once

#include <cstdint>

#include "tilewright/arch/atomics.h"
#include "tilewright/arch/convert.h"
#include "tilewright/arch/math.h"
#include "tilewright/arch/warp.h"
#include "tilewright/mainloop/repack_tiles.h"
#include "tilewright/mainloop/split_f32_params.h"
#include "tilewright/numeric/detail/codec.h"
#include "tilewright/numeric/float16.h"
#include "tilewright/numeric/tf32.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

TILEWRIGHT_DEVICE bool is_finite(float x) { return (arch::float_bits(x) & 0x7F800000u) != 0x7F800000u; }

/// Four neighbours in K, in parts. A finite number is the sum of its parts' values, but for bits below the
/// 22nd, and for tf32 below 2^-136.
template <class Part>
struct SplitQuad;

template <>
struct SplitQuad<tf32> {
  static constexpr bool kScaled = false;
  struct alignas(16) Words {
    uint32_t word[4];
  };
  Words high, low;

  TILEWRIGHT_DEVICE explicit SplitQuad(const float (&x)[4]) {
    constexpr uint32_t kUpper = ~0x1FFFu;
    TILEWRIGHT_UNROLL
    for (int i = 0; i < 4; ++i) {
      uint32_t word = arch::to_tf32(x[i]);
      // Rounding must not make the largest numbers infinite, nor their sum.
      const bool largest = (word & 0x7FFFFFFFu) == 0x7F800000u;
      if (largest) word = arch::float_bits(x[i]) & kUpper;
      const float rest = x[i] - tilewright::detail::float_from_bits(word);  // exact
      high.word[i] = word;
      low.word[i] = largest ? arch::float_bits(rest) & kUpper : arch::to_tf32(rest);
    }
  }
};

/// Of numbers below 2^15.
template <>
struct SplitQuad<f16> {
  static constexpr bool kScaled = true;
  struct alignas(8) Words {
    uint32_t word[2];
  };
  Words high, low;

  TILEWRIGHT_DEVICE explicit SplitQuad(const float (&x)[4]) {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < 2; ++i) {
      high.word[i] = arch::pack_f16x2(x[2 * i], x[2 * i + 1]);
      const arch::FloatPair rounded = arch::unpack_f16x2(high.word[i]);
      low.word[i] = arch::pack_f16x2(x[2 * i] - rounded.lo, x[2 * i + 1] - rounded.hi);
    }
  }
};

/// The power of two that brings the largest element of a row into [2^14, 2^15), as two factors: it may be
/// beyond the range of one. `inverse`: its reciprocal.
struct RowScale {
  float first, second;

  static TILEWRIGHT_DEVICE RowScale of(uint32_t largest, bool inverse) {
    const auto biased = static_cast<int32_t>(largest >> 23);
    const int32_t exponent = 14 + 127 - (biased == 0 ? 1 : biased);
    const int32_t e = inverse ? -exponent : exponent;
    return {power(e / 2), power(e - e / 2)};
  }
  TILEWRIGHT_DEVICE float operator()(float x) const { return arch::mul_rn(arch::mul_rn(x, first), second); }

 private:
  static TILEWRIGHT_DEVICE float power(int32_t e) {
    return tilewright::detail::float_from_bits(static_cast<uint32_t>(e + 127) << 23);
  }
};

/// The largest of `Lanes` neighbouring lanes, for each of them. All lanes of the warp.
template <uint32_t Lanes>
TILEWRIGHT_DEVICE uint32_t largest_of_lanes(uint32_t largest) {
  TILEWRIGHT_UNROLL
  for (uint32_t step = 1; step < Lanes; step *= 2) {
    const uint32_t other = arch::shuffle_xor(largest, step);
    largest = other > largest ? other : largest;
  }
  return largest;
}

/// Notes that a line, a row of a batch, has an infinity or a NaN; zero stands for it.
TILEWRIGHT_DEVICE float flag_special(const SplitOperand& o, uint64_t line) {
  arch::atomic_exchange(&o.flags[line], 1u);
  arch::atomic_exchange(o.any, 1u);
  return 0;
}

/// Where the largest element of a line is kept.
TILEWRIGHT_DEVICE uint64_t padded_line(const SplitOperand& o, uint64_t line) {
  return line / o.rows * o.padded_rows + line % o.rows;
}

/// The pass before SplitTile where parts are scaled.
struct LargestTile : RepackTile<SplitOperand> {
  /// Four neighbouring lanes share a row.
  TILEWRIGHT_DEVICE void write(uint32_t thread) const {
    const uint32_t r = thread / 4;
    uint32_t largest = 0;
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < kRepackTile / 4; ++i) {
      const float x = at(r, 4 * i + thread % 4);
      const uint32_t magnitude = is_finite(x) ? arch::float_bits(x) & 0x7FFFFFFFu : 0;
      largest = magnitude > largest ? magnitude : largest;
    }
    largest = largest_of_lanes<4>(largest);
    if (thread % 4 == 0 && row + r < o.rows) {
      arch::atomic_max(&o.largest[static_cast<uint64_t>(batch) * o.padded_rows + row + r], largest);
    }
  }
};

/// A tile in one or two (Parts) numbers of type Part for each element, laid out in K tiles of TileK.
template <class Part, uint32_t TileK, uint32_t Parts>
struct SplitTile : RepackTile<SplitOperand> {
  TILEWRIGHT_DEVICE void write(uint32_t thread) const {
    using Quad = SplitQuad<Part>;
    using Words = typename Quad::Words;
    const uint32_t kk = thread % 16 * 4;
    if (this->k + kk >= o.padded_k) return;
    const uint32_t k_tile = (this->k + kk) / TileK;
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t r = thread / 16 + 16 * i;
      if (row + r >= o.rows) continue;
      const uint64_t line = static_cast<uint64_t>(batch) * o.rows + row + r;
      float x[4];
      TILEWRIGHT_UNROLL
      for (uint32_t j = 0; j < 4; ++j) x[j] = finite(r, kk + j, line);
      if constexpr (Quad::kScaled) {
        const RowScale scale =
            RowScale::of(o.largest[static_cast<uint64_t>(batch) * o.padded_rows + row + r], false);
        TILEWRIGHT_UNROLL
        for (float& value : x) value = scale(value);
      }
      const Quad quad(x);
      Part* const to = static_cast<Part*>(o.to) + line * o.padded_k * Parts + k_tile * TileK * Parts +
                       (this->k + kk) % TileK;
      *reinterpret_cast<Words*>(to) = quad.high;
      if constexpr (Parts == 2) *reinterpret_cast<Words*>(to + TileK) = quad.low;
    }
  }

 private:
  TILEWRIGHT_DEVICE float finite(uint32_t r, uint32_t kk, uint64_t line) const {
    const float x = at(r, kk);
    return is_finite(x) ? x : flag_special(o, line);
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
