// GEMM cases on the emulated machine.
#pragma once

#include "tests/kernels/test_machine.h"
#include "tilewright/emulator/machine.h"

namespace tilewright::testing {

/// Runs go through the schedules in turn, each with a seed of its own, unless options are given.
class EmulatedMachine : public TestMachine {
 public:
  EmulatedMachine() = default;
  /// Every run under these options.
  explicit EmulatedMachine(const emulator::MachineOptions& options) : machine_(options), fixed_(true) {}

  Device device() const override { return Device::emulator; }
  size_t guard_bytes() const override { return 0; }  // the machine's red zones
  void* place(std::span<const uint8_t> contents, const char* name, bool output) override;
  void release(void* memory) override { machine_.free_global(memory); }
  Status upload(void* to, std::span<const uint8_t> from) override;
  Status download(std::span<uint8_t> to, const void* from) override;
  Status launch(const std::function<Status(void* stream)>& on_stream) override;

  /// Of the last run.
  const emulator::Statistics& statistics() const { return machine_.last_result().statistics; }

 private:
  emulator::Machine machine_;
  bool fixed_ = false;
  uint64_t runs_ = 0;
};

}  // namespace tilewright::testing
