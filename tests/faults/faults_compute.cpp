// Faults in the MMAs and in the stores of results.
#include "tests/faults/planting.h"

namespace tilewright::faults {
namespace {

using emulator::FaultSpec;
using emulator::Op;
using enum emulator::ReportKind;

void add_mma_wait_faults(Table& t) {
  const char* wait0 = "wgmma_wait<0>";
  const char* wait1 = "wgmma_wait<1>";
  const FaultSpec wait = skip(Op::wgmma_wait);
  const Symptom released_early = reports(overwrite_in_use).at("A").by(kProducer).saying("wgmma group");
  const Symptom in_flight = reports(accumulator_in_flight).by(kConsumer);
  plant(t, "mma_wait_weakened_promoted", kPromoted64x64, wait0, add(1, nth(0, wait)), released_early);
  plant(t, "promotion_wait_weakened", kPromoted64x64, wait0, add(1, nth(1, wait)), in_flight);
  plant(t, "promotion_wait_skipped_part_1", kPromoted128x256, wait0, nth(2, wait), in_flight);
  plant(
      t, "mma_wait_skipped", kPromoted256x64, wait0, wait,
      reports(accumulator_in_flight, overwrite_in_use));  // by the consumer, or by who fills the stage again
  plant(t, "interval_wait_weakened", kInterval1, wait0, add(1, nth(2, wait)), in_flight);
  plant(t, "mma_wait_weakened_fast", kFast128x128, wait1, add(1, nth(1, wait)), released_early);
  plant(t, "last_tile_wait_weakened_fast", kFast128x128, "multiply_fast: wgmma_wait<kLastPieces>",
        add(1, nth(4, wait)), released_early);
  plant(t, "last_wait_skipped_fast", kFast128x128, wait0, nth(5, wait), in_flight);
  plant(t, "piece_wait_weakened_fast", kFast128x256, wait1, add(1, nth(3, wait)), in_flight);
  plant(t, "mma_wait_skipped_by_one_thread", kPromoted64x64, wait0, thread(70, nth(1, wait)), in_flight);
}

void add_mma_fence_faults(Table& t) {
  const FaultSpec fence = skip(Op::wgmma_fence), commit = skip(Op::wgmma_commit);
  const Symptom unfenced = reports(missing_wgmma_fence).by(kConsumer);
  plant(t, "fence_skipped_always", kPromoted64x64, "wgmma_fence", fence,
        reports(missing_wgmma_fence).by(kConsumer).saying("before any wgmma.fence"));
  plant(t, "fence_skipped_after_promotion", kPromoted64x64, "promote_tile: wgmma_fence", nth(2, fence),
        unfenced);
  plant(t, "fence_skipped_after_pack", kPromoted64x64, "begin_sum: wgmma_fence", nth(3, fence), unfenced);
  plant(t, "fence_skipped_part_1", kPromoted128x256, "promote_tile: wgmma_fence", nth(2, fence), unfenced);
  plant(t, "fence_skipped_interval", kInterval2, "promote_tile: wgmma_fence", nth(2, fence), unfenced);
  plant(t, "fence_skipped_before_another_shape", kFast128x256, "issue_pieces: wgmma_fence", nth(2, fence),
        reports(missing_wgmma_fence).by(kConsumer).saying("another shape"));
  plant(t, "fence_skipped_by_one_thread", kPromoted64x64, "wgmma_fence", thread(70, nth(4, fence)),
        reports(non_uniform).by(kConsumer));
  plant(t, "commit_skipped", kPromoted64x64, "wgmma_commit", nth(1, commit),
        reports(accumulator_in_flight).by(kConsumer));
  plant(t, "commit_skipped_fast", kFast128x128, "wgmma_commit", nth(4, commit),
        reports(accumulator_in_flight, overwrite_in_use));
  plant(t, "commit_skipped_by_one_thread", kPromoted64x64, "wgmma_commit", thread(70, nth(1, commit)),
        reports(non_uniform).by(kConsumer));
  plant(t, "wgmma_skipped_by_one_thread", kPromoted64x64, "wgmma", thread(70, nth(2, skip(Op::wgmma))),
        reports(non_uniform).by(kConsumer));
}

void add_descriptor_faults(Table& t) {
  constexpr int64_t kStage = (64 + 64) * 128;  // bytes
  const char* issue = "issue: wgmma";
  const FaultSpec mma = skip(Op::wgmma);
  plant(t, "descriptor_a_off_by_32_bytes", kPromoted64x64, issue, add(2, mma),
        reports(descriptor).at("A").by(kConsumer));
  plant(t, "descriptor_a_off_by_16_bytes", kPromoted64x64, issue, add(1, mma),
        reports(descriptor).at("A").by(kConsumer));
  plant(t, "descriptor_b_off_by_a_row", kPromoted64x64, issue, add(8, second(mma)),
        reports(descriptor).at("B").by(kConsumer));
  plant(t, "descriptor_one_stage_off", kPromoted64x64, issue, add(kStage / 16, nth(0, mma)),
        reports(uninitialised_read, read_before_ready).at("A").by(kConsumer));
  plant(t, "descriptor_out_of_bounds", kPromoted64x64, issue, add(4 * kStage / 16, nth(0, mma)),
        reports(out_of_bounds).by(kConsumer));
}

void add_store_faults(Table& t) {
  const char *stage = "SlabStore::stage", *publish = "SlabStore::publish";
  const FaultSpec fence = skip(Op::fence_proxy_async), reuse = skip(Op::bulk_wait),
                  commit = skip(Op::bulk_commit);
  const FaultSpec sync = skip(Op::sync_warp);
  const Symptom unfenced = reports(missing_proxy_fence).at(kStaging).by(kConsumer);
  const Symptom in_use = reports(overwrite_in_use).at(kStaging).by(kConsumer).saying("bulk store group");
  plant(t, "store_fence_skipped", kPromoted64x64, publish, fence, unfenced);
  plant(t, "store_fence_by_leader_only", kPromoted64x64, publish, thread(35, fence), unfenced);
  plant(t, "store_fence_skipped_out8", kOut8, publish, fence, unfenced);
  plant(t, "store_fence_skipped_out32", kOut32, publish, nth(3, fence), unfenced);
  plant(t, "store_fence_skipped_first_slab", kPromoted128x256, publish, nth(0, fence), unfenced);
  plant(t, "store_fence_skipped_packed_late", kPromoted128x256, publish, nth(2, fence), unfenced);
  plant(t, "store_fence_skipped_next_tile", kPromoted128x256, publish, nth(5, fence), unfenced);
  plant(t, "store_fence_skipped_fast", kFast128x128, publish, nth(1, fence), unfenced);
  plant(t, "sync_before_store_skipped", kPromoted64x64, publish, nth(1, sync),
        reports(read_before_ready).at(kStaging).by(kConsumer));
  plant(t, "sync_before_store_skipped_128x256", kPromoted128x256, publish, nth(2, sync),
        reports(read_before_ready).at(kStaging).by(kConsumer));
  plant(t, "sync_before_store_skipped_out8", kOut8, publish, nth(1, sync),
        reports(read_before_ready, uninitialised_read).at(kStaging).by(kConsumer));
  plant(t, "sync_before_staging_skipped", kPromoted64x64, stage, nth(4, sync), in_use);
  plant(t, "sync_before_staging_skipped_128x256", kPromoted128x256, stage, nth(3, sync), in_use);
  plant(t, "sync_by_one_lane_skipped", kPromoted64x64, publish, thread(9, sync),
        reports(non_uniform).by(kConsumer));
  plant(t, "reuse_wait_skipped", kPromoted64x64, stage, nth(2, reuse), in_use);
  plant(t, "reuse_wait_weakened", kPromoted128x256, stage, add(1, reuse), in_use);
  plant(t, "drain_skipped", kPromoted128x256, "SlabStore::drain", nth(3, reuse), in_use);
  plant(t, "reuse_wait_skipped_next_tile", kPromoted128x256, stage, nth(4, reuse), in_use);
  plant(t, "reuse_wait_skipped_out32", kOut32, stage, nth(2, reuse), in_use);
  plant(t, "commit_of_store_skipped", kPromoted64x64, publish, nth(0, commit), in_use);
  plant(t, "commit_of_last_store_skipped", kPromoted64x64, publish, nth(2, commit),
        reports(exit_with_pending_work).by(kConsumer));
  plant(t, "last_store_wait_skipped", kPromoted64x64, "SlabStore::finish", nth(3, reuse),
        reports(exit_with_pending_work).by(kConsumer));
  plant(t, "last_store_wait_weakened", kOut8, "SlabStore::finish", add(1, nth(3, reuse)),
        reports(exit_with_pending_work).by(kConsumer));
  plant(t, "last_store_wait_skipped_cluster", kCluster2x2, "SlabStore::finish", cta(2, nth(3, reuse)),
        reports(exit_with_pending_work).by(kConsumer));
}

void add_staging_faults(Table& t) {
  const char* store = "SlabStore::publish";
  const char *matrices = "SlabStore::write: stmatrix_x4", *words = "SlabStore::write: store_shared";
  const FaultSpec matrix = skip(Op::stmatrix), word = skip(Op::store_shared, kStaging);
  const Symptom missing = reports(uninitialised_read).at(kStaging).by(kConsumer);
  plant(t, "staging_off_by_an_atom", kPromoted64x64, matrices, add(1024, matrix), missing);
  plant(t, "staging_misaligned", kPromoted64x64, matrices, add(8, matrix),
        reports(misaligned).at(kStaging).by(kConsumer));
  plant(t, "staging_out_of_bounds", kFast128x128, matrices, add(160 * 1024, matrix),
        reports(out_of_bounds).by(kConsumer));
  plant(t, "staging_over_the_barriers", kPromoted64x64, matrices, thread(0, add(-1024, nth(0, matrix))),
        reports(barrier_overwritten).at("full").by(kConsumer));
  plant(t, "staging_by_31_lanes", kPromoted64x64, matrices, thread(9, matrix),
        reports(non_uniform).by(kConsumer));
  plant(t, "staging_off_out8", kOut8, words, add(1024, word), missing);
  plant(t, "staging_misaligned_out32", kOut32, words, add(4, word),
        reports(misaligned).at(kStaging).by(kConsumer));
  plant(t, "staging_skipped_out32", kOut32, words, thread(9, nth(3, word)), missing);
  plant(t, "store_source_misaligned", kPromoted64x64, store, add(128, skip(Op::tma_store)),
        reports(misaligned).at(kStaging).by(kConsumer));
  plant(t, "store_source_other_buffer", kPromoted64x64, store, add(2048, nth(0, skip(Op::tma_store))),
        missing);
}

}  // namespace

void plant_in_compute(Table& table) {
  add_mma_wait_faults(table);
  add_mma_fence_faults(table);
  add_descriptor_faults(table);
  add_store_faults(table);
  add_staging_faults(table);
}

}  // namespace tilewright::faults
