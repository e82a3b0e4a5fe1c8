// expect: static_ld<n> is a value: write it without ()
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
auto make(bf16* a) { return make_gmem_tensor<row_major>(a, 8, 8, static_ld<72>()); }
