// D = convert(scale * accumulator + beta * C), in the two phases that let the stores of one tile run under
// the main loop of the next: pack (registers to registers) and store (registers to shared memory to global
// memory).
//
// Each consumer warp stages and stores its own rows, 16 x 64 elements at a time (16 x 32 of f32), in two
// buffers of its own: no barrier among warps.
#pragma once

#include "tilewright/arch/convert.h"
#include "tilewright/arch/fence.h"
#include "tilewright/arch/math.h"
#include "tilewright/arch/matrix.h"
#include "tilewright/arch/shared.h"
#include "tilewright/arch/tma.h"
#include "tilewright/arch/warp.h"
#include "tilewright/arch/wgmma.h"
#include "tilewright/mainloop/fp8_gemm_params.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline {

/// The factors of the epilogue, read once per kernel: products of the host's part and of the device scalars.
struct EpilogueScalars {
  float scale, beta;

  TILEWRIGHT_DEVICE explicit EpilogueScalars(const kernels::Fp8GemmParams& p) : scale(p.scale), beta(p.beta) {
    // A zero stays zero, whatever scale_d is: alpha = 0 and beta = 0 mean that the operands do not matter.
    TILEWRIGHT_UNROLL
    for (const float* factor : p.scale_device) {
      if (factor != nullptr && scale != 0) scale = arch::mul_rn(scale, *factor);
    }
    TILEWRIGHT_UNROLL
    for (const float* factor : p.beta_device) {
      if (factor != nullptr && beta != 0) beta = arch::mul_rn(beta, *factor);
    }
    if (p.k_tiles == 0) scale = 0;
  }

  /// A factor of zero means that A and B do not matter, whatever is in them.
  TILEWRIGHT_DEVICE uint32_t k_tiles(const kernels::Fp8GemmParams& p) const {
    return scale == 0 ? 0 : p.k_tiles;
  }
};

template <class Config>
class LinearEpilogue {
 public:
  static constexpr int kParts = Config::kParts;
  static constexpr int kRegisters = Config::kRegisters;
  /// 32-bit registers that hold one packed part of a thread.
  static constexpr int kPackedRegisters = Config::kOutBytes == 4   ? kRegisters
                                          : Config::kOutBytes == 2 ? kRegisters / 2
                                                                   : kRegisters / 4;
  static constexpr int kSlabColumns = static_cast<int>(Config::kPlan.slab_columns);
  static constexpr int kSlabsPerPart = Config::kPartN / kSlabColumns;
  static constexpr int kSlabs = kParts * kSlabsPerPart;
  using Packed = uint32_t[kParts][kPackedRegisters];

  TILEWRIGHT_DEVICE LinearEpilogue(const kernels::Fp8GemmParams& p, EpilogueScalars scalars, uint32_t staging)
      : p_(p), scale_(scalars.scale), beta_(scalars.beta) {
    const uint32_t lane = arch::lane_index(), warp = arch::warp_index();
    staging_ = staging + warp * 2 * Config::kPlan.slab_bytes;
    arch::name_shared(staging_, 2 * Config::kPlan.slab_bytes, "D staging", static_cast<int>(warp));
    row_ = (warp / 4) * (Config::kTileM / Config::kConsumers) + (warp % 4) * 16;
    if constexpr (Config::kOutBytes == 2) {
      // stmatrix x4: lane l gives the address of row l % 8 of matrix l / 8: rows +8 for odd matrices, columns
      // +8 for matrices 2 and 3.
      const uint32_t row = lane % 16;
      lane_offset_ = row * 128 + (((lane / 16) ^ (row % 8)) << 4);
    } else {
      lane_offset_ = lane;
    }
  }

  /// The tile of this CTA at a position of the schedule. Worked out when it is needed, not kept.
  TILEWRIGHT_DEVICE schedule::TileCoord tile(uint32_t index) const {
    return p_.tiles.tile(index, arch::cluster_rank());
  }

  TILEWRIGHT_DEVICE bool has_source() const { return beta_ != 0; }

