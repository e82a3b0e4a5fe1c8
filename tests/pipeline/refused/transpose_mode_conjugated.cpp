// expect: conj_transposed is not an arrangement; give execute() a conj_transpose_view
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D =
    decltype(Size<4, 4, 4>() + TransposeMode<transpose_mode::conj_transposed, transpose_mode::transposed>());
