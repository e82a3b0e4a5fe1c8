// expect: the scales of A and B must belong to as many elements of K
#include "tilewright/kernels/block_scaled_gemm.h"
using namespace tilewright;
constexpr auto id = mainloop::BlockScaledConfig<BlockFormat::nvfp4, BlockFormat::mxfp4, true>::kStages;
