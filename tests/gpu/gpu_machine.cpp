#include "tests/gpu/gpu_machine.h"

#include <string>

#include "src/device_info.h"

namespace tilewright::testing {
namespace {

constexpr size_t kAlignment = 256;

}  // namespace

Status cuda_status(cudaError_t error) {
  if (error == cudaSuccess) return {};
  cudaGetLastError();
  return Error{ErrorCode::cuda, "cuda",
               std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error)};
}

GpuMachine::GpuMachine(size_t bytes) : arena_bytes_(bytes) {
  cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
  void* memory = nullptr;
  if (cudaMalloc(&memory, arena_bytes_) == cudaSuccess) arena_ = static_cast<std::byte*>(memory);
}

GpuMachine::~GpuMachine() {
  cudaFree(arena_);
  cudaStreamDestroy(stream_);
}

void* GpuMachine::place(std::span<const uint8_t> contents, const char*, bool) {
  const size_t bytes = (contents.size() + kAlignment) / kAlignment * kAlignment;
  if (arena_ == nullptr || used_ + bytes > arena_bytes_) return nullptr;
  void* memory = arena_ + used_;
  if (upload(memory, contents)) return nullptr;
  used_ += bytes;
  ++live_;
  return memory;
}

void GpuMachine::release(void*) {
  if (--live_ == 0) used_ = 0;
}

Status GpuMachine::upload(void* to, std::span<const uint8_t> from) {
  if (Status s = cuda_status(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, stream_)))
    return s;
  return synchronize();
}

Status GpuMachine::download(std::span<uint8_t> to, const void* from) {
  if (Status s = cuda_status(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, stream_)))
    return s;
  return synchronize();
}

Status GpuMachine::launch(const std::function<Status(void* stream)>& on_stream) {
  if (Status s = on_stream(stream_)) return s;
  return synchronize();
}

Status GpuMachine::synchronize() { return cuda_status(cudaStreamSynchronize(stream_)); }

Status gpu_is(Chip chip) {
  const Expected<GpuLimits> gpu = current_gpu();
  if (!gpu) return gpu.error();
  const int wanted = chip == Chip::sm_100a ? 100 : 90, found = 10 * gpu->major + gpu->minor;
  if (found == wanted) return {};
  return Error{ErrorCode::no_device, "device.gpu",
               "the GPU is an sm_" + std::to_string(found) + "; this is for sm_" + std::to_string(wanted)};
}

}  // namespace tilewright::testing
