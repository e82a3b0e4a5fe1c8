// The state of barriers: mbarriers in shared memory, named barriers, the cluster barrier.
#pragma once

#include <cstdint>
#include <vector>

#include "thread.h"

namespace tilewright::emulator {

/// One mbarrier. Phases are counted from its first initialisation, so that a re-initialised barrier goes on.
struct Barrier {
  Cta* cta = nullptr;
  uint32_t offset = 0;  // in the CTA's window
  const char* name = nullptr;
  int stage = -1;

  bool live = false;
  uint32_t count = 0;        // arrivals that a phase expects
  uint32_t pending = 0;      // that it still lacks
  int64_t tx = 0;            // bytes expected and not delivered
  uint32_t phase = 0;        // completed phases
  uint32_t first_phase = 0;  // at the last initialisation
  int64_t expected = 0;      // bytes announced in this phase
  int64_t issued = 0;        // bytes of the copies issued for this phase
  bool counts_bytes = false;
  bool missed_phase = false;  // two phases completed before anybody waited

  uint32_t agent = 0;
  uint32_t arrived_clock = 0;   // what all arrivals knew
  uint32_t released_clock = 0;  // the same when the last phase completed
  // What remote arrivals released at the scope of the cluster, for waits of that scope; kNoAgent: nothing.
  uint32_t arrived_wide = kNoAgent, released_wide = kNoAgent;
  uint32_t init_agent = 0, init_epoch = 0;
  uint32_t landing_epoch = 0;  // the last phase for which a copy was issued

  // What a thread of the CTA last saw of this barrier.
  struct Seen {
    uint32_t waits = 0;
    uint32_t phase = 0;         // completed phases when its last wait returned
    uint32_t epoch = 0;         // the thread's own epoch then
    bool passed_fresh = false;  // it passed before any phase had completed
  };
  std::vector<Seen> seen;
  std::vector<Thread*> waiters;
  uint64_t reached = 0;  // modelled time at which the last phase completed, as its CTA sees it

  uint32_t parity() const { return (phase - first_phase) & 1; }
};

/// A hardware barrier of the CTA (bar.sync).
struct NamedBarrier {
  uint32_t threads = 0;  // 0: nobody has arrived
  uint32_t arrived = 0;
  uint32_t clock = 0;
  bool has_clock = false;
  uint32_t agent = 0, phase = 0;  // completed phases: its agent's epoch
  std::vector<Thread*> waiters;
  std::vector<uint32_t> lanes_arrived;  // per warp of the CTA
  const Thread* first = nullptr;        // of this phase, and where it came from
  const void* first_site = nullptr;
};

struct ClusterBarrier {
  uint32_t arrived = 0;
  uint32_t clock = 0, released_clock = 0;
  uint64_t reached = 0;  // modelled time at which the last phase completed
};

}  // namespace tilewright::emulator
