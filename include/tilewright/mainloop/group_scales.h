// FP32 scales along K of a promoted product, beside the stages in shared memory: one for each row of A and K
// tile, one for each 128 columns of B and K tile.
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
#include "tilewright/arch/wgmma.h"
#include "tilewright/mainloop/ring.h"
#include "tilewright/mainloop/wgmma_tile_loads.h"
#include "tilewright/schedule/tile_schedule.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// What becomes of the sum of a group without scales.
struct NoFactors {
  template <class T, int Count>
  TILEWRIGHT_DEVICE static void assign(T (&sum)[Count], const T (&group)[Count]) {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < Count; ++i) sum[i] = arch::copy_rn(group[i]);
  }
  template <class T, int Count>
  TILEWRIGHT_DEVICE static void add(T (&sum)[Count], const T (&group)[Count]) {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < Count; ++i) sum[i] = arch::add_rn(sum[i], group[i]);
  }
  template <class T, int Count>
  TILEWRIGHT_DEVICE static void multiply(T (&)[Count]) {}
};

/// And with them: the scale of the thread's first row of a part, and of eight rows below. Registers 2 and 3
/// of each four are eight rows below 0 and 1 (PTX ISA, wgmma register fragments).
struct GroupFactors {
  float of[2] = {1, 1};

  template <int Count>
  TILEWRIGHT_DEVICE void assign(float (&sum)[Count], const float (&group)[Count]) const {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < Count; ++i) sum[i] = arch::mul_rn(group[i], of[i / 2 % 2]);
  }
  template <int Count>
  TILEWRIGHT_DEVICE void add(float (&sum)[Count], const float (&group)[Count]) const {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < Count; ++i) sum[i] = arch::fma_rn(group[i], of[i / 2 % 2], sum[i]);
  }
  template <int Count>
  TILEWRIGHT_DEVICE void multiply(float (&sum)[Count]) const {
    assign(sum, sum);
  }
};

/// A slot belongs to each stage: the scales of the tile's rows of A, then those of its blocks of B.
template <class Config>
struct ScaleSlots {
  static constexpr uint32_t kSlotBytes = Config::kPlan.scale_bytes;
  static constexpr uint32_t kRows = static_cast<uint32_t>(Config::kShape.m);
  static constexpr uint32_t kColumns = static_cast<uint32_t>(Config::kShape.n);
  static constexpr uint32_t kBlocks = (kColumns + tiles::kScaleColumns - 1) / tiles::kScaleColumns;
  static constexpr uint32_t kPartN = static_cast<uint32_t>(Config::kPlan.part_n);
  static constexpr uint32_t kRowParts = static_cast<uint32_t>(Config::kPlan.parts_m),
                            kColumnParts = static_cast<uint32_t>(Config::kPlan.parts_n);

  static_assert(Config::kPlan.groups_n == 1 && kPartN <= tiles::kScaleColumns &&
                    tiles::kScaleColumns % kPartN == 0,
                "the columns of a part share one scale of B");
  static_assert(kBlocks <= 4, "a slot has room for the scales of 4 blocks");

  uint32_t slots;  // shared address of the first

  /// Whether this warp of the producer warpgroup brings scales.
  TILEWRIGHT_DEVICE static bool is_loader() { return arch::warp_index() == Config::kConsumerWarps + 1; }

  /// Scales of B on their way: a lane has those of one K tile of 32.
  struct Ahead {
    float block[kBlocks];
  };

