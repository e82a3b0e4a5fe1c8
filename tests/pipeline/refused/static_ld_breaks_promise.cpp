// expect: the leading dimension known at compile time breaks the alignment that Alignment<> promises
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(Size<64, 64, 32>() + Precision<bf16, bf16, float>() + Alignment<8, 8, 4>() +
                   WithPipeline() + SM<900>());
auto make(bf16* a, bf16* b) {
  return suggest_pipeline<2, D>(make_gmem_tensor<row_major>(a, 8, 8, static_ld<10>),
                                make_gmem_tensor<col_major>(b, 8, 8));
}
