// The main loop of the block-scaled GEMM on a pair of CTAs: a ring of stages filled by TMA in both,
// scales copied into tensor memory, and tcgen05.mma.block_scale into one of two accumulators that share
// columns.
//
//   load (each CTA)    wait empty -> TMA of A, half of B, A scales, and half of the B scales to both CTAs
//   MMA (first CTA)    wait full -> copy scales -> [first K tile: wait for the accumulator] -> MMAs -> commit
//   empty
//                      last K tile: commit accumulator ready
//   epilogue (each)    wait ready -> load subtiles -> [shared columns drained: release them] -> release
//
// Full and the two release barriers live in the first CTA and count both; empty and ready are in each CTA and
// are signalled by multicast commits.
#pragma once

#include "tilewright/arch/mbarrier.h"
#include "tilewright/arch/shared.h"
#include "tilewright/arch/tcgen05.h"
#include "tilewright/arch/tcgen05_tma.h"
#include "tilewright/arch/warp.h"
#include "tilewright/mainloop/ring.h"
#include "tilewright/mainloop/tcgen05_block_scaled_params.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// The compile-time side of a main loop. Overlap: two accumulators that share columns; otherwise there is
/// one.
template <BlockFormat A, BlockFormat B, bool Overlap, int Stages = kernels::block_scaled_stages>
struct BlockScaledConfig {
  static_assert(scale_vector(A) == scale_vector(B),
                "the scales of A and B must belong to as many elements of K");
  static_assert((A == BlockFormat::nvfp4) == (B == BlockFormat::nvfp4), "nvfp4 goes with nvfp4 only");

  static constexpr kernels::BlockScaledSharedPlan kShared = kernels::block_scaled_shared_plan(A, B, Stages);
  static_assert(kShared.total <= kernels::block_scaled_shared_limit,
                "the stages do not fit into shared memory");
  static_assert(is_legal(kernels::block_scaled_tmem_shape(A, B, Overlap)));
  static constexpr TmemPlan kTmem = tmem_plan(kernels::block_scaled_tmem_shape(A, B, Overlap));

  /// The same in device code, where a member function needs a value of its own.
  static TILEWRIGHT_HOST_DEVICE constexpr kernels::BlockScaledSharedPlan shared() {
    constexpr kernels::BlockScaledSharedPlan plan = kShared;
    return plan;
  }
  static TILEWRIGHT_HOST_DEVICE constexpr TmemPlan tmem() {
    constexpr TmemPlan plan = kTmem;
    return plan;
  }

  static constexpr bool kPacked = kernels::multiplies_packed(A, B);
  static constexpr arch::Tcgen05Kind kKind = !kPacked                  ? arch::Tcgen05Kind::mxf8f6f4
                                             : A == BlockFormat::nvfp4 ? arch::Tcgen05Kind::mxf4nvf4
                                                                       : arch::Tcgen05Kind::mxf4;
  static constexpr uint32_t kInstruction =
      arch::make_instruction_descriptor<kKind, typename BlockTraits<A>::Element,
                                        typename BlockTraits<B>::Element>(2, kernels::block_scaled_tile);
  static constexpr uint32_t kDepth = static_cast<uint32_t>(arch::mma_depth(kKind));
  static constexpr uint32_t kSteps = static_cast<uint32_t>(kernels::block_scaled_tile_k(A, B)) / kDepth;
  static constexpr uint32_t kScalesOfStep = static_cast<uint32_t>(arch::mma_scales(kKind));
  static constexpr uint32_t kScaleBlocks = static_cast<uint32_t>(kernels::block_scaled_scale_blocks(A, B));
  static constexpr uint32_t kStages = static_cast<uint32_t>(Stages);
  static constexpr uint32_t kBuffers = Overlap ? 2 : 1;
  static constexpr bool kOverlap = Overlap;

  /// Bytes that TMA signals for an operand of a stage: FP4 beside FP8 arrives packed.
  static constexpr uint32_t signalled(BlockFormat format) {
    return is_fp4(format) && !kPacked ? kShared.operand_bytes / 2 : kShared.operand_bytes;
  }
  /// Of a stage in both CTAs.
  static constexpr uint32_t kStageBytes =
      2 * (signalled(A) + signalled(B) + kShared.a_scale_bytes + kShared.b_scale_bytes);
};

inline constexpr uint16_t both_ctas = 3;
inline constexpr uint32_t epilogue_warps_of_pair = 8;

/// The accumulators of a pair: who may write or read which, by tile. Tile i uses buffer i mod 2 (0 without
/// overlap).
template <class Config>
struct AccumulatorWindows {
  uint32_t ready;                        // [buffer], own CTA: the MMAs of a tile are done
  uint32_t empty;                        // [buffer], first CTA: all of the window is drained
  uint32_t shared;                       // first CTA: the columns that both windows have are drained
  uint32_t empty_leader, shared_leader;  // the same as cluster addresses of the first CTA

  static constexpr uint32_t kBarriers = 5;

