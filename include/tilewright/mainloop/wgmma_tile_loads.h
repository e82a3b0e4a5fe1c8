// What one block computes with wgmma, as a type, and how the operands of its tiles reach shared memory.
#pragma once

#include <cstdint>

#include "tilewright/arch/cluster.h"
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
  static constexpr uint32_t kStages = static_cast<uint32_t>(StageCount);
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
    return group % kPlan.groups_m * kRowsOfGroup + part_of(part).row;
  }
  static TILEWRIGHT_DEVICE uint32_t part_column(uint32_t group, int part) {
    return group / kPlan.groups_m * kColumnsOfGroup + part_of(part).column;
  }
};

/// Where the operands of one tile come from.
struct WgmmaTileSource {
  const TensorMap* a;
  const TensorMap* b;
  const TensorMap* b2;       // of the second product, where there is one
  int32_t row, column;       // of the tile's first element, in A's rows and B's columns
  int32_t batch_a, batch_b;  // third coordinate of the maps
};

/// The producer's half: one thread loads the K tiles of one tile. Maps: (contiguous index, other index,
/// batch), box and swizzle of the operand's layout. What lies outside the matrices arrives as zeros. In a
/// cluster each block loads its share of the rows and multicasts it to the blocks that need the same ones.
template <class Config>
struct WgmmaTileLoads {
  uint32_t stages;  // shared address of the first stage: the A tile, then the B tile

  TILEWRIGHT_DEVICE void load(const WgmmaTileSource& from, const Ring& ring, RingPosition& at,
                              uint32_t k_tiles) const {
    // Ranks run M fastest: blocks with the same rows of A are every kClusterM-th, those with the same columns
    // of B are neighbours.
    const uint32_t rank = Config::kMulticast ? arch::cluster_rank() : 0;
    const Share a{rank / Config::kClusterM, mask_of_row() << (rank % Config::kClusterM)};
    const Share b{rank % Config::kClusterM, ((1u << Config::kClusterM) - 1)
                                                << (rank / Config::kClusterM * Config::kClusterM)};
    TILEWRIGHT_NO_UNROLL
    for (uint32_t kt = 0; kt < k_tiles; ++kt) {
      ring.acquire(at);
      const uint32_t full = ring.full_barrier(at);
      const uint32_t stage = stages + at.stage * Config::kPlan.stage_bytes;
      const auto k = static_cast<int32_t>(kt * Config::kStageK);
      constexpr uint32_t kBytesA = Config::kLayoutA.bytes, kBytesB = Config::kLayoutB.bytes;
      arch::mbarrier_arrive_expect_tx(full, kBytesA + Config::kShape.products * kBytesB);
      load_operand<true>(stage, from.a, full, from.row, k, from.batch_a, a);
      load_operand<false>(stage + kBytesA, from.b, full, from.column, k, from.batch_b, b);
      if constexpr (Config::kShape.products == 2) {
        load_operand<false>(stage + kBytesA + kBytesB, from.b2, full, from.column, k, from.batch_b, b);
      }
      at.advance(Config::kStages);
    }
  }

 private:
  /// Which part of an operand this block loads, and for whom.
  struct Share {
    uint32_t index, mask;
  };

  static TILEWRIGHT_DEVICE constexpr uint32_t mask_of_row() {
    uint32_t mask = 0;
    for (uint32_t n = 0; n < Config::kClusterN; ++n) mask |= 1u << (n * Config::kClusterM);
    return mask;
  }

  template <bool IsA>
  static TILEWRIGHT_DEVICE void load_operand(uint32_t to, const TensorMap* map, uint32_t full, int32_t row,
                                             int32_t k, int32_t batch, Share share) {
    constexpr OperandLayout layout = IsA ? Config::kLayoutA : Config::kLayoutB;
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
          arch::tma_load_multicast_3d(target, map, full, static_cast<uint16_t>(share.mask), contiguous, other,
                                      batch);
        } else {
          arch::tma_load_3d(target, map, full, contiguous, other, batch);
        }
      }
    }
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
