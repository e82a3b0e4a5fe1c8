// expect: the leading dimension is below the row (row_major) or column (col_major) of the tile
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(Size<32, 32, 32>() + Precision<f16, f16, float>() + BlockDim<64>() + SM<900>());
auto layout() { return decltype(D() + LeadingDimension<31, 32, 32>())::get_layout_smem_a(); }
