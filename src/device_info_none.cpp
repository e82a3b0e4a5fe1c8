// Builds without CUDA.
#include "src/device_info.h"

namespace tilewright {
namespace {

Error no_cuda() { return {ErrorCode::no_device, "device.gpu", "this build has no CUDA (no nvcc was found)"}; }

}  // namespace

Expected<GpuLimits> current_gpu() { return no_cuda(); }
Expected<int> current_gpu_ordinal() { return no_cuda(); }
Expected<GpuDescription> describe_current_gpu() { return no_cuda(); }

}  // namespace tilewright
