// expect: Tunable needs a depth of 2 or more
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(Size<64, 64, 128>() + Precision<e4m3, e4m3, float>() + BlockDim<128>() + WithPipeline() +
                   EnableInputStreaming() + MaxAlignment() + SM<900, arch_specific>() + Tunable<1, 1>());
auto make(e4m3* a, e4m3* b) {
  return suggest_pipeline<1, D>(make_gmem_tensor<row_major>(a, 64, 128),
                                make_gmem_tensor<col_major>(b, 128, 64));
}