  TILEWRIGHT_DEVICE explicit AccumulatorWindows(uint32_t barriers)
      : ready(barriers),
        empty(barriers + 16),
        shared(barriers + 32),
        empty_leader(arch::map_shared(empty, 0)),
        shared_leader(arch::map_shared(shared, 0)) {}

  /// One thread of each CTA; then a cluster barrier.
  TILEWRIGHT_DEVICE void init() const {
    for (uint32_t buffer = 0; buffer < Config::kBuffers; ++buffer) {
      arch::name_barrier(ready + 8 * buffer, "accumulator ready", static_cast<int>(buffer));
      arch::name_barrier(empty + 8 * buffer, "accumulator empty", static_cast<int>(buffer));
      arch::mbarrier_init(ready + 8 * buffer, 1);
      arch::mbarrier_init(empty + 8 * buffer, epilogue_warps_of_pair);
    }
    if constexpr (Config::kOverlap) {
      arch::name_barrier(shared, "shared columns");
      arch::mbarrier_init(shared, epilogue_warps_of_pair);
    }
    arch::fence_mbarrier_init();
  }

  static TILEWRIGHT_DEVICE uint32_t buffer(uint32_t tile) { return Config::kOverlap ? tile % 2 : 0; }
  static TILEWRIGHT_DEVICE uint32_t parity(uint32_t tile) { return (Config::kOverlap ? tile / 2 : tile) % 2; }

  /// MMA thread: waits until the epilogue has drained the window, and the columns that it shares with the
  /// tile before.
  TILEWRIGHT_DEVICE void acquire(uint32_t tile) const {
    arch::mbarrier_wait_parity_cluster(empty + 8 * buffer(tile), parity(tile) ^ 1);
    if constexpr (Config::kOverlap) arch::mbarrier_wait_parity_cluster(shared, (tile + 1) % 2);
    arch::tcgen05_fence_after();
  }
  /// MMA thread: the window is ready when the MMAs issued so far are done.
  TILEWRIGHT_DEVICE void publish(uint32_t tile) const {
    arch::tcgen05_commit_multicast<2>(ready + 8 * buffer(tile), both_ctas);
  }
  /// Epilogue threads.
  TILEWRIGHT_DEVICE void wait(uint32_t tile) const {
    arch::mbarrier_wait_parity(ready + 8 * buffer(tile), parity(tile));
    arch::tcgen05_fence_after();
  }
  /// Epilogue warps, after tcgen05_wait_ld of the last shared column: the next tile may begin.
  TILEWRIGHT_DEVICE void release_shared() const {
    if constexpr (Config::kOverlap) signal(shared_leader);
  }
  /// Epilogue warps, after tcgen05_wait_ld of the last column.
  TILEWRIGHT_DEVICE void release(uint32_t tile) const { signal(empty_leader + 8 * buffer(tile)); }

 private:
  static TILEWRIGHT_DEVICE void signal(uint32_t barrier) {
    arch::tcgen05_fence_before();
    arch::sync_warp();
    if (arch::lane_index() == 0) arch::mbarrier_arrive_cluster(barrier);
  }
};

/// The load role: one thread in each CTA.
template <class Config>
struct BlockScaledLoads {
  uint32_t base;         // shared address of the stages
  uint32_t full_leader;  // cluster address of the first CTA's full barriers
  uint32_t rank;

  TILEWRIGHT_DEVICE BlockScaledLoads(uint32_t stages, const Ring& ring, uint32_t cta_rank)
      : base(stages), full_leader(arch::map_shared(ring.full, 0)), rank(cta_rank) {}

  TILEWRIGHT_DEVICE void load_tile(const kernels::BlockScaledOperandParams& p, const Ring& ring,
                                   RingPosition& at, const schedule::TileCoord& tile) const {
    TILEWRIGHT_NO_UNROLL
    for (uint32_t k_tile = 0; k_tile < p.k_tiles; ++k_tile) {
      ring.acquire(at);
      if (rank == 0) arch::mbarrier_arrive_expect_tx(ring.full_barrier(at), Config::kStageBytes);
      load_stage(p, at.stage, tile, k_tile);
      at.advance(Config::kStages);
    }
  }

  /// Waits until the MMAs have read every stage that was loaded: their commits arrive in this CTA.
  TILEWRIGHT_DEVICE void finish(const Ring& ring, RingPosition at) const {
    TILEWRIGHT_NO_UNROLL
    for (uint32_t stage = 0; stage < Config::kStages; ++stage) {
      ring.acquire(at);
      at.advance(Config::kStages);
    }
  }

