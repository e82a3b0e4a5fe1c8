// Runs a plan on its machine over host matrices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "operands.h"
#include "tilewright/emulator/machine.h"
#include "tilewright/gemm.h"

namespace tilewright::cli {

struct RunOptions {
  // GPU
  int64_t warmup_iterations = 0, iterations = 1;
  bool cold_l2 = false;  // rotate over more operand sets than fit in L2
  // Emulated machine
  emulator::SchedulePolicy schedule = emulator::SchedulePolicy::fair;
  uint64_t seed = 0;
  std::string trace_file;  // empty: no trace; "x.svg": a picture
  std::optional<emulator::FaultSpec> fault = std::nullopt;
};

struct RunResult {
  std::optional<double> time_us;  // GPU: mean of the timed iterations; emulated: modelled, under `timed`
  double host_seconds = 0;        // emulated machine: how long it took here
  std::optional<emulator::Statistics> statistics;  // emulated machine: of all kernels of the run
};

/// D of `operands` gets the result of one run. Errors: of the run, of the machine, of the trace file.
Expected<RunResult> run_on_gpu(const Plan& plan, Operands& operands, const RunOptions& options);
Expected<RunResult> run_on_emulator(const Plan& plan, Operands& operands, const RunOptions& options);

}  // namespace tilewright::cli
