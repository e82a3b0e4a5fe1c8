// The launch bounds of pipeline kernels, asked of the CUDA runtime.
#if defined(TILEWRIGHT_CUDA)

#  include <cuda_runtime_api.h>

#  include <algorithm>
#  include <string>
#  include <vector>

#  include "tilewright/pipeline/launch_bounds.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {
namespace impl {

Status check_launch_bounds(const void* kernel, uint32_t threads, const char* name) {
  static thread_local std::vector<const void*> known;
  if (std::find(known.begin(), known.end(), kernel) != known.end()) return {};
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess) {
    (void)cudaGetLastError();
    return {};  // arch::launch will say what is wrong
  }
  if (attributes.maxThreadsPerBlock != static_cast<int>(threads)) {
    return Error{ErrorCode::invalid_argument, "launch.bounds",
                 std::string("kernel '") + name + "': its launch bounds are " +
                     std::to_string(attributes.maxThreadsPerBlock) + " threads; the pipeline needs " +
                     std::to_string(threads) +
                     ": declare it with TILEWRIGHT_LAUNCH_BOUNDS(Pipeline::max_threads_per_block)"};
  }
  known.push_back(kernel);
  return {};
}

}  // namespace impl
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas

#endif
