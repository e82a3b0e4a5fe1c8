// expect: store_through_smem stores what wgmma leaves in registers
#include "tests/pipeline/descriptors.h"
#include "tilewright/blas.h"

using namespace tilewright;
using namespace tilewright::blas;
using D = decltype(Size<128, 128, 32>() + Precision<float>() + testing::Hopper());
auto make(float* c) { return make_store_through_smem<D>(make_gmem_tensor<row_major>(c, 8, 8)); }
