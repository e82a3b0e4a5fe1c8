// Tensor memory of a CTA: 128 lanes x 512 columns of 32-bit words, who holds which columns, what lies in
// them, and who touched them last. And the state that threads and warps keep for it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "cluster.h"
#include "tilewright/emulator/tcgen05.h"

namespace tilewright::emulator {

constexpr uint32_t kTensorLanes = 128;
constexpr uint32_t kTensorColumns = 512;
constexpr uint32_t kTensorQuarter = 32;  // lanes that a warp reaches
constexpr uint32_t kTensorQuarters = kTensorLanes / kTensorQuarter;

/// A rectangle of words. The lanes lie in one quarter, or are whole quarters.
struct TensorRange {
  uint32_t lane = 0, lanes = kTensorLanes;
  uint32_t column = 0, columns = 0;
};

/// What an operation left in a column of a lane quarter.
enum class TensorContent : uint8_t { nothing, accumulator, scales, stored };

/// Columns that a CTA holds.
struct TensorAllocation {
  uint32_t first = 0, count = 0;
  int cta_group = 1;
  Access made;                    // by the allocating warp's last lane
  const Thread* freed = nullptr;  // pairs: the first of the two CTAs has deallocated
};

struct NamedColumns {
  uint32_t first = 0, end = 0;
  const char* name = nullptr;
};

struct TensorMemory {
  TensorMemory() : words(size_t{kTensorLanes} * kTensorColumns, kGarbage) {
    shadow.reset(kTensorQuarters * kTensorColumns * kCellBytes, false);
  }

  uint32_t& word(uint32_t lane, uint32_t column) { return words[size_t{lane} * kTensorColumns + column]; }
  /// The allocation that holds all columns of the range, or null.
  TensorAllocation* find(uint32_t column, uint32_t columns);
  /// f(cell) for every column of every quarter of the range.
  template <class F>
  void for_each_cell(const TensorRange& range, F&& f) {
    const uint32_t last = (range.lane + range.lanes - 1) / kTensorQuarter;
    for (uint32_t quarter = range.lane / kTensorQuarter; quarter <= last; ++quarter) {
      for (uint32_t c = range.column; c < range.column + range.columns; ++c) f(quarter * kTensorColumns + c);
    }
  }

  /// The shadow has 16 bytes for a column of a quarter: one for every two lanes.
  static constexpr uint32_t kCellBytes = 16;
  static constexpr uint32_t kGarbage = 0xFFFFFFFF;  // a NaN

  std::vector<uint32_t> words;  // [lane][column]
  Shadow shadow;
  std::array<TensorContent, kTensorQuarters * kTensorColumns> content{};
  std::vector<TensorAllocation> allocations;
  bool relinquished = false;
  std::vector<NamedColumns> names;
  std::vector<Thread*> movers;  // lane 0 of each warp that loads or stores
};

/// Operations of a thread that execute in order.
struct TensorOperation {
  enum class Kind : uint8_t { mma, copy, commit };
  Kind kind = Kind::mma;
  uint64_t begin = 0;  // on the timeline
  int cta_group = 1;
  // mma
  Tcgen05Mma mma;
  Tcgen05Operands operands;
  uint32_t next_column = 0;
  // copy
  Tcgen05CopyShape shape = Tcgen05CopyShape::s32x128b_warpx4;
  uint32_t address = 0;
  uint64_t descriptor = 0;
  // commit
  std::vector<Barrier*> barriers;
  uint32_t clock = 0;
};

/// A tcgen05.ld whose registers are not filled yet, or a tcgen05.st that is not carried out.
struct TensorMove {
  uint32_t count;                // columns
  uint32_t* registers;           // ld
  std::vector<uint32_t> values;  // st
  uint32_t lane, column;         // lane: first of the quarter that the address names
};

/// Registers of a thread between tcgen05.ld and tcgen05.wait::ld.
struct TensorRegisters {
  const std::byte* begin;
  const std::byte* end;
};

/// The loads of a warp, or its stores.
struct TensorMoves {
  // Lane 0 only, for its warp. Epoch n of the agent: all lanes have waited for the first n and fenced.
  uint32_t agent = kNoAgent, count = 0;
  std::array<std::vector<TensorMove>, kWarpLanes> pending;
  // Each lane: its own epochs when the first n had been waited for, and when it had executed a
  // tcgen05.fence::before_thread_sync after that.
  std::vector<uint32_t> waited, fenced;
};

struct TensorThread {
  uint32_t agent = kNoAgent;  // epoch n: the first n operations of the queue are complete
  uint32_t issued = 0;        // operations of the queue but commits
  uint32_t peer_reach = 0;    // the last of them that touches the other CTA of the pair
  uint64_t executed = 0, queued = 0;
  std::deque<TensorOperation> queue;
  uint64_t queue_end = 0;  // timed: when the last one that is issued ends

  uint32_t fenced = kNoAgent;   // clock: what it knew at its last tcgen05.fence::after_thread_sync
  uint32_t scratch = kNoAgent;  // clock: what its next tensor-memory operation may rely on

  TensorMoves loads, stores;
  std::vector<TensorRegisters> registers;
  // Timed, lane 0 only: when the warp may start the next move; when it has the last.
  uint64_t moves_end = 0, moves_done = 0;
};

TensorMemory& tensor_memory(Cta& cta);
TensorThread& tensor_state(Thread& thread);
/// Lane 0's state.
TensorThread& warp_state(Thread& thread);

/// The CTAs that an operation of the thread's CTA reaches: itself, or its pair (lower rank first). Empty,
/// after a report, when the pair is not complete or has exited.
std::vector<Cta*> tensor_group(Thread& thread, int cta_group, const char* what);

/// The clock that tensor-memory operations of the thread rely on: what it knew at its last fence, its own
/// earlier operations, and the moves it has waited for. Valid until the next call or the next new agent.
const uint32_t* tensor_clock(Thread& thread);
/// What all lanes of the warp may rely on.
const uint32_t* warp_tensor_clock(Thread& thread);
/// What tcgen05.dealloc may rely on: of it no fence::after_thread_sync is asked for.
const uint32_t* dealloc_clock(Thread& thread);

/// Checks one access to tensor memory by `thread` and records it; false, after a report, when it cannot be.
bool check_tensor(Thread& thread, Cta& cta, const TensorRange& range, bool write, const Actor& actor,
                  const char* what);
/// "tensor memory columns 208..463 (right accumulator) of CTA 0".
std::string describe_columns(const Cluster& cluster, Cta& cta, uint32_t column, uint32_t columns);
const char* name_of_columns(Cta& cta, uint32_t column);

/// One step of the thread's queue; `one_slice`: an MMA does a few columns. True when an operation has ended.
bool execute_tensor_operation(Cluster& cluster, Thread& thread, bool one_slice);
/// Whether somebody waits for a barrier that the queue will signal.
bool tensor_queue_is_needed(const Thread& thread);
/// Reports what a CTA leaves undone in tensor memory. `known`: the clock of all its threads together.
void check_tensor_exit(Cluster& cluster, Cta& cta, uint32_t known);
/// Reports an ordinary access to registers that a tcgen05.ld has not filled yet.
void check_tensor_registers(Thread& thread, const std::byte* begin, uint32_t bytes, bool write);

}  // namespace tilewright::emulator
