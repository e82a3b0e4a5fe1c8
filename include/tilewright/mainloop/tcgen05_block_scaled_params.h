// What the block-scaled GEMM kernels of sm_100a take and how they use their memory. Mode-neutral: the host
// and the kernels of both machines read this file.
#pragma once

#include <cstdint>

#include "tilewright/mainloop/tcgen05_storage_plan.h"
#include "tilewright/numeric/block_format.h"
#include "tilewright/schedule/tile_schedule.h"
#include "tilewright/tensor_map.h"

namespace tilewright::kernels {

/// One compiled kernel: formats of A and B, bytes of an element of D (2: f16 or bf16, 4: f32; which one is a
/// run-time choice), and whether two accumulators share tensor memory.
struct BlockScaledKernelId {
  BlockFormat a = BlockFormat::mxfp8, b = BlockFormat::mxfp8;
  int out_bytes = 2;
  bool overlap = true;

  friend constexpr bool operator==(const BlockScaledKernelId&, const BlockScaledKernelId&) = default;
};

inline constexpr int block_scaled_tile = 256;       // M and N of the tile of a pair of CTAs
inline constexpr int block_scaled_cta_rows = 128;   // of A, of B and of D in one CTA
inline constexpr int block_scaled_row_bytes = 128;  // of K in a stage, as it lies in shared memory
inline constexpr int block_scaled_stages = 5;
inline constexpr int block_scaled_epilogue_columns = 32;
inline constexpr int block_scaled_threads =
    192;  // warps 0-3 epilogue, 4 MMA, 5 load: few enough that each may have 255 registers
inline constexpr int block_scaled_shared_limit = 232448;

/// Whether both operands are multiplied as packed FP4; otherwise an FP4 one is padded to bytes in shared
/// memory.
constexpr bool multiplies_packed(BlockFormat a, BlockFormat b) { return is_fp4(a) && is_fp4(b); }
/// Elements of K in a stage.
constexpr int block_scaled_tile_k(BlockFormat a, BlockFormat b) {
  return multiplies_packed(a, b) ? 256 : 128;
}
/// Elements of K in an instruction: K must be a multiple, since scales of padding would take part otherwise.
constexpr int block_scaled_depth(BlockFormat a, BlockFormat b) { return multiplies_packed(a, b) ? 64 : 32; }
/// Packed blocks of scales along K in a stage.
constexpr int block_scaled_scale_blocks(BlockFormat a, BlockFormat b) {
  return block_scaled_tile_k(a, b) / (4 * scale_vector(a));
}

/// Bytes of shared memory of the stages and barriers. A stage holds, in each CTA: 128 rows of A, 128 rows of
/// B, the scales of those rows of A and of all 256 rows of B. Then the answers of cluster launch control, and
/// barriers. What the epilogue needs comes behind.
struct BlockScaledSharedPlan {
  uint32_t operand_bytes;  // A or B of a stage
  uint32_t a_scale_bytes, b_scale_bytes;
  uint32_t scales_begin, answers_begin, barriers_begin, total;

