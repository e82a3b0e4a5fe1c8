// Faults in the setup of a CTA, at its end, and in its registers.
#include "tests/faults/planting.h"

namespace tilewright::faults {
namespace {

using emulator::FaultSpec;
using emulator::Op;
using enum emulator::ReportKind;

void add_init_faults(Table& t) {
  const char* init = "Ring::init: mbarrier_init";
  plant(t, "full_count_too_high", kPromoted64x64, init, add(1, skip(Op::mbarrier_init, "full")),
        reports(deadlock).saying("barrier full[0] parity 0, phase 0 (pending arrivals 1, pending bytes 0)"));
  plant(t, "full_count_zero", kPromoted64x64, init, add(-1, skip(Op::mbarrier_init, "full")),
        reports(invalid_argument).saying("arrival count of 0"));
  plant(t, "full_not_initialised", kPromoted64x64, init, stage(1, skip(Op::mbarrier_init, "full")),
        reports(barrier_not_initialised).at("full"));
  plant(t, "empty_count_too_high", kPromoted64x64, init, add(1, skip(Op::mbarrier_init, "empty")),
        reports(deadlock).saying(
            "[producer] (1 thread) waits for barrier empty[0] parity 0, phase 0 (pending arrivals 1"));
  plant(t, "empty_count_too_low", kPromoted64x64, init, add(-1, skip(Op::mbarrier_init, "empty")),
        reports(parity_alias).at("empty").by(kProducer));
  plant(t, "empty_not_initialised", kPromoted64x64, init, stage(0, skip(Op::mbarrier_init, "empty")),
        reports(barrier_not_initialised).at("empty").by(kProducer));
  plant(t, "init_fence_skipped", kPromoted64x64, "Ring::init: fence_mbarrier_init",
        skip(Op::fence_mbarrier_init),
        reports(barrier_init_not_visible).at("full").by(kProducer).saying("fence.mbarrier_init"));
  plant(t, "init_fence_skipped_cluster", kCluster2x1, "Ring::init: fence_mbarrier_init",
        skip(Op::fence_mbarrier_init),
        reports(barrier_init_not_visible).at("full").by(kProducer).saying("fence.mbarrier_init"));
}

void add_start_faults(Table& t) {
  const char* sync = "TilePipeline::sync_all: sync_threads";
  // Until it is initialised, a barrier has no name.
  const Symptom unready = reports(barrier_not_initialised, barrier_init_not_visible).at("full", "empty", "");
  plant(t, "block_barrier_skipped", kPromoted64x64, sync, skip(Op::sync_threads), unready);
  plant(t, "block_barrier_skipped_copy", kCopy, sync, skip(Op::sync_threads), unready);
  plant(t, "block_barrier_skipped_by_one_thread", kPromoted64x64, sync, thread(5, skip(Op::sync_threads)),
        reports(barrier_not_initialised, barrier_init_not_visible).at("full", "").by(kConsumer));
  plant(t, "block_barrier_skipped_by_idle_thread", kPromoted64x64, sync, thread(200, skip(Op::sync_threads)),
        reports(non_uniform).by(kProducer));

  const char* start = "TilePipeline::sync_all: cluster_sync";
  const char* exit = "TilePipeline::~TilePipeline: cluster_sync";
  plant(t, "start_arrive_skipped", kCluster2x1, start, nth(0, skip(Op::cluster_arrive)),
        reports(cluster_barrier));
  plant(t, "start_arrive_skipped_by_one_thread", kCluster1x2, start,
        cta(1, thread(70, nth(0, skip(Op::cluster_arrive)))), reports(cluster_barrier));
  // A thread that has nothing to do is at the other cluster barrier before anybody uses an mbarrier.
  plant(t, "start_wait_skipped", kCluster2x1, start, nth(0, skip(Op::cluster_wait)),
        reports(barrier_not_initialised, barrier_init_not_visible, cluster_barrier).at("full", ""));
  plant(t, "start_wait_skipped_by_producer", kCluster2x2, start,
        cta(1, thread(kProducer64, nth(0, skip(Op::cluster_wait)))),
        // The other lanes of its warp, with which it elects the loader, have waited.
        reports(barrier_init_not_visible).at("empty").by(kProducer));
  plant(t, "exit_arrive_skipped", kCluster2x1, exit, nth(1, skip(Op::cluster_arrive)),
        reports(cluster_barrier).by(kProducer));
  plant(t, "exit_wait_skipped_2x1", kCluster2x1, exit, nth(1, skip(Op::cluster_wait)),
        reports(exit_before_peer).by(kConsumer));
  plant(t, "exit_wait_skipped_1x2", kCluster1x2, exit, nth(1, skip(Op::cluster_wait)),
        reports(exit_before_peer).by(kConsumer));
  plant(t, "exit_wait_skipped_2x2", kCluster2x2, exit, nth(1, skip(Op::cluster_wait)),
        reports(exit_before_peer).by(kConsumer));
}

void add_register_faults(Table& t) {
  const char* inc = "TilePipeline::run: setmaxnreg_inc<240>";
  const char* dec = "TilePipeline::run: setmaxnreg_dec<24>";
  const auto consumer = skip(Op::setmaxnreg, "", kConsumer), producer = skip(Op::setmaxnreg, "", kProducer);
  plant(t, "registers_too_many", kPromoted128x256, inc, add(8, consumer),
        reports(register_budget).by(kConsumer).saying("wait for setmaxnreg 248"));
  plant(t, "registers_not_a_multiple_of_8", kPromoted128x256, inc, add(4, consumer),
        reports(register_budget).by(kConsumer).saying("244"));
  plant(t, "registers_not_given_back", kPromoted128x256, dec, producer,
        reports(register_budget).by(kConsumer).saying("wait for setmaxnreg 240"));
  plant(t, "registers_given_back_upwards", kPromoted128x256, dec, become(200, producer),
        reports(register_budget).by(kProducer).saying("but the warp holds 168"));
  plant(t, "registers_not_taken", kPromoted128x256, inc, consumer,
        reports(register_budget).by(kConsumer).saying("nobody took any"));
  plant(t, "registers_of_one_thread", kFast128x128, inc, thread(5, consumer),
        reports(non_uniform).by(kConsumer));
  plant(t, "registers_of_one_thread_back", kFast128x128, dec, thread(kProducer128 + 40, producer),
        reports(non_uniform).by(kProducer));
}

void add_dependency_faults(Table& t) {
  const char* line = "DevicePipeline::run: grid_dependency_wait";
  const FaultSpec wait = skip(Op::grid_dependency_wait);
  plant(t, "dependency_wait_skipped", kPromoted64x64, line, wait,
        reports(dependency_not_waited).at("matrix A").by(kProducer));
  plant(t, "dependency_wait_skipped_copy", kCopy, line, wait,
        reports(dependency_not_waited).at("matrix A").by(kProducer));
  plant(t, "dependency_wait_skipped_scalar", kSource, line, thread(5, wait),
        reports(dependency_not_waited).at("alpha").by(kConsumer));
}

}  // namespace

void plant_in_setup(Table& table) {
  add_init_faults(table);
  add_start_faults(table);
  add_dependency_faults(table);
  add_register_faults(table);
}

}  // namespace tilewright::faults
