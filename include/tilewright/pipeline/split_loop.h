// The main loop of FP32 on tensor cores: products of tf32 parts, and what infinities and NaN add to them.
#pragma once

#include <cstdint>

#include "tilewright/arch/math.h"
#include "tilewright/arch/warp.h"
#include "tilewright/layout/tensor_shape.h"
#include "tilewright/mainloop/split_f32.h"
#include "tilewright/pipeline/split_params.h"
#include "tilewright/pipeline/tile_loop.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {
namespace impl {

/// Base: the loop over the parts, in which infinities and NaN are zeros. Scaled: rows of A and columns of B
/// were multiplied by mainloop::RowScale.
template <class Base, bool Scaled>
struct SplitTileLoop : Base {
  using Config = typename Base::Config;
  using Held = typename Base::Held;
  static constexpr bool kCompletesParts = false;

  template <class Shadow>
  TILEWRIGHT_DEVICE static void multiply(Held& held, const detail::SplitPipelineParams& p, uint32_t stages,
                                         const mainloop::Ring& ring, mainloop::RingPosition& at, Coord a,
                                         Coord b, uint32_t k_tiles, bool accumulate, Shadow& shadow) {
    Base::multiply(held, p, stages, ring, at, a, b, k_tiles, accumulate, shadow);
    if (Scaled && k_tiles != 0) undo_scales(held, p, a, b);
    if (k_tiles != 0 && *p.any != 0) add_special(held, p, a, b);
  }

 private:
  /// One row or column of the product.
  struct Line {
    const float* from;
    int64_t k_stride;
    bool exists, special;
  };

  TILEWRIGHT_DEVICE static Line row_of_a(const detail::SplitPipelineParams& p, uint32_t row, uint32_t batch) {
    if (row >= p.m) return {nullptr, 0, false, false};
    const uint32_t of_a = batch * p.a_batch_step;
    return {p.a + of_a * p.a_batch_stride + row * p.a_row_stride, p.a_k_stride, true,
            p.a_flags[static_cast<uint64_t>(of_a) * p.m + row] != 0};
  }
  TILEWRIGHT_DEVICE static Line column_of_b(const detail::SplitPipelineParams& p, uint32_t column,
                                            uint32_t batch) {
    if (column >= p.n) return {nullptr, 0, false, false};
    const uint32_t of_b = batch * p.b_batch_step;
    return {p.b + of_b * p.b_batch_stride + column * p.b_row_stride, p.b_k_stride, true,
            p.b_flags[static_cast<uint64_t>(of_b) * p.n + column] != 0};
  }

  TILEWRIGHT_DEVICE static void undo_scales(Held& held, const detail::SplitPipelineParams& p, Coord a,
                                            Coord b) {
    constexpr auto kM = static_cast<uint32_t>(Config::kShape.m), kN = static_cast<uint32_t>(Config::kShape.n);
    const uint32_t tiles_m = (p.m + kM - 1) / kM, tiles_n = (p.n + kN - 1) / kN;
    if (a.m >= tiles_m || b.m >= tiles_n) return;  // a block that fills its cluster
    TILEWRIGHT_UNROLL
    for (int part = 0; part < Held::parts; ++part) {
      const Coord first = Held::first(part);
      const uint64_t of_a = a.n * p.a_batch_step, of_b = b.n * p.b_batch_step;
      const uint32_t* const rows = p.a_largest + (of_a * tiles_m + a.m) * kM + first.m;
      const uint32_t* const columns = p.b_largest + (of_b * tiles_n + b.m) * kN + first.n;
      TILEWRIGHT_UNROLL
      for (int i = 0; i < Held::part_size; ++i) {
        if (i % 8 == 0) arch::sync_warp();  // keeps the compiler from loading all scales at once
        const auto of_row = mainloop::RowScale::of(rows[Held::down(i)], true);
        const auto of_column = mainloop::RowScale::of(columns[Held::across(i)], true);
        // Halves take turns, so that nothing overflows on the way to a number that does not.
        float& x = held.registers[part][i];
        x = arch::mul_rn(arch::mul_rn(x, of_row.first), of_column.first);
        x = arch::mul_rn(arch::mul_rn(x, of_row.second), of_column.second);
      }
    }
  }

  /// The products of a row and a column in which a factor is not finite.
  TILEWRIGHT_DEVICE static float special_products(const Line& a, const Line& b, uint32_t k) {
    float sum = 0;
    TILEWRIGHT_NO_UNROLL
    for (uint32_t i = 0; i < k; ++i) {
      const float x = a.from[i * a.k_stride], y = b.from[i * b.k_stride];
      if (!mainloop::is_finite(x) || !mainloop::is_finite(y)) sum = arch::fma_rn(x, y, sum);
    }
    return sum;
  }

  /// Rare, so small before it is quick: one element at a time, found among the registers by comparison, since
  /// an index known only at run time would move them all to memory.
  TILEWRIGHT_DEVICE static void add_special(Held& held, const detail::SplitPipelineParams& p, Coord a,
                                            Coord b) {
    TILEWRIGHT_UNROLL
    for (int part = 0; part < Held::parts; ++part) {
      const Coord first = Held::first(part);
      TILEWRIGHT_NO_UNROLL
      for (int i = 0; i < Held::part_size; ++i) {
        const Line row =
            row_of_a(p, a.m * static_cast<uint32_t>(Config::kShape.m) + first.m + Held::down(i), a.n);
        const Line column =
            column_of_b(p, b.m * static_cast<uint32_t>(Config::kShape.n) + first.n + Held::across(i), b.n);
        if (!row.exists || !column.exists || !(row.special || column.special)) continue;
        const float sum = special_products(row, column, p.k);
        TILEWRIGHT_UNROLL
        for (int j = 0; j < Held::part_size; ++j) {
          if (j == i) held.registers[part][j] = arch::add_rn(held.registers[part][j], sum);
        }
      }
    }
  }
};

}  // namespace impl
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
