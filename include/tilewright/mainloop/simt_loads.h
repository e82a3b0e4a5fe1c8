// How the operands of an FP32 GEMM reach the stages in shared memory.
#pragma once

#include "tilewright/arch/cp_async.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/mbarrier.h"
#include "tilewright/arch/tma.h"
#include "tilewright/arch/wgmma.h"
#include "tilewright/mainloop/ring.h"
#include "tilewright/mainloop/simt_f32.h"
#include "tilewright/mainloop/simt_gemm_params.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// Copies of single elements by 128 threads, for operands of any strides. Nothing here waits. Params is
/// kernels::SimtGemmParams, or has its members that describe the operands. A Config with kZeroRows gets
/// zeros in rows past the matrix. Of a Config with kComplex, k counts the parts of numbers: 2 k is the real
/// part of number k. Strides are in floats; where K is not contiguous, that of K from one number to the next.
template <class Config>
struct SimtGather {
  static constexpr uint32_t kTileK = Config::kPlan.tile_k;
  static constexpr bool kVector = Config::kPipeline == kernels::SimtPipeline::async;
  static constexpr bool kComplex = requires { requires Config::kComplex; };

  /// A K tile of one operand.
  template <bool IsA, class Params>
  TILEWRIGHT_DEVICE static void gather(const Params& p, schedule::TileCoord tile, uint32_t to, uint32_t k,
                                       uint32_t thread) {
    // Otherwise the compiler keeps every address that can be derived from them around the K loop.
    arch::fence_operand(tile.m);
    arch::fence_operand(tile.n);
    arch::fence_operand(thread);
    const bool inside = IsA ? (tile.m + 1) * Config::kTileM <= p.m : (tile.n + 1) * Config::kTileN <= p.n;
    if constexpr (kVector) {
      if (IsA ? p.a_vector : p.b_vector) {
        gather_vectors<IsA>(p, tile, to, k, thread);
        return;
      }
    }
    if ((IsA ? p.a_k_stride : p.b_k_stride) != 1) {
      gather_along_rows<IsA>(p, tile, to, k, thread);
    } else if (inside && k + kTileK <= p.k) {
      gather_along_k<IsA, true>(p, tile, to, k, thread);
    } else {
      gather_along_k<IsA, false>(p, tile, to, k, thread);
    }
  }

 private:
  /// Bytes to read of element (row of the tile, k): what is past the end of K is zero. Rows past the matrix
  /// repeat its last one where they reach only results that are not stored.
  template <bool IsA, class Params>
  TILEWRIGHT_DEVICE static uint32_t bytes_of(const Params& p, schedule::TileCoord tile, uint32_t row,
                                             uint32_t k) {
    bool exists = k < p.k;
    if constexpr (requires { requires Config::kZeroRows; }) {
      exists = exists && row + (IsA ? tile.m * Config::kTileM : tile.n * Config::kTileN) < (IsA ? p.m : p.n);
    }
    return exists ? 4 : 0;
  }

  /// Element (row of the tile, k), or of the last row.
  template <bool IsA, class Params>
  TILEWRIGHT_DEVICE static const float* element(const Params& p, schedule::TileCoord tile, uint32_t row,
                                                uint32_t k) {
    const uint32_t at = row + (IsA ? tile.m * Config::kTileM : tile.n * Config::kTileN);
    const uint32_t last = (IsA ? p.m : p.n) - 1;
    return (IsA ? p.a : p.b) +
           static_cast<int64_t>(tile.batch) * (IsA ? p.a_batch_stride : p.b_batch_stride) +
           static_cast<int64_t>(at < last ? at : last) * (IsA ? p.a_row_stride : p.b_row_stride) +
           static_cast<int64_t>(k) * (IsA ? p.a_k_stride : p.b_k_stride);
  }

