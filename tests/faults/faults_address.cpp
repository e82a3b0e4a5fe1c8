// Faults of address: an operation that acts on the barrier beside its own.
#include "tests/faults/planting.h"

namespace tilewright::faults {
namespace {

using emulator::FaultSpec;
using emulator::Op;
using enum emulator::ReportKind;

// With two stages, 8 bytes apart: full[0], full[1], empty[0], empty[1].
constexpr int64_t kNext = 8, kOtherRing = 16;

/// The operation names the mbarrier `bytes` further on.
FaultSpec moved(int64_t bytes, FaultSpec fault) {
  fault.on_barrier = true;
  return add(bytes, fault);
}

}  // namespace

void plant_in_addresses(Table& t) {
  const char* wait = "Ring::wait: mbarrier_wait_parity";
  const FaultSpec full = stage(0, skip(Op::mbarrier_wait, "full", kConsumer));
  plant(t, "wait_for_the_next_stage", kPromoted64x64, wait, moved(kNext, full),
        reports(uninitialised_read, read_before_ready, overwrite_in_use, parity_alias));
  plant(t, "wait_for_the_next_stage_cluster", kCluster2x1, wait, cta(1, moved(kNext, full)),
        reports(uninitialised_read, read_before_ready, overwrite_in_use, parity_alias));
  plant(t, "wait_for_the_empty_barrier", kPromoted64x64, wait, moved(kOtherRing, full),
        reports(deadlock, parity_alias, over_arrival));

  const char* acquire = "Ring::acquire: mbarrier_wait_parity";
  const FaultSpec empty = stage(0, skip(Op::mbarrier_wait, "empty", kProducer));
  plant(t, "acquire_of_the_next_stage", kPromoted64x64, acquire, moved(kNext, empty),
        reports(deadlock).at("empty").by(kProducer).saying("waits for barrier empty[1]"));

  const char* release = "Releaser::release: mbarrier_arrive_cluster";
  const FaultSpec arrive = stage(0, skip(Op::mbarrier_arrive, "empty", kConsumer));
  plant(t, "release_of_the_next_stage", kPromoted64x64, release, moved(kNext, arrive),
        reports(deadlock, over_arrival, overwrite_in_use, parity_alias).at("empty", "A", "B"));
  plant(t, "release_of_the_next_stage_once", kFast128x128, release, thread(0, nth(0, moved(kNext, arrive))),
        reports(deadlock, over_arrival, overwrite_in_use, parity_alias).at("empty", "A", "B"));
  plant(t, "release_of_the_full_barrier", kPromoted64x64, release, moved(-kOtherRing, arrive),
        reports(over_arrival, parity_alias, overwrite_in_use, byte_count, deadlock, read_before_ready));
  plant(t, "release_past_the_ring", kPromoted64x64, release,
        moved(kNext, stage(1, skip(Op::mbarrier_arrive, "empty", kConsumer))),
        reports(barrier_not_initialised).by(kConsumer));
  plant(t, "release_misaligned", kPromoted64x64, release, moved(4, arrive),
        reports(misaligned).by(kConsumer));

  const char* expect = "WgmmaTileLoads::load: mbarrier_arrive_expect_tx";
  plant(t, "expect_on_the_next_stage", kPromoted64x64, expect,
        moved(kNext, stage(0, skip(Op::mbarrier_arrive_expect_tx, "full"))),
        reports(deadlock, over_arrival, byte_count, read_before_ready, uninitialised_read, parity_alias));

  const char* load = "WgmmaTileLoads::load: tma_load";
  plant(t, "load_a_signals_the_next_stage", kPromoted64x64, load,
        moved(kNext, stage(0, skip(Op::tma_load, "A"))),
        reports(deadlock, byte_count, read_before_ready, uninitialised_read));
  plant(t, "multicast_signals_the_next_stage", kCluster2x2, load,
        cta(3, moved(kNext, stage(0, skip(Op::tma_load, "B")))),
        reports(deadlock, byte_count, read_before_ready, uninitialised_read, unordered_writes));

  const char* init = "Ring::init: mbarrier_init";
  plant(t, "init_of_the_next_barrier", kPromoted64x64, init,
        moved(kNext, stage(0, skip(Op::mbarrier_init, "full"))), reports(barrier_reinitialised).at("full"));
}

}  // namespace tilewright::faults
