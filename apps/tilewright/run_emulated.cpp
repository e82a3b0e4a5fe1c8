#include <chrono>
#include <cstring>
#include <iterator>
#include <span>

#include "progress.h"
#include "run_problem.h"

namespace tilewright::cli {
namespace {

using emulator::Machine;

Error no_memory(const char* name, size_t bytes) {
  return {ErrorCode::out_of_range, "emulator.memory",
          std::string(name) + ": no memory on the emulated machine for " + std::to_string(bytes) + " bytes"};
}

/// Machine memory with the contents of `bytes`; null (and no memory) for an empty operand.
/// updated: an output that is set before the kernel.
Expected<void*> place(Machine& machine, std::span<const uint8_t> bytes, const char* name, bool output,
                      bool updated) {
  if (bytes.empty()) return static_cast<void*>(nullptr);
  emulator::GlobalBufferOptions options;
  options.name = name;
  options.writable = output;
  options.initialised = !output || updated;
  void* memory = machine.allocate_global(bytes.size(), options);
  if (memory == nullptr) return no_memory(name, bytes.size());
  std::memcpy(memory, bytes.data(), bytes.size());
  return memory;
}

}  // namespace

Expected<RunResult> run_on_emulator(const Plan& plan, Operands& operands, const RunOptions& options) {
  emulator::MachineOptions settings;
  settings.schedule = options.schedule;
  settings.seed = options.seed;
  settings.trace = !options.trace_file.empty();
  if (plan.info().sms > 0) settings.multiprocessors = static_cast<uint32_t>(plan.info().sms);
  Machine machine(settings);
  const auto bytes_of_floats = [](const std::vector<float>& floats) {
    return std::span(reinterpret_cast<const uint8_t*>(floats.data()), floats.size() * sizeof(float));
  };
  const struct {
    std::span<const uint8_t> bytes;
    const char* name;
    bool output;
  } sources[] = {{operands.a, "A", false},
                 {operands.b, "B", false},
                 {operands.c, "C", false},
                 {operands.d, "D", true},
                 {bytes_of_floats(operands.a_scales), "scales of A", false},
                 {bytes_of_floats(operands.b_scales), "scales of B", false},
                 {operands.bias, "bias", false},
                 {operands.aux, "aux", true},
                 {bytes_of_floats(operands.amax), "amax", true}};
  void* memory[std::size(sources)] = {};
  for (size_t i = 0; i < std::size(sources); ++i) {
    const bool is_amax = i + 1 == std::size(sources);
    const Expected<void*> placed =
        place(machine, sources[i].bytes, sources[i].name, sources[i].output, is_amax);
    if (!placed) return placed.error();
    memory[i] = *placed;
  }
  const auto workspace_bytes = static_cast<size_t>(plan.workspace_bytes());
  void* const workspace =
      machine.allocate_global(workspace_bytes, {.name = "workspace", .initialised = false});
  if (workspace == nullptr && workspace_bytes > 0) return no_memory("workspace", workspace_bytes);
  RunResult result;
  const auto start = std::chrono::steady_clock::now();
  {
    const Progress progress("emulating");
    const Buffers buffers{.a = memory[0],
                          .b = memory[1],
                          .c = memory[2],
                          .d = memory[3],
                          .scale_a = static_cast<const float*>(memory[4]),
                          .scale_b = static_cast<const float*>(memory[5]),
                          .bias = memory[6],
                          .aux = memory[7],
                          .amax_d = static_cast<float*>(memory[8]),
                          .workspace = workspace};
    if (Status s = plan.run(buffers, &machine)) {
      // The timeline up to a fault is what one wants to see of it.
      if (settings.trace && s->code == ErrorCode::emulator)
        if (Status unwritten = machine.write_trace(options.trace_file))
          s->message += "; " + unwritten->message;
      return *s;
    }
  }
  result.host_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.statistics = machine.last_result().statistics;
  if (options.schedule == emulator::SchedulePolicy::timed)
    result.time_us = result.statistics->nanoseconds / 1000;
  if (!operands.d.empty()) std::memcpy(operands.d.data(), memory[3], operands.d.size());
  if (!operands.aux.empty()) std::memcpy(operands.aux.data(), memory[7], operands.aux.size());
  if (!operands.amax.empty()) std::memcpy(operands.amax.data(), memory[8], sizeof(float));
  if (settings.trace)
    if (Status s = machine.write_trace(options.trace_file)) return *s;
  return result;
}

}  // namespace tilewright::cli
