// FP32 scales along K of an FP8 GEMM (1 x 128 of A, 128 x 128 of B), beside the stages in shared memory.
//
// Two warps of the producer warpgroup bring those of each K tile by small asynchronous copies, which arrive
// on the stage's full barrier as its tiles do: a ring ahead of the consumers, and with any strides. A
// consumer thread reads a scale for each of its rows and each part along N, under the MMAs of the K tile
// before: 4 loads for 128 multiply-adds.
#pragma once

#include "tilewright/arch/cp_async.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/math.h"
#include "tilewright/arch/shared.h"
#include "tilewright/mainloop/fp8_gemm_params.h"
#include "tilewright/mainloop/ring.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// A slot belongs to each stage: the scales of the tile's rows of A, then those of its blocks of B.
template <class Config>
struct Fp8BlockScales {
  static constexpr uint32_t kThreads = 64;  // of the producer warpgroup: its warps 1 and 2
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

  /// Whether this thread of the producer warpgroup brings scales.
  TILEWRIGHT_DEVICE static bool is_loader() {
    const uint32_t warp = arch::warp_index() - 4 * Config::kConsumers;
    return warp == 1 || warp == 2;
  }

  /// Loader threads: copies the scales of a K tile into the slot of a stage that they have acquired, and
  /// arrives on its full barrier when they are there. Rows past the edge get zeros.
  TILEWRIGHT_DEVICE void load(const kernels::Fp8GemmParams& p, const Ring& ring, RingPosition at,
                              schedule::TileCoord tile, uint32_t k_tile) const {
    const uint32_t thread = arch::thread_index().x % 128 - 32;
    const uint32_t slot = slots + at.stage * kSlotBytes;
    const kernels::Fp8Scales &a = p.a_scales, &b = p.b_scales;
    const float* from = at_k(a, tile.batch, k_tile);
    // What goes through L1 takes cycles of shared memory that the MMAs need: four rows at once if possible.
    if (is_wide(a)) {
      const uint32_t row = tile.m * kRows + 4 * thread;
      const uint32_t left = row < p.m ? 4 * (p.m - row) : 0;
      if (thread < kRows / 4)
        arch::cp_async_16(slot + 16 * thread, left != 0 ? from + row : from, left < 16 ? left : 16);
    } else {
      TILEWRIGHT_UNROLL
      for (uint32_t i = 0; i < kRows / kThreads; ++i) {
        const uint32_t in_tile = thread + i * kThreads;
        copy(slot + 4 * in_tile, from, a.line_stride, tile.m * kRows + in_tile, p.m);
      }
    }
    // The other warp.
    const uint32_t block = thread - 32;
    if (block < kBlocks) {
      const uint32_t first_block = tile.n * Config::kTileN / kernels::kFp8ScaleRows;
      const uint32_t blocks = (p.n + kernels::kFp8ScaleRows - 1) / kernels::kFp8ScaleRows;
      copy(slot + 4 * (kRows + block), at_k(b, tile.batch, k_tile), b.line_stride, first_block + block,
           blocks);
    }
    arch::cp_async_mbarrier_arrive_noinc(ring.full_barrier(at));
  }

  /// Loader threads of a kernel whose tiles one other thread loads: the scales of one output tile.
  TILEWRIGHT_DEVICE void load_tile(const kernels::Fp8GemmParams& p, const Ring& ring, RingPosition& at,
                                   schedule::TileCoord tile, uint32_t k_tiles) const {
    TILEWRIGHT_NO_UNROLL
    for (uint32_t kt = 0; kt < k_tiles; ++kt) {
      ring.acquire(at);
      load(p, ring, at, tile, kt);
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
  /// Whether four rows are 16 bytes at a multiple of 16.
  TILEWRIGHT_DEVICE static bool is_wide(const kernels::Fp8Scales& a) {
    return a.line_stride == 1 && (a.k_stride | a.batch_stride) % 4 == 0 &&
           reinterpret_cast<uintptr_t>(a.data) % 16 == 0;
  }
  TILEWRIGHT_DEVICE static const float* at_k(const kernels::Fp8Scales& s, uint32_t batch, uint32_t k_tile) {
    return s.data + static_cast<int64_t>(batch) * s.batch_stride + static_cast<int64_t>(k_tile) * s.k_stride;
  }
  TILEWRIGHT_DEVICE static void copy(uint32_t to, const float* from, int64_t stride, uint32_t line,
                                     uint32_t lines) {
    const bool inside = line < lines;
    arch::cp_async_4(to, from + (inside ? static_cast<int64_t>(line) * stride : 0), inside ? 4 : 0);
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
