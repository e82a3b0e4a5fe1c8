// Faults in the FP32 scales: those of blocks, which come beside the stages, and those of rows and columns.
#include "tests/faults/planting.h"

namespace tilewright::faults {
namespace {

using emulator::FaultSpec;
using emulator::Op;
using enum emulator::ReportKind;

constexpr const char *kScales = "scales", *kLoader = "scales";  // the region, and the role
/// The leader of the warp that brings scales, with one consumer warpgroup and with two.
constexpr int kLeader64 = 128 + 32, kLeader128 = 256 + 32;
constexpr int64_t kSlot = 4 * 64 + 16;  // bytes, of a 64-row tile

/// Scales of another K tile, or none yet.
Symptom early() { return reports(read_before_ready, uninitialised_read).at(kScales).by(kConsumer); }

void add_loader_faults(Table& t) {
  const char* acquire = "ScaleSlots::load_tile: Ring::acquire";
  const FaultSpec wait = skip(Op::mbarrier_wait, "empty", kLoader);
  const Symptom overwritten = reports(overwrite_in_use).at(kScales).by(kLoader);
  // The arrival is one too many, or stands for that of the next loads: then a stage seems full too early.
  const Symptom overrun =
      reports(overwrite_in_use, unordered_writes, over_arrival, read_before_ready).at(kScales, "full");
  plant(t, "scales_acquire_skipped", kBlocks64x128, acquire, wait, overrun);
  plant(t, "scales_acquire_skipped_once", kBlocks128x256, acquire, nth(3, wait), overwritten);
  plant(t, "scales_acquire_skipped_by_one_thread", kBlocksAlongK, acquire,
        thread(kLeader64 + 5, nth(2, wait)), reports(overwrite_in_use, read_before_ready).at(kScales));
  plant(t, "scales_acquire_skipped_cluster", kBlocksCluster, acquire, cta(1, nth(2, wait)), overrun);
  plant(t, "scales_acquire_skipped_along_k", kBlocksAlongK, acquire, nth(2, wait),
        reports(overwrite_in_use, over_arrival, read_before_ready, uninitialised_read)
            .at(kScales, "A", "full"));
  plant(t, "scales_acquire_parity", kBlocks64x128, acquire, flip("empty", kLoader),
        reports(deadlock).saying("waits for barrier empty[0] parity 0, phase 0"));

  const char* dependency = "DevicePipeline::run: grid_dependency_wait";
  plant(t, "dependency_wait_skipped_before_scales", kBlocks64x128, dependency,
        thread(kLeader64, skip(Op::grid_dependency_wait)),
        reports(dependency_not_waited).at("scales of B").by(kLoader));

  const char* arrive = "ScaleSlots::load: mbarrier_arrive_expect_tx";
  const FaultSpec arrival = skip(Op::mbarrier_arrive_expect_tx, "full", kLoader);
  plant(
      t, "scales_arrive_skipped", kBlocks64x128, arrive, arrival,
      reports(deadlock).saying("barrier full[0] parity 0, phase 0 (pending arrivals 1, pending bytes -256)"));
  plant(t, "scales_arrive_skipped_once", kBlocks128x256, arrive, nth(2, arrival),
        reports(deadlock).saying("pending arrivals 1"));
  plant(t, "scales_arrive_skipped_copy", kBlocksCopy, arrive,
        nth(1, skip(Op::mbarrier_arrive_expect_tx, "full")), reports(deadlock).saying("pending arrivals 1"));
  plant(t, "scales_arrive_skipped_along_k", kBlocksAlongK, "ScaleSlots::load: mbarrier_arrive",
        nth(1, skip(Op::mbarrier_arrive, "full", kLoader)), reports(deadlock).saying("pending arrivals 1"));
  plant(t, "scales_expected_too_few", kBlocks64x128, arrive, add(-16, arrival),
        reports(byte_count).at("full"));
  plant(t, "scales_expected_too_many", kBlocks64x128, arrive, add(16, arrival),
        reports(deadlock).saying("pending arrivals 0, pending bytes 16"));

  const char* init = "WgmmaTileLoop::full_arrivals";
  const FaultSpec full = skip(Op::mbarrier_init, "full");
  // Stages seem full with the first of two arrivals; the second may belong to the next pass, or to none.
  const Symptom uncounted =
      reports(over_arrival, read_before_ready, uninitialised_read, parity_alias, deadlock)
          .at(kScales, "A", "full", "empty");
  plant(t, "scales_not_counted", kBlocks64x128, init, become(1, full), uncounted);
  plant(t, "scales_not_counted_along_k", kBlocksAlongK, init, add(-1, full), uncounted);
  plant(t, "scales_counted_once_more", kBlocks128x256, init, add(1, full),
        reports(deadlock).saying("pending arrivals 1"));

  const char* bulk = "ScaleSlots::load: bulk_load";
  const FaultSpec rows = skip(Op::bulk_load, kScales);
  plant(t, "scales_copy_skipped", kBlocks64x128, bulk, rows,
        reports(deadlock).saying("pending arrivals 0, pending bytes 256"));
  plant(t, "scales_copy_of_fewer", kBlocks64x128, bulk, nth(1, add(-16, rows)),
        reports(deadlock).saying("pending arrivals 0, pending bytes 16"));
  // Behind the rows lie scales of B, which ordinary stores have written.
  plant(t, "scales_copy_of_more", kBlocks64x128, bulk, add(16, rows),
        reports(missing_proxy_fence).at(kScales).by(kLoader));
  plant(t, "scales_copy_misaligned", kBlocks64x128, bulk, add(8, rows),
        reports(misaligned).at(kScales).by(kLoader));

  const char* put = "ScaleSlots::load: store_shared";
  const FaultSpec store = skip(Op::store_shared, kScales, kLoader);
  plant(t, "scales_of_b_not_stored", kBlocks128x256, put, thread(kLeader128, nth(0, store)),
        reports(uninitialised_read).at(kScales).by(kConsumer));
  plant(t, "scales_of_rows_not_stored", kBlocksAlongK, put, thread(kLeader64 + 5, store),
        reports(uninitialised_read).at(kScales).by(kConsumer));
  plant(t, "scales_stored_one_slot_off", kBlocksAlongK, put, add(kSlot, stage(0, store)),
        reports(uninitialised_read).at(kScales).by(kConsumer));
  // Tiles of the second batch are copied over the zeros of the first one's ragged tile.
  const char* fence = "ScaleSlots::load: fence_proxy_async_shared";
  const FaultSpec zeros = skip(Op::fence_proxy_async, "", kLoader);
  const Symptom unfenced =
      reports(missing_proxy_fence).at(kScales).by(kLoader).saying("a bulk load writes scales");
  plant(t, "scales_fence_skipped", kBlocksBatched, fence, zeros, unfenced);
  plant(t, "scales_fence_skipped_by_one_thread", kBlocksBatched, fence, thread(kLeader64 + 31, zeros),
        unfenced);
  plant(t, "scales_sync_before_arrive_skipped", kBlocksAlongK, "ScaleSlots::load: sync_warp",
        skip(Op::sync_warp, "", kLoader), early());
}

void add_reader_faults(Table& t) {
  const char* release = "GroupScales::advance: sync_warp";
  const FaultSpec wait = skip(Op::mbarrier_wait, "full", kConsumer);
  plant(t, "C35_scales_full_wait_skipped", kBlocks64x128, "Ring::wait", wait, early());
  plant(t, "C35_scales_full_wait_skipped_by_one_thread", kBlocks64x128, "Ring::wait", thread(9, nth(0, wait)),
        early());
  const FaultSpec sync = skip(Op::sync_warp, "", kConsumer);
  const Symptom released = reports(overwrite_in_use).at(kScales).by(kLoader);
  plant(t, "sync_before_release_skipped", kBlocks64x128, release, sync, released);
  plant(t, "sync_before_release_skipped_first", kBlocks128x256, release, nth(0, sync), released);
  const char* read = "ScaleSlots::read: load_shared";
  const FaultSpec get = skip(Op::load_shared, kScales);
  plant(t, "scales_read_one_slot_off", kBlocks64x128, read, add(kSlot, stage(1, get)),
        reports(uninitialised_read).by(kConsumer));
  plant(t, "scales_read_misaligned", kBlocks64x128, read, add(1, get),
        reports(misaligned).at(kScales).by(kConsumer));
}

void add_vector_faults(Table& t) {
  plant(t, "column_not_shared_out", kVectors128x128, "VectorScales::apply: shuffle",
        thread(9, nth(3, skip(Op::shuffle))), reports(deadlock).at("empty").by(kProducer));
}

}  // namespace

void plant_in_scales(Table& table) {
  add_loader_faults(table);
  add_reader_faults(table);
  add_vector_faults(table);
}

}  // namespace tilewright::faults
