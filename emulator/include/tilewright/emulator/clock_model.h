// The emulated machine's clock model: what SchedulePolicy::timed charges for each operation. Unit rates and
// latencies of two chips, decided from what is published before anything was run with them, and not fitted to
// any result.
//
// Where a figure comes from:
//   [table]    rates that the vendor publishes for the chip, per multiprocessor and clock
//   [counted]  hardware counters on an H200
//   [paper]    published micro-benchmarks, repeated by others, not by us
//   [assumed]  an order of magnitude; nothing better was at hand
//
// What it leaves out: caches (what is loaded comes from L2), bank conflicts, power (the clock is the boost
// clock; a dense GEMM runs below it), instructions that the machine does not see (index arithmetic,
// branches), the time from a launch to its first instruction.
#pragma once

#include <cstdint>

namespace tilewright::emulator {

/// Which chip's rates the machine has. It changes modelled time and nothing else.
enum class Chip : uint8_t {
  sm_90a,   // H200 SXM: 132 multiprocessors
  sm_100a,  // B200: 148 multiprocessors
};

/// Clocks and bytes are of one multiprocessor.
struct ClockModel {
  /// Boost clock. 1.83: the clock of the H200's peak rates; 1.856: of the B200's. [table]
  double gigahertz;

  /// Warp instructions that each of the four schedulers issues in a clock [table]. An operation of arch/ is
  /// one instruction; of ordinary code, each store that the compiler marks to a local array which outlives an
  /// operation (an accumulator) counts as one.
  uint32_t issue_per_clock = 1;

  /// Columns of an MMA in a clock, for 32 bytes of K: m64nN of wgmma, and m128nN (m256nN on a pair) of
  /// tcgen05.mma take N / 2 clocks. [table; wgmma also counted]
  uint32_t mma_columns = 2;
  /// Of shared memory: ordinary accesses, stmatrix, operands of an MMA, tcgen05.cp. [table; operands also
  /// counted]
  uint32_t shared_bytes = 128;
  /// From the end of an MMA to a wait or a commit that knows of it. [assumed]
  uint32_t mma_latency = 32;

  /// From L2 into shared memory and back, each way: the lesser of a multiprocessor's port (64) and its share
  /// of what L2 delivers (6150 bytes a clock to the 132 of an H200; no figure for the B200 was at hand).
  /// [table]
  uint32_t l2_bytes;
  /// From a load to its first byte, and from a byte that a bulk store has read to its place in memory.
  /// [assumed]
  uint32_t load_latency = 600;
  /// From a bulk store to the first byte that it reads. [assumed]
  uint32_t store_latency = 200;
  /// Of an atomic, or a load that acquires, in global memory. [paper] A request of cluster launch control is
  /// taken for one. [assumed]
  uint32_t l2_latency = 260;

  /// From the completion of a phase to the instruction after a wait for it, of a named barrier too. [assumed]
  uint32_t barrier_latency = 20;
  /// More, for what crosses to another multiprocessor of the cluster. [paper]
  uint32_t remote_latency = 180;

  /// Columns that tcgen05.ld or st moves for a warp in a clock, and the latency to the last. [assumed]
  uint32_t tensor_memory_columns = 1;
  uint32_t tensor_memory_latency = 30;
};

inline constexpr ClockModel clock_model(Chip chip) {
  ClockModel model{};
  model.gigahertz = chip == Chip::sm_90a ? 1.83 : 1.856;
  model.l2_bytes = chip == Chip::sm_90a ? 6150 / 132 : 64;
  return model;
}

}  // namespace tilewright::emulator
