#include "emulated_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "arguments.h"
#include "progress.h"

namespace tilewright::cli {
namespace {

emulator::MachineOptions settings_of(const Plan& plan, const RunOptions& options, bool arithmetic) {
  emulator::MachineOptions settings;
  settings.schedule = options.schedule;
  settings.seed = options.seed;
  settings.arithmetic = arithmetic;
  settings.fault = options.fault;
  settings.trace = !options.trace_file.empty();
  settings.chip = plan.info().path == "tcgen05" ? emulator::Chip::sm_100a : emulator::Chip::sm_90a;
  if (plan.info().sms > 0) settings.multiprocessors = static_cast<uint32_t>(plan.info().sms);
  return settings;
}

Error no_memory(const char* name, size_t bytes) {
  return {ErrorCode::out_of_range, "emulator.memory",
          std::string(name) + ": no memory on the emulated machine for " + std::to_string(bytes) + " bytes"};
}

}  // namespace

EmulatedRun::EmulatedRun(const Plan& plan, const RunOptions& options, bool arithmetic)
    : plan_(plan), options_(options), machine_(settings_of(plan, options, arithmetic)) {}

Expected<void*> EmulatedRun::place(std::span<const uint8_t> bytes, const char* name, Use use) {
  if (bytes.empty()) return static_cast<void*>(nullptr);
  emulator::GlobalBufferOptions how;
  how.name = name;
  how.writable = use != Use::input;
  how.initialised = use == Use::input || use == Use::updated_output;
  if (use == Use::result) {
    how.written = &written_;
    result_bytes_ = bytes.size();
  }
  void* memory = machine_.allocate_global(bytes.size(), how);
  if (memory == nullptr) return no_memory(name, bytes.size());
  std::memcpy(memory, bytes.data(), bytes.size());
  return memory;
}

Expected<void*> EmulatedRun::workspace() {
  const auto bytes = static_cast<size_t>(plan_.workspace_bytes());
  if (bytes == 0) return static_cast<void*>(nullptr);
  void* memory = machine_.allocate_global(bytes, {.name = "workspace", .initialised = false});
  if (memory == nullptr) return no_memory("workspace", bytes);
  return memory;
}

Status EmulatedRun::write_timeline() const {
  if (!machine_.options().trace) return {};
  if (machine_.trace_is_empty()) say("The timeline is empty: no kernel did anything that it shows.\n");
  return machine_.write_trace(options_.trace_file);
}

Expected<RunResult> EmulatedRun::run(const Buffers& buffers) {
  RunResult result;
  const auto start = std::chrono::steady_clock::now();
  Status failed;
  {
    const int64_t tiles = plan_.info().tiles;
    const Progress progress("emulating", [this, tiles]() -> std::string {
      if (tiles == 0 || result_bytes_ == 0) return {};
      const double part = std::min(1.0, static_cast<double>(written_) / static_cast<double>(result_bytes_));
      return fmt::format("{} of {} tiles", static_cast<int64_t>(part * static_cast<double>(tiles)), tiles);
    });
    failed = plan_.run(buffers, &machine_);
  }
  // The timeline up to a fault is what one wants to see of it.
  if (!failed || failed->code == ErrorCode::emulator)
    if (Status unwritten = write_timeline())
      return failed ? Error{failed->code, failed->rule, failed->message + "; " + unwritten->message}
                    : *unwritten;
  if (failed) return *failed;
  result.host_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.statistics = machine_.total_statistics();
  if (options_.fault && result.statistics->faults_planted == 0)
    return Error{ErrorCode::invalid_argument, "option.fault",
                 "--fault: no operation of this kernel meets it: no " +
                     std::string(emulator::name_of(options_.fault->op)) +
                     " of that place, role, stage and thread was executed"};
  if (options_.schedule == emulator::SchedulePolicy::timed && plan_.info().launches > 0)
    result.time_us = result.statistics->nanoseconds / 1000;
  return result;
}

}  // namespace tilewright::cli
