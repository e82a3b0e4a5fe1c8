// Epilogues of products of dequantised operands: alpha * result * 2^(shifts), and a C of another type than D.
#pragma once

#include <cstdint>

#include "tilewright/arch/math.h"
#include "tilewright/arch/warp.h"
#include "tilewright/layout/tensor_shape.h"
#include "tilewright/mainloop/dequantise_params.h"
#include "tilewright/pipeline/linear_store.h"
#include "tilewright/schedule/tile_schedule.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {

/// Whether a product has a shift at all: seldom. The whole warp.
TILEWRIGHT_DEVICE bool any_shift(const kernels::ProductShifts& shifts) {
  constexpr uint32_t kAtOnce = 12;  // loads of a lane under way: the flags of a whole chip
  uint32_t found = 0;
  if (shifts.flags != nullptr) {
    TILEWRIGHT_NO_UNROLL
    for (uint32_t first = arch::lane_index(); first < shifts.flag_count; first += 32 * kAtOnce) {
      uint32_t flags[kAtOnce];
      TILEWRIGHT_UNROLL
      for (uint32_t i = 0; i < kAtOnce; ++i)
        flags[i] = first + 32 * i < shifts.flag_count ? shifts.flags[first + 32 * i] : 0;
      TILEWRIGHT_UNROLL
      for (uint32_t i = 0; i < kAtOnce; ++i) found |= flags[i];
    }
  }
  return arch::any(found != 0);
}

/// A product's shifts with a factor, for the results of one batch.
class ShiftFactors {
 public:
  TILEWRIGHT_DEVICE ShiftFactors(const kernels::ProductShifts& shifts, float alpha, uint32_t batch)
      : s_(shifts), alpha_(alpha), batch_(batch) {}

  /// alpha * result * 2^(shifts of its row and column). Neither the factors nor what lies between overflow
  /// where the product does not.
  TILEWRIGHT_DEVICE float apply(float result, uint32_t row, uint32_t column) const {
    int shift = 0;
    if (row < s_.m && s_.rows != nullptr) shift += line_shift(s_.rows, s_.row_blocks, row);
    if (column < s_.n && s_.columns != nullptr) shift += line_shift(s_.columns, s_.column_blocks, column);
    const float power = tilewright::detail::float_from_bits(static_cast<uint32_t>(127 + shift) << 23);
    if (alpha_ == 0) return 0;
    if (alpha_ < 1 && alpha_ > -1) return arch::mul_rn(result, arch::mul_rn(alpha_, power));
    return arch::mul_rn(arch::mul_rn(result, power), alpha_);
  }

 private:
  TILEWRIGHT_DEVICE int line_shift(const uint32_t* words, uint32_t blocks, uint32_t line) const {
    const int64_t block = static_cast<int64_t>(batch_) * blocks + line / kernels::dequantise_block_lines;
    const uint32_t word = words[block * kernels::dequantise_quads + line % kernels::dequantise_quads];
    return static_cast<int8_t>(word >> 8 * (line % kernels::dequantise_block_lines / 32) & 0xFFu);
  }

  const kernels::ProductShifts& s_;
  float alpha_;
  uint32_t batch_;
};

/// For make_linear_store(): shifts, and a C that is f16, bf16 or f32 whatever D is.
struct ShiftedLinear : AnySource {
  static constexpr bool replaces_alpha = true, finishes = false;
  kernels::ProductShifts shifts;

  TILEWRIGHT_DEVICE bool any() const { return any_shift(shifts); }
  TILEWRIGHT_DEVICE ShiftFactors factors(float alpha, uint32_t batch) const { return {shifts, alpha, batch}; }
};

/// For make_store_through_smem(): alpha * result * 2^(shifts).
struct ShiftedScale {
  kernels::ProductShifts shifts;
  float alpha = 1;

  class Bound {
   public:
    TILEWRIGHT_DEVICE explicit Bound(const ShiftedScale& op) : op_(op), shifted_(any_shift(op.shifts)) {}

    template <class Body>
    TILEWRIGHT_DEVICE void for_tile(schedule::TileCoord tile, Body&& body) const {
      const float alpha = op_.alpha;
      if (shifted_) {
        const ShiftFactors factors(op_.shifts, alpha, tile.batch);
        body([&](float value, Coord at) { return factors.apply(value, at.m, at.n); });
      } else {
        body([alpha](float value, Coord) { return arch::mul_rn(alpha, value); });
      }
    }

   private:
    const ShiftedScale& op_;
    bool shifted_;
  };
};

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
