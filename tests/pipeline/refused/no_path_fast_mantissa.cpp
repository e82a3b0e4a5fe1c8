// expect: of wgmma the rule wgmma.accumulation is broken; needed: Accumulation<promoted<n>>()
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(Size<128, 128, 32>() + Precision<float>() + RequiredMantissaBits<23>() +
                   Accumulation<fast>() + testing::Hopper());
auto make(float* a, float* b) {
  return suggest_pipeline<D>(make_gmem_tensor<row_major>(a, 8, 8), make_gmem_tensor<col_major>(b, 8, 8));
}
