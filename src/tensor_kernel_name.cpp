#include "src/tensor_kernel_table.h"

namespace tilewright::kernels {

std::string tensor_kernel_name(const TensorKernelId& id) {
  constexpr const char* kPaths[] = {"tensor_", "mma_sync_", "simt_"};
  std::string name = kPaths[static_cast<size_t>(id.path)] + std::to_string(id.tile_m) + "x" +
                     std::to_string(id.tile_n) + "_" + name_of(id.a);
  if (id.b != id.a) name += std::string("_") + name_of(id.b);
  name += std::string("_") + name_of(id.d) + "_" + (id.k_major_a ? "k" : "m") + (id.k_major_b ? "k" : "n");
  if (id.cluster_m * id.cluster_n > 1)
    name += "_" + std::to_string(id.cluster_m) + "x" + std::to_string(id.cluster_n);
  if (id.path != TensorPath::wgmma) name += "_a" + std::to_string(id.alignment);
  return name;
}

}  // namespace tilewright::kernels
