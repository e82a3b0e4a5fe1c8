// What every run on the emulated machine shares: its settings, its memory, its progress, its timeline.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "run_problem.h"

namespace tilewright::cli {

class EmulatedRun {
 public:
  EmulatedRun(const Plan& plan, const RunOptions& options, bool arithmetic = true);
  EmulatedRun(const EmulatedRun&) = delete;
  EmulatedRun& operator=(const EmulatedRun&) = delete;

  /// What kernels may do with an operand.
  enum class Use : uint8_t { input, output, updated_output, result };
  /// Machine memory with the contents of `bytes`; null (and no memory) for an empty operand. The run's
  /// progress is how much of the `result` is written.
  Expected<void*> place(std::span<const uint8_t> bytes, const char* name, Use use);
  /// The plan's workspace, if it has one.
  Expected<void*> workspace();
  /// Runs the plan and writes the timeline, also that of a run with a fault. Errors: of the plan, of the
  /// kernel, of the file.
  Expected<RunResult> run(const Buffers& buffers);

 private:
  Status write_timeline() const;

  const Plan& plan_;
  const RunOptions& options_;
  std::atomic<uint64_t> written_{0};  // of the result
  uint64_t result_bytes_ = 0;
  emulator::Machine machine_;
};

}  // namespace tilewright::cli
