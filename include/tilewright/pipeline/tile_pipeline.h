// One block's pipeline: tiles of A and B through a ring of stages into accumulators.
//
// Every thread of the block holds the same TilePipeline and makes the same calls in the same order. The first
// BlockDim threads compute; the warpgroup after them brings the operands, and is a tile ahead of an epilogue
// that takes long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tilewright/arch/cluster.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/named_barrier.h"
#include "tilewright/arch/registers.h"
#include "tilewright/arch/shared.h"
#include "tilewright/arch/tma.h"
#include "tilewright/arch/warp.h"
#include "tilewright/mainloop/ring.h"
#include "tilewright/mainloop/wgmma_tile.h"
#include "tilewright/pipeline/accumulator.h"
#include "tilewright/pipeline/descriptor.h"
#include "tilewright/pipeline/late_shadow.h"
#include "tilewright/pipeline/misuse.h"
#include "tilewright/pipeline/store_shadow.h"
#include "tilewright/pipeline/tile_loop.h"
#include "tilewright/pipeline/tile_shadow.h"
#include "tilewright/schedule/tile_schedule.h"

namespace tilewright::blas {

/// The accumulators live inside execute(functor), or in the kernel: get_accumulator(), execute(accumulator).
struct internal_accumulator {};
struct reusable_accumulator {};
/// On the path tcgen05: one accumulator in tensor memory, so that the MMAs of a tile begin when the epilogue
/// has read all of the one before. With internal_accumulator there are two, which share as few columns as the
/// scales leave them.
struct single_accumulator {};

inline namespace TILEWRIGHT_MODE {
namespace impl {

/// Whether F is a function of the accumulators of so many products.
template <class F, class Accumulator, uint32_t Products>
inline constexpr bool takes_accumulators =
    Products == 1 ? std::is_invocable_v<F&, Accumulator&>
                  : std::is_invocable_v<F&, Accumulator&, Accumulator&>;

}  // namespace impl

/// Made by get_tile() of the pipeline's handle, once per block; reset_tile() re-points it. Neither copyable
/// nor movable: pass it by reference.
template <class Handle>
class TilePipeline {
 public:
  using Loop = typename Handle::Loop;
  using Config = typename Loop::Config;
  using accumulator_type = Accumulator<typename Loop::Held, typename Handle::descriptor::c_value_type>;

  TilePipeline(const TilePipeline&) = delete;
  TilePipeline& operator=(const TilePipeline&) = delete;
  /// In a cluster no block leaves before the others: they may still write here and arrive at its barriers.
  TILEWRIGHT_DEVICE ~TilePipeline() {
    if (handle_.in_cluster()) arch::cluster_sync();
  }

  /// Computes the tile and calls functor(accumulator), with Products<2> functor(first, second), on the
  /// computing threads. The functor reads each accumulator once, or discards it. All threads of the block.
  template <class F>
  requires(impl::takes_accumulators<F, accumulator_type, Handle::products>) TILEWRIGHT_DEVICE
      void execute(F&& functor) {
    static_assert(
        Handle::has_internal_accumulator,
        "a pipeline with a reusable_accumulator computes into the accumulator that get_accumulator() "
        "made: execute(accumulator)");
    if (is_producer()) {
      if constexpr (kReallocate) give_registers();
      produce();
      return;
    }
    arch::name_role("consumer");
    if constexpr (kReallocate) take_registers();
    mainloop::NoShadow shadow;
    multiply_for(functor, shadow,
                 "the functor of execute() returns without having read or discarded the accumulator");
  }

  /// Any other functor: says what is wrong with it.
  template <class F>
  requires(!impl::takes_accumulators<F, accumulator_type, Handle::products> &&
           !std::is_same_v<std::remove_cvref_t<F>, accumulator_type>) void execute(F&&) {
    static_assert(Handle::products != 1 || impl::takes_accumulators<F, accumulator_type, Handle::products>,
                  "execute(functor): the functor takes the accumulator by reference, [&](auto& accumulator)");
    static_assert(Handle::products == 1 || impl::takes_accumulators<F, accumulator_type, Handle::products>,
                  "execute(functor): with Products<2> the functor takes an accumulator of each product by "
                  "reference, [&](auto& first, auto& second)");
  }

  /// Adds the tile's product to the accumulator, which starts from zero when it is new, cleared or read. All
  /// threads of the block; results on the computing threads.
  TILEWRIGHT_DEVICE void execute(accumulator_type& accumulator) {
    static_assert(!Handle::has_internal_accumulator,
                  "execute(accumulator) needs a pipeline made with reusable_accumulator: "
                  "suggest_pipeline<Depth, D, reusable_accumulator>(A, B)");
    if (is_producer()) {
      produce();
    } else {
      arch::name_role("consumer");
      mainloop::NoShadow shadow;
      multiply(accumulator, accumulator.filled_, shadow);
    }
  }

  /// A whole persistent loop: every tile of `schedule` that falls to this block. The roles part once, so that
  /// tiles follow each other without a pause. All threads of the block, once.
  ///
  /// schedule: tiles() clusters of tiles, and tile(index, rank) for the tile of a cluster's block
  /// (TileSchedule
  ///   is one; see make_schedule). The grid is (clusters x M, N, 1) blocks.
  /// epilogue: either epilogue(accumulator, tile coordinates), called on the computing threads, or one in two
  ///   phases, whose stores run under the MMAs of the next tile (store_shadow.h).
  /// scratch: shared memory behind the buffer, for epilogues that need it.
  template <class Schedule, class Epilogue>
  TILEWRIGHT_DEVICE void run(const Schedule& schedule, const Epilogue& epilogue, std::byte* scratch) {
    if (is_producer()) {
      arch::name_role("producer");
      if constexpr (kReallocateInRun) arch::setmaxnreg_dec<kProducerRegisters>();
      skip_unneeded(epilogue);
      if constexpr (Loop::kHasScaleWarp) {
        if (Loop::is_scale_warp(handle_.params_)) {
          for_each_tile(schedule, [&](schedule::TileCoord tile) {
            point_at(tile);
            produce_scales();
          });
          return;
        }
      }
      if constexpr (Loop::kOneLoader) {
        // Alone: what lies between two tiles is on the way of the loads, which have no time to lose where
        // blocks do not share them.
        if (Loop::is_loader()) {
          const auto loads = Loop::make_loads(handle_.params_, shared_);
          const mainloop::Ring ring = make_ring();
          for_each_tile(schedule, [&](schedule::TileCoord tile) {
#if defined(TILEWRIGHT_EMULATE)
            point_at(tile);
            check_batch();
#endif
            Loop::load_tile(loads, handle_.params_, ring, at_, Coord{tile.m, tile.batch},
                            Coord{tile.n, tile.batch}, k_tiles_);
          });
        }
      } else {
        for_each_tile(schedule, [&](schedule::TileCoord tile) {
          point_at(tile);
          produce_tile();
        });
      }
    } else {
      arch::name_role("consumer");
      if constexpr (kReallocateInRun) arch::setmaxnreg_inc<kComputeRegisters>();
      skip_unneeded(epilogue);
      compute_tiles(schedule, epilogue, scratch);
    }
  }

  /// Whether run() lets dependent launches begin late, if its blocks have several tiles. Blocks that share an
  /// operand share its way from L2 if they are neighbours on the chip, as blocks of consecutive numbers are
  /// that find it free: blocks that take each multiprocessor as it becomes free are not.
  template <class Epilogue, class Schedule>
  TILEWRIGHT_DEVICE bool lets_dependents_wait(const Schedule& schedule) const {
    if constexpr (!TwoPhaseEpilogue<Epilogue, accumulator_type>) return false;
    return impl::cluster_count(schedule) > handle_.clusters_of(arch::grid_dim().x);
  }

  /// An empty accumulator of this thread, to be declared after the tile pipeline.
  TILEWRIGHT_DEVICE accumulator_type get_accumulator() const {
    static_assert(!Handle::has_internal_accumulator,
                  "get_accumulator() needs a pipeline made with reusable_accumulator");
    return accumulator_type();
  }

  /// functor(accumulator) on the threads that hold results.
  template <class F>
  TILEWRIGHT_DEVICE void epilogue(accumulator_type& accumulator, F&& functor) const {
    if (accumulator.is_thread_active()) functor(accumulator);
  }

  /// Gives up the result of an accumulator.
  TILEWRIGHT_DEVICE void discard(accumulator_type& accumulator) const { accumulator.discard(); }

  /// A barrier among the computing threads, for epilogues: a block barrier there would wait for the threads
  /// that bring operands. All computing threads.
  TILEWRIGHT_DEVICE void epilogue_sync() const { ComputeBarrier::sync(); }

 private:
  template <class D, int Depth, class Tag, path P>
  friend class DevicePipeline;
  static constexpr uint32_t kComputeThreads = static_cast<uint32_t>(Config::kShape.threads);
  using ComputeBarrier = arch::NamedBarrier<1, kComputeThreads>;
  using ProducerBarrier = arch::NamedBarrier<2, arch::warpgroup_size>;
  // What the threads have at entry, under launch bounds, is enough for most tiles.
  static constexpr bool kReallocate =
      Handle::has_internal_accumulator && Config::kPlan.live_registers > Config::kPlan.shared_register_limit;
  static constexpr bool kReallocateInRun = Config::kReallocates && kComputeThreads > arch::warpgroup_size;
  static constexpr uint32_t kComputeRegisters = kComputeThreads == 256 ? 240 : 112;
  static constexpr uint32_t kProducerRegisters = 24;

  /// Starts the ring. All threads of the block.
  TILEWRIGHT_DEVICE TilePipeline(const Handle& handle, std::byte* shared, Coord a, Coord b)
      : handle_(handle),
        shared_(arch::shared_address(shared)),
        k_tiles_(handle.params_.k_tiles),
        a_(a),
        b_(b) {
    const mainloop::Ring ring = make_ring();
    check_block();
    if (shared_ % Handle::buffer_alignment() != 0) {
      impl::misuse("pipeline.alignment", "the buffer of get_tile() is not aligned to buffer_alignment()");
    }
    if (arch::thread_index().x == 0) {
      ring.init(Loop::full_arrivals(handle_.params_), Loop::empty_arrivals(handle_.params_));
      name_stages();
      if (handle_.params_.k_tiles != 0) Loop::prefetch(handle_.params_);
    }
    sync_all();
  }

  TILEWRIGHT_DEVICE static void check_block() {
#if defined(TILEWRIGHT_EMULATE)
    const arch::Index3 block = arch::block_dim();
    if (block.x != Handle::max_threads_per_block || block.y * block.z != 1) {
      impl::misuse("block.threads",
                   "get_tile() or run() is called in a block other than that of get_block_dim()");
    }
#endif
  }
  /// Where a tile is loaded. A GPU does not look: it loads zeros or out of bounds. (There it would be a
  /// comparison for each tile, after which K is empty and the tile has no rows.)
  TILEWRIGHT_DEVICE void check_batch() const {
#if defined(TILEWRIGHT_EMULATE)
    if (k_tiles_ != 0 && (a_.n >= handle_.batches_a_ || b_.n >= handle_.batches_b_)) {
      impl::misuse("pipeline.batch",
                   "the batch coordinate of a tile is not below the number of matrices of its operand");
    }
#endif
  }

  /// A barrier of the block, or of its cluster. All threads.
  TILEWRIGHT_DEVICE void sync_all() const {
    if (handle_.in_cluster()) {
      arch::cluster_sync();
    } else {
      arch::sync_threads();
    }
  }

  TILEWRIGHT_DEVICE mainloop::Ring make_ring() const {
    const uint32_t stages = handle_.stages();
    return mainloop::Ring(shared_ + stages * Config::kPlan.stage_bytes, stages);
  }

  template <class Epilogue>
  TILEWRIGHT_DEVICE void skip_unneeded([[maybe_unused]] const Epilogue& epilogue) {
    if constexpr (impl::knows_need_v<Epilogue>) {
      if (!epilogue.needs_product()) k_tiles_ = 0;
    }
  }

  TILEWRIGHT_DEVICE static bool is_producer() { return arch::warp_index() >= Config::kConsumerWarps; }

  // Registers move between the roles on every tile: the compiler only follows a reallocation that stands in
  // the branch it is for. The barrier keeps a warpgroup together between two of them.
  TILEWRIGHT_DEVICE static void give_registers() {
    ProducerBarrier::sync();
    arch::setmaxnreg_dec<kProducerRegisters>();
  }
  TILEWRIGHT_DEVICE static void take_registers() {
    ComputeBarrier::sync();
    arch::setmaxnreg_inc<kComputeRegisters>();
  }

  TILEWRIGHT_DEVICE void produce() {
    if constexpr (Loop::kHasScaleWarp) {
      if (Loop::is_scale_warp(handle_.params_)) return produce_scales();
    }
    produce_tile();
  }
  TILEWRIGHT_DEVICE void produce_tile() {
    arch::name_role("producer");
    check_batch();
    Loop::produce(handle_.params_, shared_, make_ring(), at_, a_, b_, k_tiles_);
  }
  TILEWRIGHT_DEVICE void produce_scales() {
    arch::name_role("scales");
    Loop::produce_scales(handle_.params_, make_ring(), at_, a_, b_, k_tiles_);
  }

  /// f(tile) for every tile of a schedule that falls to this block.
  template <class Schedule, class F>
  TILEWRIGHT_DEVICE void for_each_tile(const Schedule& schedule, F&& f) const {
    const uint32_t step = handle_.clusters_of(arch::grid_dim().x), count = impl::cluster_count(schedule);
    const uint32_t rank = Handle::uses_cluster ? arch::cluster_rank() : 0;
    TILEWRIGHT_NO_UNROLL
    for (uint32_t i = handle_.clusters_of(arch::block_index().x); i < count; i += step)
      f(schedule.tile(i, rank));
  }

  TILEWRIGHT_DEVICE void point_at(schedule::TileCoord tile) {
    a_ = {tile.m, tile.batch};
    b_ = {tile.n, tile.batch};
  }

  /// Behind the last MMAs. Where a launch takes long the start of the next is hardly seen, and the whole chip
  /// is to be free for it.
  template <class Schedule>
  TILEWRIGHT_DEVICE void let_dependents_begin(const Schedule& schedule) const {
    constexpr uint32_t kLong = 512;  // K tiles of a block
    const uint64_t k_tiles = uint64_t{impl::cluster_count(schedule)} * k_tiles_;
    if (k_tiles < uint64_t{kLong} * handle_.clusters_of(arch::grid_dim().x)) arch::launch_dependents();
  }

  template <class Schedule, class Epilogue>
  TILEWRIGHT_DEVICE void compute_tiles(const Schedule& schedule, const Epilogue& epilogue,
                                       std::byte* scratch) {
    // Accumulators are made anew for each tile, but for a LateShadow: nothing of the old values is kept
    // beside the packed ones.
    if constexpr (TwoPhaseEpilogue<Epilogue, accumulator_type>) {
      static_assert(Handle::products == 1, "an epilogue of two phases stores one product");
      auto bound = epilogue.template bind<accumulator_type>(scratch);
      using Bound = decltype(bound);
      if constexpr (impl::can_pack_late_v<Bound, Loop, accumulator_type>) {
        if (Late<Schedule, Bound, true>::serves(bound, k_tiles_)) [[likely]] {
          compute_packing_late(schedule, bound);
          return;
        }
      }
      if constexpr (impl::stores_in_shadow_v<Bound, Loop, accumulator_type>) {
        compute_in_shadow(schedule, bound);
        return;
      }
      impl::StoreShadow<Bound, Config> shadow(bound);
      [[maybe_unused]] const auto computer = make_computer();
      for_each_tile(schedule, [&](schedule::TileCoord tile) {
        point_at(tile);
        if constexpr (impl::begins_v<Bound>) {
          if (k_tiles_ == 0) {
            bound.begin_empty();
          } else {
            bound.begin(tile);
          }
        }
        accumulator_type accumulator;
        if constexpr (kComputesOnce) {
          Loop::multiply(computer, accumulator.held_, handle_.params_, make_ring(), at_, k_tiles_, false,
                         shadow);
          finish(accumulator);
        } else {
          multiply(accumulator, false, shadow);
        }
        shadow.store_rest();
        bound.pack(accumulator, tile);
        if constexpr (impl::stores_packed_v<Bound>) bound.packed([&] { return tile; });
        shadow.packed(tile);
        accumulator.state_.expect_finished(
            "pack() of an epilogue returns without having read the accumulator");
      });
      let_dependents_begin(schedule);
      shadow.store_rest();
      bound.finish();
    } else {
      mainloop::NoShadow shadow;
      for_each_tile(schedule, [&](schedule::TileCoord tile) {
        point_at(tile);
        multiply_for([&](auto&... results) { epilogue(results..., tile); }, shadow,
                     "the epilogue of run() returns without having read or discarded the accumulator");
      });
    }
  }

  /// Whether what a promoted tile's threads work out of their own place is kept from tile to tile: it would
  /// be worked out while no MMA runs.
  static constexpr bool computes_once() {
    if constexpr (Loop::kCompletesParts) return Config::kInterval != 0 || Config::kTunable;
    return false;
  }
  static constexpr bool kComputesOnce = computes_once();
  TILEWRIGHT_DEVICE auto make_computer() const {
    if constexpr (kComputesOnce) {
      return Loop::make_computer(handle_.params_, shared_, make_ring());
    } else {
      return 0;
    }
  }

  /// Coordinates of the tiles of this block around the index-th cluster of tiles, worked out where they are
  /// asked for: the compiler would keep them around the K loop, which has no registers for that.
  template <class Schedule>
  struct TilesAround {
    const Schedule& schedule;
    uint32_t index, step;

    TILEWRIGHT_DEVICE bool has_previous() const { return index >= step; }
    TILEWRIGHT_DEVICE schedule::TileCoord of_current() const { return at(index); }
    TILEWRIGHT_DEVICE schedule::TileCoord of_previous() const { return at(index - step); }
    TILEWRIGHT_DEVICE schedule::TileCoord at(uint32_t i) const {
      arch::fence_operand(i);
      return schedule.tile(i, Handle::uses_cluster ? arch::cluster_rank() : 0);
    }
  };

  template <class Schedule, class Bound>
  TILEWRIGHT_DEVICE void compute_in_shadow(const Schedule& schedule, Bound& bound) {
    TilesAround<Schedule> tiles{schedule, handle_.clusters_of(arch::block_index().x),
                                handle_.clusters_of(arch::grid_dim().x)};
    const uint32_t count = impl::cluster_count(schedule);
    const mainloop::Ring ring = make_ring();
    const auto computer = Loop::make_computer(handle_.params_, shared_, ring);
    TILEWRIGHT_NO_UNROLL
    for (; count > tiles.index; tiles.index += tiles.step) {
      accumulator_type accumulator;
      const auto ready = [&] {
        point_at(tiles.of_current());
        finish(accumulator);
      };
      impl::TileShadow<Bound, accumulator_type, Loop, TilesAround<Schedule>, decltype(ready)> shadow(
          bound, accumulator, tiles, ready);
      Loop::multiply(computer, accumulator.held_, handle_.params_, ring, at_, k_tiles_, false, shadow);
      const auto tile = [&] { return tiles.of_current(); };
      if constexpr (impl::stores_packed_v<Bound>) bound.packed(tile);
      accumulator.state_.expect_finished("pack() of an epilogue returns without having read the accumulator");
    }
    let_dependents_begin(schedule);
    if (tiles.has_previous()) impl::store_pieces<0, Bound::pieces>(bound, tiles.of_previous());
    bound.finish();
  }

  /// What compute_packing_late() does when a tile's first part is complete.
  struct Complete {
    TilePipeline& pipeline;
    accumulator_type& accumulator;

    TILEWRIGHT_DEVICE void operator()(schedule::TileCoord tile) const {
      accumulator.state_.expect_finished("an epilogue returns without having read the accumulator");
      pipeline.point_at(tile);
      pipeline.finish(accumulator);
    }
  };
  template <class Schedule, class Bound, bool HasPrevious>
  using Late = impl::LateShadow<Bound, accumulator_type, Loop, TilesAround<Schedule>, Complete, HasPrevious>;

  /// compute_in_shadow() with a LateShadow. The loop begins behind the first K tile, so that no packed result
  /// changes its register on the way back.
  template <class Schedule, class Bound>
  TILEWRIGHT_DEVICE void compute_packing_late(const Schedule& schedule, Bound& bound) {
    TilesAround<Schedule> tiles{schedule, handle_.clusters_of(arch::block_index().x),
                                handle_.clusters_of(arch::grid_dim().x)};
    const uint32_t count = impl::cluster_count(schedule);
    const mainloop::Ring ring = make_ring();
    const auto computer = Loop::make_computer(handle_.params_, shared_, ring);
    auto scales = Loop::make_scales(handle_.params_, ring);
    accumulator_type accumulator;
    const Complete complete{*this, accumulator};
    Late<Schedule, Bound, false> first(bound, accumulator, tiles, complete);
    Late<Schedule, Bound, true> shadow(bound, accumulator, tiles, complete);
    if (count > tiles.index) {
      Loop::begin(computer, accumulator.held_, ring, at_, k_tiles_, scales, first);
      TILEWRIGHT_NO_UNROLL
      while (true) {
        Loop::finish(computer, accumulator.held_, ring, at_, k_tiles_, scales, shadow);
        tiles.index += tiles.step;
        if (tiles.index >= count) break;
        Loop::begin(computer, accumulator.held_, ring, at_, k_tiles_, scales, shadow);
      }
      let_dependents_begin(schedule);
      shadow.store_rest();
      accumulator.state_.expect_finished("an epilogue returns without having read the accumulator");
    }
    bound.finish();
  }

  /// Multiplies the tile and calls f with its accumulators, which f must have read when it returns.
  template <class F, class Shadow>
  TILEWRIGHT_DEVICE void multiply_for(F&& f, Shadow& shadow, const char* unfinished) {
    if constexpr (Handle::products == 1) {
      accumulator_type accumulator;
      multiply(accumulator, false, shadow);
      f(accumulator);
      accumulator.state_.expect_finished(unfinished);
    } else {
      typename Loop::All all;
      Loop::multiply(all, handle_.params_, shared_, make_ring(), at_, a_, b_, k_tiles_, false, shadow);
      accumulator_type first, second;
      take(first, all, 0);
      take(second, all, 1);
      f(first, second);
      first.state_.expect_finished(unfinished);
      second.state_.expect_finished(unfinished);
    }
  }
  /// One product's accumulators out of all: other names for the same registers.
  template <class All>
  TILEWRIGHT_DEVICE void take(accumulator_type& accumulator, const All& all, int product) {
    using Held = typename Loop::Held;
    TILEWRIGHT_UNROLL
    for (int part = 0; part < Held::parts; ++part) {
      TILEWRIGHT_UNROLL
      for (int i = 0; i < Config::kRegisters; ++i)
        accumulator.held_.registers[part][i] = all.registers[product * Held::parts + part][i];
    }
    finish(accumulator);
  }

  template <class Shadow>
  TILEWRIGHT_DEVICE void multiply(accumulator_type& accumulator, bool accumulate, Shadow& shadow) {
    const auto& p = handle_.params_;
    Loop::multiply(accumulator.held_, p, shared_, make_ring(), at_, a_, b_, k_tiles_, accumulate, shadow);
    finish(accumulator);
  }
  TILEWRIGHT_DEVICE void finish(accumulator_type& accumulator) const {
    const auto& p = handle_.params_;
    accumulator.finish(detail::clipped(p.m, a_.m, Config::kShape.m),
                       detail::clipped(p.n, b_.m, Config::kShape.n));
  }

  TILEWRIGHT_DEVICE void name_stages() const {
    const mainloop::Ring ring = make_ring();
    for (uint32_t s = 0; s < ring.stages; ++s) {
      const uint32_t stage = shared_ + s * Config::kPlan.stage_bytes;
      arch::name_shared(stage, Config::kLayoutA.bytes, "A", static_cast<int>(s));
      for (uint32_t i = 0; i < Handle::products; ++i) {
        arch::name_shared(stage + Config::kLayoutA.bytes + i * Config::kLayoutB.bytes, Config::kLayoutB.bytes,
                          i == 0 ? "B" : "B2", static_cast<int>(s));
      }
      if constexpr (facts_of_v<typename Handle::descriptor>.scaled_promotion) {
        const uint32_t slots = ring.full + tiles::kStageBarrierBytes * ring.stages;
        arch::name_shared(slots + s * Config::kPlan.scale_bytes, Config::kPlan.scale_bytes, "scales",
                          static_cast<int>(s));
      }
    }
  }

  const Handle& handle_;
  uint32_t shared_;            // shared address of the stages; the barriers follow them
  uint32_t k_tiles_;           // to multiply
  mainloop::RingPosition at_;  // of this thread's role
  Coord a_, b_;                // (tile, batch)
};

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
