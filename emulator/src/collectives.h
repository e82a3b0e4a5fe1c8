// Meetings of the lanes of a warp and of the threads of a warpgroup.
#pragma once

#include <cstdint>

#include "cluster.h"

namespace tilewright::emulator {

/// Waits until every lane of the mask is here. True for the lane that came last: it does the work for all,
/// then calls part_warp. Reports lanes that are elsewhere.
bool meet_warp(Thread& thread, Op op, uint32_t mask);
void part_warp(Thread& thread, uint32_t mask);

/// The same for the 128 threads of a warpgroup.
bool meet_warpgroup(Thread& thread, Op op);
void part_warpgroup(Thread& thread);

/// Reports a thread that has worked out its warp more or less often than lanes that have exited.
void check_warp_index_at_exit(const Thread& thread);

/// Checks that all threads of the warpgroup execute the same sequence of aligned operations, without waiting.
void follow_log(Thread& thread, Op op, uint32_t argument);

inline Thread& lane_at(Thread& thread, uint32_t lane) { return *(&thread - thread.lane + lane); }

/// f(lane thread) for the existing lanes of the mask in the thread's warp.
template <class F>
void for_each_lane(Thread& thread, uint32_t mask, F&& f) {
  for (uint32_t lanes = mask & thread.warp->lanes; lanes != 0; lanes &= lanes - 1) {
    f(lane_at(thread, static_cast<uint32_t>(__builtin_ctz(lanes))));
  }
}

}  // namespace tilewright::emulator
