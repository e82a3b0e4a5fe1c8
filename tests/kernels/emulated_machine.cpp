#include "tests/kernels/emulated_machine.h"

#include <cstring>
#include <iterator>

#include "tests/kernels/text.h"

namespace tilewright::testing {

void* EmulatedMachine::place(std::span<const uint8_t> contents, const char* name, bool output) {
  emulator::GlobalBufferOptions options;
  options.name = name;
  options.writable = output;
  void* memory = machine_.allocate_global(contents.size(), options);
  if (memory != nullptr && !contents.empty()) std::memcpy(memory, contents.data(), contents.size());
  return memory;
}

Status EmulatedMachine::upload(void* to, std::span<const uint8_t> from) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
  return {};
}

Status EmulatedMachine::download(std::span<uint8_t> to, const void* from) {
  if (!to.empty()) std::memcpy(to.data(), from, to.size());
  return {};
}

Status EmulatedMachine::launch(const std::function<Status(void* stream)>& on_stream) {
  using emulator::SchedulePolicy;
  constexpr SchedulePolicy kTurns[] = {SchedulePolicy::fair, SchedulePolicy::adversarial,
                                       SchedulePolicy::random};
  if (!fixed_) {
    emulator::MachineOptions options = machine_.options();
    options.schedule = kTurns[runs_ % std::size(kTurns)];
    options.seed = runs_++;
    machine_.set_options(options);
  }
  Status failed = on_stream(&machine_);
  const emulator::MachineOptions& options = machine_.options();
  if (failed)
    failed->message += text(" (schedule ", static_cast<int>(options.schedule), ", seed ", options.seed, ')');
  return failed;
}

}  // namespace tilewright::testing
