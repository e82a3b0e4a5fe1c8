// The words that tables of planted faults are written in: what is changed, and where.
#pragma once

#include <cstdint>

#include "tilewright/emulator/fault.h"

namespace tilewright::faults {

// ---- what is changed

/// The operation on the barrier or region `place`, by a thread of `role`, does not happen. Empty: any.
inline emulator::FaultSpec skip(emulator::Op op, const char* place = "", const char* role = "") {
  return {.op = op, .place = place, .role = role};
}
/// A wait on the wrong parity.
inline emulator::FaultSpec flip(const char* place, const char* role) {
  using emulator::FaultSpec;
  return {.op = emulator::Op::mbarrier_wait,
          .place = place,
          .role = role,
          .action = FaultSpec::Action::flip_parity};
}
/// The operation that `fault` selects happens, with its argument changed by `value`.
inline emulator::FaultSpec add(int64_t value, emulator::FaultSpec fault) {
  fault.action = emulator::FaultSpec::Action::add;
  fault.value = value;
  return fault;
}
/// The same with `value` for its argument.
inline emulator::FaultSpec become(int64_t value, emulator::FaultSpec fault) {
  fault.action = emulator::FaultSpec::Action::replace;
  fault.value = value;
  return fault;
}
/// The argument to change is the multicast mask.
inline emulator::FaultSpec mask(emulator::FaultSpec fault) {
  fault.on_mask = true;
  return fault;
}
/// The argument to change is the second one: operand B of wgmma (FaultSpec::value has the others).
inline emulator::FaultSpec second(emulator::FaultSpec fault) {
  fault.on_second = true;
  return fault;
}

// ---- and where

/// Only the n-th time (from 0) that a thread gets there.
inline emulator::FaultSpec nth(uint32_t n, emulator::FaultSpec fault) {
  fault.occurrence = emulator::FaultSpec::Occurrence::only_nth;
  fault.nth = n;
  return fault;
}
/// From the n-th time on.
inline emulator::FaultSpec from(uint32_t n, emulator::FaultSpec fault) {
  fault.occurrence = emulator::FaultSpec::Occurrence::from_nth;
  fault.nth = n;
  return fault;
}
inline emulator::FaultSpec thread(int index, emulator::FaultSpec fault) {
  fault.thread = index;
  return fault;
}
inline emulator::FaultSpec cta(int rank, emulator::FaultSpec fault) {
  fault.cta_rank = rank;
  return fault;
}
inline emulator::FaultSpec stage(int index, emulator::FaultSpec fault) {
  fault.stage = index;
  return fault;
}

}  // namespace tilewright::faults
