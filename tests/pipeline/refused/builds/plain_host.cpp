// Neither nvcc nor the emulated machine.
// expect: tilewright/blas.h is kernel code: compile it with nvcc, or for the emulated machine
#include "tilewright/blas.h"
