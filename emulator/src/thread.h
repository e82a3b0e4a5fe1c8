// The state of CUDA threads, warps and warpgroups.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "fiber.h"
#include "tilewright/emulator/fault.h"
#include "tilewright/emulator/hooks.h"

namespace tilewright::emulator {

struct Barrier;
struct Cta;
struct TensorThread;
class Cluster;
struct Thread;

constexpr uint32_t kWarpLanes = 32;
constexpr uint32_t kGroupThreads = 128;
constexpr uint32_t kNoAgent = ~0u;

/// Why a thread does not run.
enum class Wait : uint8_t {
  none,  // ready or running
  mbarrier,
  named_barrier,
  cluster_barrier,
  warp,       // for the other lanes of a warp-wide operation
  warpgroup,  // for the other threads of a warpgroup-wide operation
  mma_group,
  bulk_group,
  cp_async_group,
  registers,
  poll,  // it saw nothing new; runs again when something happened
};

/// Registers (as host memory) that a wgmma uses: accumulators, or A operands.
struct RegisterRange {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  uint32_t group = 0;    // in flight until the thread has waited for this group
  bool operand = false;  // A registers: may be read while in flight
  bool touched = false;  // by ordinary code since the last wgmma_fence
  bool fenced = false;   // a wgmma_fence followed the last wgmma that uses them
};

/// The words of its stack that a thread has written since its last wgmma_fence; nothing before the first.
class WrittenWords {
 public:
  /// A wgmma_fence; `bytes`: the size of the stack.
  void clear(size_t bytes) {
    if (bits_.empty()) bits_.resize((bytes + 255) / 256);
    std::fill(bits_.begin() + static_cast<ptrdiff_t>(low_), bits_.begin() + static_cast<ptrdiff_t>(high_), 0);
    low_ = high_ = 0;
  }
  /// Bytes [begin, end) of the stack.
  void add(size_t begin, size_t end) {
    end = std::min(end, bits_.size() * 256);
    if (begin >= end) return;
    low_ = high_ == 0 ? begin / 256 : std::min(low_, begin / 256);
    high_ = std::max(high_, (end + 255) / 256);
    for (size_t word = begin / 4; word * 4 < end; ++word) bits_[word / 64] |= uint64_t{1} << word % 64;
  }
  bool any(size_t begin, size_t end) const {
    end = std::min(end, high_ * 256);
    for (size_t word = begin / 4; word * 4 < end; ++word)
      if ((bits_[word / 64] >> word % 64 & 1) != 0) return true;
    return false;
  }

 private:
  std::vector<uint64_t> bits_;
  size_t low_ = 0, high_ = 0;  // where some may be set, in elements of bits_
};

/// The asynchronous operations of one thread that complete in groups (bulk stores, cp.async).
struct GroupedOperations {
  struct Group {
    uint32_t unread = 0;  // operations whose source was not read yet
    uint32_t unfinished = 0;
  };
  uint32_t agent = kNoAgent;          // epoch g: all of groups 1..g are complete
  uint32_t read_agent = kNoAgent;     // bulk stores only: their sources are read
  std::vector<Group> groups;          // groups[g - 1]
  bool open = false;                  // the last one still takes operations
  std::vector<uint32_t> commits;      // groups that existed at each commit
  uint32_t waited = 0;                // groups that a wait proved complete
  uint32_t read_waited = 0;           // or, for bulk stores, read
  uint32_t covered = 0;               // groups that a wait or an mbarrier arrival of the thread accounts for
  std::vector<uint32_t> wait_epochs;  // cp.async: the thread's epoch when it had waited for group g

  Group& open_group() {
    if (!open) groups.emplace_back();
    open = true;
    return groups.back();
  }
  uint32_t last_group() const { return static_cast<uint32_t>(groups.size()); }
  void commit() {
    open = false;
    commits.push_back(last_group());
  }
  /// The group that a wait with at most `pending` newer commits is for; 0 when there is nothing to wait for.
  uint32_t target(int pending) const {
    const auto newer = static_cast<size_t>(pending < 0 ? 0 : pending);
    return newer >= commits.size() ? 0 : commits[commits.size() - 1 - newer];
  }
  bool done(uint32_t group, bool read_only) const {
    for (uint32_t g = group; g > (read_only ? read_waited : waited); --g) {
      if ((read_only ? groups[g - 1].unread : groups[g - 1].unfinished) != 0) return false;
    }
    return true;
  }
};

/// The lanes of one warp that have reached the same operation.
struct WarpMeeting {
  Op op;
  uint32_t mask = 0;
  uint32_t arrived = 0;
};

struct Warp {
  Cta* cta = nullptr;
  uint32_t index = 0;  // in the cluster
  uint32_t lanes = 0;  // mask of the lanes that exist
  uint32_t exited_lanes = 0;
  uint32_t registers = 0;  // per thread
  std::vector<WarpMeeting> meetings;
  uint32_t warp_index_calls = 0;  // of a lane that has exited
  // In modelled time: the most of one of its lanes.
  uint64_t instructions = 0, bytes_accessed = 0;
};

/// Accumulators of a warpgroup between the first wgmma that uses them and the last that completes.
struct AccumulatorSet {
  std::array<uint32_t*, kGroupThreads> registers{};
  uint32_t words = 0;            // per thread
  std::vector<uint32_t> values;  // [row][column], 64 x n
  uint32_t operations = 0;       // issued, not executed
};

struct WgmmaOperation {
  WgmmaInstruction instruction;
  AccumulatorSet* accumulators = nullptr;
  std::array<const uint32_t*, kGroupThreads> a_registers{};  // null: A is in shared memory
  uint64_t desc_a = 0, desc_b = 0;
  bool accumulate = false;
  int next_column = 0;
  uint64_t begin = 0;  // on the timeline
};

struct Warpgroup {
  Cta* cta = nullptr;
  uint32_t index = 0;                    // in the CTA
  bool complete = false;                 // four full warps
  bool lowered = false, raised = false;  // by setmaxnreg
  // The operation that some of its threads have reached.
  Op meeting = Op::count_;
  uint32_t met = 0;
  std::array<Thread*, kGroupThreads> threads{};

