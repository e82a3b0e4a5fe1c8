// The persistent loop of a block-scaled product on pairs of CTAs: set-up, the three roles, and the end. See
// mainloop/tcgen05_block_scaled.h for their barriers.
#pragma once

#include "tilewright/arch/cluster.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/tma.h"
#include "tilewright/mainloop/tcgen05_block_scaled.h"
#include "tilewright/mainloop/tile_walk.h"
#include "tilewright/pipeline/tensor_memory_accumulator.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {

/// An epilogue with a state for each thread. bind<Accumulator>(scratch) makes it:
///   store(Accumulator&, schedule::TileCoord)   reads the accumulator; all lanes of the four warps
///   finish()                                   after the last tile
template <class Epilogue, class Accumulator>
concept BoundTileEpilogue = requires(const Epilogue& epilogue, std::byte* scratch) {
  epilogue.template bind<Accumulator>(scratch);
};

namespace impl {

/// What run() takes as a schedule, by reference.
struct ScheduleView {
  const schedule::TileSchedule& tiles;
  bool asks;  // cluster launch control hands the tiles out

  TILEWRIGHT_DEVICE explicit ScheduleView(const schedule::TileSchedule& t) : tiles(t), asks(false) {}
  TILEWRIGHT_DEVICE explicit ScheduleView(const schedule::ScheduledTiles& t)
      : tiles(t.tiles), asks(t.scheduler == schedule::TileScheduler::cluster_launch_control) {}
};

#if TILEWRIGHT_HAS_TCGEN05

/// All threads of both CTAs of every cluster call run() once. `shared`: address of Config::kShared.total
/// bytes.
template <class Config>
class BlockScaledRoles {
 public:
  using Accumulator = TensorMemoryAccumulator<Config>;

  TILEWRIGHT_DEVICE BlockScaledRoles(const kernels::BlockScaledOperandParams& params,
                                     const ScheduleView& schedule, uint32_t shared)
      : p_(params),
        tiles_(schedule.tiles),
        asks_(schedule.asks),
        shared_(shared),
        ring_(shared_ + Config::kShared.barriers_begin, Config::kStages),
        windows_(shared_ + Config::kShared.barriers_begin + 16 * Config::kStages),
        answers_(shared_ + Config::kShared.answers_begin),
        rank_(arch::cluster_rank()) {}

  /// scratch: shared memory of the epilogue.
  template <class Epilogue>
  TILEWRIGHT_DEVICE void run(const Epilogue& epilogue, std::byte* scratch) const {
    const uint32_t tmem = set_up();
    const uint32_t warp = arch::warp_index();
    if (warp < kEpilogueWarps) {
      store_tiles(tmem, epilogue, scratch);
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

  TILEWRIGHT_DEVICE mainloop::TileWalk walk() const { return {tiles_, answers_, asks_}; }

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
    if (arch::warp_index() == kLoadWarp && arch::elect_one() && p_.k_tiles != 0) prefetch_maps();
    arch::sync_warp();
    arch::tcgen05_fence_before();
    arch::cluster_sync();
    arch::tcgen05_fence_after();
    return arch::load_shared<uint32_t>(slot);
  }

  TILEWRIGHT_DEVICE void load_tiles() const {
    arch::name_role("load");
    if (!arch::elect_one()) return;
    const mainloop::BlockScaledLoads<Config> loads(shared_, ring_, rank_);
    mainloop::RingPosition at;
    mainloop::TileWalk tiles = walk();
    TILEWRIGHT_NO_UNROLL
    for (bool more = tiles.begin(); more; more = tiles.next()) {
      tiles.ask(rank_);
      loads.load_tile(p_, ring_, at, tiles_.tile(tiles.index(), rank_));
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
    for (bool more = tiles.begin(); more; more = tiles.next()) {
      mma.multiply_tile(p_, ring_, at, windows_, tile++);
    }
  }

  template <class Epilogue>
  TILEWRIGHT_DEVICE void store_tiles(uint32_t tmem, const Epilogue& epilogue, std::byte* scratch) const {
    arch::name_role("epilogue");
    if constexpr (BoundTileEpilogue<Epilogue, Accumulator>) {
      auto bound = epilogue.template bind<Accumulator>(scratch);
      drain_tiles(tmem, [&](Accumulator& result, schedule::TileCoord at) { bound.store(result, at); });
      bound.finish();
    } else {
      drain_tiles(tmem, [&](Accumulator& result, schedule::TileCoord at) { epilogue(result, at); });
    }
  }
  template <class F>
  TILEWRIGHT_DEVICE void drain_tiles(uint32_t tmem, F&& f) const {
    mainloop::TileWalk tiles = walk();
    uint32_t tile = 0;
    TILEWRIGHT_NO_UNROLL
    for (bool more = tiles.begin(); more; more = tiles.next_of_warp()) {
      const schedule::TileCoord at = tiles_.tile(tiles.index(), rank_);
      const Coord exists{detail::clipped(p_.m, at.m, Accumulator::rows),
                         detail::clipped(p_.n, at.n, Accumulator::columns)};
      Accumulator result(windows_, tmem, tile++, exists, p_.k_tiles == 0);
      f(result, at);
      result.finish("the epilogue of run() returns without having read or discarded the accumulator");
    }
  }

  TILEWRIGHT_DEVICE void prefetch_maps() const {
    arch::prefetch_tensor_map(&p_.a_map);
    arch::prefetch_tensor_map(&p_.b_map);
    arch::prefetch_tensor_map(&p_.a_scale_map);
    arch::prefetch_tensor_map(&p_.b_scale_map);
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

  const kernels::BlockScaledOperandParams& p_;
  const schedule::TileSchedule& tiles_;
  bool asks_;
  uint32_t shared_;  // address of the first stage
  mainloop::Ring ring_;
  mainloop::AccumulatorWindows<Config> windows_;
  mainloop::AnswerRing answers_;
  uint32_t rank_;
};

#endif

}  // namespace impl
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
