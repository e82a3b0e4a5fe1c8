// expect: the accumulators of a reusable_accumulator live beside the producer's registers
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D =
    decltype(Size<128, 256, 128>() + Precision<e4m3, e4m3, float>() + BlockDim<256>() + testing::Hopper());
auto make(e4m3* a, e4m3* b) {
  return suggest_pipeline<2, D, reusable_accumulator>(make_gmem_tensor<row_major>(a, 16, 16),
                                                      make_gmem_tensor<col_major>(b, 16, 16));
}
