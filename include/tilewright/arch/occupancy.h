// How many clusters of a kernel a device can hold at once.
#pragma once

#include <limits>

#include "tilewright/arch/launch_config.h"
#include "tilewright/config.h"
#include "tilewright/error.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

#if defined(TILEWRIGHT_EMULATE)

/// The emulated chip runs clusters one after another: any number.
template <class... P>
Expected<int> max_active_clusters(void (*)(P...), const LaunchConfig&) {
  return std::numeric_limits<int>::max();
}

#else

namespace detail {

// In the library, like launch_on_device.
Expected<int> max_active_clusters_on_device(const void* kernel, const LaunchConfig& requested);

}  // namespace detail

/// Clusters of `config` (block, cluster, shared bytes) that the current device can hold at once: clusters
/// live inside one GPC, so this can be less than SMs / cluster size. Host. Errors: as launch. CUDA runtime,
/// cudaOccupancyMaxActiveClusters.
template <class... P>
Expected<int> max_active_clusters(void (*kernel)(P...), const LaunchConfig& config) {
  return detail::max_active_clusters_on_device(reinterpret_cast<const void*>(kernel), config);
}

#endif

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