 private:
  TILEWRIGHT_DEVICE void load_stage(const kernels::BlockScaledOperandParams& p, uint32_t stage,
                                    const schedule::TileCoord& tile, uint32_t k_tile) const {
    constexpr auto plan = Config::shared();
    const uint32_t full = full_leader + 8 * stage;
    const auto k = static_cast<int32_t>(k_tile);
    const auto a_batch = static_cast<int32_t>(tile.batch * p.a_batch_step),
               b_batch = static_cast<int32_t>(tile.batch * p.b_batch_step);
    // Rows of this CTA; of B it has one half of the tile's 256, in blocks of 128.
    const auto a_block = static_cast<int32_t>(tile.m), b_block = static_cast<int32_t>(2 * tile.n + rank);
    constexpr int32_t kRows = kernels::block_scaled_cta_rows, kColumns = kernels::block_scaled_row_bytes;
    arch::tma_load_pair_3d(base + plan.a(stage), &p.a_map, full, k * kColumns, a_block * kRows, a_batch);
    arch::tma_load_pair_3d(base + plan.b(stage), &p.b_map, full, k * kColumns, b_block * kRows, b_batch);
    constexpr auto kBlocks = static_cast<int32_t>(Config::kScaleBlocks);
    arch::tma_load_pair_4d(base + plan.a_scales(stage), &p.a_scale_map, full, 0, k * kBlocks, a_block,
                           a_batch);
    arch::tma_load_pair_multicast_4d(base + plan.b_scales(stage) + rank * plan.a_scale_bytes, &p.b_scale_map,
                                     full, both_ctas, 0, k * kBlocks, b_block, b_batch);
  }
};

/// The MMA role: one thread of the first CTA, for both.
template <class Config>
struct BlockScaledMma {
  uint32_t base;  // shared address of the stages
  uint32_t tmem;  // address of the first column

  TILEWRIGHT_DEVICE void multiply_tile(const kernels::BlockScaledOperandParams& p, const Ring& ring,
                                       RingPosition& at, const AccumulatorWindows<Config>& windows,
                                       uint32_t tile) const {
    const auto window = static_cast<uint32_t>(Config::tmem().accumulator(tile).first);
    TILEWRIGHT_NO_UNROLL
    for (uint32_t k_tile = 0; k_tile < p.k_tiles; ++k_tile) {
      ring.wait(at);
      // Scales never lie in an accumulator: only the first MMA waits for the epilogue.
      copy_scales(at.stage);
      if (k_tile == 0) windows.acquire(tile);
      const uint32_t left = (p.k - k_tile * Config::kSteps * Config::kDepth) / Config::kDepth;
      multiply_stage(at.stage, tmem + window, left < Config::kSteps ? left : Config::kSteps, k_tile != 0);
      arch::tcgen05_commit_multicast<2>(ring.empty + 8 * at.stage, both_ctas);
      at.advance(Config::kStages);
    }
    if (p.k_tiles == 0) windows.acquire(tile);
    windows.publish(tile);
  }

 private:
  /// Shared memory: A [block along K], B [block along N][block along K]. Tensor memory: four columns a block,
  /// A [block along K], B [block along K][block along N].
  TILEWRIGHT_DEVICE void copy_scales(uint32_t stage) const {
    constexpr uint32_t kBytes = static_cast<uint32_t>(scale_block_bytes);
    const uint32_t a = base + Config::shared().a_scales(stage), b = base + Config::shared().b_scales(stage);
    TILEWRIGHT_UNROLL
    for (uint32_t block = 0; block < Config::kScaleBlocks; ++block) {
      const uint32_t a_column = tmem + Config::kTmem.a_scales.first + 4 * block;
      const uint32_t b_column = tmem + Config::kTmem.b_scales.first + 8 * block;
      arch::tcgen05_cp_32x128b<2>(a_column, scale_descriptor(a + block * kBytes));
      arch::tcgen05_cp_32x128b<2>(b_column, scale_descriptor(b + block * kBytes));
      arch::tcgen05_cp_32x128b<2>(b_column + 4,
                                  scale_descriptor(b + (Config::kScaleBlocks + block) * kBytes));
    }
  }

  TILEWRIGHT_DEVICE void multiply_stage(uint32_t stage, uint32_t accumulator, uint32_t steps,
                                        bool accumulate) const {
    constexpr uint32_t kRowGroup = 8 * kernels::block_scaled_row_bytes;
    const uint64_t a =
        arch::make_tcgen05_descriptor(base + Config::shared().a(stage), Swizzle::b128, 0, kRowGroup);
    const uint64_t b =
        arch::make_tcgen05_descriptor(base + Config::shared().b(stage), Swizzle::b128, 0, kRowGroup);
    TILEWRIGHT_UNROLL
    for (uint32_t step = 0; step < Config::kSteps; ++step) {
      if (step >= steps) break;
      constexpr uint32_t kBytes = 32;  // of K, per instruction
      const uint32_t first_scale = step * Config::kScalesOfStep, block = first_scale / 4,
                     id = first_scale % 4;
      arch::tcgen05_mma_block_scaled<Config::kKind, 2>(
          accumulator, arch::advance_descriptor(a, kBytes * step), arch::advance_descriptor(b, kBytes * step),
          arch::with_scale_ids(Config::kInstruction, id, id), tmem + Config::kTmem.a_scales.first + 4 * block,
          tmem + Config::kTmem.b_scales.first + 8 * block, accumulate || step != 0);
    }
  }

  /// 32 rows of 16 bytes, no swizzle.
  static TILEWRIGHT_DEVICE uint64_t scale_descriptor(uint32_t address) {
    return arch::make_tcgen05_descriptor(address, Swizzle::none, 0, 128);
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
