// One FP8 GEMM kernel of the table, for the machine this translation unit is compiled for. The build defines
// TILEWRIGHT_INSTANCE_ARGS (a line of fp8_kernels.def) and TILEWRIGHT_INSTANCE_INDEX.
#include "tilewright/arch/launch.h"
#include "tilewright/arch/occupancy.h"
#include "tilewright/kernels/fp8_gemm.h"
#include "tilewright/numeric/float8.h"

#define TILEWRIGHT_JOIN_(a, b) a##b
#define TILEWRIGHT_JOIN(a, b) TILEWRIGHT_JOIN_(a, b)
#define TILEWRIGHT_ID(m, n, a, b, out, promoted, interval, load, ...)                               \
  Fp8KernelId {                                                                                     \
    m, n, DType::a, DType::b, out, promoted, interval, Load::load __VA_OPT__(, Scales::__VA_ARGS__) \
  }
#define TILEWRIGHT_CONFIG(m, n, a, b, out, promoted, interval, load, ...) \
  mainloop::Fp8Config<m, n, a, b, out, promoted, interval, Load::load __VA_OPT__(, Scales::__VA_ARGS__)>
#define TILEWRIGHT_APPLY(macro, ...) macro(__VA_ARGS__)

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

using kernels::Fp8GemmParams;
using kernels::Fp8Kernel;
using kernels::Fp8KernelId;
using kernels::Fp8Launch;
using kernels::Load;
using kernels::Scales;

namespace {

using Config = TILEWRIGHT_APPLY(TILEWRIGHT_CONFIG, TILEWRIGHT_INSTANCE_ARGS);

arch::LaunchConfig launch_config(uint32_t ctas, uint32_t cluster, uint32_t shared_bytes) {
  arch::LaunchConfig config;
  config.grid = {ctas, 1, 1};
  config.block = {Config::kPlan.threads, 1, 1};
  config.cluster = {cluster, 1, 1};
  config.shared_bytes = shared_bytes;
  config.name = "fp8_gemm";
  return config;
}

Status launch(const Fp8GemmParams& params, const Fp8Launch& how) {
  arch::LaunchConfig config = launch_config(how.grid_ctas, how.cluster_ctas, how.shared_bytes);
  config.stream = how.stream;
  config.dependent_launch = how.dependent_launch;
  return arch::launch(fp8_gemm<Config>, config, params);
}

Expected<int> max_active_clusters(uint32_t cluster, uint32_t shared_bytes) {
  return arch::max_active_clusters(fp8_gemm<Config>, launch_config(cluster, cluster, shared_bytes));
}

}  // namespace

const Fp8Kernel& TILEWRIGHT_JOIN(fp8_kernel_, TILEWRIGHT_INSTANCE_INDEX)() {
  static const Fp8Kernel kernel{TILEWRIGHT_APPLY(TILEWRIGHT_ID, TILEWRIGHT_INSTANCE_ARGS), launch,
                                max_active_clusters};
  return kernel;
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
