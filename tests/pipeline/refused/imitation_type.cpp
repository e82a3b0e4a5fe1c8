// expect: Precision: A and B are f16, bf16, tf32, e4m3, e5m2
#include "tilewright/pipeline/descriptor.h"

struct Imitation {
  unsigned short bits;
};
using D = decltype(tilewright::blas::Size<64, 64, 64>() +
                   tilewright::blas::Precision<Imitation, Imitation, float>());
