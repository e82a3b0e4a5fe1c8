// Small kernels on the emulated machine under many schedules: what a clean one and a faulty one must report.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tests/faults/schedules.h"
#include "tilewright/emulator/machine.h"

namespace tilewright::emulator {

constexpr uint32_t kSharedBase = 1024;  // address of the first byte of dynamic shared memory

/// How much was explored by all tests of the program; printed at its end.
struct Exploration {
  uint64_t runs = 0, interleavings = 0;
};
inline Exploration explored;

/// Whether the machine sees the ordinary loads and stores of kernels (a build for AddressSanitizer does not).
#if defined(__SANITIZE_THREAD__)
constexpr bool kSeesAccesses = true;
#else
constexpr bool kSeesAccesses = false;
#endif
#define TILEWRIGHT_NEEDS_ACCESSES() \
  if (!kSeesAccesses) GTEST_SKIP() << "ordinary loads and stores are not seen in this build"

/// The shape of a launch.
struct Grid {
  uint32_t threads = 128;
  uint32_t ctas = 1;
  uint32_t cluster = 1;
  uint32_t shared_bytes = 16384;
  bool dependent_launch = false;
};

using faults::name_of;

/// The fair schedule, and 20 seeds of each of the others, or what TILEWRIGHT_SEEDS says.
inline std::vector<MachineOptions> schedules(const MachineOptions& options = {}) {
  return faults::all_schedules(faults::seeds_or(20), options);
}

class Emulator : public testing::Test {
 protected:
  /// Runs kernel() once per thread.
  template <class Kernel>
  LaunchResult run(const Grid& grid, const Kernel& kernel) {
    LaunchConfig config;
    config.grid = {grid.ctas, 1, 1};
    config.block = {grid.threads, 1, 1};
    config.cluster = {grid.cluster, 1, 1};
    config.shared_bytes = grid.shared_bytes;
    config.dependent_launch = grid.dependent_launch;
    auto body = [](void* closure) { (*static_cast<const Kernel*>(closure))(); };
    Expected<LaunchResult> result = machine_.launch(config, body, const_cast<Kernel*>(&kernel));
    EXPECT_TRUE(result.has_value()) << result.error().message;
    if (!result) return {};
    ++explored.runs;
    explored.interleavings += result->statistics.interleavings;
    return *result;
  }

  template <class Kernel>
  LaunchResult run(const MachineOptions& options, const Grid& grid, const Kernel& kernel) {
    machine_.set_options(options);
    return run(grid, kernel);
  }

  /// No schedule gives a report; `check` looks at the results of each.
  template <class Kernel, class Check>
  void expect_clean(const Grid& grid, const Kernel& kernel, const Check& check,
                    const MachineOptions& base = {}) {
    for (const MachineOptions& options : schedules(base)) {
      SCOPED_TRACE(name_of(options));
      const LaunchResult result = run(options, grid, kernel);
      ASSERT_TRUE(result.reports.empty())
          << name_of(result.reports[0].kind) << ": " << result.reports[0].message;
      check();
      if (HasFailure()) return;
    }
  }
  template <class Kernel>
  void expect_clean(const Grid& grid, const Kernel& kernel) {
    expect_clean(grid, kernel, [] {});
  }

  /// The first report of every schedule has one of the kinds. Returns the last one.
  template <class Kernel>
  Report expect_report(std::initializer_list<ReportKind> kinds, const Grid& grid, const Kernel& kernel,
                       const MachineOptions& base = {}) {
    Report last{};
    for (const MachineOptions& options : schedules(base)) {
      SCOPED_TRACE(name_of(options));
      const LaunchResult result = run(options, grid, kernel);
      EXPECT_FALSE(result.reports.empty()) << "nothing was reported";
      if (result.reports.empty()) break;
      last = result.reports[0];
      const bool expected = std::find(kinds.begin(), kinds.end(), last.kind) != kinds.end();
      EXPECT_TRUE(expected) << name_of(last.kind) << ": " << last.message;
      if (!expected) break;
    }
    return last;
  }
  /// The same for a kernel that is clean without the fault.
  template <class Kernel>
  Report expect_fault(std::initializer_list<ReportKind> kinds, const FaultSpec& fault, const Grid& grid,
                      const Kernel& kernel, MachineOptions base = {}) {
    base.fault = fault;
    return expect_report(kinds, grid, kernel, base);
  }

  Machine machine_;
};

inline uint32_t thread_id() { return thread_index().x; }
inline uint32_t warp_id() { return thread_index().x / 32; }
inline uint32_t lane_id() { return thread_index().x % 32; }
template <class T = uint32_t>
T* shared_as(uint32_t address) {
  return static_cast<T*>(shared_pointer(address));
}

/// One thread initialises barriers of the given counts, 8 bytes apart from `address`; then the block may use
/// them.
inline void init_barriers(uint32_t address, std::initializer_list<uint32_t> counts,
                          bool whole_cluster = false) {
  if (thread_id() == 0) {
    for (const uint32_t count : counts) {
      mbarrier_init(address, count);
      address += 8;
    }
    fence_mbarrier_init();
  }
  if (whole_cluster) {
    cluster_arrive(false);
    cluster_wait();
  } else {
    sync_threads();
  }
}

}  // namespace tilewright::emulator
