// Matrix multiply-accumulate of one warp (PTX 9.7.14.5, `mma.sync`): D = A B + C, all four in registers.
//
// Fragments (PTX 9.7.14.5.1 to .12). Lane l of the warp has g = l / 4 and t = l % 4; a register of A or B
// holds e = 4 / sizeof(element) consecutive k, low to high (f64: one). The same rules give every shape:
//   A, register r       row g + 8 (r & 1), k from e t + 4 e (r >> 1)             (m8n8k4: row g)
//   B, register r       column g, k from e t + 4 e r
//   C and D, element i  row g + 8 (i >> 1), column 2 t + (i & 1)                 (m8n8k4: row g)
// and a packed f16 register j holds the elements 2 j (low half) and 2 j + 1. A is what ldmatrix loads from
// row-major rows of 16-bit elements, B what it loads from the rows of B^T.
//
// The arithmetic on Hopper, as the emulated machine does it (equal to an H200 bit for bit in tests/arch):
//   f16, bf16, tf32  one fused sum of all k products and C, as wgmma's (25 fraction bits kept; see
//                    emulator/tensor_core.h)
//   e4m3, e5m2       no instruction of their own: ptxas 13.0 unpacks both operands to f16, multiplies the k
//                    with k % 4 < 2 and then the others onto that (two f16 MMAs from zero), and adds C with
//                    an ordinary f32 (f16) addition. So nothing of FP8 wgmma's 13 bits, at half the rate of
//                    f16 and less
//   s8, u8           exact; wraps, or clamps to s32 with Saturate
//   f64              a chain of fused multiply-adds in the order of k, starting from C
#pragma once

#include "tilewright/arch/mma_sync_traits.h"
#include "tilewright/config.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/hooks.h"
#else
#  include "tilewright/arch/mma_sync_issue.h"
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

/// D = A B + C; d may be c. PTX `mma.sync.aligned.<shape>.row.col`. All 32 lanes of a warp, converged.
///   A, B types  f16 f16, bf16 bf16, tf32 tf32, double double, {e4m3, e5m2} in any mix (sm_89), {int8_t,
///               uint8_t} in any mix
///   Shape       m16n8k8, m16n8k16 of 16-bit types; m16n8k4, m16n8k8 of tf32; m16n8k16, m16n8k32 of 8-bit
///               types; m8n8k4 and (sm_90) m16n8k4, m16n8k8, m16n8k16 of double
///   c, d        float[4]; int32_t[4] for the integers; uint32_t[2] for f16 sums of f16 and FP8; double[4]
///               (m8n8k4: double[2])
///   a, b        uint32_t[m k / (32 e)], uint32_t[n k / (32 e)], e elements in a register; double for double
/// tf32 operands are words of which the low 13 bits are not read. Completes at once; orders no memory.
template <MmaShape Shape, class A, class B, bool Saturate = false, class Register, class Operand, int DCount,
          int ACount, int BCount>
TILEWRIGHT_DEVICE void mma_sync(Register (&d)[DCount], const Operand (&a)[ACount], const Operand (&b)[BCount],
                                const Register (&c)[DCount]) {
  using Traits = detail::MmaSyncTraits<Shape, A, B, Register, Operand, DCount, ACount, BCount, Saturate>;
#if defined(TILEWRIGHT_EMULATE)
  // Read and written by this code, so that the machine sees who touches the registers.
  Operand a_in[ACount], b_in[BCount];
  Register sum[DCount];
  for (int i = 0; i < ACount; ++i) a_in[i] = a[i];
  for (int i = 0; i < BCount; ++i) b_in[i] = b[i];
  for (int i = 0; i < DCount; ++i) sum[i] = c[i];
  if constexpr (Traits::wide) {
    emulator::mma_sync_f64(Shape.m, Shape.k, sum, a_in, b_in);
  } else {
    emulator::mma_sync(Traits::instruction(), sum, a_in, b_in);
  }
  for (int i = 0; i < DCount; ++i) d[i] = sum[i];
#else
  detail::issue_mma_sync<Traits>(d, a, b, c);
#endif
}

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
