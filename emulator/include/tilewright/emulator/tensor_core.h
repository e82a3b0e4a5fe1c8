// Arithmetic of the Hopper tensor core as wgmma uses it, bit for bit.
//
// One output element of one floating-point wgmma is a single fused sum of its K products and of the
// accumulator:
//   1. A factor has an exponent e and a significand: [1, 2) for a normal number, below 1 at the format's
//   least
//      exponent for a subnormal one, and (0, e = -126) for a zero. The exponent of a product is the sum of
//      its factors' exponents; its significand, in [0, 4), is not normalised again.
//   2. E is the greatest exponent of all terms, zeros included. Each term is cut (towards zero) to a multiple
//   of
//      2^(E - F): F = 13 for FP8 operands, 25 for f16, bf16 and tf32.
//   3. The terms are added exactly. An f32 result is cut towards zero to 23 fraction bits, to 13 for FP8
//   operands;
//      an f16 result is rounded to nearest even. A zero result is +0; a result too large is an infinity.
//   4. Inf and NaN follow IEEE 754 on the exact sum. A NaN result is 0x7FFFFFFF (f32) or 0x7FFF (f16).
// tf32 operands lose the low 13 bits of their word first. Integers are exact.
#pragma once

#include <cstdint>
#include <functional>

#include "tilewright/emulator/hooks.h"
#include "tilewright/error.h"

namespace tilewright::emulator {

/// One warpgroup wgmma on operands already gathered from shared memory or registers.
/// a: 64 rows of 32 raw bytes. b: n rows of 32 raw bytes (n a multiple of 8, 8..256). Both are K-major: the
/// transpose flags of the instruction say how memory was laid out and are not looked at here.
/// d: 64 x n accumulators, row-major, one 32-bit word each: f32 or s32 bits, or an f16 in the low half (the
/// high half is written as zero). The old words are read only when `accumulate` is true. The types must be a
/// combination that wgmma has (PTX ISA, "Matrix Data-types").
void tensor_core_multiply(const WgmmaInstruction& instruction, const uint8_t* a, const uint8_t* b,
                          uint32_t* d, bool accumulate);

/// One mma.sync m16n8 of one warp on operands gathered from its registers.
/// a: 16 rows of k elements, b: 8 rows (columns of B) of k elements, raw, packed. d: 16 x 8 words, row-major,
/// as for tensor_core_multiply: C before, D after. FP8 operands are multiplied as f16 in two steps (k % 4 <
/// 2, then the rest, from zero) and C is added to that in f32 (f16), which is how ptxas 13.0 compiles FP8
/// mma.sync for sm_90a. The other floating-point types are one fused sum with C among its terms.
void tensor_core_mma_sync(const MmaSyncInstruction& instruction, const uint8_t* a, const uint8_t* b,
                          uint32_t* d);

/// FP32 scales of blocks along K (128 elements, 4 MMAs): that of block j of row i at
/// data[i / lines * line_stride + j * k_stride]. A row is one of A, or a column of the product's B.
struct ModelScales {
  const float* data = nullptr;
  int64_t line_stride = 0, k_stride = 0;
  int64_t lines = 1;  // rows that share a scale
};

/// What the library's FP8 kernels compute before their epilogue, on the CPU.
struct ModelGemm {
  MmaType a_type = MmaType::e4m3, b_type = MmaType::e4m3;
  int64_t m = 0, n = 0, k = 0;
  const uint8_t* a = nullptr;  // raw codes [m][lda], K contiguous
  int64_t lda = 0;
  const uint8_t* b = nullptr;  // raw codes [n][ldb], K contiguous
  int64_t ldb = 0;
  int64_t interval = 4;  // MMAs of K = 32 between promotions into FP32
  bool fast = false;     // never promote; `interval` is not looked at
  int threads = 0;       // 0: one for each core
  /// Both or none; with interval 4. A group's result is multiplied by (scale of A x scale of B) before it is
  /// written, or as it is added, by a fused multiply-add.
  ModelScales a_scales{}, b_scales{};
};

/// d[m][ldd] = A * B^T as wgmma accumulates it: MMAs of K = 32 (the last one filled up with zeros), in groups
/// of `interval` that each start from zero; the groups' results are added in FP32 in order, the first one as
/// it is. K = 0 gives zeros. `progress(done, total)` is called after each block of rows, never by two threads
/// at once. Errors: an interval below 1, a negative extent, a type other than e4m3 and e5m2.
Status model_gemm_fp8(const ModelGemm& gemm, float* d, int64_t ldd,
                      const std::function<void(int, int)>& progress = {});

}  // namespace tilewright::emulator