  /// acc = scale * acc + beta * C for the elements of D that exist; `scaled`: the scale is in acc already.
  /// Then pack with `scaled` set.
  TILEWRIGHT_DEVICE void add_source(int part, float (&acc)[kRegisters], schedule::TileCoord tile,
                                    bool scaled) const {
    const float scale = scaled ? 1.0f : scale_;
    const bool wide = p_.c_type == DType::f32, is_bf16 = p_.c_type == DType::bf16;
    uint32_t row0 = global_row(part, tile), column0 = global_column(part, tile);
    pin(row0, column0);
    const int64_t base = static_cast<int64_t>(tile.batch) * p_.c_batch_stride +
                         static_cast<int64_t>(row0) * p_.c_ld + columns(column0, p_.c_column_stride);
    TILEWRIGHT_UNROLL
    for (int i = 0; i < kRegisters; ++i) {
      const uint32_t row = row0 + 8 * ((i >> 1) & 1), offset = 8 * (i >> 2) + (i & 1);
      float c = 0;
      if (row < p_.m && column0 + offset < p_.n) {
        const int64_t at = base + (row == row0 ? 0 : 8 * p_.c_ld) + columns(offset, p_.c_column_stride);
        if (wide) {
          c = static_cast<const float*>(p_.c)[at];
        } else {
          const uint16_t bits = static_cast<const uint16_t*>(p_.c)[at];
          c = is_bf16 ? arch::unpack_bf16x2(bits).lo : arch::unpack_f16x2(bits).lo;
        }
      }
      acc[i] = arch::fma_rn(beta_, c, arch::mul_rn(scale, acc[i]));
      arch::fence_operand(acc[i]);  // one element of C at a time: there are no registers for more
    }
  }

