// expect: suggest_pipeline(A, B): A and B are tensors, of make_gmem_tensor<row_major>(pointer, rows, columns,
// leading dimension), or mdspans
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = testing::Bf16Tile;
auto make(bf16* a, bf16* b) { return suggest_pipeline<2, D>(a, b); }
