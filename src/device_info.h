// The current GPU, as far as the planner and the command line need to know it. Builds without CUDA have none.
#pragma once

#include <cstdint>
#include <string>

#include "tilewright/error.h"

namespace tilewright {

/// Limits of the calling thread's current CUDA device; cheap to ask for, nothing is cached.
struct GpuLimits {
  int ordinal = 0;
  int major = 0, minor = 0;  // compute capability
  int sms = 0;
  int64_t l2_bytes = 0;
};
/// Errors: no CUDA in this build, no driver, no device.
Expected<GpuLimits> current_gpu();

/// Ordinal of the calling thread's current CUDA device. Errors: those of current_gpu().
Expected<int> current_gpu_ordinal();

/// For reports: names and versions.
struct GpuDescription {
  std::string name;
  std::string driver;   // CUDA version of the driver, "13.0"
  std::string toolkit;  // CUDA version of this build's runtime
};
Expected<GpuDescription> describe_current_gpu();

}  // namespace tilewright
