// expect: kernels take packed scales: pack_scales
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using Blackwell = decltype(MaxAlignment() + WithPipeline() + EnableInputStreaming() +
                           SM<1000, arch_specific>() + BlocksPerCluster<2, 1>());
using D =
    decltype(Size<256, 256, 128>() + Precision<e4m3, e4m3, float>() + BlockScale<32, e8m0>() + Blackwell());
auto make(e4m3* a, e4m3* b, LinearScales<const e8m0> scales) {
  return suggest_pipeline<D>(make_gmem_tensor<row_major>(a, 8, 32), make_gmem_tensor<col_major>(b, 32, 8),
                             scales, scales);
}
