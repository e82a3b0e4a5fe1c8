#include "tests/block_scale/fault_rows.h"

namespace tilewright::fault_rows {

using enum emulator::ReportKind;

std::vector<PlantedFault> faults_of_launch_control() {
  constexpr const char *kKnown = "next tile known", *kRead = "next tile read";
  constexpr const char* kAnswer = "next tile";
  constexpr uint32_t kRound = schedule::launch_answer_slots + 1;  // the last one asks into the first slot
  std::vector<PlantedFault> all;
  const auto add_row = [&](std::string name, FaultSpec fault, faults::Symptom symptom, uint32_t tiles = 0) {
    all.push_back({std::move(name), std::move(fault), std::move(symptom), 1, true, true, tiles});
  };
  add_row("clc_load_does_not_wait_for_the_answer", skip(Op::mbarrier_wait, kKnown, kLoad),
          reports(uninitialised_read, read_before_ready).at(kAnswer).by(kLoad));
  add_row("clc_mma_does_not_wait_for_the_answer", skip(Op::mbarrier_wait, kKnown, kMma),
          reports(read_before_ready).at(kAnswer).by(kMma));
  add_row("clc_epilogue_does_not_wait_for_the_answer", skip(Op::mbarrier_wait, kKnown, kEpilogue),
          reports(read_before_ready).at(kAnswer).by(kEpilogue));
  for (const char* role : {kLoad, kMma, kEpilogue}) {
    add_row("clc_" + std::string(role) + "_waits_on_the_other_parity", flip(kKnown, role),
            reports(parity_alias, deadlock).at(kKnown, kRead, "empty"));
  }
  add_row("C80_clc_asks_into_a_slot_that_is_still_read", skip(Op::mbarrier_wait, kRead, kLoad),
          reports(overwrite_in_use, unordered_writes).at(kAnswer).by(kLoad), kRound);
  add_row("clc_waits_for_the_slot_on_the_other_parity", flip(kRead, kLoad),
          reports(deadlock).at("full", kKnown));
  // The one who asks waits for ever, or has asked for the last time.
  const faults::Symptom kept = reports(deadlock, exit_with_pending_work).at(kRead, kKnown);
  add_row("clc_slot_counts_one_reader_less", become(10, skip(Op::mbarrier_init, kRead)),
          reports(overwrite_in_use, read_before_ready, exit_with_pending_work, deadlock)
              .at(kAnswer, kRead, kKnown, kShared));
  add_row("clc_slot_counts_one_reader_more", become(12, skip(Op::mbarrier_init, kRead)), kept);
  for (const char* role : {kLoad, kMma, kEpilogue}) {
    add_row("clc_" + std::string(role) + "_keeps_a_slot", nth(0, skip(Op::mbarrier_arrive, kRead, role)),
            kept);
  }
  const faults::Symptom unanswered = reports(deadlock).at(kKnown, kRead).by(kLoad);
  add_row("clc_answer_in_one_cta_only", mask(become(1, skip(Op::cluster_launch_try_cancel))), unanswered);
  add_row("clc_answer_in_the_other_cta_only", mask(become(2, skip(Op::cluster_launch_try_cancel))),
          unanswered);
  add_row("clc_nobody_asks", skip(Op::cluster_launch_try_cancel), unanswered);
  add_row("clc_answer_off_its_boundary", add(8, skip(Op::cluster_launch_try_cancel)),
          reports(misaligned).at(kAnswer).by(kLoad));
  add_row("clc_answer_not_expected_in_the_first_cta", cta(0, skip(Op::mbarrier_arrive_expect_tx, kKnown)),
          unanswered);
  add_row("clc_answer_not_expected_in_the_second_cta", cta(1, skip(Op::mbarrier_arrive_expect_tx, kKnown)),
          unanswered);
  add_row("clc_more_bytes_expected_than_an_answer_has",
          become(32, skip(Op::mbarrier_arrive_expect_tx, kKnown)), unanswered);
  const faults::Symptom unfenced = reports(missing_proxy_fence).at(kAnswer).by(kLoad);
  add_row("clc_mma_reads_without_a_proxy_fence", skip(Op::fence_proxy_async, "", kMma), unfenced, kRound);
  for (const int rank : {0, 1}) {
    add_row("clc_load_reads_without_a_proxy_fence_in_cta_" + std::to_string(rank),
            cta(rank, skip(Op::fence_proxy_async, "", kLoad)), unfenced, kRound);
  }
  // After the eight slabs of a tile, each with a fence of its own and two meetings of the warp, and the two
  // releases of its columns.
  add_row("clc_epilogue_reads_without_a_proxy_fence", nth(8, skip(Op::fence_proxy_async, "", kEpilogue)),
          unfenced, kRound);
  add_row("clc_epilogue_gives_a_slot_back_that_other_lanes_still_read",
          nth(18, skip(Op::sync_warp, "", kEpilogue)), reports(overwrite_in_use).at(kAnswer).by(kLoad),
          kRound);
  add_row("clc_no_fence_after_init", nth(2, skip(Op::fence_mbarrier_init)),
          reports(barrier_init_not_visible).at(kKnown).by(kLoad));
  add_row("C80_clc_mma_stops_a_tile_early", nth(0, skip(Op::cluster_launch_query, "", kMma)),
          reports(deadlock).at(kRead, kKnown, "empty", kReady));
  add_row("clc_load_stops_a_tile_early", nth(0, skip(Op::cluster_launch_query, "", kLoad)),
          reports(deadlock).at("full", kReady));
  add_row("clc_known_barrier_not_initialised", skip(Op::mbarrier_init, kKnown),
          reports(barrier_not_initialised).at(kKnown).by(kLoad));
  add_row("clc_known_barrier_expects_both_ctas", become(2, skip(Op::mbarrier_init, kKnown)), unanswered);
  add_row("clc_read_barrier_not_initialised", skip(Op::mbarrier_init, kRead),
          reports(barrier_not_initialised).at(kRead).by(kLoad));
  return all;
}

}  // namespace tilewright::fault_rows
