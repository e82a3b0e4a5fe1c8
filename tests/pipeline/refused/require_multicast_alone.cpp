// expect: RequireMulticast needs blocks that share operands: BlocksPerCluster<M, N>() or Tunable<M, N>()
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(testing::Bf16Tile() + RequireMulticast());
auto make(bf16* a, bf16* b) {
  return suggest_pipeline<D>(make_gmem_tensor<row_major>(a, 8, 8), make_gmem_tensor<col_major>(b, 8, 8));
}
