// The part of arch::launch on the GPU that does not depend on the kernel's parameters.
#if defined(TILEWRIGHT_CUDA)

#  include <cuda_runtime_api.h>

#  include <algorithm>
#  include <cstdint>
#  include <mutex>
#  include <string>
#  include <vector>

#  include "tilewright/arch/launch.h"
#  include "tilewright/arch/launch_config.h"
#  include "tilewright/arch/occupancy.h"
#  include "tilewright/config.h"
#  include "tilewright/error.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {
namespace detail {
namespace {

// What is known of a kernel on one device, asked of the runtime once.
struct KernelOnDevice {
  int device = 0;
  const void* kernel = nullptr;
  uint32_t max_threads = 0;   // its launch bounds
  uint32_t shared_limit = 0;  // dynamic shared memory a block of it may have
  // The largest size set so far. It never shrinks: one launch must not undo another's.
  uint32_t shared_allowed = 0;
  bool large_clusters = false;  // more than 8 blocks allowed
};

Status cuda_error(cudaError_t status, const LaunchConfig& config, const char* call) {
  if (status == cudaSuccess) return std::nullopt;
  (void)cudaGetLastError();
  return launch_error(
      ErrorCode::cuda, config, "cuda",
      std::string(call) + " failed: " + cudaGetErrorName(status) + ", " + cudaGetErrorString(status));
}

Error no_image_error(const LaunchConfig& config, int device) {
  int major = 0, minor = 0;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  (void)cudaGetLastError();
  const std::string cc = std::to_string(10 * major + minor);
  return launch_error(ErrorCode::no_device, config, "launch.kernel_image",
                      "this program has no code of it for device " + std::to_string(device) + " (sm_" + cc +
                          "); build it with -gencode arch=compute_" + cc + "a,code=sm_" + cc +
                          "a (the suffix a is needed for sm_90 and later)");
}

// Asks the runtime about a kernel that is not known yet.
Status inspect_kernel(KernelOnDevice& entry, const LaunchConfig& config) {
  cudaFuncAttributes attributes{};
  const cudaError_t status = cudaFuncGetAttributes(&attributes, entry.kernel);
  if (status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction) {
    return no_image_error(config, entry.device);
  }
  if (Status failed = cuda_error(status, config, "cudaFuncGetAttributes")) return failed;
  int shared = 0;
  const cudaError_t asked =
      cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, entry.device);
  if (Status failed = cuda_error(asked, config, "cudaDeviceGetAttribute")) return failed;
  entry.max_threads = static_cast<uint32_t>(attributes.maxThreadsPerBlock);
  entry.shared_limit = static_cast<uint32_t>(shared) - static_cast<uint32_t>(attributes.sharedSizeBytes);
  entry.shared_allowed = static_cast<uint32_t>(std::max(attributes.maxDynamicSharedSizeBytes, 0));
  return std::nullopt;
}

// Raises what the kernel is allowed to what this launch needs.
Status allow(KernelOnDevice& entry, const LaunchConfig& config) {
  const uint32_t threads = config.block.x * config.block.y * config.block.z;
  if (threads > entry.max_threads) {
    return launch_error(ErrorCode::invalid_argument, config, "launch.bounds",
                        std::to_string(threads) +
                            " threads in a block; its launch bounds and registers allow " +
                            std::to_string(entry.max_threads));
  }
  if (config.shared_bytes > entry.shared_allowed) {
    const cudaError_t status = cudaFuncSetAttribute(entry.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                    static_cast<int>(config.shared_bytes));
    if (Status failed = cuda_error(status, config, "cudaFuncSetAttribute(MaxDynamicSharedMemorySize)"))
      return failed;
    // The split between L1 and shared memory that the driver picks by itself may hold one block only.
    const cudaError_t split = cudaFuncSetAttribute(
        entry.kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
    if (Status failed = cuda_error(split, config, "cudaFuncSetAttribute(PreferredSharedMemoryCarveout)"))
      return failed;
    entry.shared_allowed = config.shared_bytes;
  }
  if (config.cluster.x * config.cluster.y * config.cluster.z > 8 && !entry.large_clusters) {
    const cudaError_t status =
        cudaFuncSetAttribute(entry.kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    if (Status failed = cuda_error(status, config, "cudaFuncSetAttribute(NonPortableClusterSizeAllowed)")) {
      return failed;
    }
    entry.large_clusters = true;
  }
  return std::nullopt;
}

// Checks the launch and sets the attributes of the kernel on the current device, under one lock.
Status prepare(const void* kernel, LaunchConfig& config) {
  static std::mutex mutex;
  static std::vector<KernelOnDevice> known;
  const std::lock_guard<std::mutex> lock(mutex);

  int device = 0;
  if (Status failed = cuda_error(cudaGetDevice(&device), config, "cudaGetDevice")) return failed;
  auto entry = std::find_if(known.begin(), known.end(), [&](const KernelOnDevice& k) {
    return k.device == device && k.kernel == kernel;
  });
  if (entry == known.end()) {
    KernelOnDevice fresh;
    fresh.device = device;
    fresh.kernel = kernel;
    if (Status failed = inspect_kernel(fresh, config)) return failed;
    entry = known.insert(known.end(), fresh);
  }
  if (Status broken = check_launch(config, entry->shared_limit)) return broken;
  return allow(*entry, config);
}

// The launch as the runtime wants it. Points into itself: not to be copied.
struct RuntimeLaunch {
  explicit RuntimeLaunch(const LaunchConfig& config) {
    const Index3 c = config.cluster;
    if (c.x * c.y * c.z > 1) {
      cudaLaunchAttribute& cluster = attributes[launch.numAttrs++];
      cluster.id = cudaLaunchAttributeClusterDimension;
      cluster.val.clusterDim = {c.x, c.y, c.z};
    }
    if (config.dependent_launch) {
      cudaLaunchAttribute& dependent = attributes[launch.numAttrs++];
      dependent.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      dependent.val.programmaticStreamSerializationAllowed = 1;
    }
    launch.gridDim = {config.grid.x, config.grid.y, config.grid.z};
    launch.blockDim = {config.block.x, config.block.y, config.block.z};
    launch.dynamicSmemBytes = config.shared_bytes;
    launch.stream = static_cast<cudaStream_t>(config.stream);
    launch.attrs = attributes;
  }
  RuntimeLaunch(const RuntimeLaunch&) = delete;
  RuntimeLaunch& operator=(const RuntimeLaunch&) = delete;

  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t launch = {};
};

// The runtime counts clusters of several blocks only.
Expected<int> resident_blocks(const void* kernel, const LaunchConfig& config) {
  int device = 0, sms = 0, blocks = 0;
  const auto threads = static_cast<int>(config.block.x * config.block.y * config.block.z);
  cudaError_t status = cudaGetDevice(&device);
  if (status == cudaSuccess) status = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  if (status == cudaSuccess) {
    status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, config.shared_bytes);
  }
  if (Status failed = cuda_error(status, config, "cudaOccupancyMaxActiveBlocksPerMultiprocessor"))
    return *failed;
  return blocks * sms;
}

}  // namespace

Status launch_on_device(const void* kernel, const LaunchConfig& requested, void** parameters) {
  LaunchConfig config = requested;
  if (Status failed = prepare(kernel, config)) return failed;
  const RuntimeLaunch runtime(config);
  return cuda_error(cudaLaunchKernelExC(&runtime.launch, kernel, parameters), config, "cudaLaunchKernelEx");
}

Expected<int> max_active_clusters_on_device(const void* kernel, const LaunchConfig& requested) {
  LaunchConfig config = requested;
  if (Status failed = prepare(kernel, config)) return *failed;
  if (config.cluster.x * config.cluster.y * config.cluster.z == 1) return resident_blocks(kernel, config);
  const RuntimeLaunch runtime(config);
  int clusters = 0;
  const cudaError_t status = cudaOccupancyMaxActiveClusters(&clusters, kernel, &runtime.launch);
  if (Status failed = cuda_error(status, config, "cudaOccupancyMaxActiveClusters")) return *failed;
  return clusters;
}

}  // namespace detail
}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright

#endif
