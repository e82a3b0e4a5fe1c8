// What one block computes with wgmma, as a type, and how the operands of its tiles reach shared memory.
#pragma once

#include <cstdint>

#include "tilewright/arch/index.h"
#include "tilewright/arch/mbarrier.h"
#include "tilewright/arch/tma.h"
#include "tilewright/arch/wgmma.h"
#include "tilewright/mainloop/ring.h"
#include "tilewright/mainloop/wgmma_tile_layout.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

using tiles::OperandLayout;
using tiles::WgmmaTilePlan;
using tiles::WgmmaTileShape;

/// Compile-time shape of a tile. A, B: element types of arch/. Register: float, int32_t, or uint32_t for
/// pairs of f16.
template <class TypeA, class TypeB, class TypeRegister, WgmmaTileShape TileShape, int StageCount>
struct WgmmaTileConfig {
  using A = TypeA;
  using B = TypeB;
  using Register = TypeRegister;
  static constexpr WgmmaTileShape kShape = TileShape;
  static constexpr WgmmaTilePlan kPlan = tiles::wgmma_tile_plan(TileShape);
  static constexpr OperandLayout kLayoutA = tiles::wgmma_layout_a(TileShape),
                                 kLayoutB = tiles::wgmma_layout_b(TileShape);
  static constexpr uint32_t kStages = static_cast<uint32_t>(StageCount);  // if tunable, at most
  static constexpr bool kTunable = TileShape.tunable;
  static constexpr bool kOneStage = StageCount == 1 && !kTunable;  // a tunable ring has two or more
  static constexpr bool kCopies = TileShape.copied, kScaled = TileShape.scaled;
  static constexpr int kParts = kPlan.parts();
  static constexpr int kRegisters = kPlan.registers;
  static constexpr int kMmas = kPlan.mmas;
  static constexpr int kInterval = TileShape.interval;
  static constexpr uint32_t kStageK = static_cast<uint32_t>(TileShape.stage_k());
  static constexpr uint32_t kConsumerWarps = static_cast<uint32_t>(TileShape.threads) / 32;
  static constexpr uint32_t kClusterM = static_cast<uint32_t>(TileShape.cluster_m);
  static constexpr uint32_t kClusterN = static_cast<uint32_t>(TileShape.cluster_n);
  static constexpr bool kMulticast = kLayoutA.shares > 1 || kLayoutB.shares > 1;
  static constexpr bool kReallocates = true;  // registers, between the roles
  /// Arrivals that free a stage: the computing warps of every block that reads what this one writes.
  static constexpr uint32_t kEmptyArrivals = kConsumerWarps * (kMulticast ? kClusterM + kClusterN - 1 : 1);
  static constexpr uint32_t kRowsOfGroup = static_cast<uint32_t>(TileShape.m / kPlan.groups_m);
  static constexpr uint32_t kColumnsOfGroup = static_cast<uint32_t>(TileShape.n / kPlan.groups_n);
  static constexpr arch::WgmmaOptions kOptions{TileShape.mn_major_a ? arch::Major::mn : arch::Major::k,
                                               TileShape.mn_major_b ? arch::Major::mn : arch::Major::k, false,
                                               false, false};

  static_assert(StageCount >= 1 && StageCount <= kPlan.max_depth, "the stages do not fit in shared memory");
  static_assert(kPlan.part_n != 0 && kMmas > 0, "wgmma cannot cut the tile into parts");
  static_assert(TileShape.splits == 1 || (TileShape.splits == 2 && kInterval != 0),
                "operands are whole or of two parts, and sums of the latter are promoted");
  static_assert(TileShape.products == 1 || TileShape.products == 2, "one matrix B, or two");
  static_assert(tiles::wgmma_interval_fits(kPlan, kInterval),
                "the promotion interval does not fit the K tile");
  static_assert(!kTunable || tiles::wgmma_tunable_fits(TileShape), "the tile cannot be tuned by its launch");

  /// Accumulators of one thread.
  using Fragment = Register[kParts][kRegisters];

  /// Rows and columns from the first part of a warpgroup to another one, and whose product it belongs to.
  struct Part {
    uint32_t row, column, product;
  };
  static TILEWRIGHT_HOST_DEVICE constexpr Part part_of(int part) {
    const int in_product = part % (kPlan.parts_m * kPlan.parts_n);
    return {static_cast<uint32_t>(in_product / kPlan.parts_n * 64),
            static_cast<uint32_t>(in_product % kPlan.parts_n * kPlan.part_n),
            static_cast<uint32_t>(part / (kPlan.parts_m * kPlan.parts_n))};
  }
  /// First row and column of a part of a warpgroup, in the tile.
  static TILEWRIGHT_DEVICE uint32_t part_row(uint32_t group, int part) {
    const uint32_t at_m = kPlan.groups_n == 1 ? group : group % kPlan.groups_m;
    return at_m * kRowsOfGroup + part_of(part).row;
  }
  static TILEWRIGHT_DEVICE uint32_t part_column(uint32_t group, int part) {
    const uint32_t at_n = kPlan.groups_n == 1 ? 0 : group / kPlan.groups_m;
    return at_n * kColumnsOfGroup + part_of(part).column;
  }
};

