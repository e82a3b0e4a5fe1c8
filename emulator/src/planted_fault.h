// How the hooks apply a planted fault to their arguments.
#pragma once

#include <cstdint>

#include "tilewright/emulator/fault.h"

namespace tilewright::emulator {

inline bool skipped(const FaultSpec* fault) {
  return fault != nullptr && fault->action == FaultSpec::Action::skip;
}

inline bool flips_parity(const FaultSpec* fault) {
  return fault != nullptr && fault->action == FaultSpec::Action::flip_parity;
}

/// Applies add or replace to an argument.
template <class T>
void change(const FaultSpec* fault, T& argument) {
  if (fault == nullptr) return;
  if (fault->action == FaultSpec::Action::add)
    argument = static_cast<T>(argument + static_cast<T>(fault->value));
  if (fault->action == FaultSpec::Action::replace) argument = static_cast<T>(fault->value);
}

/// The same to the address of the mbarrier, if the fault is for that.
inline void change_barrier(const FaultSpec* fault, uint32_t& bar) {
  if (fault != nullptr && fault->on_barrier) change(fault, bar);
}
/// To the mbarrier's address or to the other argument.
template <class T>
void change(const FaultSpec* fault, uint32_t& bar, T& argument) {
  fault != nullptr && fault->on_barrier ? change(fault, bar) : change(fault, argument);
}

}  // namespace tilewright::emulator
