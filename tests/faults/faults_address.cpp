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
  const Symptom early = reports(read_before_ready).at("A").by(kConsumer);
  plant(t, "wait_for_the_next_stage", kPromoted64x64, wait, moved(kNext, full), early);
  plant(t, "wait_for_the_next_stage_cluster", kCluster2x1, wait, cta(1, moved(kNext, full)), early);
  plant(t, "wait_for_the_empty_barrier", kPromoted64x64, wait, moved(kOtherRing, full),
        reports(deadlock).at("empty"));

  const char* acquire = "Ring::acquire: mbarrier_wait_parity";
  const FaultSpec empty = stage(0, skip(Op::mbarrier_wait, "empty", kProducer));
  plant(t, "acquire_of_the_next_stage", kPromoted64x64, acquire, moved(kNext, empty),
        reports(deadlock).at("empty", "full").saying("waits for barrier empty[1]"));

  const char* release = "Releaser::release: mbarrier_arrive_cluster";
  const FaultSpec arrive = stage(0, skip(Op::mbarrier_arrive, "empty", kConsumer));
  plant(t, "release_of_the_next_stage", kPromoted64x64, release, moved(kNext, arrive),
        reports(deadlock).at("empty", "full"));
  plant(t, "release_of_the_next_stage_once", kFast128x128, release, thread(0, nth(0, moved(kNext, arrive))),
        reports(deadlock).at("empty").by(kProducer));
  plant(t, "release_of_the_full_barrier", kPromoted64x64, release, moved(-kOtherRing, arrive),
        reports(parity_alias).at("full").by(kConsumer));
  plant(t, "release_past_the_ring", kPromoted64x64, release,
        moved(kNext, stage(1, skip(Op::mbarrier_arrive, "empty", kConsumer))),
        reports(barrier_not_initialised).by(kConsumer));
  plant(t, "release_misaligned", kPromoted64x64, release, moved(4, arrive),
        reports(misaligned).by(kConsumer));

  const char* expect = "WgmmaTileLoads::load: mbarrier_arrive_expect_tx";
  plant(t, "expect_on_the_next_stage", kPromoted64x64, expect,
        moved(kNext, stage(0, skip(Op::mbarrier_arrive_expect_tx, "full"))),
        reports(over_arrival).at("full").by(kProducer));

  const char* load = "WgmmaTileLoads::load_operand: tma_load_3d";
  plant(t, "load_a_signals_the_next_stage", kPromoted64x64, load,
        moved(kNext, stage(0, skip(Op::tma_load, "A"))), reports(byte_count, deadlock).at("full"));
  plant(t, "multicast_signals_the_next_stage", kCluster2x2, load,
        cta(3, moved(kNext, stage(0, skip(Op::tma_load, "B")))),
        reports(byte_count, deadlock).at("full", "empty"));

  const char* init = "Ring::init: mbarrier_init";
  plant(t, "init_of_the_next_barrier", kPromoted64x64, init,
        moved(kNext, stage(0, skip(Op::mbarrier_init, "full"))), reports(barrier_reinitialised).at("full"));
}

}  // namespace tilewright::faults
