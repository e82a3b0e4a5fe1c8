// What one launch shares among its clusters, and what a machine keeps from launch to launch.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "fiber.h"
#include "global_memory.h"
#include "random.h"
#include "tilewright/emulator/machine.h"
#include "trace.h"

namespace tilewright::emulator {

class Cluster;
struct Thread;

using SharedClock = std::shared_ptr<std::vector<uint32_t>>;

/// What a thread of one cluster published through global memory, for threads of other clusters.
struct Snapshot {
  uint32_t cluster = 0;
  SharedClock clock;                                     // the thread's, but for its own entry
  uint32_t agent = 0, epoch = 0;                         // that entry
  std::vector<std::pair<uint32_t, SharedClock>> others;  // what it knew of further clusters
};

/// As given to name_barrier; null when there is none.
struct BarrierName {
  const char* text = nullptr;
  int stage = -1;
};

struct Launch {
  Launch(MachineState& state, const LaunchConfig& launch_config, void (*kernel)(void*), void* argument);

  MachineState& machine;
  const LaunchConfig& config;
  void (*body)(void*);
  void* closure;
  Random random;
  LaunchResult result;
  bool stopped = false;   // enough was reported
  uint64_t end = 0;       // modelled time, when all is done
  uint64_t step = 0;      // fiber switches and executed asynchronous operations
  uint64_t progress = 0;  // changes whenever something happened that a polling thread may wait for

  uint32_t threads_per_cta = 0;
  uint32_t ctas_per_cluster = 0;
  uint32_t registers_at_entry = 0;
  // Variables in global memory through which clusters synchronise.
  std::unordered_map<uintptr_t, Snapshot> published;
  // Epochs of threads, by cluster and agent, that ended with a fence.proxy.async for global memory.
  std::unordered_map<uint64_t, std::vector<uint32_t>> global_fences;
  std::unordered_set<std::string> names;
  std::unordered_map<uint32_t, BarrierName> barrier_names;  // by shared address, of whichever CTA named it

  const MachineOptions& options() const { return options_; }
  GlobalMemory& memory();
  Trace* trace();  // null when off
  void count(Op op, uint64_t times = 1) { result.statistics.operations[static_cast<size_t>(op)] += times; }
  /// A copy of the name that lives as long as the launch; equal names have equal addresses.
  const char* intern(const char* name);

  /// Files the report; the launch stops when there are enough of them.
  void file(Report report);
  /// Runs all clusters. False when there is not enough memory for their stacks.
  bool run();
  /// Takes a cluster that has not started out of the grid, for one that has had `taken` of them before. Its
  /// first block, or nothing.
  std::optional<Index3> cancel_one(uint32_t taken);

 private:
  std::vector<uint32_t> start_order(uint32_t clusters);
  std::vector<uint64_t> free_multiprocessors() const;
  void note_end(uint64_t end);
  uint32_t places() const;
  Index3 first_block(uint32_t cluster) const;

  const MachineOptions& options_;
  std::vector<uint32_t> order_;  // clusters as they start, without those that were cancelled
  size_t started_ = 0, finished_ = 0;
  uint32_t fair_share_ = 0;  // of the clusters that are waiting at first, for each that runs
};

/// Memory that clusters use one after another.
class ClusterStorage {
 public:
  ClusterStorage() = default;
  ~ClusterStorage();
  ClusterStorage(const ClusterStorage&) = delete;
  ClusterStorage& operator=(const ClusterStorage&) = delete;

  /// False when memory is short.
  bool reserve(uint32_t threads, size_t window_bytes);
  std::byte* windows() const { return windows_; }

  StackArena stacks;

 private:
  std::byte* windows_ = nullptr;
  size_t window_bytes_ = 0;
};

struct MachineState {
  MachineOptions options;
  GlobalMemory memory;
  Trace trace;
  LaunchResult last;
  Statistics total;
  std::vector<std::unique_ptr<ClusterStorage>> free_storage;
};

}  // namespace tilewright::emulator
