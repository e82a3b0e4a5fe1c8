// Block-scaled operands to bf16, before a product on tensor cores that have no block scales. Bound by memory:
// an element is read once and written once, in whole sectors, and so are its scales but where a line is long.
// L2 is asked to keep what the product will read, and not what nobody reads again.
#pragma once

#include "tilewright/arch/global_access.h"
#include "tilewright/arch/grid_dependency.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/named_barrier.h"
#include "tilewright/arch/shared.h"
#include "tilewright/arch/warp.h"
#include "tilewright/layout/scale_factors.h"
#include "tilewright/mainloop/dequantise.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace detail {

/// Sixteen bytes: the scales of four lines, or eight results.
struct alignas(16) DequantiseChunk {
  uint32_t words[4];
};

/// Four lines of one operand, 32 apart: the scales of a column of blocks are 16 neighbouring bytes. A warp
/// takes 256 elements of each at a time, eight in a lane, so that what it stores is contiguous.
template <BlockFormat F>
class DequantiseQuad {
  static constexpr bool kFp4 = is_fp4(F);
  static constexpr uint32_t kVector = static_cast<uint32_t>(scale_vector(F));
  static constexpr uint32_t kBlock = 4 * kVector;   // elements that a packed block of scales covers
  static constexpr uint32_t kWords = kFp4 ? 1 : 2;  // eight elements
  static constexpr uint32_t kSteps = kernels::dequantise_span / 256;
  struct alignas(4 * kWords) Elements {
    uint32_t words[kWords];
  };

 public:
  static constexpr bool kShifts = kernels::has_shifts(F);

  /// block: of lines, in all batches. quad: below 32.
  TILEWRIGHT_DEVICE DequantiseQuad(const kernels::DequantiseOperand& o, uint32_t k, uint32_t block,
                                   uint32_t quad)
      : o_(o), k_(k), lane_(arch::lane_index()) {
    const uint32_t batch = block / o.line_blocks;
    const uint32_t line = block % o.line_blocks * kernels::dequantise_block_lines + quad;
    lines_ = line < o.lines ? (o.lines - line + 31) / 32 : 0;
    if (lines_ > 4) lines_ = 4;
    const int64_t first = batch * o.batch_stride + line * o.ld;
    from_ = static_cast<const uint8_t*>(o.elements) + (kFp4 ? first / 2 : first);
    to_ = static_cast<uint16_t*>(o.to) + (static_cast<int64_t>(batch) * o.lines + line) * o.to_ld;
    scales_ = o.scales.data() + static_cast<int64_t>(block) * o.scale_blocks * scale_block_bytes + 16 * quad;
  }

  TILEWRIGHT_DEVICE bool empty() const { return lines_ == 0; }

  /// The shifts of the four lines, a byte each; 0 for those that do not exist. The whole warp.
  TILEWRIGHT_DEVICE uint32_t find_shifts() const {
    if constexpr (!kShifts) return 0;
    bool outer = false;
    for_each_block([&](const DequantiseChunk& codes) {
      TILEWRIGHT_UNROLL
      for (uint32_t j = 0; j < 4; ++j)
        outer = outer || (j < lines_ && mainloop::has_outer_scale<F>(codes.words[j]));
    });
    if (!arch::any(outer)) return 0;
    uint32_t shifts = 0;
    TILEWRIGHT_NO_UNROLL
    for (uint32_t j = 0; j < lines_; ++j) shifts |= (static_cast<uint32_t>(find_shift(j)) & 0xFFu) << 8 * j;
    return shifts;
  }

  /// What a lane has read of one span of each line.
  struct Span {
    Elements elements[kSteps][4];
    DequantiseChunk scales[kSteps];
  };

  TILEWRIGHT_DEVICE void load(uint32_t span, Span& to) const {
    TILEWRIGHT_UNROLL
    for (uint32_t s = 0; s < kSteps; ++s) {
      const uint32_t k = first_of(span, s);
      if (k >= k_) continue;
      to.scales[s] = *reinterpret_cast<const DequantiseChunk*>(scales_ + k / kBlock * scale_block_bytes);
      TILEWRIGHT_UNROLL
      for (uint32_t j = 0; j < 4; ++j) {
        const int64_t at = 32 * j * o_.ld + k;
        if (j < lines_)
          arch::load_past_l1(from_ + (kFp4 ? at / 2 : at), to.elements[s][j].words,
                             arch::CachePolicy::evict_first);
      }
    }
  }
  TILEWRIGHT_DEVICE void store(uint32_t span, const Span& from, uint32_t shifts) const {
    TILEWRIGHT_UNROLL
    for (uint32_t s = 0; s < kSteps; ++s) {
      const uint32_t k = first_of(span, s);
      if (k >= k_) continue;
      if (has_nan(from.elements[s])) {
        store<true>(from.elements[s], from.scales[s], k, shifts);
      } else {
        store<false>(from.elements[s], from.scales[s], k, shifts);
      }
    }
  }

