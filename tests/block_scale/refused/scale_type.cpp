// expect: scales are e8m0 or e4m3
#include "tilewright/layout/scale_factors.h"
using namespace tilewright;
PackedScales<float> scales;
