// Memory in the order of a CUDA stream.
#if defined(TILEWRIGHT_CUDA)

#  include <cuda_runtime_api.h>

#  include <string>
#  include <utility>

#  include "tilewright/arch/stream_memory.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {
namespace {

Error cuda_error(const char* call, size_t bytes, cudaError_t code) {
  (void)cudaGetLastError();
  return Error{ErrorCode::cuda, "cuda.memory",
               std::string(call) + " of " + std::to_string(bytes) + " bytes: " + cudaGetErrorString(code)};
}

}  // namespace

Status fill_with_zeros(void* pointer, size_t bytes, void* stream) {
  const cudaError_t code = cudaMemsetAsync(pointer, 0, bytes, static_cast<cudaStream_t>(stream));
  if (code != cudaSuccess) return cuda_error("cudaMemsetAsync", bytes, code);
  return {};
}

namespace detail {

Expected<void*> allocate(size_t bytes, bool zeroed, void* stream) {
  void* pointer = nullptr;
  const cudaError_t code = cudaMallocAsync(&pointer, bytes, static_cast<cudaStream_t>(stream));
  if (code != cudaSuccess) return cuda_error("cudaMallocAsync", bytes, code);
  if (!zeroed) return pointer;
  if (Status failed = fill_with_zeros(pointer, bytes, stream)) {
    release(pointer, stream);
    return *std::move(failed);
  }
  return pointer;
}

void release(void* pointer, void* stream) {
  (void)cudaFreeAsync(pointer, static_cast<cudaStream_t>(stream));
  (void)cudaGetLastError();
}

}  // namespace detail
}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright

#endif
