// expect: of mma_sync the rule mma_sync.multicast is broken; needed: no RequireMulticast()
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(Size<32, 32, 16>() + Precision<double>() + WithPipeline() + SM<900>() +
                   RequireMulticast() + BlocksPerCluster<2, 1>());
auto make(double* a, double* b) {
  return suggest_pipeline<D>(make_gmem_tensor<row_major>(a, 8, 8), make_gmem_tensor<col_major>(b, 8, 8));
}
