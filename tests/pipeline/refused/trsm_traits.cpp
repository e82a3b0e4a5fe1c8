// expect: side_of_v, fill_mode_of_v and diag_of_v belong to the triangular solve TRSM
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
constexpr side where = side_of_v<testing::Bf16Tile>;
