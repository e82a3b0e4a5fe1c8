// The words that the tables of faults are written in.
#pragma once

#include "tests/faults/fault_table.h"

namespace tilewright::faults {

using Table = std::vector<PlantedFault>;

inline void plant(Table& table, const char* name, const GemmCase& gemm, const char* line,
                  emulator::FaultSpec fault, Symptom symptom) {
  table.push_back({name, &gemm, line, std::move(fault), std::move(symptom)});
}

// ---- what is reported

template <class... Kinds>
Symptom reports(Kinds... kinds) {
  return {.kinds = {kinds...}};
}

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
/// The argument to change is operand B.
inline emulator::FaultSpec operand_b(emulator::FaultSpec fault) {
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

constexpr const char *kProducer = "producer", *kConsumer = "consumer", *kStaging = "D staging";
/// The producing thread of a kernel with one consumer warpgroup, and with two.
constexpr int kProducer64 = 128, kProducer128 = 256;

// ---- the tables

void plant_in_setup(Table& table);      // barriers, registers, start and end
void plant_in_ring(Table& table);       // producer, consumers, clusters
void plant_in_compute(Table& table);    // MMAs and stores
void plant_in_scales(Table& table);     // scales of blocks, and of rows and columns
void plant_in_addresses(Table& table);  // the barrier beside the right one

}  // namespace tilewright::faults
