// The shape of a launch, and the rules that both machines put on it.
#pragma once

#include <cstdint>
#include <string>

#include "tilewright/arch/index3.h"
#include "tilewright/config.h"
#include "tilewright/error.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

/// How to launch a kernel. Extents in blocks (grid, cluster) and threads (block); 0 in y or z counts as 1.
struct LaunchConfig {
  Index3 grid, block, cluster{1, 1, 1};
  uint32_t shared_bytes = 0;  // dynamic shared memory of a block
  uint32_t ctas_per_sm = 1;   // of the kernel's launch bounds; the emulated machine shares registers by it
  void* stream = nullptr;     // a cudaStream_t; on the emulated machine an emulator::Machine*, or null
  bool dependent_launch =
      false;  // may start before the previous kernel of the stream ends: see grid_dependency_wait
  const char* name = "kernel";  // for errors and reports
};

namespace detail {

inline Index3 with_ones(Index3 i) { return {i.x, i.y == 0 ? 1 : i.y, i.z == 0 ? 1 : i.z}; }

inline Error launch_error(ErrorCode code, const LaunchConfig& config, const char* rule,
                          const std::string& sentence) {
  return {code, rule, std::string("kernel '") + config.name + "': " + sentence};
}

/// Checks and completes a config. `shared_limit`: dynamic shared memory that a block of this kernel may have,
/// in bytes.
inline Status check_launch(LaunchConfig& config, uint32_t shared_limit) {
  config.grid = with_ones(config.grid);
  config.block = with_ones(config.block);
  config.cluster = with_ones(config.cluster);
  const Index3 g = config.grid, b = config.block, c = config.cluster;
  const auto invalid = [&](const char* rule, const std::string& sentence) -> Status {
    return launch_error(ErrorCode::invalid_argument, config, rule, sentence);
  };
  if (g.x == 0 || b.x == 0 || c.x == 0)
    return invalid("launch.extents", "grid, block and cluster need at least 1 in x");
  const uint64_t threads = uint64_t{b.x} * b.y * b.z;
  if (threads > 1024) {
    return invalid("launch.threads",
                   std::to_string(threads) + " threads in a block; at most 1024 are possible");
  }
  if (g.y > 65535 || g.z > 65535) {
    return invalid("launch.grid", "grid " + std::to_string(g.y) + " in y and " + std::to_string(g.z) +
                                      " in z; at most 65535 each are possible");
  }
  const uint64_t blocks = uint64_t{c.x} * c.y * c.z;
  if (blocks > 16) {
    return invalid("launch.cluster",
                   std::to_string(blocks) + " blocks in a cluster; at most 16 are possible");
  }
  if (g.x % c.x != 0 || g.y % c.y != 0 || g.z % c.z != 0) {
    const auto text = [](Index3 i) {
      return std::to_string(i.x) + "x" + std::to_string(i.y) + "x" + std::to_string(i.z);
    };
    const Index3 up{(g.x + c.x - 1) / c.x * c.x, (g.y + c.y - 1) / c.y * c.y, (g.z + c.z - 1) / c.z * c.z};
    return invalid("launch.grid_of_clusters", "grid " + text(g) + " is not made of whole clusters of " +
                                                  text(c) + "; the nearest legal grid above is " + text(up));
  }
  if (config.shared_bytes > shared_limit) {
    return invalid("launch.shared_memory", std::to_string(config.shared_bytes) +
                                               " bytes of dynamic shared memory; at most " +
                                               std::to_string(shared_limit) + " are left to a block of it");
  }
  return std::nullopt;
}

}  // namespace detail
}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
