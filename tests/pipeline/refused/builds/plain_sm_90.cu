// wgmma in code of compute_90, which nvcc -arch=sm_90a makes too.
// expect: wgmma needs sm_90a, this is compiled for sm_90
#include "tilewright/arch/wgmma.h"

__global__ void multiply(float* out) {
  float sum[4] = {};
  tilewright::arch::wgmma<8, tilewright::bf16, tilewright::bf16>(sum, 0, 0, false);
  out[threadIdx.x] = sum[0];
}
