// Faults in the copies of single elements, in the pipeline without a producer and in the repacking kernel.
#include "tests/simt/fault_case.h"

namespace tilewright::faults {
namespace {

using emulator::FaultSpec;
using emulator::Op;
using enum emulator::ReportKind;

void plant(std::vector<SimtFault>& table, const char* name, const SimtCase& simt, const char* line,
           FaultSpec fault, Symptom symptom) {
  table.push_back({name, &simt, line, std::move(fault), std::move(symptom)});
}

void plant_in_gather(std::vector<SimtFault>& t) {
  const char* copy = "SimtGather: cp_async_4";
  plant(t, "one_thread_copies_nothing", kSimtGather, copy, thread(130, skip(Op::cp_async, "A")),
        reports(uninitialised_read).at("A").by(kConsumer));
  plant(t, "one_thread_copies_nothing_along_k", kSimtGatherAlongK, copy, thread(150, skip(Op::cp_async, "B")),
        reports(uninitialised_read).at("B").by(kConsumer));
  const char* arrive = "SimtLoads::load_tile: cp_async_mbarrier_arrive_noinc";
  const FaultSpec arrival = skip(Op::cp_async_mbarrier_arrive);
  plant(t, "one_thread_never_arrives", kSimtGather, arrive, thread(129, arrival),
        reports(deadlock).at("full").by(kConsumer));
  plant(t, "nobody_arrives_at_one_stage", kSimtMixed, arrive, nth(2, arrival),
        reports(deadlock).at("full").by(kConsumer));
}

void plant_in_async_pipeline(std::vector<SimtFault>& t) {
  const Symptom early = reports(read_before_ready).at("A");
  const char* wait = "SimtAsyncPipeline::wait: cp_async_wait";
  const FaultSpec group = skip(Op::cp_async_wait);
  for (const SimtCase* simt : {&kSimtAsync, &kSimtAsyncAlongK}) {
    const bool k = simt == &kSimtAsyncAlongK;
    plant(t, k ? "wait_group_skipped_along_k" : "wait_group_skipped", *simt, wait, group, early);
    plant(t, k ? "wait_group_skipped_once_along_k" : "wait_group_skipped_once", *simt, wait, nth(2, group),
          early);
    plant(t, k ? "wait_group_off_by_one_along_k" : "wait_group_off_by_one", *simt, wait, add(1, group),
          early);
  }
  const char* commit = "SimtAsyncPipeline::copy: cp_async_commit";
  plant(t, "no_group_is_committed", kSimtAsync, commit, nth(1, skip(Op::cp_async_commit)), early);
  const char* barrier = "SimtAsyncPipeline::wait: sync_threads";
  plant(t, "block_barrier_skipped", kSimtAsync, barrier, nth(2, skip(Op::sync_threads)),
        reports(read_before_ready).at("A", "B"));
  plant(t, "block_barrier_skipped_along_k", kSimtAsyncAlongK, barrier, nth(3, skip(Op::sync_threads)), early);
  // Threads that get there first read what has no name yet.
  plant(t, "no_block_barriers", kSimtAsync, barrier, skip(Op::sync_threads),
        reports(read_before_ready, uninitialised_read).at("A", "B", ""));
  plant(t, "one_thread_leaves_the_block_barrier_out", kSimtAsync, barrier,
        thread(7, nth(1, skip(Op::sync_threads))), early);
  plant(t, "one_thread_copies_nothing_async", kSimtAsync, "SimtGather::gather_vectors: cp_async_16",
        thread(3, skip(Op::cp_async, "A")), reports(uninitialised_read).at("A"));
}

void plant_in_other_kernels(std::vector<SimtFault>& t) {
  const char* barrier = "repack_tiles: sync_threads";
  plant(t, "repack_without_the_first_barrier", kSimtRepack, barrier, nth(0, skip(Op::sync_threads)),
        reports(read_before_ready, uninitialised_read));
  plant(t, "repack_without_the_second_barrier", kSimtRepack, barrier, nth(1, skip(Op::sync_threads)),
        reports(read_before_ready, overwrite_in_use));
  plant(t, "repack_of_one_thread_missing", kSimtRepack, "RepackTile::read_along_k: store_shared",
        thread(9, skip(Op::store_shared)), reports(uninitialised_read));
  plant(t, "shared_tiles_wait_skipped", kSimtShared, "Ring::wait: mbarrier_wait_parity",
        nth(1, skip(Op::mbarrier_wait, "full", kConsumer)),
        reports(read_before_ready, uninitialised_read).at("A").by(kConsumer));
  // In the kernel before, this thread reads no global memory.
  plant(t, "shared_tiles_no_dependency_wait", kSimtShared, "simt_fixup: grid_dependency_wait",
        thread(5, skip(Op::grid_dependency_wait)), reports(dependency_not_waited).at("workspace"));
}

}  // namespace

void plant_in_simt_copies(std::vector<SimtFault>& table) {
  plant_in_gather(table);
  plant_in_async_pipeline(table);
  plant_in_other_kernels(table);
}

}  // namespace tilewright::faults