  // What each thread must execute in the same order: operation and argument.
  std::vector<uint32_t> log;
  bool any_exited = false;
  std::vector<uint64_t> group_ends;  // group_ends[g - 1]: wgmmas issued when group g was committed
  std::vector<uint64_t> group_due;   // timed: when the last of them ends
  uint64_t last_due = 0;             // of those that are issued

  std::deque<WgmmaOperation> queue;
  uint64_t issued = 0, executed = 0;
  std::vector<std::unique_ptr<AccumulatorSet>> accumulators;

  uint64_t acquires = 0;  // changes when a thread of the group learns something
  uint64_t common_version = ~0ull;
  std::vector<uint32_t> common;  // what every thread knows, at common_version
};

/// A fence.proxy.async of a thread, which ended its epoch `epoch`.
struct ProxyFenceEvent {
  uint32_t epoch;
  ProxyFence space;
};

struct Thread {
  Fiber fiber;
  uintptr_t stack = 0;  // its lowest address
  Cluster* cluster = nullptr;
  Cta* cta = nullptr;
  Warp* warp = nullptr;
  Warpgroup* group = nullptr;
  uint32_t index = 0;  // in the CTA
  uint32_t agent = 0;  // in the cluster; also its clock
  uint32_t lane = 0;
  Index3 position;  // threadIdx
  const char* role = nullptr;
  bool exited = false;

  Wait wait = Wait::none;
  uint64_t wait_step = 0;
  uint64_t wait_since = 0;  // on the timeline
  Barrier* wait_barrier = nullptr;
  uint32_t wait_value = 0;  // parity, barrier id, group or register number
  bool wait_read_only = false;

  bool cluster_arrived = false;  // at the cluster barrier, in the running phase
  bool cluster_waits = false;    // that phase has completed, cluster_wait is still to come
  std::vector<ProxyFenceEvent> proxy_fences;
  bool fenced_global = false;            // with one for global memory, ever
  bool wrote_global = false;             // since the last such fence
  std::vector<uint32_t> map_releases;    // own epochs that ended with fence.proxy.tensormap release
  std::vector<uint32_t> init_fences;     // the same for fence.mbarrier_init
  uint32_t fence_clock = kNoAgent;       // what it knew at its last release fence
  uint32_t wide_fence_clock = kNoAgent;  // at its last one of the scope of the cluster
  uint32_t narrow_clock = kNoAgent;      // what waits of the scope of the CTA brought from other CTAs
  Scope wait_scope = Scope::cta;

  GroupedOperations bulk, copies;
  uint32_t remote_copy_epoch = 0;  // when it last issued a copy into another CTA

  uint32_t log_position = 0;      // in Warpgroup::log
  uint32_t groups_committed = 0;  // wgmma groups
  uint32_t groups_waited = 0;
  uint64_t wgmmas = 0;  // executed by this thread
  bool wgmma_fenced = false;
  WrittenWords written;
  std::vector<RegisterRange> registers;
  std::shared_ptr<TensorThread> tensor;  // made when the thread first uses tensor memory

  // An exploration has suspended it before an operation on an mbarrier.
  struct Parked {
    Op op = Op::count_;
    Cta* cta = nullptr;  // of the mbarrier
    uint32_t offset = 0;

    friend bool operator==(const Parked&, const Parked&) = default;
  } parked;
  uint32_t parked_parity = 0;
  uint32_t operations_issued = 0;  // asynchronous ones

  // Arguments and results of the collective operation it is in.
  struct Exchange {
    uint64_t value = 0;
    uint32_t address = 0;
    void* pointer = nullptr;
    const void* operand = nullptr;
    uint64_t desc_a = 0, desc_b = 0;
    bool accumulate = false;
  } exchange;

  uint64_t accesses = 0;  // since its last machine operation
  uint32_t warp_index_calls = 0;
  // Modelled time: where the thread is, what it has executed, and stores to its stack that are not
  // counted yet.
  uint64_t time = 0, instructions = 0, bytes_accessed = 0, local_stores = 0;
  uintptr_t frame = 0;      // of its last operation: what lies above belongs to the kernel
  uint64_t copies_due = 0;  // when its last cp.async ends
  std::shared_ptr<std::vector<uint32_t>>
      published;  // its clock as of `published_version` (Warpgroup::acquires)
  uint64_t published_version = 0;
  const void* polled = nullptr;  // the variable it read last
  bool asks_again = false;       // it asked for a phase of an mbarrier that had not completed
  uint32_t fault_matches = 0;

  /// A write that may be to its stack.
  void note_write(const void* address, uint32_t bytes) {
    const uintptr_t offset = reinterpret_cast<uintptr_t>(address) - stack;
    if (offset < StackArena::usable_bytes()) written.add(offset, offset + bytes);
  }
};

/// The thread that runs now; null outside of kernels.
extern constinit thread_local Thread* current_thread;

}  // namespace tilewright::emulator
