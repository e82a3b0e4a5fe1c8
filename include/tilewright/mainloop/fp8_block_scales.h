// FP32 scales along K of an FP8 GEMM (1 x 128 of A, 128 x 128 of B), beside the stages in shared memory.
//
// A warp of the producer warpgroup brings those of each K tile, and arrives on the stage's full barrier
// beside its tiles: a ring ahead of the consumers, and with any strides. Scales of A come by one bulk copy
// where they are contiguous; those of B, of 32 K tiles at a time, through registers: small asynchronous
// copies (cp.async) take cycles of shared memory that the MMAs need. A consumer thread reads a scale for each
// of its rows and each part along N, under the MMAs of the K tile before: 4 values for 128 multiply-adds.
#pragma once

#include "tilewright/arch/fence.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/math.h"
#include "tilewright/arch/mbarrier.h"
#include "tilewright/arch/shared.h"
#include "tilewright/arch/tma.h"
#include "tilewright/arch/warp.h"
#include "tilewright/mainloop/fp8_gemm_params.h"
#include "tilewright/mainloop/ring.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// A slot belongs to each stage: the scales of the tile's rows of A, then those of its blocks of B.
template <class Config>
struct Fp8BlockScales {
  static constexpr uint32_t kArrivals = 1;  // on a full barrier
  static constexpr uint32_t kSlotBytes = Config::kPlan.scale_bytes;
  static constexpr uint32_t kRows = Config::kTileM;
  static constexpr uint32_t kBlocks = (Config::kTileN + kernels::kFp8ScaleRows - 1) / kernels::kFp8ScaleRows;

  static constexpr uint32_t kWarpgroupRows = kRows / Config::kConsumers;
  static constexpr uint32_t kRowParts = kWarpgroupRows / 64, kColumnParts = Config::kParts / kRowParts;

  static_assert(Config::kPartN <= kernels::kFp8ScaleRows && kernels::kFp8ScaleRows % Config::kPartN == 0,
                "the columns of a part share one scale of B");
  static_assert(Config::kParts == 1 || Config::kThroughTemporary,
                "the first group of two parts is scaled part by part");

  uint32_t slots;  // shared address of the first

  /// Whether this warp of the producer warpgroup brings scales.
  TILEWRIGHT_DEVICE static bool is_loader() { return arch::warp_index() == 4 * Config::kConsumers + 1; }

  /// Scales of B on their way: a lane has those of one K tile of 32.
  struct Ahead {
    float block[kBlocks];
  };

  /// The loader warp: copies the scales of a K tile into the slot of a stage that it has acquired, and
  /// arrives on its full barrier. Called for each K tile of an output tile in turn. Lines past the edge get
  /// zeros.
  TILEWRIGHT_DEVICE void load(const kernels::Fp8GemmParams& p, const Ring& ring, RingPosition at,
                              schedule::TileCoord tile, uint32_t k_tile, Ahead& ahead) const {
    const uint32_t lane = arch::lane_index(), slot = slots + at.stage * kSlotBytes;
    const uint32_t row = tile.m * kRows, rows = row < p.m ? min(p.m - row, kRows) : 0;
    const float* from = at_k(p.a_scales, tile.batch, k_tile) + row * p.a_scales.line_stride;
    const bool bulk = is_contiguous(p);
    TILEWRIGHT_UNROLL
    for (uint32_t i = lane; i < kRows; i += 32) {
      if (!bulk || i >= rows)
        arch::store_shared(slot + 4 * i, i < rows ? from[i * p.a_scales.line_stride] : 0.0f);
    }
    if (k_tile % 32 == 0) look_ahead(p, tile, k_tile + lane, ahead);
    if (k_tile % 32 == lane) {
      TILEWRIGHT_UNROLL
      for (uint32_t i = 0; i < kBlocks; ++i) arch::store_shared(slot + 4 * (kRows + i), ahead.block[i]);
    }
    if (bulk && rows < kRows)
      arch::fence_proxy_async_shared();  // a full tile's copy will overwrite the zeros
    arch::sync_warp();
    if (lane != 0) return;
    const uint32_t full = ring.full_barrier(at);
    if (bulk && rows != 0) {
      arch::mbarrier_arrive_expect_tx(full, 4 * rows);
      arch::bulk_load(slot, from, 4 * rows, full);
    } else {
      arch::mbarrier_arrive(full);
    }
  }

