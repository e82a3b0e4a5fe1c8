// expect: resolves to the path tcgen05 (dense, SM<1000>), which is not built yet
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(Size<128, 256, 64>() + Precision<bf16, bf16, float>() + MaxAlignment() + WithPipeline() +
                   EnableInputStreaming() + SM<1000, arch_specific>());
auto make(bf16* a, bf16* b) {
  return suggest_pipeline<2, D>(make_gmem_tensor<row_major>(a, 8, 8), make_gmem_tensor<col_major>(b, 8, 8));
}
