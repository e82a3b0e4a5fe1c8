// The block-scaled GEMM of sm_100a: a persistent kernel on pairs of CTAs, tile 256 x 256. See
// mainloop/tcgen05_block_scaled.h for its roles and barriers.
#pragma once

#include "tilewright/arch/cluster.h"
#include "tilewright/arch/grid_dependency.h"
#include "tilewright/arch/index.h"
#include "tilewright/kernels/block_scaled_epilogue.h"
#include "tilewright/mainloop/tcgen05_block_scaled.h"
#include "tilewright/mainloop/tile_walk.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

#if TILEWRIGHT_HAS_TCGEN05

/// The kernel as an object: all threads of both CTAs of every cluster call run() once.
template <class Config>
class BlockScaledGemm {
 public:
  TILEWRIGHT_DEVICE explicit BlockScaledGemm(const kernels::BlockScaledGemmParams& params)
      : p_(params),
        shared_(arch::shared_address(arch::dynamic_shared_memory())),
        ring_(shared_ + Config::kShared.barriers_begin, Config::kStages),
        windows_(shared_ + Config::kShared.barriers_begin + 16 * Config::kStages),
        answers_(shared_ + Config::kShared.answers_begin),
        rank_(arch::cluster_rank()) {}

  TILEWRIGHT_DEVICE void run() const {
    const uint32_t tmem = set_up();
    const uint32_t warp = arch::warp_index();
    if (warp < kEpilogueWarps) {
      store_tiles(tmem);
    } else if (warp == kLoadWarp) {
      load_tiles();
    } else if (rank_ == 0) {
      multiply_tiles(tmem);
    }
    // Neither CTA's tensor memory, stages or barriers may go while the other still uses them.
    arch::tcgen05_fence_before();
    arch::sync_warp();
    arch::cluster_sync();
    arch::tcgen05_fence_after();
    if (warp == 0) arch::tcgen05_dealloc<2>(tmem, tmem_columns);
  }

 private:
  static constexpr uint32_t kEpilogueWarps = 4, kLoadWarp = 5;

  static constexpr uint32_t kTileReaders = 2 + 1 + 2 * kEpilogueWarps;  // load and epilogue in both CTAs

  TILEWRIGHT_DEVICE mainloop::TileWalk walk() const {
    return {p_.tiles, answers_, p_.scheduler == schedule::TileScheduler::cluster_launch_control};
  }

  /// Barriers and tensor memory; the address of its first column.
  TILEWRIGHT_DEVICE uint32_t set_up() const {
    const uint32_t slot = windows_.ready + 8 * mainloop::AccumulatorWindows<Config>::kBarriers;
    if (arch::thread_index().x == 0) {
      ring_.init(1, 1);
      windows_.init();
      answers_.init(kTileReaders);
      name_memory();
    }
    if (arch::warp_index() == 0) {
      arch::tcgen05_alloc<2>(slot, tmem_columns);
      arch::tcgen05_relinquish<2>();
    }
    if (arch::warp_index() == kLoadWarp && arch::elect_one()) prefetch_maps();
    arch::sync_warp();
    arch::tcgen05_fence_before();
    arch::cluster_sync();
    arch::tcgen05_fence_after();
    arch::launch_dependents();
    arch::grid_dependency_wait();
    return arch::load_shared<uint32_t>(slot);
  }

  TILEWRIGHT_DEVICE void load_tiles() const {
    arch::name_role("load");
    if (!arch::elect_one()) return;
    const mainloop::BlockScaledLoads<Config> loads(shared_, ring_, rank_);
    mainloop::RingPosition at;
    mainloop::TileWalk tiles = walk();
    TILEWRIGHT_NO_UNROLL
    for (bool more = true; more; more = tiles.next()) {
      tiles.ask(rank_);
      loads.load_tile(p_, ring_, at, pair_tile(tiles.index()));
    }
    loads.finish(ring_, at);
  }

  TILEWRIGHT_DEVICE void multiply_tiles(uint32_t tmem) const {
    arch::name_role("mma");
    if (!arch::elect_one()) return;
    const mainloop::BlockScaledMma<Config> mma{shared_, tmem};
    mainloop::RingPosition at;
    mainloop::TileWalk tiles = walk();
    uint32_t tile = 0;
    TILEWRIGHT_NO_UNROLL
    for (bool more = true; more; more = tiles.next()) {
      mma.multiply_tile(p_, ring_, at, windows_, tile++);
    }
  }

  TILEWRIGHT_DEVICE void store_tiles(uint32_t tmem) const {
    arch::name_role("epilogue");
    BlockScaledEpilogue<Config> epilogue(p_, shared_, tmem);
    mainloop::TileWalk tiles = walk();
    uint32_t tile = 0;
    TILEWRIGHT_NO_UNROLL
    for (bool more = true; more; more = tiles.next_of_warp()) {
      epilogue.store_tile(windows_, tile++, pair_tile(tiles.index()));
    }
    epilogue.finish_stores();
  }

  /// The CTA's 128 rows and the pair's 256 columns.
  TILEWRIGHT_DEVICE schedule::TileCoord pair_tile(uint32_t index) const {
    return p_.tiles.tile(index, rank_);
  }

  TILEWRIGHT_DEVICE void prefetch_maps() const {
    arch::prefetch_tensor_map(&p_.a_map);
    arch::prefetch_tensor_map(&p_.b_map);
    arch::prefetch_tensor_map(&p_.a_scale_map);
    arch::prefetch_tensor_map(&p_.b_scale_map);
    if (p_.d_tma) arch::prefetch_tensor_map(&p_.d_map);
  }

  TILEWRIGHT_DEVICE void name_memory() const {
    constexpr auto plan = Config::shared();
    for (uint32_t s = 0; s < Config::kStages; ++s) {
      const int stage = static_cast<int>(s);
      arch::name_shared(shared_ + plan.a(s), plan.operand_bytes, "A", stage);
      arch::name_shared(shared_ + plan.b(s), plan.operand_bytes, "B", stage);
      arch::name_shared(shared_ + plan.a_scales(s), plan.a_scale_bytes, "A scales", stage);
      arch::name_shared(shared_ + plan.b_scales(s), plan.b_scale_bytes, "B scales", stage);
    }
    arch::name_shared(shared_ + plan.slabs_begin, 8 * plan.slab_bytes, "D slabs");
    constexpr TmemPlan columns = Config::tmem();
    const auto name = [](const TmemRange& range, const char* what) {
      arch::name_tensor_memory(static_cast<uint32_t>(range.first), static_cast<uint32_t>(range.count), what);
    };
    name(columns.a_scales, "A scales");
    name(columns.b_scales, "B scales");
    if constexpr (Config::kOverlap) {
      name({columns.right.first, columns.shared_columns()}, "shared columns");
      name(columns.right, "right accumulator");
    }
    name(columns.left, "left accumulator");
  }

  const kernels::BlockScaledGemmParams& p_;
  uint32_t shared_;  // address of the first stage
  mainloop::Ring ring_;
  mainloop::AccumulatorWindows<Config> windows_;
  mainloop::AnswerRing answers_;
  uint32_t rank_;
};

#endif

/// The kernel: clusters of two CTAs of kernels::block_scaled_threads threads, with kShared.total bytes of
/// dynamic shared memory.
template <class Config>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(kernels::block_scaled_threads)
    block_scaled_gemm([[maybe_unused]] const TILEWRIGHT_GRID_CONSTANT kernels::BlockScaledGemmParams params) {
#if TILEWRIGHT_HAS_TCGEN05
  BlockScaledGemm<Config>(params).run();
#endif
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
