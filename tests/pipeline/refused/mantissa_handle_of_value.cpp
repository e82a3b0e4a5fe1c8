// expect: owns the memory that its handle points into: keep the pipeline in a variable
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(Size<128, 128, 32>() + Precision<float>() + BlockDim<256>() + RequiredMantissaBits<23>() +
                   WithPipeline() + EnableInputStreaming() + SM<900, arch_specific>());
auto make(const float* a, const float* b) {
  return suggest_pipeline<2, D>(make_gmem_tensor<row_major>(a, 8, 8), make_gmem_tensor<col_major>(b, 8, 8));
}
auto handle(const float* a, const float* b) { return make(a, b).value().get_device_handle(); }
