// The result of a tile in tensor memory, and the ways to get it out: what an epilogue of the path tcgen05 is
// given. The words are those of Accumulator (accumulator.h); the elements do not fit in registers at once, so
// they come in slabs of 32 columns, in the order in which the columns are wanted for the next tile.
//
// A thread has one row of its block's tile and all of its columns. Reading operations: all lanes of a warp
// together.
#pragma once

#include <cstdint>

#include "tilewright/arch/index.h"
#include "tilewright/config.h"
#include "tilewright/layout/tensor.h"
#include "tilewright/mainloop/tcgen05_block_scaled.h"
#include "tilewright/pipeline/convert.h"
#include "tilewright/pipeline/misuse.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {

template <class Config>
class TensorMemoryAccumulator {
 public:
  using value_type = float;
  static constexpr int rows = kernels::block_scaled_cta_rows, columns = kernels::block_scaled_tile;
  static constexpr int slab_columns = kernels::block_scaled_epilogue_columns;
  /// Elements of a thread.
  static TILEWRIGHT_HOST_DEVICE constexpr int size() { return columns; }

  TensorMemoryAccumulator(const TensorMemoryAccumulator&) = delete;
  TensorMemoryAccumulator& operator=(const TensorMemoryAccumulator&) = delete;

  TILEWRIGHT_DEVICE static bool is_thread_active() { return true; }
  TILEWRIGHT_DEVICE bool is_predicated() const {
    return exists_.m < static_cast<uint32_t>(rows) || exists_.n < static_cast<uint32_t>(columns);
  }
  /// Row and column in the block's tile of element i of this thread.
  TILEWRIGHT_DEVICE Coord map_fragment_index(int i) const {
    return {arch::thread_index().x, static_cast<uint32_t>(i)};
  }
  TILEWRIGHT_DEVICE bool is_coord_in_bounds(Coord at) const { return at.m < exists_.m && at.n < exists_.n; }
  TILEWRIGHT_DEVICE bool is_index_in_bounds(int i) const { return is_coord_in_bounds(map_fragment_index(i)); }

  /// Gives the result up unread.
  TILEWRIGHT_DEVICE void discard() {
    state_.discard();
    if (drained_) return;
    drained_ = true;
    windows_.wait(tile_);
    windows_.release_shared();
    windows_.release(tile_);
  }

  // ---- reading operations: one for each result

  /// f(values, first): slab_columns neighbours of this thread's row, which begin at the tile-local coordinate
  /// `first`, elements outside of the product included. The MMAs of the next tile begin while slabs are read.
  template <class F>
  TILEWRIGHT_DEVICE void for_each_slab(F&& f) {
    state_.read();
    if (drained_) return;
    drained_ = true;
    windows_.wait(tile_);
    constexpr int kSlabs = columns / slab_columns;
    TILEWRIGHT_NO_UNROLL
    for (int step = 0; step < kSlabs; ++step) {
      const auto column = static_cast<uint32_t>(Config::tmem().subtile_column(tile_, step));
      float values[slab_columns];
      load(values, static_cast<uint32_t>(Config::tmem().accumulator(tile_).first) + column);
      if (Config::kOverlap && step == Config::kTmem.early_release_subtile) windows_.release_shared();
      if (step == kSlabs - 1) windows_.release(tile_);
      f(values, Coord{arch::thread_index().x, column});
    }
  }

  /// f(i, coord, value) for every element of this thread, those that do not exist in the product included.
  template <class F>
  TILEWRIGHT_DEVICE void for_each_result(F&& f) {
    for_each_slab([&](const float(&values)[slab_columns], Coord first) {
      TILEWRIGHT_UNROLL
      for (int j = 0; j < slab_columns; ++j) {
        const Coord at{first.m, first.n + static_cast<uint32_t>(j)};
        f(static_cast<int>(at.n), at, values[j]);
      }
    });
  }

  /// out = result. `out`: get_tile(tensor, block_shape of the pipeline, tile.m, tile.n).
  template <AnyTileView Out>
  TILEWRIGHT_DEVICE void partition_and_store(const Out& out) {
    update<false>(out, [](float value, const auto&, Coord) { return value; });
  }
  /// out = op(result).
  template <AnyTileView Out, class Op>
  TILEWRIGHT_DEVICE void process_and_store(const Out& out, Op&& op) {
    update<false>(out, [&](float value, const auto&, Coord) { return op(value); });
  }
  /// out = f(result, out, coord).
  template <AnyTileView Out, class F>
  TILEWRIGHT_DEVICE void reduce_and_store(const Out& out, F&& f) {
    update<true>(out, f);
  }
  /// out = alpha * result + beta * out. beta = 0 does not read out.
  template <AnyTileView Out>
  TILEWRIGHT_DEVICE void axpby(float alpha, float beta, const Out& out) {
    if (beta == 0) {
      update<false>(out, [&](float value, const auto&, Coord) { return impl::scale(alpha, value); });
    } else {
      update<true>(out, [&](float value, const auto& old, Coord) {
        return impl::scale_add(beta, impl::convert_to<float>(old), impl::scale(alpha, value));
      });
    }
  }

  // ---- for the pipeline

  /// `tile`: how many tiles the block has had before; `exists`: rows and columns of it that do; `empty`: K is
  /// zero and nothing was accumulated. tmem: address of the first column of the block's tensor memory.
  TILEWRIGHT_DEVICE TensorMemoryAccumulator(const mainloop::AccumulatorWindows<Config>& windows,
                                            uint32_t tmem, uint32_t tile, Coord exists, bool empty)
      : windows_(windows),
        tmem_(arch::tmem_address(tmem, 32 * arch::warp_index(), 0)),
        tile_(tile),
        exists_(exists),
        empty_(empty) {
    state_.make_ready();
  }
  /// After the epilogue: a result that it left is given up.
  TILEWRIGHT_DEVICE void finish(const char* unread) {
    state_.expect_finished(unread);
    discard();
  }

 private:
  TILEWRIGHT_DEVICE void load(float (&values)[slab_columns], uint32_t column) const {
    if (empty_) {
      TILEWRIGHT_UNROLL
      for (float& value : values) value = 0;
    } else {
      arch::tcgen05_ld_32x32b(values, tmem_ + column);
      arch::tcgen05_wait_ld(values);
    }
  }

  template <bool ReadOld, class Out, class F>
  TILEWRIGHT_DEVICE void update(const Out& out, F&& f) {
    using T = typename Out::value_type;
    static_assert(!std::is_const_v<typename Out::element_type>, "results cannot be stored to const elements");
    for_each_slab([&](const float(&values)[slab_columns], Coord first) {
      if (first.m >= exists_.m || first.m >= out.rows()) return;
      T* const row = &out(first.m, first.n);
      TILEWRIGHT_UNROLL
      for (int j = 0; j < slab_columns; ++j) {
        const Coord at{first.m, first.n + static_cast<uint32_t>(j)};
        if (at.n >= exists_.n || at.n >= out.columns()) continue;
        T* const element = row + j * out.column_stride();
        T old{};
        if (ReadOld) old = *element;
        *element = impl::convert_to<T>(f(values[j], old, at));
      }
    });
  }

  const mainloop::AccumulatorWindows<Config>& windows_;
  uint32_t tmem_;  // of the warp's lanes
  uint32_t tile_;
  Coord exists_;
  bool empty_, drained_ = false;
  [[no_unique_address]] impl::ResultState state_;
};

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
