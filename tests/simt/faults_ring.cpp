// Faults in the ring of the FP32 kernels with a producer warpgroup.
#include "tests/simt/fault_case.h"

namespace tilewright::faults {
namespace {

using emulator::FaultSpec;
using emulator::Op;
using enum emulator::ReportKind;

constexpr int kStageBytes = 4 * 32 * (32 + 128);  // of bulk copies
constexpr int kFirstProducer = 128;

void plant(std::vector<SimtFault>& table, const char* name, const SimtCase& simt, const char* line,
           FaultSpec fault, Symptom symptom) {
  table.push_back({name, &simt, line, std::move(fault), std::move(symptom)});
}

FaultSpec full_wait() { return skip(Op::mbarrier_wait, "full", kConsumer); }
FaultSpec empty_wait() { return skip(Op::mbarrier_wait, "empty", kProducer); }
FaultSpec release() { return skip(Op::mbarrier_arrive, "empty", kConsumer); }

void plant_in_waits(std::vector<SimtFault>& t) {
  const char* wait = "Ring::wait: mbarrier_wait_parity";
  plant(t, "wait_skipped", kSimtTma, wait, full_wait(),
        reports(read_before_ready, uninitialised_read).at("A").by(kConsumer));
  // The same early read, named by whichever of the two accesses comes second.
  plant(t, "wait_of_a_later_stage_skipped", kSimtTma, wait, nth(4, full_wait()),
        reports(read_before_ready, overwrite_in_use, parity_alias).at("A", "empty"));
  const Symptom early = reports(read_before_ready).at("A").by(kConsumer);
  plant(t, "wait_skipped_gather", kSimtGather, wait, nth(1, full_wait()), early);
  plant(t, "wait_skipped_mixed", kSimtMixed, wait, nth(2, full_wait()), early);
  plant(t, "wait_on_the_other_parity", kSimtTma, wait, flip("full", kConsumer),
        reports(deadlock, uninitialised_read, parity_alias).at("A", "full", "empty"));

  const char* acquire = "Ring::acquire: mbarrier_wait_parity";
  plant(t, "acquire_skipped", kSimtTma, acquire, empty_wait(),
        reports(overwrite_in_use, unordered_writes).at("A").by(kProducer));
  plant(t, "acquire_skipped_once", kSimtTma, acquire, nth(4, empty_wait()),
        reports(overwrite_in_use).at("A").by(kProducer));
  plant(t, "acquire_skipped_gather", kSimtGather, acquire, nth(3, empty_wait()),
        reports(unordered_writes).at("A").by(kProducer));
}

void plant_in_releases(std::vector<SimtFault>& t) {
  const char* line = "SimtLoop::release: mbarrier_arrive";
  plant(t, "release_skipped", kSimtTma, line, release(), reports(deadlock).at("empty").by(kProducer));
  plant(t, "release_skipped_by_one_warp", kSimtTma, line, thread(32, nth(1, release())),
        reports(deadlock).at("empty").by(kProducer));
  plant(t, "release_counts_twice", kSimtTma, line, add(1, release()),
        // A stage that seems free, or full, a pass too early.
        reports(overwrite_in_use, read_before_ready, parity_alias).at("A", "empty"));
  // The other lanes of the warp may still read the stage that lane 0 releases.
  plant(t, "release_before_the_warp_is_done", kSimtTma, "SimtLoop::release: sync_warp",
        skip(Op::sync_warp, "", kConsumer), reports(overwrite_in_use).at("A").by(kProducer));
}

void plant_in_setup_of_ring(std::vector<SimtFault>& t) {
  const char* init = "Ring::init: mbarrier_init";
  plant(t, "full_not_initialised", kSimtTma, init, skip(Op::mbarrier_init, "full"),
        reports(barrier_not_initialised).at("full"));
  plant(t, "full_expects_one_more", kSimtTma, init, add(1, skip(Op::mbarrier_init, "full")),
        reports(deadlock).at("full").by(kConsumer));
  plant(t, "full_of_gather_expects_one_thread", kSimtGather, init, become(1, skip(Op::mbarrier_init, "full")),
        reports(read_before_ready, uninitialised_read, parity_alias, deadlock).at("A", "full", "empty"));
  plant(t, "empty_expects_one_warp_less", kSimtTma, init, add(-1, skip(Op::mbarrier_init, "empty")),
        reports(overwrite_in_use, read_before_ready).at("A"));
  plant(t, "no_block_barrier_after_init", kSimtTma, "SimtProducerPipeline::run: sync_threads",
        skip(Op::sync_threads),
        reports(barrier_not_initialised, barrier_init_not_visible).at("full", "empty", ""));
  plant(t, "no_dependency_wait", kSimtGather, "SimtProducerPipeline::run: grid_dependency_wait",
        skip(Op::grid_dependency_wait), reports(dependency_not_waited).at("matrix A").by(kProducer));
  plant(t, "producer_keeps_its_registers", kSimtTma, "SimtProducerPipeline::produce: setmaxnreg_dec",
        skip(Op::setmaxnreg, "", kProducer), reports(register_budget).by(kConsumer));
}

void plant_in_producer(std::vector<SimtFault>& t) {
  const char* expect = "SimtLoads::load_tile: mbarrier_expect_tx";
  const FaultSpec bytes = skip(Op::mbarrier_expect_tx, "full");
  plant(t, "expects_too_many_bytes", kSimtTma, expect, add(16, bytes),
        reports(deadlock).at("full").by(kConsumer));
  plant(t, "expects_too_few_bytes", kSimtTma, expect, add(-16, bytes),
        reports(byte_count, deadlock).at("full"));
  plant(t, "expects_the_bytes_of_a_only", kSimtTma, expect, become(4 * 32 * 32, bytes),
        reports(byte_count, deadlock).at("full"));

  const char* load = "SimtLoads::load_tile: tma_load_3d";
  const FaultSpec a = skip(Op::tma_load, "A"), b = skip(Op::tma_load, "B");
  plant(t, "load_of_a_skipped", kSimtTma, load, nth(1, a), reports(deadlock).at("full").by(kConsumer));
  plant(t, "load_of_b_skipped", kSimtMixed, load, b, reports(deadlock).at("full").by(kConsumer));
  plant(t, "load_one_stage_off", kSimtTma, load, add(kStageBytes, stage(0, a)),
        reports(unordered_writes, uninitialised_read).at("A"));

  const char* arrive = "SimtLoads::load_tile: mbarrier_arrive";
  plant(t, "producer_never_arrives", kSimtTma, arrive, skip(Op::mbarrier_arrive, "full", kProducer),
        reports(deadlock).at("full", "empty"));
}

}  // namespace

void plant_in_simt_ring(std::vector<SimtFault>& table) {
  plant_in_waits(table);
  plant_in_releases(table);
  plant_in_setup_of_ring(table);
  plant_in_producer(table);
}

}  // namespace tilewright::faults
