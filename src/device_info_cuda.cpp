#include <cuda_runtime_api.h>

#include "src/device_info.h"

namespace tilewright {
namespace {

Error refused(const char* call, cudaError_t error) {
  // A failed query must not show up as the error of a later launch.
  cudaGetLastError();
  return {ErrorCode::no_device, "device.gpu",
          std::string(call) + ": " + cudaGetErrorName(error) + ", " + cudaGetErrorString(error)};
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

Expected<int> current_gpu_ordinal() {
  int ordinal = 0;
  if (const cudaError_t e = cudaGetDevice(&ordinal); e != cudaSuccess) return refused("cudaGetDevice", e);
  return ordinal;
}

Expected<GpuLimits> current_gpu() {
  const Expected<int> ordinal = current_gpu_ordinal();
  if (!ordinal) return ordinal.error();
  GpuLimits limits;
  limits.ordinal = *ordinal;
  int l2 = 0;
  const struct {
    cudaDeviceAttr attribute;
    int* value;
  } queries[] = {{cudaDevAttrComputeCapabilityMajor, &limits.major},
                 {cudaDevAttrComputeCapabilityMinor, &limits.minor},
                 {cudaDevAttrMultiProcessorCount, &limits.sms},
                 {cudaDevAttrL2CacheSize, &l2}};
  for (const auto& query : queries) {
    const cudaError_t e = cudaDeviceGetAttribute(query.value, query.attribute, *ordinal);
    if (e != cudaSuccess) return refused("cudaDeviceGetAttribute", e);
  }
  limits.l2_bytes = l2;
  return limits;
}

Expected<GpuDescription> describe_current_gpu() {
  const Expected<int> ordinal = current_gpu_ordinal();
  if (!ordinal) return ordinal.error();
  cudaDeviceProp properties;
  if (const cudaError_t e = cudaGetDeviceProperties(&properties, *ordinal); e != cudaSuccess)
    return refused("cudaGetDeviceProperties", e);
  int driver = 0;
  if (const cudaError_t e = cudaDriverGetVersion(&driver); e != cudaSuccess)
    return refused("cudaDriverGetVersion", e);
  return GpuDescription{properties.name, version_text(driver), version_text(CUDART_VERSION)};
}

}  // namespace tilewright
