#include "tilewright/mainloop/simt_gemm_params.h"

namespace tilewright::kernels {
namespace {

const char* word(SimtLoad load) { return load == SimtLoad::tma ? "_tma" : "_gather"; }

}  // namespace

std::string simt_kernel_name(const SimtKernelId& id) {
  std::string name = "simt_" + std::to_string(id.tile_m) + "x" + std::to_string(id.tile_n);
  name += id.pipeline == SimtPipeline::async ? std::string("_async") : std::string(word(id.a)) + word(id.b);
  if (id.whole) name += "_whole";
  return name;
}

}  // namespace tilewright::kernels
