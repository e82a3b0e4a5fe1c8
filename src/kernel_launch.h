// How the kernels of all tables are launched. Mode-neutral.
#pragma once

#include <cstdint>

namespace tilewright::kernels {

/// The same on both machines.
struct Launch {
  uint32_t grid_ctas = 0;         // whole clusters
  void* stream = nullptr;         // a cudaStream_t, or an emulator::Machine*
  bool dependent_launch = false;  // Options::dependent_launch
};

/// A launch that was planned, on a stream.
inline Launch on_stream(Launch launch, void* stream) {
  launch.stream = stream;
  return launch;
}

}  // namespace tilewright::kernels