  /// K is contiguous: a warp reads 32 bytes of each of four rows, whole sectors, and stores them to 32
  /// different banks, since neighbours in K are `pitch` = 4 modulo 32 floats apart. Past the end of K no byte
  /// is read, and zeros are stored.
  template <bool IsA, bool Inside, class Params>
  TILEWRIGHT_DEVICE static void gather_along_k(const Params& p, schedule::TileCoord tile, uint32_t to,
                                               uint32_t k, uint32_t thread) {
    constexpr uint32_t kRows = IsA ? Config::kTileM : Config::kTileN;
    constexpr uint32_t kPitch = IsA ? Config::kPlan.pitch_a : Config::kPlan.pitch_b;
    constexpr uint32_t kLanes = 8, kStepRows = 128 / kLanes;
    const uint32_t lane = thread % kLanes;
    const float* from = element<IsA>(p, tile, thread / kLanes, k + lane);
    uint32_t store = to + 4 * (lane * kPitch + thread / kLanes);
    if constexpr (Inside) {
      TILEWRIGHT_NO_UNROLL
      for (uint32_t row = 0; row < kRows; row += kStepRows) {
        TILEWRIGHT_UNROLL
        for (uint32_t i = 0; i < kTileK; i += kLanes) arch::cp_async_4(store + 4 * i * kPitch, from + i);
        from += kStepRows * (IsA ? p.a_row_stride : p.b_row_stride);
        store += 4 * kStepRows;
      }
    } else {
      TILEWRIGHT_NO_UNROLL
      for (uint32_t row = thread / kLanes; row < kRows; row += kStepRows) {
        from = element<IsA>(p, tile, row, k + lane);
        TILEWRIGHT_UNROLL
        for (uint32_t i = 0; i < kTileK; i += kLanes) {
          arch::cp_async_4(store + 4 * i * kPitch, from + i, bytes_of<IsA>(p, tile, row, k + lane + i));
        }
        store += 4 * kStepRows;
      }
    }
  }

  /// Rows are contiguous (or nothing is): neighbouring threads read neighbouring rows.
  template <bool IsA, class Params>
  TILEWRIGHT_DEVICE static void gather_along_rows(const Params& p, schedule::TileCoord tile, uint32_t to,
                                                  uint32_t k, uint32_t thread) {
    constexpr uint32_t kRows = IsA ? Config::kTileM : Config::kTileN;
    constexpr uint32_t kPitch = IsA ? Config::kPlan.pitch_a : Config::kPlan.pitch_b;
    constexpr uint32_t kUnrolled = 8;
    TILEWRIGHT_NO_UNROLL
    for (uint32_t i = thread; i < kRows * (kTileK / kUnrolled); i += 128) {
      const uint32_t row = i % kRows, first = i / kRows * kUnrolled;
      const float* from = element<IsA>(p, tile, row, kComplex ? (k + first) / 2 : k + first);
      const uint32_t store = to + 4 * (first * kPitch + row);
      TILEWRIGHT_UNROLL
      for (uint32_t j = 0; j < kUnrolled; ++j) {
        const bool imaginary = kComplex && j % 2 != 0;
        arch::cp_async_4(store + 4 * j * kPitch, from + imaginary,
                         bytes_of<IsA>(p, tile, row, k + first + j));
        if (!kComplex || imaginary) from += IsA ? p.a_k_stride : p.b_k_stride;
      }
    }
  }

  /// Rows are contiguous and aligned: 16 bytes at a time. What is past the last row or K index is zero.
  template <bool IsA, class Params>
  TILEWRIGHT_DEVICE static void gather_vectors(const Params& p, schedule::TileCoord tile, uint32_t to,
                                               uint32_t k, uint32_t thread) {
    constexpr uint32_t kRows = IsA ? Config::kTileM : Config::kTileN;
    constexpr uint32_t kPitch = IsA ? Config::kPlan.pitch_a : Config::kPlan.pitch_b;
    constexpr uint32_t kLanes = kRows / 4;  // threads along a line of K
    const uint32_t row = thread % kLanes * 4;
    const uint32_t first = (IsA ? tile.m * Config::kTileM : tile.n * Config::kTileN) + row;
    const uint32_t rows = IsA ? p.m : p.n;
    const uint32_t left = first < rows ? rows - first : 0;
    const uint32_t bytes = left < 4 ? 4 * left : 16;
    const float* from = element<IsA>(p, tile, left == 0 ? 0 : row, k + thread / kLanes);
    uint32_t store = to + 4 * (thread / kLanes * kPitch + row);
    TILEWRIGHT_UNROLL
    for (uint32_t kk = thread / kLanes; kk < kTileK; kk += 128 / kLanes) {
      arch::cp_async_16(store, from, k + kk < p.k ? bytes : 0);
      from += 128 / kLanes * (IsA ? p.a_k_stride : p.b_k_stride);
      store += 4 * (128 / kLanes) * kPitch;
    }
  }
};

