#include "tests/kernels/emulated_machine.h"

#include <cstring>

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

Status EmulatedMachine::run(const Plan& plan, const Buffers& buffers, int attempt) {
  if (!fixed_) {
    emulator::MachineOptions options = machine_.options();
    options.schedule = attempt == 0 ? emulator::SchedulePolicy::fair : emulator::SchedulePolicy::adversarial;
    options.seed = static_cast<uint64_t>(attempt);
    machine_.set_options(options);
  }
  return plan.run(buffers, &machine_);
}

}  // namespace tilewright::testing
