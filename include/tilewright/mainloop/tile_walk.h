// The tiles of a persistent cluster, one after another: those that its place in the grid gives it, or those
// of clusters that have not started, by cluster launch control.
//
// With launch control the first CTA asks for one tile more than it loads, so the answer is there when a role
// is done with a tile. Answers go round a ring of slots in each CTA:
//
//   load, first CTA   wait for the slot -> ask (the answer goes to both CTAs)
//   load, each CTA    arm the slot's barrier
//   every role        wait for the answer -> read it -> give the slot back to the first CTA
//
// Every role reads every answer, the last one (which says that there is no more) too, so no answer is under
// way and no barrier is half counted when a CTA ends.
#pragma once

#include "tilewright/arch/cluster_launch.h"
#include "tilewright/arch/fence.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/mbarrier.h"
#include "tilewright/arch/shared.h"
#include "tilewright/arch/warp.h"
#include "tilewright/mainloop/ring.h"
#include "tilewright/schedule/tile_schedule.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// The ring of answers, in the same place of each CTA: answers[slots], answered[slots], read[slots].
/// 16-aligned.
struct AnswerRing {
  static constexpr uint32_t kSlots = schedule::launch_answer_slots, kAnswerBytes = 16;

  uint32_t answers, answered, read;
  uint32_t read_leader;  // cluster address of the first CTA's

  TILEWRIGHT_DEVICE explicit AnswerRing(uint32_t address)
      : answers(address),
        answered(address + kAnswerBytes * kSlots),
        read(answered + 8 * kSlots),
        read_leader(arch::map_shared(read, 0)) {}

  /// One thread of each CTA; then a cluster barrier. `readers`: roles (threads or warps) of all CTAs.
  TILEWRIGHT_DEVICE void init(uint32_t readers) const {
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      const int number = static_cast<int>(slot);
      arch::name_shared(answers + kAnswerBytes * slot, kAnswerBytes, "next tile", number);
      arch::name_barrier(answered + 8 * slot, "next tile known", number);
      arch::name_barrier(read + 8 * slot, "next tile read", number);
      arch::mbarrier_init(answered + 8 * slot, 1);
      arch::mbarrier_init(read + 8 * slot, readers);
    }
    arch::fence_mbarrier_init();
  }
};

/// Where one role stands. Begins at the tile of the CTA's own place in the grid.
class TileWalk {
 public:
  TILEWRIGHT_DEVICE TileWalk(const schedule::TileSchedule& tiles, const AnswerRing& ring, bool asks)
      : tiles_(tiles), ring_(ring), asks_(asks), index_(arch::block_index().x / cluster_ctas()) {}

  /// Whether the place in the grid has a tile: not in a grid of more clusters than tiles.
  TILEWRIGHT_DEVICE bool begin() const { return index_ < tiles_.clusters_total; }
  /// For TileSchedule::tile.
  TILEWRIGHT_DEVICE uint32_t index() const { return index_; }

  /// The load thread of each CTA, before it loads the tile: asks for the next one.
  TILEWRIGHT_DEVICE void ask(uint32_t rank) const {
    if (!asks_) return;
    const uint32_t answered = ring_.answered + 8 * at_.stage;
    arch::mbarrier_arrive_expect_tx(answered, AnswerRing::kAnswerBytes);
    if (rank != 0) return;
    arch::mbarrier_wait_parity_cluster(ring_.read + 8 * at_.stage, at_.phase ^ 1);
    arch::cluster_launch_try_cancel_multicast(ring_.answers + AnswerRing::kAnswerBytes * at_.stage, answered);
  }

  /// A role of one thread goes on to the next tile; false when there is none.
  TILEWRIGHT_DEVICE bool next() {
    if (!asks_) return next_in_grid();
    const bool more = take_answer();
    arch::mbarrier_arrive_cluster(ring_.read_leader + 8 * at_.stage);
    at_.advance(AnswerRing::kSlots);
    return more;
  }
  /// The same for a role of a whole warp.
  TILEWRIGHT_DEVICE bool next_of_warp() {
    if (!asks_) return next_in_grid();
    const bool more = take_answer();
    arch::sync_warp();
    if (arch::lane_index() == 0) arch::mbarrier_arrive_cluster(ring_.read_leader + 8 * at_.stage);
    at_.advance(AnswerRing::kSlots);
    return more;
  }

 private:
  TILEWRIGHT_DEVICE uint32_t cluster_ctas() const { return tiles_.cluster_m * tiles_.cluster_n; }

  TILEWRIGHT_DEVICE bool next_in_grid() {
    index_ += arch::grid_dim().x / cluster_ctas();
    return index_ < tiles_.clusters_total;
  }

  TILEWRIGHT_DEVICE bool take_answer() {
    arch::mbarrier_wait_parity(ring_.answered + 8 * at_.stage, at_.phase);
    const auto answer =
        arch::load_shared<arch::ClusterLaunchResponse>(ring_.answers + AnswerRing::kAnswerBytes * at_.stage);
    const bool more = arch::cluster_launch_is_canceled(answer);
    if (more) index_ = arch::cluster_launch_first_block_x(answer) / cluster_ctas();
    arch::fence_proxy_async_shared();  // the read comes before the next answer
    return more;
  }

  const schedule::TileSchedule& tiles_;
  AnswerRing ring_;
  bool asks_;
  uint32_t index_;
  RingPosition at_;
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