/// Where the operands of one tile come from.
struct WgmmaTileSource {
  const TensorMap* a;
  const TensorMap* b;
  const TensorMap* b2;       // of the second product, where there is one
  uint32_t row, column;      // of the tile's first element, in A's rows and B's columns
  int32_t batch_a, batch_b;  // third coordinate of the maps
};

/// The producer's half: one thread loads the K tiles of one tile. Maps: (contiguous index, other index,
/// batch), box and swizzle of the operand's layout. What lies outside the matrices arrives as zeros. In a
/// cluster each block loads its share of the rows and multicasts it to the blocks that need the same ones.
template <class Config>
class WgmmaTileLoads {
 public:
  /// stages: shared address of the first stage: the A tile, then the B tile.
  template <class Cluster>
  TILEWRIGHT_DEVICE WgmmaTileLoads(uint32_t stages, const Cluster& cluster) : stages_(stages) {
    // Ranks run M fastest: blocks with the same rows of A are every cluster.m-th, those with the same columns
    // of B are neighbours.
    const uint32_t rank = Config::kMulticast ? arch::cluster_rank() : 0;
    const uint32_t rank_m = cluster.place_m(rank), rank_n = cluster.place_n(rank);
    a_ = {rank_n, cluster.n, cluster.mask_of_row << rank_m};
    b_ = {rank_m, cluster.m, ((1u << cluster.m) - 1) << (rank_n * cluster.m)};
  }

  TILEWRIGHT_DEVICE void load(const WgmmaTileSource& from, const Ring& ring, RingPosition& at,
                              uint32_t k_tiles) const {
    TILEWRIGHT_NO_UNROLL
    for (uint32_t kt = 0; kt < k_tiles; ++kt) {
      ring.acquire(at);
      const uint32_t full = ring.full_barrier(at);
      const uint32_t stage = stages_ + at.stage * Config::kPlan.stage_bytes;
      const auto k = static_cast<int32_t>(kt * Config::kStageK);
      constexpr uint32_t kBytesA = Config::kLayoutA.bytes, kBytesB = Config::kLayoutB.bytes;
      arch::mbarrier_arrive_expect_tx(full, kBytesA + Config::kShape.products * kBytesB);
      load_operand<true>(stage, from.a, full, from.row, k, from.batch_a, a_);
      load_operand<false>(stage + kBytesA, from.b, full, from.column, k, from.batch_b, b_);
      if constexpr (Config::kShape.products == 2) {
        load_operand<false>(stage + kBytesA + kBytesB, from.b2, full, from.column, k, from.batch_b, b_);
      }
      at.advance(ring.stages);
    }
  }

 private:
  /// Which part of an operand this block loads, and for whom.
  struct Share {
    uint32_t index, count, mask;
  };

  template <bool IsA>
  static TILEWRIGHT_DEVICE void load_operand(uint32_t to, const TensorMap* map, uint32_t full,
                                             uint32_t first_row, int32_t k, int32_t batch, Share share) {
    constexpr OperandLayout layout = IsA ? Config::kLayoutA : Config::kLayoutB;
    const auto row = static_cast<int32_t>(first_row);
    if constexpr (Config::kTunable) {
      const uint32_t at_row = share.index * (layout.rows / share.count), target = to + at_row * layout.width;
      const int32_t other = row + static_cast<int32_t>(at_row);
      if (share.count > 1) {
        arch::tma_load_multicast_3d(target, map, full, static_cast<uint16_t>(share.mask), k, other, batch);
      } else {
        arch::tma_load_3d(target, map, full, k, other, batch);
      }
    } else {
      const uint32_t first = layout.shares > 1 ? share.index * layout.rows_of_share() : 0;
      TILEWRIGHT_UNROLL
      for (uint32_t slab = 0; slab < layout.slabs; ++slab) {
        TILEWRIGHT_UNROLL
        for (uint32_t box = 0; box < layout.boxes_per_slab(); ++box) {
          const uint32_t at_row = first + box * layout.box_rows;
          const int32_t contiguous =
              (layout.mn_major ? row : k) + static_cast<int32_t>(slab * layout.box_columns());
          const int32_t other = (layout.mn_major ? k : row) + static_cast<int32_t>(at_row);
          const uint32_t target = to + slab * layout.slab_bytes() + at_row * layout.width;
          if constexpr (layout.shares > 1) {
            arch::tma_load_multicast_3d(target, map, full, static_cast<uint16_t>(share.mask), contiguous,
                                        other, batch);
          } else {
            arch::tma_load_3d(target, map, full, contiguous, other, batch);
          }
        }
      }
    }
  }

  uint32_t stages_;
  Share a_, b_;
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
