#include "src/fp8_kernel_table.h"

namespace tilewright::kernels {

std::string fp8_kernel_name(const Fp8KernelId& id) {
  std::string name = "fp8_" + std::to_string(id.tile_m) + "x" + std::to_string(id.tile_n) + "_" +
                     name_of(id.a) + "_" + name_of(id.b) + "_o" + std::to_string(id.out_bytes) +
                     (id.promoted ? "_promoted" : "_fast");
  if (id.interval != 0) name += "_i" + std::to_string(id.interval);
  if (id.scales != Scales::none) name += id.scales == Scales::blocks ? "_blocks" : "_vectors";
  if (id.load == Load::copy) name += "_copy";
  return name;
}

}  // namespace tilewright::kernels
