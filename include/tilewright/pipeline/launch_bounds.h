// The launch bounds of a kernel, on a GPU. Host only, no kernel code: the library defines it.
#pragma once

#include <cstdint>

#include "tilewright/config.h"
#include "tilewright/error.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {
namespace impl {

#if !defined(TILEWRIGHT_EMULATE)
/// Error launch.bounds where the kernel was not declared with exactly `threads`.
Status check_launch_bounds(const void* kernel, uint32_t threads, const char* name);
#endif

}  // namespace impl
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
