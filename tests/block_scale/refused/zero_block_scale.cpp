// expect: block scales are e8m0 or e4m3
#include "tilewright/numeric/block_format.h"
constexpr auto scale = tilewright::zero_block_scale<tilewright::e5m2>();