  /// The loader warp: copies the scales of a K tile into the slot of a stage that it has acquired, and
  /// arrives on its full barrier. Called for each K tile of an output tile in turn. Lines past the edge get
  /// zeros.
  template <class Params>
  TILEWRIGHT_DEVICE void load(const Params& p, const Ring& ring, RingPosition at, schedule::TileCoord tile,
                              uint32_t k_tile, Ahead& ahead) const {
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
  template <class Params>
  TILEWRIGHT_DEVICE void load_tile(const Params& p, const Ring& ring, RingPosition& at,
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
    const uint32_t group = thread / arch::warpgroup_size, warp = thread % arch::warpgroup_size / 32;
    const uint32_t row = Config::part_row(group, 0) + warp * 16 + thread % 32 / 4;
    const uint32_t slot = slots + stage * kSlotBytes;
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < 2 * kRowParts; ++i)
      held.row[i] = arch::load_shared<float>(slot + 4 * (row + i / 2 * 64 + i % 2 * 8));
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < kColumnParts; ++i)
      held.column[i] = arch::load_shared<float>(slot + 4 * (kRows + i * kPartN / tiles::kScaleColumns));
  }

  /// What to multiply the sums of a part with, in the thread's first row and eight rows below.
  TILEWRIGHT_DEVICE static void factors(const Held& held, int part, float (&of)[2]) {
    const float column = held.column[kColumnParts > 1 ? part : 0];
    TILEWRIGHT_UNROLL
    for (int i = 0; i < 2; ++i) of[i] = arch::mul_rn(held.row[kRowParts > 1 ? 2 * part + i : i], column);
  }

 private:
  /// Whether the scales of A's rows are neighbours that a bulk copy can address.
  template <class Params>
  TILEWRIGHT_DEVICE static bool is_contiguous(const Params& p) {
    const tiles::ScaleLines& a = p.a_scales;
    return a.line_stride == 1 && (a.k_stride | a.batch_stride | p.m) % 4 == 0 &&
           reinterpret_cast<uintptr_t>(a.data) % 16 == 0;
  }
  template <class Params>
  TILEWRIGHT_DEVICE static void look_ahead(const Params& p, schedule::TileCoord tile, uint32_t k_tile,
                                           Ahead& ahead) {
    const uint32_t first = tile.n * kColumns / tiles::kScaleColumns;
    const uint32_t blocks = (p.n + tiles::kScaleColumns - 1) / tiles::kScaleColumns;
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < kBlocks; ++i) {
      const bool inside = k_tile < p.k_tiles && first + i < blocks;
      ahead.block[i] =
          inside ? at_k(p.b_scales, tile.batch, k_tile)[(first + i) * p.b_scales.line_stride] : 0.0f;
    }
  }
  TILEWRIGHT_DEVICE static const float* at_k(const tiles::ScaleLines& s, uint32_t batch, uint32_t k_tile) {
    return s.data + static_cast<int64_t>(batch) * s.batch_stride + static_cast<int64_t>(k_tile) * s.k_stride;
  }
  TILEWRIGHT_DEVICE static uint32_t min(uint32_t a, uint32_t b) { return a < b ? a : b; }
};

/// The scales of the K tile being multiplied, of one computing thread.
template <class Config>
class GroupScales {
 public:
  static_assert(!Config::kScaled || Config::kParts == 1 || tiles::wgmma_begins_in_temporary(Config::kShape),
                "the first group of two parts is scaled part by part");
  /// present: otherwise all of them are 1, and there are none in shared memory.
  TILEWRIGHT_DEVICE GroupScales(ScaleSlots<Config> slots, bool present) : slots_(slots), present_(present) {}

  TILEWRIGHT_DEVICE void read(uint32_t stage) {
    if (present_) slots_.read(stage, held_);
  }
  TILEWRIGHT_DEVICE GroupFactors factors(int part) const {
    GroupFactors f;
    if (present_) slots_.factors(held_, part, f.of);
    arch::fence_operand(f.of);
    return f;
  }
  /// Under the last MMAs of a K tile, when all its factors have been taken: reads those of the next one, if
  /// there is one. From here on the warp may release the stage: wgmma_wait says that the MMAs of all lanes
  /// are done, but not their reads of scales.
  TILEWRIGHT_DEVICE void advance(bool more, uint32_t stage) {
    arch::sync_warp();
    if (more) read(stage);
  }

 private:
  ScaleSlots<Config> slots_;
  typename ScaleSlots<Config>::Held held_;
  bool present_;
};

/// Of a product without them.
struct NoGroupScales {
  TILEWRIGHT_DEVICE static void read(uint32_t) {}
  TILEWRIGHT_DEVICE static NoFactors factors(int) { return {}; }
  TILEWRIGHT_DEVICE static void advance(bool, uint32_t) {}
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
