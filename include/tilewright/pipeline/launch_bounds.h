// What the launch of a pipeline's kernel is checked for. Host only, no kernel code: the library defines it.
#pragma once

#include <cstdint>

#include "tilewright/config.h"
#include "tilewright/error.h"
#include "tilewright/pipeline/descriptor/extents.h"

namespace tilewright::blas {
namespace detail {

/// What a launch gives every block, or a pipeline needs.
struct LaunchShape {
  Extent3 block, cluster;
  uint32_t shared_bytes = 0;
};

/// Errors: pipeline.block and pipeline.cluster where they are not those needed (0 in y and z counts as 1),
/// pipeline.shared where there are fewer bytes. Mode-neutral.
Status check_launch_shape(const LaunchShape& given, const LaunchShape& needed, const char* kernel);

}  // namespace detail

inline namespace TILEWRIGHT_MODE {
namespace impl {

#if !defined(TILEWRIGHT_EMULATE)
/// Error launch.bounds where the kernel was not declared with exactly `threads`.
Status check_launch_bounds(const void* kernel, uint32_t threads, const char* name);
#endif

}  // namespace impl
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