  /// The same for all K tiles of an output tile, where one thread of another warp loads the tiles.
  TILEWRIGHT_DEVICE void load_tile(const kernels::Fp8GemmParams& p, const Ring& ring, RingPosition& at,
                                   schedule::TileCoord tile, uint32_t k_tiles) const {
    Ahead ahead{};
    TILEWRIGHT_NO_UNROLL
    for (uint32_t kt = 0; kt < k_tiles; ++kt) {
      ring.acquire(at);
      load(p, ring, at, tile, kt, ahead);
      at.advance(ring.stages);
    }
  }

  /// The scales that a consumer thread needs of a K tile: of its first row and of eight rows below in each
  /// part along M, and of each part along N.
  struct Held {
    float row[2 * kRowParts], column[kColumnParts];
  };

  /// Consumer, while it owns the stage.
  TILEWRIGHT_DEVICE void read(uint32_t stage, Held& held) const {
    const uint32_t thread = arch::thread_index().x;  // warp_index() would be a shuffle in each K tile
    const uint32_t row = thread / 128 * kWarpgroupRows + thread % 128 / 32 * 16 + thread % 32 / 4;
    const uint32_t slot = slots + stage * kSlotBytes;
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < 2 * kRowParts; ++i)
      held.row[i] = arch::load_shared<float>(slot + 4 * (row + i / 2 * 64 + i % 2 * 8));
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < kColumnParts; ++i)
      held.column[i] =
          arch::load_shared<float>(slot + 4 * (kRows + i * Config::kPartN / kernels::kFp8ScaleRows));
  }

  /// What to multiply the sums of a part with, in the thread's first row and eight rows below.
  TILEWRIGHT_DEVICE static void factors(const Held& held, int part, float (&of)[2]) {
    const float column = held.column[kColumnParts > 1 ? part : 0];
    TILEWRIGHT_UNROLL
    for (int i = 0; i < 2; ++i) of[i] = arch::mul_rn(held.row[kRowParts > 1 ? 2 * part + i : i], column);
  }

 private:
  /// Whether the scales of A's rows are neighbours that a bulk copy can address.
  TILEWRIGHT_DEVICE static bool is_contiguous(const kernels::Fp8GemmParams& p) {
    const kernels::Fp8Scales& a = p.a_scales;
    return a.line_stride == 1 && (a.k_stride | a.batch_stride | p.m) % 4 == 0 &&
           reinterpret_cast<uintptr_t>(a.data) % 16 == 0;
  }
  TILEWRIGHT_DEVICE static void look_ahead(const kernels::Fp8GemmParams& p, schedule::TileCoord tile,
                                           uint32_t k_tile, Ahead& ahead) {
    const uint32_t first = tile.n * Config::kTileN / kernels::kFp8ScaleRows;
    const uint32_t blocks = (p.n + kernels::kFp8ScaleRows - 1) / kernels::kFp8ScaleRows;
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < kBlocks; ++i) {
      const bool inside = k_tile < p.k_tiles && first + i < blocks;
      ahead.block[i] =
          inside ? at_k(p.b_scales, tile.batch, k_tile)[(first + i) * p.b_scales.line_stride] : 0.0f;
    }
  }
  TILEWRIGHT_DEVICE static const float* at_k(const kernels::Fp8Scales& s, uint32_t batch, uint32_t k_tile) {
    return s.data + static_cast<int64_t>(batch) * s.batch_stride + static_cast<int64_t>(k_tile) * s.k_stride;
  }
  TILEWRIGHT_DEVICE static uint32_t min(uint32_t a, uint32_t b) { return a < b ? a : b; }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
