// What the translation units of all kernel lists have in common: each is compiled for one machine, with
// TILEWRIGHT_INSTANCE_ARGS (a line of its list) and TILEWRIGHT_INSTANCE_INDEX defined by the build.
#pragma once

#include "src/kernel_launch.h"
#include "tilewright/arch/launch.h"

#define TILEWRIGHT_JOIN_(a, b) a##b
#define TILEWRIGHT_JOIN(a, b) TILEWRIGHT_JOIN_(a, b)
/// macro(arguments), of arguments that are macros themselves.
#define TILEWRIGHT_APPLY(macro, ...) macro(__VA_ARGS__)

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

/// A launch to which the kernel adds its shape. `name`: for errors and reports.
inline arch::LaunchConfig launch_config(const char* name, const kernels::Launch& how) {
  arch::LaunchConfig config;
  config.stream = how.stream;
  config.dependent_launch = how.dependent_launch;
  config.name = name;
  return config;
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
