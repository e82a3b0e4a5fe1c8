// From an accumulator window in tensor memory to D: 32 columns at a time, through shared memory and TMA, or
// with stores of single elements where rows of D do not end on 16 bytes.
#pragma once

#include "tilewright/arch/convert.h"
#include "tilewright/arch/fence.h"
#include "tilewright/arch/tma.h"
#include "tilewright/mainloop/tcgen05_block_scaled.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

/// The epilogue role of one warp: it owns 32 rows of the CTA's tile, one for each lane.
template <class Config>
class BlockScaledEpilogue {
 public:
  TILEWRIGHT_DEVICE BlockScaledEpilogue(const kernels::BlockScaledGemmParams& params, uint32_t shared,
                                        uint32_t tmem)
      : p_(params),
        warp_(arch::warp_index()),
        slabs_(shared + Config::shared().slab(warp_, 0)),
        tmem_(arch::tmem_address(tmem, 32 * warp_, 0)) {}

  /// Drains the window of the CTA's `tile`-th tile.
  TILEWRIGHT_DEVICE void store_tile(const mainloop::AccumulatorWindows<Config>& windows, uint32_t tile,
                                    const schedule::TileCoord& at) {
    windows.wait(tile);
    const uint32_t row = kernels::block_scaled_cta_rows * at.m + 32 * warp_;
    TILEWRIGHT_NO_UNROLL
    for (int step = 0; step < Config::tmem().subtiles(); ++step) {
      const auto column = static_cast<uint32_t>(Config::tmem().subtile_column(tile, step));
      uint32_t words[kColumns];
      load(words, static_cast<uint32_t>(Config::tmem().accumulator(tile).first) + column);
      if (Config::kOverlap && step == Config::kTmem.early_release_subtile) windows.release_shared();
      if (step == Config::tmem().subtiles() - 1) windows.release(tile);
      const Place place{row, kernels::block_scaled_tile * at.n + column, at.batch};
      finish(words, place);
      if (p_.d_tma) {
        store_slab(words, place);
      } else {
        store_elements(words, place);
      }
    }
  }

  /// Before the kernel ends: shared memory is no longer read.
  TILEWRIGHT_DEVICE void finish_stores() const {
    if (arch::lane_index() == 0) arch::tma_wait_read<0>();
  }

 private:
  static constexpr int kColumns = kernels::block_scaled_epilogue_columns;
  static constexpr Swizzle kSwizzle = Config::kId.out_bytes == 2 ? Swizzle::b64 : Swizzle::b128;

  /// The 32 x 32 elements that the warp handles: first row, first column, batch.
  struct Place {
    uint32_t row, column, batch;
  };

  TILEWRIGHT_DEVICE void load(uint32_t (&words)[kColumns], uint32_t column) const {
    if (p_.k_tiles == 0) {  // nothing was accumulated
      TILEWRIGHT_UNROLL
      for (uint32_t& word : words) word = 0;
      return;
    }
    arch::tcgen05_ld_32x32b(words, tmem_ + column);
    arch::tcgen05_wait_ld(words);
  }

  /// alpha, C and bias, in FP32.
  TILEWRIGHT_DEVICE void finish(uint32_t (&words)[kColumns], const Place& place) const {
    const uint32_t row = place.row + arch::lane_index();
    TILEWRIGHT_UNROLL
    for (int i = 0; i < kColumns; ++i) {
      float value = p_.alpha == 0 ? 0.0f : p_.alpha * tilewright::detail::float_from_bits(words[i]);
      const uint32_t column = place.column + static_cast<uint32_t>(i);
      if (column < p_.n && row < p_.m) {
        if (p_.beta != 0) value += p_.beta * source(row, column, place.batch);
        if (p_.bias != nullptr) value += p_.bias[column];
      }
      words[i] = tilewright::detail::float_bits(value);
    }
  }

  TILEWRIGHT_DEVICE float source(uint32_t row, uint32_t column, uint32_t batch) const {
    const int64_t index = batch * p_.c_batch_stride + row * p_.c_ld + column;
    if (p_.c_type == DType::f32) return static_cast<const float*>(p_.c)[index];
    const uint16_t half = static_cast<const uint16_t*>(p_.c)[index];
    return p_.c_type == DType::f16 ? static_cast<float>(f16::from_bits(half))
                                   : static_cast<float>(bf16::from_bits(half));
  }

  TILEWRIGHT_DEVICE uint32_t pack(uint32_t low, uint32_t high) const {
    const float a = tilewright::detail::float_from_bits(low), b = tilewright::detail::float_from_bits(high);
    return p_.d_type == DType::f16 ? arch::pack_f16x2(a, b) : arch::pack_bf16x2(a, b);
  }

  /// Through the warp's older slab: its last store must have read it.
  TILEWRIGHT_DEVICE void store_slab(const uint32_t (&words)[kColumns], const Place& place) {
    const uint32_t slab = slabs_ + next_slab_ * Config::kShared.slab_bytes;
    next_slab_ ^= 1;
    if (arch::lane_index() == 0) arch::tma_wait_read<1>();
    arch::sync_warp();
    write_row(words, slab + arch::lane_index() * (kColumns * Config::kId.out_bytes));
    arch::fence_proxy_async_shared();
    arch::sync_warp();
    if (arch::lane_index() == 0) {
      arch::tma_store_3d(&p_.d_map, slab, static_cast<int32_t>(place.column), static_cast<int32_t>(place.row),
                         static_cast<int32_t>(place.batch));
      arch::tma_commit();
    }
  }

  struct alignas(16) Chunk {
    uint32_t words[4];
  };

  TILEWRIGHT_DEVICE void write_row(const uint32_t (&words)[kColumns], uint32_t address) const {
    constexpr int kChunks = kColumns * Config::kId.out_bytes / 16;
    TILEWRIGHT_UNROLL
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      Chunk data;
      TILEWRIGHT_UNROLL
      for (int i = 0; i < 4; ++i) {
        if constexpr (Config::kId.out_bytes == 4) {
          data.words[i] = words[4 * chunk + i];
        } else {
          data.words[i] = pack(words[8 * chunk + 2 * i], words[8 * chunk + 2 * i + 1]);
        }
      }
      arch::store_shared(swizzled_chunk(address + 16 * static_cast<uint32_t>(chunk)), data);
    }
  }

  /// Where TMA expects the 16 bytes at `address` (PTX, "Swizzling modes").
  static TILEWRIGHT_DEVICE uint32_t swizzled_chunk(uint32_t address) {
    return address ^ ((address >> 3) & (kSwizzle == Swizzle::b128 ? 0x70u : 0x30u));
  }

  TILEWRIGHT_DEVICE void store_elements(const uint32_t (&words)[kColumns], const Place& place) const {
    const uint32_t row = place.row + arch::lane_index();
    if (row >= p_.m) return;
    const int64_t first = place.batch * p_.d_batch_stride + row * p_.d_ld + place.column;
    TILEWRIGHT_UNROLL
    for (int i = 0; i < kColumns; ++i) {
      if (place.column + static_cast<uint32_t>(i) >= p_.n) continue;
      if constexpr (Config::kId.out_bytes == 4) {
        static_cast<uint32_t*>(p_.d)[first + i] = words[i];
      } else {
        static_cast<uint16_t*>(p_.d)[first + i] = static_cast<uint16_t>(pack(words[i], 0));
      }
    }
  }

  const kernels::BlockScaledGemmParams& p_;
  uint32_t warp_;
  uint32_t slabs_;  // shared address of the warp's two slabs
  uint32_t tmem_;   // of the warp's lanes
  uint32_t next_slab_ = 0;
};

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
