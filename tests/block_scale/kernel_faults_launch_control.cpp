#include "tests/block_scale/fault_rows.h"

namespace tilewright::fault_rows {

std::vector<PlantedFault> faults_of_launch_control() {
  constexpr const char *kKnown = "next tile known", *kRead = "next tile read";
  const std::vector<Kind> kEarly = {Kind::uninitialised_read, Kind::read_before_ready};
  std::vector<PlantedFault> all;
  const auto add_row = [&](const char* name, FaultSpec fault, std::vector<Kind> kinds) {
    all.push_back({name, std::move(fault), std::move(kinds), {}, 1, true, true});
  };
  add_row("clc_load_does_not_wait_for_the_answer", skip(Op::mbarrier_wait, kKnown, kLoad), kEarly);
  add_row("clc_mma_does_not_wait_for_the_answer", skip(Op::mbarrier_wait, kKnown, kMma), kEarly);
  add_row("clc_epilogue_does_not_wait_for_the_answer", skip(Op::mbarrier_wait, kKnown, kEpilogue), kEarly);
  for (const char* role : {kLoad, kMma, kEpilogue}) {
    add_row(role == kLoad  ? "clc_load_waits_on_the_other_parity"
            : role == kMma ? "clc_mma_waits_on_the_other_parity"
                           : "clc_epilogue_waits_on_the_other_parity",
            flip(kKnown, role),
            {Kind::uninitialised_read, Kind::read_before_ready, Kind::parity_alias, Kind::deadlock});
  }
  add_row("C80_clc_asks_into_a_slot_that_is_still_read", skip(Op::mbarrier_wait, kRead, kLoad),
          {Kind::overwrite_in_use, Kind::unordered_writes});
  add_row("clc_waits_for_the_slot_on_the_other_parity", flip(kRead, kLoad), {Kind::deadlock});
  add_row("clc_slot_counts_one_reader_less", become(10, skip(Op::mbarrier_init, kRead)),
          {Kind::overwrite_in_use, Kind::over_arrival, Kind::parity_alias, Kind::exit_with_pending_work,
           Kind::deadlock});
  add_row("clc_slot_counts_one_reader_more", become(12, skip(Op::mbarrier_init, kRead)),
          {Kind::deadlock, Kind::exit_with_pending_work});
  for (const char* role : {kLoad, kMma, kEpilogue}) {
    add_row(role == kLoad  ? "clc_load_keeps_a_slot"
            : role == kMma ? "clc_mma_keeps_a_slot"
                           : "clc_epilogue_keeps_a_slot",
            nth(0, skip(Op::mbarrier_arrive, kRead, role)), {Kind::deadlock, Kind::exit_with_pending_work});
  }
  add_row("clc_answer_in_one_cta_only", mask(become(1, skip(Op::cluster_launch_try_cancel))),
          {Kind::deadlock});
  add_row("clc_answer_in_the_other_cta_only", mask(become(2, skip(Op::cluster_launch_try_cancel))),
          {Kind::deadlock});
  add_row("clc_nobody_asks", skip(Op::cluster_launch_try_cancel), {Kind::deadlock});
  add_row("clc_answer_off_its_boundary", add(8, skip(Op::cluster_launch_try_cancel)), {Kind::misaligned});
  add_row("clc_answer_not_expected_in_the_first_cta", cta(0, skip(Op::mbarrier_arrive_expect_tx, kKnown)),
          {Kind::deadlock});
  add_row("clc_answer_not_expected_in_the_second_cta", cta(1, skip(Op::mbarrier_arrive_expect_tx, kKnown)),
          {Kind::deadlock});
  add_row("clc_more_bytes_expected_than_an_answer_has",
          become(32, skip(Op::mbarrier_arrive_expect_tx, kKnown)), {Kind::deadlock});
  add_row("clc_mma_reads_without_a_proxy_fence", skip(Op::fence_proxy_async, "", kMma),
          {Kind::missing_proxy_fence});
  add_row("clc_load_reads_without_a_proxy_fence", cta(1, skip(Op::fence_proxy_async, "", kLoad)),
          {Kind::missing_proxy_fence});
  add_row("C80_clc_mma_stops_a_tile_early", nth(0, skip(Op::cluster_launch_query, "", kMma)),
          {Kind::deadlock});
  add_row("clc_load_stops_a_tile_early", nth(0, skip(Op::cluster_launch_query, "", kLoad)), {Kind::deadlock});
  add_row("clc_known_barrier_not_initialised", skip(Op::mbarrier_init, kKnown),
          {Kind::barrier_not_initialised});
  add_row("clc_read_barrier_not_initialised", skip(Op::mbarrier_init, kRead),
          {Kind::barrier_not_initialised});
  return all;
}

}  // namespace tilewright::fault_rows