/// A stage is A as [k][row] of pitch_a floats, then B as [k][row] of pitch_b.
template <class Config>
struct SimtLoads {
  static constexpr uint32_t kTileK = Config::kPlan.tile_k;
  static constexpr uint32_t kStageBytes = Config::kPlan.stage_bytes;
  static constexpr uint32_t kBytesA = 4 * kTileK * Config::kPlan.pitch_a;
  static constexpr bool kGatherA = Config::kLoadA == kernels::SimtLoad::gather;
  static constexpr bool kGatherB = Config::kLoadB == kernels::SimtLoad::gather;
  static constexpr bool kGathers = kGatherA || kGatherB;
  /// Threads of the producer warpgroup at work, and those that arrive on a full barrier.
  static constexpr uint32_t kThreads = kGathers ? arch::warpgroup_size : 1;
  static constexpr uint32_t kBulkBytes =
      4 * kTileK * ((kGatherA ? 0 : Config::kTileM) + (kGatherB ? 0 : Config::kTileN));

  uint32_t stages;  // shared address of the first

  /// `thread` of kThreads: loads K tiles [first, first + count) of one output tile.
  template <class Params>
  TILEWRIGHT_DEVICE void load_tile(const Params& p, const Ring& ring, RingPosition& at,
                                   schedule::TileCoord tile, uint32_t first, uint32_t count,
                                   uint32_t thread) const {
    load_tile(p, ring, at, tile, tile, first, count, thread);
  }
  /// The same with a batch for each operand: A of `tile_a`, B of `tile_b`.
  template <class Params>
  TILEWRIGHT_DEVICE void load_tile(const Params& p, const Ring& ring, RingPosition& at,
                                   schedule::TileCoord tile_a, schedule::TileCoord tile_b, uint32_t first,
                                   uint32_t count, uint32_t thread) const {
    TILEWRIGHT_NO_UNROLL
    for (uint32_t kt = first; kt < first + count; ++kt) {
      ring.acquire(at);
      const uint32_t full = ring.full_barrier(at);
      const uint32_t stage = stages + at.stage * kStageBytes;
      const uint32_t k = kt * kTileK;
      if (kBulkBytes != 0 && thread == 0) {
        arch::mbarrier_expect_tx(full, kBulkBytes);
        if (!kGatherA) {
          arch::tma_load_3d(stage, &p.a_map, full, static_cast<int>(tile_a.m * Config::kTileM),
                            static_cast<int>(k), static_cast<int>(tile_a.batch * p.a_batch_step));
        }
        if (!kGatherB) {
          arch::tma_load_3d(stage + kBytesA, &p.b_map, full, static_cast<int>(tile_b.n * Config::kTileN),
                            static_cast<int>(k), static_cast<int>(tile_b.batch * p.b_batch_step));
        }
      }
      if constexpr (kGathers) {
        if constexpr (kGatherA) SimtGather<Config>::template gather<true>(p, tile_a, stage, k, thread);
        if constexpr (kGatherB)
          SimtGather<Config>::template gather<false>(p, tile_b, stage + kBytesA, k, thread);
        arch::cp_async_mbarrier_arrive_noinc(full);
      } else {
        arch::mbarrier_arrive(full);
      }
      at.advance(ring.stages);
    }
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
