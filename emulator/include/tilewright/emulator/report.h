// What the emulated machine found wrong, as a kind for a program and as a sentence for a person.
#pragma once

#include <cstdint>
#include <string>

#include "tilewright/emulator/hooks.h"

namespace tilewright::emulator {

/// The kinds of faults that the machine tells apart. `name_of` gives the stable spelling of each.
enum class ReportKind : uint8_t {
  // waiting for ever
  deadlock,
  livelock,
  register_budget,

  // data not ordered by any synchronisation, whatever the timing was
  read_before_ready,
  overwrite_in_use,
  unordered_writes,
  uninitialised_read,
  missing_proxy_fence,
  narrow_scope,
  global_race,
  dependency_not_waited,
  tensor_map_changed,

  // wgmma registers
  accumulator_in_flight,
  operand_register_in_flight,
  missing_wgmma_fence,

  // tensor memory: a fence that would order two accesses; allocation, lanes, contents
  missing_tcgen05_fence,
  tensor_memory,

  // mbarriers
  barrier_not_initialised,
  barrier_init_not_visible,
  barrier_reinitialised,
  barrier_overwritten,
  over_arrival,
  byte_count,
  parity_alias,
  remote_wait,

  // participation
  non_uniform,
  named_barrier,
  cluster_barrier,
  multicast_mask,

  // cluster launch control: what was no response, or no longer allowed to ask
  launch_control,

  // addresses
  misaligned,
  descriptor,
  out_of_bounds,
  read_only_write,

  // leaving too early
  exit_with_pending_work,
  exit_before_peer,

  // the library's own rules, found by its code: Report::place names the rule
  api_misuse,

  // an argument that no hardware accepts
  invalid_argument,
};

/// The stable name of a kind, for example "read_before_ready".
const char* name_of(ReportKind kind);

/// One fault: what, who and where.
struct Report {
  ReportKind kind;
  std::string message;  // one sentence
  Index3 block;         // block index of the acting thread
  int cta_rank = -1;    // its rank in the cluster; -1 when no single thread acted
  int warp = -1;
  int lane = -1;
  std::string role;   // as given to name_role; empty when none
  std::string place;  // name of the barrier, shared region or global buffer; empty when it has none
  int stage = -1;     // of that place
};

}  // namespace tilewright::emulator
