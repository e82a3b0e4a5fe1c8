// The epilogue of the library's block-scaled kernels, from tensor memory to D: 32 columns at a time, through
// shared memory and TMA, or with stores of single elements where rows of D do not end on 16 bytes.
#pragma once

#include "tilewright/arch/convert.h"
#include "tilewright/arch/fence.h"
#include "tilewright/arch/math.h"
#include "tilewright/arch/tma.h"
#include "tilewright/blas.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

/// What a kernel is given; bind() makes the state of a thread. OutBytes: of an element of D.
template <int OutBytes>
struct BlockScaledStore {
  static_assert(OutBytes == 2 || OutBytes == 4, "D is f16, bf16 or f32");
  kernels::BlockScaledStoreParams params;

  template <class Accumulator>
  class Bound;
  template <class Accumulator>
  TILEWRIGHT_DEVICE Bound<Accumulator> bind(std::byte* scratch) const {
    return Bound<Accumulator>(params, arch::shared_address(scratch));
  }
};

/// One thread: a row of 32 in its warp.
template <int OutBytes>
template <class Accumulator>
class BlockScaledStore<OutBytes>::Bound {
 public:
  TILEWRIGHT_DEVICE Bound(const kernels::BlockScaledStoreParams& params, uint32_t scratch)
      : p_(params), slabs_(scratch + 2 * arch::warp_index() * kSlabBytes) {
    if (arch::lane_index() == 0) arch::name_shared(slabs_, 2 * kSlabBytes, "D slabs");
    if (arch::thread_index().x == 0 && p_.d_tma) arch::prefetch_tensor_map(&p_.d_map);
  }

  TILEWRIGHT_DEVICE void store(Accumulator& accumulator, const schedule::TileCoord& tile) {
    accumulator.for_each_slab([&](float(&values)[kColumns], blas::Coord first) {
      const Place place{kernels::block_scaled_cta_rows * tile.m + 32 * arch::warp_index(),
                        kernels::block_scaled_tile * tile.n + first.n, tile.batch};
      finish_values(values, place);
      if (p_.d_tma) {
        store_slab(values, place);
      } else {
        store_elements(values, place);
      }
    });
  }

  /// Before the kernel ends: shared memory is no longer read.
  TILEWRIGHT_DEVICE void finish() const {
    if (arch::lane_index() == 0) arch::tma_wait_read<0>();
  }

 private:
  static constexpr int kColumns = Accumulator::slab_columns;
  static constexpr uint32_t kSlabBytes = kernels::block_scaled_slab_bytes(OutBytes);
  static constexpr Swizzle kSwizzle = OutBytes == 2 ? Swizzle::b64 : Swizzle::b128;

  /// The 32 x 32 elements that the warp handles: first row, first column, batch.
  struct Place {
    uint32_t row, column, batch;
  };

  /// alpha, C and bias, in FP32, each operation rounded once.
  TILEWRIGHT_DEVICE void finish_values(float (&values)[kColumns], const Place& place) const {
    const uint32_t row = place.row + arch::lane_index();
    TILEWRIGHT_UNROLL
    for (int i = 0; i < kColumns; ++i) {
      float value = p_.alpha == 0 ? 0.0f : arch::mul_rn(p_.alpha, values[i]);
      const uint32_t column = place.column + static_cast<uint32_t>(i);
      if (column < p_.n && row < p_.m) {
        if (p_.beta != 0) value = arch::fma_rn(p_.beta, source(row, column, place.batch), value);
        if (p_.bias != nullptr) value = arch::add_rn(value, p_.bias[column]);
      }
      values[i] = value;
    }
  }

  TILEWRIGHT_DEVICE float source(uint32_t row, uint32_t column, uint32_t batch) const {
    const int64_t index = batch * p_.c_batch_stride + row * p_.c_ld + column;
    if (p_.c_type == DType::f32) return static_cast<const float*>(p_.c)[index];
    const uint16_t half = static_cast<const uint16_t*>(p_.c)[index];
    return p_.c_type == DType::f16 ? static_cast<float>(f16::from_bits(half))
                                   : static_cast<float>(bf16::from_bits(half));
  }

  TILEWRIGHT_DEVICE uint32_t pack(float a, float b) const {
    return p_.d_type == DType::f16 ? arch::pack_f16x2(a, b) : arch::pack_bf16x2(a, b);
  }

  /// Through the warp's older slab: its last store must have read it.
  TILEWRIGHT_DEVICE void store_slab(const float (&values)[kColumns], const Place& place) {
    const uint32_t slab = slabs_ + next_slab_ * kSlabBytes;
    next_slab_ ^= 1;
    if (arch::lane_index() == 0) arch::tma_wait_read<1>();
    arch::sync_warp();
    write_row(values, slab + arch::lane_index() * (kColumns * OutBytes));
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

  TILEWRIGHT_DEVICE void write_row(const float (&values)[kColumns], uint32_t address) const {
    constexpr int kChunks = kColumns * OutBytes / 16;
    TILEWRIGHT_UNROLL
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      Chunk data;
      TILEWRIGHT_UNROLL
      for (int i = 0; i < 4; ++i) {
        if constexpr (OutBytes == 4) {
          data.words[i] = tilewright::detail::float_bits(values[4 * chunk + i]);
        } else {
          data.words[i] = pack(values[8 * chunk + 2 * i], values[8 * chunk + 2 * i + 1]);
        }
      }
      arch::store_shared(swizzled_chunk(address + 16 * static_cast<uint32_t>(chunk)), data);
    }
  }

  /// Where TMA expects the 16 bytes at `address` (PTX, "Swizzling modes").
  static TILEWRIGHT_DEVICE uint32_t swizzled_chunk(uint32_t address) {
    return address ^ ((address >> 3) & (kSwizzle == Swizzle::b128 ? 0x70u : 0x30u));
  }

  TILEWRIGHT_DEVICE void store_elements(const float (&values)[kColumns], const Place& place) const {
    const uint32_t row = place.row + arch::lane_index();
    if (row >= p_.m) return;
    const int64_t first = place.batch * p_.d_batch_stride + row * p_.d_ld + place.column;
    TILEWRIGHT_UNROLL
    for (int i = 0; i < kColumns; ++i) {
      if (place.column + static_cast<uint32_t>(i) >= p_.n) continue;
      if constexpr (OutBytes == 4) {
        static_cast<float*>(p_.d)[first + i] = values[i];
      } else {
        static_cast<uint16_t*>(p_.d)[first + i] = static_cast<uint16_t>(pack(values[i], 0.0f));
      }
    }
  }

  const kernels::BlockScaledStoreParams& p_;
  uint32_t slabs_;  // shared address of the warp's two slabs
  uint32_t next_slab_ = 0;
};

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