  /// Ends the life of a packed part, so that nothing of it is kept in registers beside the next accumulators.
  template <int First, int Count>
  TILEWRIGHT_DEVICE static void forget(Packed& packed) {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < kParts * kPackedRegisters; ++i) {
      const int slab = i / (kParts * kPackedRegisters / kSlabs);
      if (slab >= First && slab < First + Count)
        arch::undefine(packed[i / kPackedRegisters][i % kPackedRegisters]);
    }
  }

  /// Phase one: one part of the accumulator to D's type, register to register.
  template <int Registers, int PackedRegisters>
  TILEWRIGHT_DEVICE void pack(const float (&acc)[Registers], uint32_t (&packed)[PackedRegisters],
                              bool scaled) const {
    const float scale = scaled ? 1.0f : scale_;
    if constexpr (Config::kOutBytes == 4) {
      TILEWRIGHT_UNROLL
      for (int i = 0; i < Registers; ++i) packed[i] = arch::float_bits(arch::mul_rn(scale, acc[i]));
    } else if constexpr (Config::kOutBytes == 2) {
      if (p_.d_type == DType::bf16) {
        pack_pairs(acc, packed, scale, [](float lo, float hi) { return arch::pack_bf16x2(lo, hi); });
      } else {
        pack_pairs(acc, packed, scale, [](float lo, float hi) { return arch::pack_f16x2(lo, hi); });
      }
    } else {
      if (p_.d_type == DType::e5m2) {
        if (p_.saturate) {
          pack_quads(acc, packed, scale, [](float lo, float hi) { return arch::pack_e5m2x2(lo, hi); });
        } else {
          pack_quads(acc, packed, scale,
                     [](float lo, float hi) { return arch::pack_e5m2x2_nonsaturating(lo, hi); });
        }
      } else if (p_.saturate) {
        pack_quads(acc, packed, scale, [](float lo, float hi) { return arch::pack_e4m3x2(lo, hi); });
      } else {
        pack_quads(acc, packed, scale,
                   [](float lo, float hi) { return arch::pack_e4m3x2_nonsaturating(lo, hi); });
      }
    }
  }

  /// Phase two: slabs [First, First + Count) of the packed tile, through shared memory by TMA.
  template <int First, int Count>
  TILEWRIGHT_DEVICE void store(const Packed& packed, schedule::TileCoord tile) {
    TILEWRIGHT_UNROLL
    for (int slab = First; slab < First + Count && slab < kSlabs; ++slab) {
      const int part = slab / kSlabsPerPart, in_part = slab % kSlabsPerPart;
      const uint32_t buffer = staging_ + buffer_ * Config::kPlan.slab_bytes;
      const bool leader = arch::lane_index() == 0;
      if (leader) arch::tma_wait_read<1>();  // the store before last used this buffer
      arch::sync_warp();
      stage(packed[part], in_part, buffer);
      arch::fence_proxy_async_shared();
      arch::sync_warp();
      if (leader) {
        const uint32_t row = tile.m * Config::kTileM + row_ + part_row(part);
        const uint32_t column =
            tile.n * Config::kTileN + part_column(part) + static_cast<uint32_t>(in_part * kSlabColumns);
        arch::tma_store_3d(&p_.d_map, buffer, static_cast<int>(column), static_cast<int>(row),
                           static_cast<int>(tile.batch));
        arch::tma_commit();
      }
      buffer_ ^= 1;
    }
  }

  /// Phase two where TMA cannot address D: predicated stores of single elements.
  TILEWRIGHT_DEVICE void store_direct(const Packed& packed, schedule::TileCoord tile) const {
    TILEWRIGHT_UNROLL
    for (int part = 0; part < kParts; ++part) {
      uint32_t row0 = global_row(part, tile), column0 = global_column(part, tile);
      pin(row0, column0);
      const int64_t base =
          static_cast<int64_t>(tile.batch) * p_.d_batch_stride + columns(column0, p_.d_column_stride);
      TILEWRIGHT_UNROLL
      for (int i = 0; i < kRegisters; ++i) {
        const uint32_t row = row0 + 8 * ((i >> 1) & 1), offset = 8 * (i >> 2) + (i & 1);
        if (row >= p_.m || column0 + offset >= p_.n) continue;
        const int64_t at = base + static_cast<int64_t>(row) * p_.d_ld + columns(offset, p_.d_column_stride);
        if constexpr (Config::kOutBytes == 4) {
          static_cast<uint32_t*>(p_.d)[at] = packed[part][i];
        } else if constexpr (Config::kOutBytes == 2) {
          static_cast<uint16_t*>(p_.d)[at] = static_cast<uint16_t>(packed[part][i / 2] >> (16 * (i & 1)));
        } else {
          static_cast<uint8_t*>(p_.d)[at] = static_cast<uint8_t>(packed[part][i / 4] >> (8 * (i & 3)));
        }
      }
    }
  }

  /// The thread that issued stores, before the CTA's shared memory goes away.
  TILEWRIGHT_DEVICE void finish() const {
    if (arch::lane_index() == 0) arch::tma_wait_read<0>();
  }

 private:
  static constexpr bool kPartsAlongM = Config::kTileM / Config::kConsumers > 64;
  TILEWRIGHT_DEVICE static uint32_t part_row(int part) {
    return kPartsAlongM ? static_cast<uint32_t>(part) * 64 : 0;
  }
  TILEWRIGHT_DEVICE static uint32_t part_column(int part) {
    return kPartsAlongM ? 0 : static_cast<uint32_t>(part * Config::kPartN);
  }
  /// Position of accumulator register 0 of this thread (PTX ISA, wgmma register fragments).
  TILEWRIGHT_DEVICE uint32_t global_row(int part, schedule::TileCoord tile) const {
    return tile.m * Config::kTileM + row_ + part_row(part) + arch::lane_index() / 4;
  }
  TILEWRIGHT_DEVICE uint32_t global_column(int part, schedule::TileCoord tile) const {
    return tile.n * Config::kTileN + part_column(part) + 2 * (arch::lane_index() % 4);
  }

  /// Elements from a row's first column to another.
  TILEWRIGHT_DEVICE static int64_t columns(uint32_t count, [[maybe_unused]] int64_t stride) {
    if constexpr (Config::kBlockScales) return static_cast<int64_t>(count) * stride;
    return count;
  }

  /// Ties values to the place where they are computed: otherwise the compiler keeps everything that can be
  /// derived from them (64 column numbers, say) in registers around the K loop.
  TILEWRIGHT_DEVICE static void pin(uint32_t& a, uint32_t& b) {
    arch::fence_operand(a);
    arch::fence_operand(b);
  }

  template <int Registers, int PackedRegisters, class Convert>
  TILEWRIGHT_DEVICE static void pack_pairs(const float (&acc)[Registers], uint32_t (&packed)[PackedRegisters],
                                           float scale, Convert convert) {
    if (scale == 1.0f) {  // the common case, on the path between two tiles
      TILEWRIGHT_UNROLL
      for (int i = 0; i < Registers / 2; ++i) packed[i] = convert(acc[2 * i], acc[2 * i + 1]);
      return;
    }
    TILEWRIGHT_UNROLL
    for (int i = 0; i < Registers / 2; ++i) {
      packed[i] = convert(arch::mul_rn(scale, acc[2 * i]), arch::mul_rn(scale, acc[2 * i + 1]));
    }
  }
  template <int Registers, int PackedRegisters, class Convert>
  TILEWRIGHT_DEVICE static void pack_quads(const float (&acc)[Registers], uint32_t (&packed)[PackedRegisters],
                                           float scale, Convert convert) {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < Registers / 4; ++i) {
      const uint32_t low = convert(arch::mul_rn(scale, acc[4 * i]), arch::mul_rn(scale, acc[4 * i + 1]));
      const uint32_t high = convert(arch::mul_rn(scale, acc[4 * i + 2]), arch::mul_rn(scale, acc[4 * i + 3]));
      packed[i] = low | (high << 16);
    }
  }

  /// One slab into this warp's buffer, in the swizzle of D's tensor map.
  TILEWRIGHT_DEVICE void stage(const uint32_t (&packed)[kPackedRegisters], int slab, uint32_t buffer) const {
    uint32_t lane_offset = lane_offset_;
    pin(lane_offset, buffer);
    if constexpr (Config::kOutBytes == 2) {
      TILEWRIGHT_UNROLL
      for (int strip = 0; strip < 4; ++strip) {  // 16 columns each
        const int i = 4 * (4 * slab + strip);
        const uint32_t matrices[4] = {packed[i], packed[i + 1], packed[i + 2], packed[i + 3]};
        arch::stmatrix_x4(buffer + (lane_offset ^ static_cast<uint32_t>(strip << 5)), matrices);
      }
    } else if constexpr (Config::kOutBytes == 4) {
      struct alignas(8) Pair {
        uint32_t x, y;
      };
      const uint32_t row = lane_offset / 4;
      TILEWRIGHT_UNROLL
      for (int i = 0; i < 8; ++i) {  // 8-column block i / 2, row half i % 2
        const uint32_t chunk = static_cast<uint32_t>(2 * (i / 2)) + (lane_offset % 4) / 2;
        const int r = 4 * (4 * slab + i / 2) + 2 * (i % 2);
        arch::store_shared(buffer + (row + 8 * (i % 2)) * 128 + ((chunk ^ row) << 4) + 8 * (lane_offset % 2),
                           Pair{packed[r], packed[r + 1]});
      }
    } else {
      // 64-byte rows, 64-byte swizzle: address bits 4-5 are exchanged by bits 7-8, that is by row / 2 % 4.
      const uint32_t row = lane_offset / 4;
      TILEWRIGHT_UNROLL
      for (int i = 0; i < 16; ++i) {
        const uint32_t byte = static_cast<uint32_t>(8 * (i / 2)) + 2 * (lane_offset % 4);
        const uint32_t at = (row + 8 * (i % 2)) * 64 + byte;
        arch::store_shared(buffer + (at ^ ((at >> 3) & 0x30)),
                           static_cast<uint16_t>(packed[8 * slab + i / 2] >> (16 * (i % 2))));
      }
    }
  }

  const kernels::Fp8GemmParams& p_;
  float scale_, beta_;
  uint32_t staging_;      // this warp's two slab buffers
  uint32_t buffer_ = 0;   // which of them the next slab uses
  uint32_t row_;          // first row of this warp in the tile
  uint32_t lane_offset_;  // 16-bit D: byte offset of this lane's stmatrix row; otherwise the lane
};

}  // namespace pipeline
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
