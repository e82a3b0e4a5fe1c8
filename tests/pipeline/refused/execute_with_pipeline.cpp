// expect: execute() of a descriptor multiplies without a pipeline: leave WithPipeline() out
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
void multiply(bf16* a, bf16* b, float* c) { testing::Bf16Tile().execute(1.0f, a, b, 0.0f, c); }