  TILEWRIGHT_HOST_DEVICE constexpr uint32_t a(uint32_t stage) const { return 2 * stage * operand_bytes; }
  TILEWRIGHT_HOST_DEVICE constexpr uint32_t b(uint32_t stage) const { return a(stage) + operand_bytes; }
  TILEWRIGHT_HOST_DEVICE constexpr uint32_t a_scales(uint32_t stage) const {
    return scales_begin + stage * (a_scale_bytes + b_scale_bytes);
  }
  TILEWRIGHT_HOST_DEVICE constexpr uint32_t b_scales(uint32_t stage) const {
    return a_scales(stage) + a_scale_bytes;
  }
};

constexpr BlockScaledSharedPlan block_scaled_shared_plan(BlockFormat a, BlockFormat b,
                                                         int stages = block_scaled_stages) {
  BlockScaledSharedPlan p{};
  const auto blocks = static_cast<uint32_t>(block_scaled_scale_blocks(a, b)),
             depth = static_cast<uint32_t>(stages);
  p.operand_bytes = block_scaled_cta_rows * block_scaled_row_bytes;
  p.a_scale_bytes = blocks * static_cast<uint32_t>(scale_block_bytes);
  p.b_scale_bytes = 2 * p.a_scale_bytes;
  p.scales_begin = 2 * depth * p.operand_bytes;
  p.answers_begin = p.scales_begin + depth * (p.a_scale_bytes + p.b_scale_bytes);
  p.barriers_begin = p.answers_begin + schedule::launch_answer_bytes;
  // full and empty of each stage; accumulators ready and empty, twice; shared columns; the address of tensor
  // memory.
  p.total = p.barriers_begin + 8 * (2 * depth + 2 + 2 + 1 + 1);
  return p;
}

/// What the library's epilogue takes behind them: two slabs of 32 x 32 elements of D for each of four warps.
constexpr uint32_t block_scaled_slab_bytes(int out_bytes) {
  return 32 * block_scaled_epilogue_columns * static_cast<uint32_t>(out_bytes);
}
constexpr uint32_t block_scaled_scratch_bytes(int out_bytes) {
  return 8 * block_scaled_slab_bytes(out_bytes);
}
/// Where it begins: under a 128-byte swizzle.
TILEWRIGHT_HOST_DEVICE constexpr uint32_t block_scaled_scratch_offset(const BlockScaledSharedPlan& p) {
  return (p.total + 1023) / 1024 * 1024;
}
/// Dynamic shared memory of a kernel of the library.
constexpr uint32_t block_scaled_shared_bytes(const BlockScaledKernelId& id) {
  return block_scaled_scratch_offset(block_scaled_shared_plan(id.a, id.b)) +
         block_scaled_scratch_bytes(id.out_bytes);
}

/// The largest of all kernels: nvfp4 with f32 D, whose stages and slabs alone take 227,328 bytes.
static_assert(block_scaled_shared_plan(BlockFormat::nvfp4, BlockFormat::nvfp4).answers_begin +
                  block_scaled_scratch_bytes(4) ==
              227328);
static_assert(block_scaled_shared_bytes({BlockFormat::nvfp4, BlockFormat::nvfp4, 4, true}) <=
              block_scaled_shared_limit);

constexpr TmemPlanShape block_scaled_tmem_shape(BlockFormat a, BlockFormat b, bool overlap) {
  return {block_scaled_tile_k(a, b), scale_vector(a), block_scaled_epilogue_columns, overlap};
}

/// What the main loop knows of A and B, whose product is m x n in each batch.
struct BlockScaledOperandParams {
  // A: (k, m, batch), B: (k, n, batch), boxes of 128 bytes of shared memory x 128 x 1, 128-byte swizzle; u8,
  // or e2m1_padded for FP4 beside FP8. Scales, as u32: (word of a block: 128, block along K, block along M or
  // N, batch), boxes of 128 x scale blocks of a stage x 1 x 1.
  TensorMap a_map, b_map, a_scale_map, b_scale_map;
  uint32_t m = 0, n = 0, k = 0;
  uint32_t k_tiles = 0;                         // ceil(k / tile k)
  uint32_t a_batch_step = 1, b_batch_step = 1;  // 0: all batches of the product read the same matrix
};

/// The library's epilogue: D[m][n] = convert(alpha * sum_k A[m][k] B[n][k] + beta * C[m][n] + bias[n]) per
/// batch.
struct BlockScaledStoreParams {
  TensorMap d_map;  // (n, m, batch), box 32 x 32 x 1, swizzle as wide as a slab's rows, when d_tma
  uint32_t m, n;
  float alpha, beta;  // alpha includes the scales of the tensors
  const float* bias;  // n values, or null
  const void* c;      // row-major like D; read only when beta is not zero
  int64_t c_ld, c_batch_stride;
  DType c_type;  // f32, f16 or bf16
  void* d;
  int64_t d_ld, d_batch_stride;  // elements
  DType d_type;                  // f32, f16 or bf16
  bool d_tma;  // store through shared memory and TMA; otherwise predicated stores of single elements
};

/// All that a kernel of the library is given.
struct BlockScaledGemmParams {
  schedule::ScheduledTiles tiles;  // one 128 x 256 tile for each CTA, clusters of 2 x 1
  BlockScaledOperandParams operands;
  BlockScaledStoreParams store;
};

}  // namespace tilewright::kernels
