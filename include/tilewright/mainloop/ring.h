// A ring of shared-memory stages between one producer and the consumer warps of a cluster, on mbarriers.
//
//   producer:  acquire -> (expect bytes, issue copies) ... the copies complete the stage's full barrier
//   consumer:  wait    -> (read the stage)             ... release
//
// A stage that other CTAs multicast into is released to every CTA that writes it.
#pragma once

#include "tilewright/arch/fence.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/mbarrier.h"
#include "tilewright/arch/shared.h"
#include "tilewright/config.h"
#include "tilewright/schedule/tile_schedule.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// Where a role stands in the ring: the stage, and the parity of the pass over the ring.
struct RingPosition {
  uint32_t stage = 0;
  uint32_t phase = 0;

  TILEWRIGHT_DEVICE void advance(uint32_t stages) {
    if (++stage == stages) {
      stage = 0;
      phase ^= 1;
    }
  }
};

/// The barriers of a ring. Layout in shared memory: full[stages], then empty[stages], 8 bytes each.
struct Ring {
  uint32_t full;   // shared address of the first full barrier
  uint32_t empty;  // shared address of the first empty barrier
  uint32_t stages;

  TILEWRIGHT_DEVICE Ring(uint32_t barriers, uint32_t stage_count)
      : full(barriers), empty(barriers + 8 * stage_count), stages(stage_count) {}

  /// One thread of the CTA; then a block or cluster barrier before anybody uses the ring.
  /// full_arrivals: threads that arrive on a full barrier; empty_arrivals: consumer warps, in all CTAs that
  /// read what this CTA's producer writes.
  TILEWRIGHT_DEVICE void init(uint32_t full_arrivals, uint32_t empty_arrivals) const {
    for (uint32_t s = 0; s < stages; ++s) {
      arch::name_barrier(full + 8 * s, "full", static_cast<int>(s));
      arch::name_barrier(empty + 8 * s, "empty", static_cast<int>(s));
      arch::mbarrier_init(full + 8 * s, full_arrivals);
      arch::mbarrier_init(empty + 8 * s, empty_arrivals);
    }
    arch::fence_mbarrier_init();
  }

  /// Producer: waits until every consumer has released the stage. The first pass finds it free.
  TILEWRIGHT_DEVICE void acquire(RingPosition at) const {
    arch::mbarrier_wait_parity(empty + 8 * at.stage, at.phase ^ 1);
  }
  TILEWRIGHT_DEVICE uint32_t full_barrier(RingPosition at) const { return full + 8 * at.stage; }

  /// Consumer: waits until the stage's bytes are there.
  TILEWRIGHT_DEVICE void wait(RingPosition at) const {
    arch::mbarrier_wait_parity(full + 8 * at.stage, at.phase);
  }
};

/// The CTAs of a cluster that share operands: m along M times n along N. Ranks run M fastest.
template <uint32_t M, uint32_t N>
struct StaticCluster {
  static constexpr uint32_t m = M, n = N;
  static constexpr uint32_t mask_of_row = schedule::cluster_row_mask(M, N);
  TILEWRIGHT_DEVICE static constexpr uint32_t place_m(uint32_t rank) { return rank % M; }
  TILEWRIGHT_DEVICE static constexpr uint32_t place_n(uint32_t rank) { return rank / M; }
};
/// The same with extents that a launch chooses, powers of two.
struct LaunchedCluster {
  uint32_t m, n, log2_m, mask_of_row;
  TILEWRIGHT_DEVICE uint32_t place_m(uint32_t rank) const { return rank & (m - 1); }
  TILEWRIGHT_DEVICE uint32_t place_n(uint32_t rank) const { return rank >> log2_m; }
};

/// How one lane of a consumer warp takes part in releasing stages: lane i tells CTA i of the cluster, if that
/// CTA writes into this one.
struct Releaser {
  uint32_t empty;  // cluster address of the first empty barrier of the CTA this lane tells
  bool active;

  template <class Cluster>
  TILEWRIGHT_DEVICE Releaser(const Ring& ring, const Cluster& cluster) {
    const uint32_t lane = arch::lane_index();
    const uint32_t rank = arch::cluster_rank();
    const uint32_t size = cluster.m * cluster.n;
    const uint32_t target = lane < size ? lane : rank;
    active = lane < size && (cluster.place_m(target) == cluster.place_m(rank) ||
                             cluster.place_n(target) == cluster.place_n(rank));
    empty = arch::map_shared(ring.empty, target);
  }

  /// All lanes of the warp, after the reads of the stage have retired (wgmma_wait).
  TILEWRIGHT_DEVICE void release(RingPosition at) const {
    if (active) arch::mbarrier_arrive_cluster(empty + 8 * at.stage);
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
