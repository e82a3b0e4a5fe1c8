#include "tests/faults/fault_table.h"

#include "tests/faults/planting.h"

namespace tilewright::faults {

using emulator::Op;

std::vector<PlantedFault> planted_faults() {
  Table table;
  plant_in_setup(table);
  plant_in_ring(table);
  plant_in_compute(table);
  plant_in_scales(table);
  plant_in_addresses(table);
  return table;
}

std::vector<HarmlessFault> harmless_faults() {
  return {
      {"first_acquire_skipped", &kPromoted64x64, "Ring::acquire: mbarrier_wait_parity",
       nth(0, skip(Op::mbarrier_wait, "empty", kProducer)),
       "nobody has read the stage before the first pass"},
      {"init_fence_skipped_copy", &kCopy, "Ring::init: fence_mbarrier_init", skip(Op::fence_mbarrier_init),
       "without TMA loads only threads of the CTA use the barriers, and the block barrier orders those"},
      {"dependency_wait_skipped_by_one_consumer", &kPromoted64x64,
       "DevicePipeline::run: grid_dependency_wait", thread(5, skip(Op::grid_dependency_wait)),
       "it reads no global memory, and writes D only after a full barrier that the producer completed after "
       "its own wait"},
      {"dependency_wait_skipped_by_one_consumer_vectors", &kVectors128x128,
       "DevicePipeline::run: grid_dependency_wait", thread(5, skip(Op::grid_dependency_wait)),
       "it reads scales only after a full barrier that the producer completed after its own wait"},
      {"launch_dependents_skipped", &kPromoted64x64, "DevicePipeline::run: launch_dependents",
       skip(Op::launch_dependents), "the end of the kernel does the same, later"},
      {"fence_skipped_between_equal_shapes_fast", &kFast128x128, "multiply_k_tile: wgmma_fence",
       nth(2, skip(Op::wgmma_fence)),
       "the accumulators of one wgmma are those of the next, of the same shape"},
      {"first_interval_wait_weakened", &kInterval2, "promote_tile: wgmma_wait<0>",
       add(1, nth(0, skip(Op::wgmma_wait))),
       "the sum is not touched before the wait of the next interval, which covers both groups"},
      {"first_reuse_wait_skipped", &kPromoted64x64, "SlabStore::store: tma_wait_read<1>",
       nth(0, skip(Op::bulk_wait)), "nothing has been stored from the buffer yet"},
      {"first_sync_before_staging_skipped", &kPromoted64x64, "SlabStore::store: sync_warp",
       nth(0, skip(Op::sync_warp)), "nothing has been stored from the buffer yet"},
  };
}

}  // namespace tilewright::faults
