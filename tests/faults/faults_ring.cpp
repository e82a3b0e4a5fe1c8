// Faults in the ring of stages: producer, consumers, copies, clusters.
#include "tests/faults/planting.h"

namespace tilewright::faults {
namespace {

using emulator::FaultSpec;
using emulator::Op;
using enum emulator::ReportKind;

constexpr int64_t kStage64x64 = (64 + 64) * 128;  // bytes

FaultSpec acquire_wait() { return skip(Op::mbarrier_wait, "empty", kProducer); }
FaultSpec release_arrive() { return skip(Op::mbarrier_arrive, "empty", kConsumer); }

/// A producer that does not wait for a stage to be free: its arrival is one too many if the stage's loads
/// have not completed, its loads collide with those or with their readers.
Symptom overrun() {
  return reports(over_arrival, overwrite_in_use, unordered_writes).at("A", "full").by(kProducer);
}

void add_producer_faults(Table& t) {
  const char* acquire = "Ring::acquire: mbarrier_wait_parity";
  plant(t, "acquire_skipped", kPromoted64x64, acquire, acquire_wait(), overrun());
  plant(t, "acquire_skipped_once", kPromoted128x256, acquire, nth(2, acquire_wait()), overrun());
  plant(t, "acquire_skipped_fast", kFast128x128, acquire, nth(3, acquire_wait()),
        reports(overwrite_in_use).at("A").by(kProducer));
  // Once, between two output tiles: consumers may also see the stage a pass too early, or never again.
  const Symptom out_of_step = reports(overwrite_in_use, read_before_ready, deadlock).at("A", "full", "empty");
  plant(t, "acquire_skipped_at_tile_switch", kOut8, acquire, nth(3, acquire_wait()), out_of_step);
  plant(t, "acquire_parity", kPromoted64x64, acquire, flip("empty", kProducer),
        reports(deadlock).saying("[producer] (1 thread) waits for barrier empty[0] parity 0, phase 0"));
  plant(t, "acquire_parity_later", kPromoted64x64, acquire, nth(3, flip("empty", kProducer)), out_of_step);

  const char* expect = "WgmmaTileLoads::load: mbarrier_arrive_expect_tx";
  const FaultSpec bytes = skip(Op::mbarrier_arrive_expect_tx, "full");
  plant(t, "expect_skipped", kPromoted64x64, expect, bytes,
        reports(deadlock).saying(
            "barrier full[0] parity 0, phase 0 (pending arrivals 1, pending bytes -16384)"));
  plant(t, "expect_too_many_bytes", kPromoted64x64, expect, add(128, bytes),
        reports(deadlock).at("full").by(kConsumer).saying("(pending arrivals 0, pending bytes 128)"));
  plant(t, "expect_too_few_bytes", kPromoted64x64, expect, add(-128, bytes), reports(byte_count).at("full"));
  plant(t, "expect_without_b", kPromoted64x64, expect, become(64 * 128, bytes),
        reports(byte_count, read_before_ready, uninitialised_read).at("full", "B"));
  plant(t, "expect_without_peer", kCluster2x1, expect, become(12288, bytes),
        reports(byte_count, read_before_ready, uninitialised_read).at("full", "B"));
  plant(t, "expect_more_than_the_count_holds", kPromoted64x64, expect, become(1 << 20, bytes),
        reports(byte_count).at("full").by(kProducer));

  const char* load = "WgmmaTileLoads::load_operand: tma_load_3d";
  plant(t, "load_a_skipped", kPromoted64x64, load, skip(Op::tma_load, "A"),
        reports(deadlock).at("full").by(kConsumer).saying(
            "barrier full[0] parity 0, phase 0 (pending arrivals 0, pending bytes 8192)"));
  plant(t, "load_b_skipped", kPromoted64x64, load, nth(4, skip(Op::tma_load, "B")),
        reports(deadlock).at("full").by(kConsumer).saying(
            "barrier full[0] parity 0, phase 2 (pending arrivals 0, pending bytes 8192)"));
  plant(t, "load_a_one_stage_off", kPromoted64x64, load, add(kStage64x64, stage(0, skip(Op::tma_load, "A"))),
        reports(unordered_writes, uninitialised_read).at("A"));
  plant(t, "load_b_over_a", kPromoted64x64, load, add(-64 * 128, skip(Op::tma_load, "B")),
        reports(unordered_writes).at("A").by(kProducer));
  plant(t, "load_past_the_ring", kPromoted64x64, load, add(kStage64x64, stage(1, skip(Op::tma_load, "B"))),
        reports(uninitialised_read).at("B").by(kConsumer));
  plant(t, "load_misaligned", kPromoted64x64, load, add(128, skip(Op::tma_load, "A")),
        reports(misaligned).at("A").by(kProducer));
  plant(t, "load_misaligned_swizzle_atom", kCluster2x2, load, add(512, skip(Op::tma_load, "B")),
        reports(misaligned).at("B").by(kProducer));
  plant(t, "load_out_of_bounds", kPromoted128x256, load, add(200 * 1024, skip(Op::tma_load, "A")),
        reports(out_of_bounds).by(kProducer));
  plant(t, "every_lane_loads", kPromoted64x64, "WgmmaTileLoop::is_loader: elect_one", skip(Op::elect_one),
        overrun());
}

void add_ring_consumer_faults(Table& t) {
  const char* wait = "Ring::wait: mbarrier_wait_parity";
  const FaultSpec full = skip(Op::mbarrier_wait, "full", kConsumer);
  const Symptom early = reports(uninitialised_read, read_before_ready);
  // On later passes the stage may still hold the data of the pass before: then the next load collides.
  const Symptom stale = reports(read_before_ready, overwrite_in_use);
  plant(t, "full_wait_skipped", kPromoted64x64, wait, full, early.at("A").by(kConsumer));
  plant(t, "full_wait_skipped_first", kPromoted128x256, wait, nth(0, full), early.at("A").by(kConsumer));
  plant(t, "full_wait_skipped_second_pass", kFast128x128, wait, nth(2, full), stale.at("A"));
  plant(t, "full_wait_skipped_interval", kInterval2, wait, nth(1, full), early.at("A").by(kConsumer));
  plant(t, "full_wait_skipped_copy", kCopy, wait, nth(3, full),
        // A stage that is released before it is full may be filled again at once.
        reports(read_before_ready, parity_alias).at("A", "empty"));
  plant(t, "full_wait_skipped_tile_switch", kDirect, wait, nth(3, full), stale.at("A"));
  plant(t, "full_wait_skipped_by_one_thread", kPromoted64x64, wait, thread(37, full),
        reports(read_before_ready).at("A").by(kConsumer));
  plant(t, "full_wait_skipped_cluster", kCluster1x2, wait, cta(1, nth(2, full)),
        reports(read_before_ready, overwrite_in_use, unordered_writes).at("A"));
  plant(t, "full_wait_parity", kPromoted64x64, wait, flip("full", kConsumer),
        reports(parity_alias, uninitialised_read, deadlock).at("full", "A", "empty"));
  plant(t, "full_wait_parity_later", kPromoted64x64, wait, nth(4, flip("full", kConsumer)),
        // The same early read, named by whichever of the two accesses comes second.
        reports(parity_alias, read_before_ready, overwrite_in_use, deadlock).at("full", "A", "empty"));

  const char* release = "Releaser::release: mbarrier_arrive_cluster";
  plant(t, "release_skipped", kPromoted64x64, release, release_arrive(),
        reports(deadlock)
            .at("empty", "full")
            .saying(  // both wait, and either may have begun first
                "[producer] (1 thread) waits for barrier empty[0] parity 0, phase 0 (pending arrivals 4"));
  plant(t, "release_skipped_by_one_warp", kPromoted128x256, release, thread(96, release_arrive()),
        reports(deadlock).at("empty").by(kProducer).saying(
            "[producer] (1 thread) waits for barrier empty[0] parity 0, phase 0 (pending arrivals 1"));
  plant(t, "release_skipped_once", kFast128x128, release, thread(0, nth(4, release_arrive())),
        reports(deadlock).at("empty").by(kProducer).saying("waits for barrier empty[0]"));
  plant(t, "release_counts_twice", kPromoted64x64, release, add(1, release_arrive()),
        reports(parity_alias).at("empty").by(kProducer));
  plant(t, "release_counts_too_often", kPromoted64x64, release, become(5, release_arrive()),
        reports(over_arrival).at("empty").by(kConsumer));
}

void add_copy_faults(Table& t) {
  const char* copy = "CopiedLoads::load";
  const FaultSpec arrive = skip(Op::mbarrier_arrive, "full", kProducer);
  const FaultSpec fence = skip(Op::fence_proxy_async, "", kProducer);
  const Symptom early = reports(read_before_ready, uninitialised_read).at("A").by(kConsumer);
  const FaultSpec put = skip(Op::store_shared, "A", kProducer);
  plant(t, "copy_fence_skipped", kCopy, copy, fence, reports(missing_proxy_fence).at("A").by(kConsumer));
  plant(t, "copy_fence_skipped_by_one_thread", kCopyOut8, copy, thread(200, nth(3, fence)),
        reports(missing_proxy_fence).at("A").by(kConsumer));
  plant(t, "copy_arrive_skipped", kCopy, copy, arrive,
        reports(deadlock).saying("barrier full[0] parity 0, phase 0 (pending arrivals 128"));
  plant(t, "copy_arrive_skipped_by_one_thread", kCopy, copy, thread(200, nth(2, arrive)),
        reports(deadlock).saying("pending arrivals 1"));
  plant(t, "copy_full_count_too_low", kCopy, "Ring::init", add(-1, skip(Op::mbarrier_init, "full")), early);
  plant(t, "copy_full_count_too_high", kCopy, "Ring::init", add(1, skip(Op::mbarrier_init, "full")),
        reports(deadlock).saying("(pending arrivals 1"));
  plant(t, "copy_acquire_skipped", kCopy, copy, acquire_wait(),
        reports(read_before_ready, uninitialised_read, parity_alias).at("A", "full").by(kConsumer));
  plant(t, "copy_acquire_skipped_by_one_thread", kCopy, copy, thread(200, nth(2, acquire_wait())), early);
  plant(t, "copy_store_one_stage_off", kCopy, copy, add((64 + 128) * 128, stage(0, put)),
        reports(uninitialised_read).at("A").by(kConsumer));
  plant(t, "copy_store_misaligned", kCopy, copy, add(8, put), reports(misaligned).at("A").by(kProducer));
  plant(t, "copy_store_skipped", kCopy, copy, thread(200, nth(0, put)),
        reports(uninitialised_read).at("A").by(kConsumer));
  const FaultSpec piece = skip(Op::cp_async, "A", kProducer), waits = skip(Op::cp_async_wait, "", kProducer);
  plant(t, "copy_piece_skipped", kCopyAhead, "CopiedLoads::copy_pieces", thread(200, nth(0, piece)),
        reports(uninitialised_read).at("A").by(kConsumer));
  plant(t, "copy_of_words_skipped", kCopyOut8, "CopiedLoads::copy_pieces", thread(210, nth(1, piece)),
        reports(uninitialised_read).at("A").by(kConsumer));
  const Symptom unfinished = reports(read_before_ready).at("A").by(kConsumer);
  plant(t, "copies_not_awaited", kCopyOut8, copy, waits, unfinished);
  plant(t, "copies_of_one_thread_not_awaited", kCopyAhead, copy, thread(200, waits), unfinished);
  plant(t, "copies_in_one_group", kCopyAhead, copy, skip(Op::cp_async_commit, "", kProducer), unfinished);
  plant(t, "copy_release_skipped", kCopyOut8, "Releaser::release", release_arrive(),
        reports(deadlock).saying("barrier empty[0]"));
  plant(t, "direct_release_skipped", kDirect, "Releaser::release", thread(64, release_arrive()),
        reports(deadlock).saying("(pending arrivals 1"));
  plant(t, "direct_promotion_wait_skipped", kDirect, "wgmma_wait<0>", nth(2, skip(Op::wgmma_wait)),
        reports(accumulator_in_flight).by(kConsumer));
  plant(t, "copy_promotion_wait_skipped", kCopyOut8, "wgmma_wait<0>", nth(1, skip(Op::wgmma_wait)),
        reports(accumulator_in_flight).by(kConsumer));
}

void add_cluster_faults(Table& t) {
  const char* load = "WgmmaTileLoads::load_operand: tma_load_multicast_3d";
  const FaultSpec a = mask(skip(Op::tma_load, "A")), b = mask(skip(Op::tma_load, "B"));
  plant(t, "mask_of_no_cta_2x1", kCluster2x1, load, add(4, b), reports(multicast_mask).by(kProducer));
  plant(t, "mask_of_no_cta_1x2", kCluster1x2, load, add(4, a), reports(multicast_mask).by(kProducer));
  plant(t, "mask_of_no_cta_2x2", kCluster2x2, load, add(16, a), reports(multicast_mask).by(kProducer));
  plant(t, "mask_without_peer_2x1", kCluster2x1, load, cta(0, become(1, b)),
        reports(deadlock).saying(
            "barrier full[0] of CTA 1 parity 0, phase 0 (pending arrivals 0, pending bytes 4096)"));
  plant(t, "mask_without_self_1x2", kCluster1x2, load, cta(0, become(2, a)),
        reports(deadlock).saying(
            "barrier full[0] of CTA 0 parity 0, phase 0 (pending arrivals 0, pending bytes 4096)"));
  plant(t, "mask_of_the_other_column_2x2", kCluster2x2, load, cta(0, become(12, b)),
        reports(unordered_writes, overwrite_in_use).at("B").by(kProducer));

  const char* acquire = "Ring::acquire: mbarrier_wait_parity";
  plant(t, "acquire_skipped_cluster", kCluster2x1, acquire, cta(1, acquire_wait()), overrun());
  plant(t, "acquire_skipped_cluster_2x2", kCluster2x2, acquire, cta(3, nth(3, acquire_wait())),
        // What it loads for its peers counts in the pass that they still wait for.
        reports(overwrite_in_use, read_before_ready).at("A", "B"));

  const char* init = "Ring::init: mbarrier_init";
  plant(t, "empty_count_without_peers", kCluster2x1, init, become(4, skip(Op::mbarrier_init, "empty")),
        // Everything that becomes of CTAs out of step.
        reports(overwrite_in_use, unordered_writes, read_before_ready, over_arrival, parity_alias, deadlock)
            .at("A", "B", "full", "empty"));
  plant(t, "empty_count_of_all_ctas", kCluster2x2, init, become(16, skip(Op::mbarrier_init, "empty")),
        reports(deadlock).saying("barrier empty[0] of CTA 0 parity 0, phase 0 (pending arrivals 4"));

  const char* release = "Releaser::release: mbarrier_arrive_cluster";
  plant(
      t, "remote_release_skipped", kCluster2x1, release, cta(0, thread(1, release_arrive())),
      reports(deadlock).saying("waits for barrier empty[0] of CTA 1 parity 0, phase 0 (pending arrivals 1"));
  plant(
      t, "remote_release_skipped_2x2", kCluster2x2, release, cta(3, thread(33, nth(2, release_arrive()))),
      reports(deadlock).saying("waits for barrier empty[0] of CTA 1 parity 1, phase 1 (pending arrivals 1"));
  plant(
      t, "local_release_skipped_1x2", kCluster1x2, release, cta(1, thread(1, release_arrive())),
      reports(deadlock).saying("waits for barrier empty[0] of CTA 1 parity 0, phase 0 (pending arrivals 1"));
}

}  // namespace

void plant_in_ring(Table& table) {
  add_producer_faults(table);
  add_ring_consumer_faults(table);
  add_copy_faults(table);
  add_cluster_faults(table);
}

}  // namespace tilewright::faults
