// GEMM cases on the current GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "tests/kernels/test_machine.h"

namespace tilewright::testing {

/// Success, or what the runtime said.
Status cuda_status(cudaError_t error);

/// A stream and a piece of device memory of its own; one for each host thread. Operands lie one after the
/// other in that memory, between guards.
class GpuMachine : public TestMachine {
 public:
  explicit GpuMachine(size_t bytes = size_t{256} << 20);
  ~GpuMachine() override;
  GpuMachine(const GpuMachine&) = delete;
  GpuMachine& operator=(const GpuMachine&) = delete;

  Device device() const override { return Device::gpu; }
  size_t guard_bytes() const override { return 4096; }
  void* place(std::span<const uint8_t> contents, const char* name, bool output) override;
  void release(void* memory) override;
  Status upload(void* to, std::span<const uint8_t> from) override;
  Status download(std::span<uint8_t> to, const void* from) override;
  Status launch(const std::function<Status(void* stream)>& on_stream) override;

  cudaStream_t stream() const { return stream_; }
  Status synchronize();

 private:
  cudaStream_t stream_ = nullptr;
  std::byte* arena_ = nullptr;
  const size_t arena_bytes_;
  size_t used_ = 0;
  int live_ = 0;  // operands in the arena; it is empty again when there are none
};

/// Whether the current GPU is that chip (not automatic), and if not, what is there.
Status gpu_is(Chip chip);

}  // namespace tilewright::testing