 private:
  /// The lane's first element of a step of a span.
  TILEWRIGHT_DEVICE uint32_t first_of(uint32_t span, uint32_t step) const {
    return span * kernels::dequantise_span + 256 * step + 8 * lane_;
  }

  /// Whether an element of the four lines is NaN: seldom.
  TILEWRIGHT_DEVICE bool has_nan(const Elements (&elements)[4]) const {
    if constexpr (kFp4) return false;
    uint32_t nan = 0;
    TILEWRIGHT_UNROLL
    for (uint32_t j = 0; j < 4; ++j) {
      TILEWRIGHT_UNROLL
      for (uint32_t i = 0; i < kWords; ++i) {
        if (j < lines_) nan |= mainloop::nan_of_e4m3x4(elements[j].words[i]);
      }
    }
    return nan != 0;
  }

  /// Eight elements of each line, with their scales.
  template <bool Nan>
  TILEWRIGHT_DEVICE void store(const Elements (&elements)[4], const DequantiseChunk& scales, uint32_t k,
                               uint32_t shifts) const {
    uint32_t factors[4];
    widen_scales(scales, k, shifts, factors);
    TILEWRIGHT_UNROLL
    for (uint32_t j = 0; j < 4; ++j) {
      if (j >= lines_) continue;
      uint32_t v[4];
      widen<Nan>(elements[j], v);
      const uint32_t f = factors[j];
      arch::store_16(to_ + 32 * j * o_.to_ld + k, arch::mul_bf16x2(v[0], f), arch::mul_bf16x2(v[1], f),
                     arch::mul_bf16x2(v[2], f), arch::mul_bf16x2(v[3], f), arch::CachePolicy::evict_last);
    }
  }

  template <bool Nan>
  TILEWRIGHT_DEVICE static void widen(const Elements& from, uint32_t (&to)[4]) {
    if constexpr (kFp4) {
      mainloop::widen_e2m1x8<mainloop::element_exponent<F>>(from.words[0], to);
    } else {
      uint32_t half[2];
      TILEWRIGHT_UNROLL
      for (uint32_t i = 0; i < 2; ++i) {
        mainloop::widen_e4m3x4<mainloop::element_exponent<F>, Nan>(from.words[i], half);
        to[2 * i] = half[0], to[2 * i + 1] = half[1];
      }
    }
  }

  /// The scales of element k of the four lines, in both halves.
  TILEWRIGHT_DEVICE void widen_scales(const DequantiseChunk& codes, uint32_t k, uint32_t shifts,
                                      uint32_t (&factors)[4]) const {
    const uint32_t bit = 8 * (k / kVector % 4);
    if constexpr (kShifts) {
      TILEWRIGHT_UNROLL
      for (uint32_t j = 0; j < 4; ++j)
        factors[j] = mainloop::widen_e8m0<F>(codes.words[j] >> bit & 0xFFu,
                                             static_cast<int8_t>(shifts >> 8 * j & 0xFFu));
    } else {
      uint32_t bytes = 0;  // unsigned: the sign is not looked at
      TILEWRIGHT_UNROLL
      for (uint32_t j = 0; j < 4; ++j) bytes |= (codes.words[j] >> bit & 0x7Fu) << 8 * j;
      uint32_t pairs[2];
      mainloop::widen_e4m3x4<0, true>(bytes, pairs);
      TILEWRIGHT_UNROLL
      for (uint32_t j = 0; j < 4; ++j)
        factors[j] = arch::permute_bytes(pairs[j / 2], 0, j % 2 == 0 ? 0x1010 : 0x3232);
    }
  }

  /// f(scales of the four lines) for each block of scales of this lane; those behind K are 1.
  template <class Function>
  TILEWRIGHT_DEVICE void for_each_block(Function&& f) const {
    const uint32_t columns = k_ / kVector;
    TILEWRIGHT_NO_UNROLL
    for (uint32_t b = lane_; 4 * b < columns; b += 32) {
      auto codes = *reinterpret_cast<const DequantiseChunk*>(scales_ + b * scale_block_bytes);
      const uint32_t left = columns - 4 * b;
      const uint32_t known = left >= 4 ? 0xFFFFFFFFu : (1u << 8 * left) - 1;
      TILEWRIGHT_UNROLL
      for (uint32_t& word : codes.words) word = (word & known) | (0x7F7F7F7Fu & ~known);
      f(codes);
    }
  }

  TILEWRIGHT_DEVICE int find_shift(uint32_t j) const {
    int least = 254, greatest = 0;
    for_each_block([&](const DequantiseChunk& codes) {
      const uint32_t word = j == 0   ? codes.words[0]
                            : j == 1 ? codes.words[1]
                            : j == 2 ? codes.words[2]
                                     : codes.words[3];
      TILEWRIGHT_UNROLL
      for (int i = 0; i < 4; ++i) {
        const int found = static_cast<int>(word >> 8 * i & 0xFFu), code = found < 254 ? found : 254;
        least = code < least ? code : least;
        greatest = code > greatest ? code : greatest;
      }
    });
    TILEWRIGHT_UNROLL
    for (uint32_t distance = 16; distance > 0; distance /= 2) {
      const int other_least = arch::shuffle_xor(least, distance),
                other = arch::shuffle_xor(greatest, distance);
      least = other_least < least ? other_least : least;
      greatest = other > greatest ? other : greatest;
    }
    return mainloop::shift_of<F>(least, greatest);
  }

  const kernels::DequantiseOperand& o_;
  uint32_t k_, lane_;
  uint32_t lines_;  // of the four, that exist
  const uint8_t *from_, *scales_;
  uint16_t* to_;
};

/// One piece of work of a warp; returns the shifts that it found.
template <BlockFormat F>
TILEWRIGHT_DEVICE uint32_t dequantise_task(const kernels::DequantiseParams& p,
                                           const kernels::DequantiseOperand& o, uint32_t task) {
  const uint32_t part = task / kernels::dequantise_quads, segment = part % p.segments;
  const uint32_t block = part / p.segments, quad = task % kernels::dequantise_quads;
  const DequantiseQuad<F> lines(o, p.k, block, quad);
  if (lines.empty()) return 0;
  const uint32_t end = (segment + 1) * p.segment < p.spans ? (segment + 1) * p.segment : p.spans;
  const uint32_t first = segment * p.segment;
  uint32_t shifts = 0;
  TILEWRIGHT_NO_UNROLL
  for (uint32_t span = first; span < end; ++span) {
    typename DequantiseQuad<F>::Span loaded;
    lines.load(span, loaded);
    if (span == first) shifts = lines.find_shifts();  // with those loads in flight
    lines.store(span, loaded, shifts);
  }
  if (lines.kShifts && segment == 0 && arch::lane_index() == 0)
    o.shifts[block * kernels::dequantise_quads + quad] = shifts;
  return shifts;
}

/// Whether a warp of the block passed other than 0, to the block's flag. All threads.
TILEWRIGHT_DEVICE void set_dequantise_flag(uint32_t* flags, uint32_t found) {
  const uint32_t shared = arch::shared_address(arch::dynamic_shared_memory());
  const uint32_t warp = arch::warp_index(), lane = arch::lane_index();
  if (lane == 0) arch::store_shared(shared + 4 * warp, found);
  arch::sync_threads();
  if (warp != 0) return;
  const bool some = lane < kernels::dequantise_warps && arch::load_shared<uint32_t>(shared + 4 * lane) != 0;
  const bool any = arch::any(some);
  if (lane == 0) flags[arch::block_index().x] = any ? 1 : 0;
}

}  // namespace detail

inline constexpr uint32_t dequantise_shared_bytes = 4 * kernels::dequantise_warps;

/// Any grid of blocks of dequantise_threads.
template <class = void>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS_CTAS(kernels::dequantise_threads,
                                                     kernels::dequantise_ctas_per_sm)
    block_scaled_dequantise(const TILEWRIGHT_GRID_CONSTANT kernels::DequantiseParams p) {
  // The kernel before this one in the stream may still read the workspace and may have written the operands.
  arch::grid_dependency_wait();
  arch::launch_dependents();
  // Neighbouring warps take neighbouring lines, whose scales share sectors.
  const uint32_t warps = arch::grid_dim().x * kernels::dequantise_warps;
  uint32_t found = 0;
  TILEWRIGHT_NO_UNROLL
  for (uint32_t task = arch::block_index().x * kernels::dequantise_warps + arch::warp_index();
       task < p.tasks[0] + p.tasks[1]; task += warps) {
    const bool second = task >= p.tasks[0];
    const kernels::DequantiseOperand& o = p.operand[second ? 1 : 0];
    const uint32_t own = second ? task - p.tasks[0] : task;
    if (o.format == BlockFormat::mxfp8) {
      found |= detail::dequantise_task<BlockFormat::mxfp8>(p, o, own);
    } else if (o.format == BlockFormat::mxfp4) {
      found |= detail::dequantise_task<BlockFormat::mxfp4>(p, o, own);
    } else {
      found |= detail::dequantise_task<BlockFormat::nvfp4>(p, o, own);
    }
  }
  if (p.flags != nullptr) detail::set_dequantise_flag(p.flags, found);
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
