// What the FP32 GEMM kernels take, and which of them are built. Mode-neutral: the planner on the host and the
// kernels of both machines read this file.
#pragma once

#include <cstdint>
#include <string>

#include "tilewright/schedule/tile_schedule.h"
#include "tilewright/tensor_map.h"

namespace tilewright::kernels {

/// How an operand reaches shared memory, where it lies as [k][row].
enum class SimtLoad : uint8_t {
  tma,     // bulk tensor copies of an operand whose rows (M or N) are contiguous, base and strides multiples
           // of 16 bytes
  gather,  // asynchronous copies of single elements: any strides, any 4-byte alignment
};

/// Which pipeline fills the stages.
enum class SimtPipeline : uint8_t {
  producer,  // a producer warpgroup and mbarriers (sm_90)
  async,     // cp.async by the threads that compute (sm_80 and later); SimtLoad is `gather` for both operands
};

/// One compiled kernel. The table of all of them is src/simt_kernels.def.
struct SimtKernelId {
  int tile_m, tile_n;
  SimtPipeline pipeline;
  SimtLoad a, b;
  bool whole;  // M and N are multiples of the tile: no predicates (the "static shape" of a known problem)

  friend constexpr bool operator==(const SimtKernelId&, const SimtKernelId&) = default;
};

/// Short name of a kernel, for one line of output: "simt_128x128_tma_gather".
std::string simt_kernel_name(const SimtKernelId& id);

/// The shared-memory and thread plan of a kernel, in elements, bytes and threads.
struct SimtPlan {
  int thread_m, thread_n;  // accumulators of one thread
  int tile_k;
  uint32_t consumers;           // threads that compute
  uint32_t threads;             // of a CTA
  uint32_t producer_registers;  // a thread's, SimtPipeline::producer
  uint32_t pitch_a, pitch_b;    // floats between neighbours in K
  uint32_t stage_bytes;
  int stages;
  int ctas_per_sm;
  uint32_t shared_bytes;  // stages and barriers
};

constexpr SimtPlan simt_plan(const SimtKernelId& id) {
  SimtPlan p{};
  const bool producer = id.pipeline == SimtPipeline::producer;
  p.thread_m = id.tile_m * id.tile_n >= 64 * 128 ? 8 : 4;
  p.thread_n = id.tile_m * id.tile_n >= 128 * 128 ? 16 : 8;
  p.tile_k = producer ? 32 : 16;
  p.consumers = static_cast<uint32_t>(id.tile_m * id.tile_n / (p.thread_m * p.thread_n));
  p.threads = p.consumers + (producer ? 128 : 0);
  // The copies of single elements need registers; together with a consumer's 256 less that they are 128 at
  // launch.
  p.producer_registers = id.a == SimtLoad::gather || id.b == SimtLoad::gather ? 48 : 32;
  // Four floats of padding keep transposing copies free of bank conflicts.
  p.pitch_a = static_cast<uint32_t>(id.tile_m + (id.a == SimtLoad::gather ? 4 : 0));
  p.pitch_b = static_cast<uint32_t>(id.tile_n + (id.b == SimtLoad::gather ? 4 : 0));
  p.stage_bytes = 4 * static_cast<uint32_t>(p.tile_k) * (p.pitch_a + p.pitch_b);
  p.stages = 3;
  p.ctas_per_sm = 2;
  p.shared_bytes = static_cast<uint32_t>(p.stages) * (p.stage_bytes + 16);
  return p;
}

/// Kernel parameters. Per batch, D[m][n] = epilogue(alpha * sum_k A[m][k] B[n][k] + beta * C[m][n]), each sum
/// one chain of fused multiply-adds in the order of K, or several chains added in that order.
struct SimtGemmParams {
  // SimtLoad::tma only. A: (m, k, batch), box tile_m x tile_k x 1; B: (n, k, batch), box tile_n x tile_k x 1;
  // f32, no swizzle.
  TensorMap a_map, b_map;
  schedule::TileSchedule tiles;  // clusters of 1x1

  uint32_t m, n, k;
  uint32_t k_tiles;      // ceil(k / tile_k)
  uint32_t whole_tiles;  // tiles that one CTA computes alone: CTA c takes c, c + grid, ...
  // The other tiles' K tiles, one after another, are cut into one piece for each CTA of the grid:
  // piece_k_tiles each, one more in the first longer_pieces. Both 0 when there are no other tiles.
  uint32_t piece_k_tiles, longer_pieces;
  schedule::FastDivisor by_k_tiles;
  uint32_t a_batch_step, b_batch_step;  // 1, or 0 when every batch reads the same matrix

  // SimtLoad::gather only; strides in elements.
  const float *a, *b;
  bool a_vector,
      b_vector;  // SimtPipeline::async: rows are contiguous, base and strides multiples of 16 bytes
  int64_t a_row_stride, a_k_stride, a_batch_stride;
  int64_t b_row_stride, b_k_stride, b_batch_stride;

  float alpha, beta;
  const float *alpha_device, *beta_device;  // multiply alpha and beta; may be null
  const float* c;                           // read only when beta is not zero
  int64_t c_row_stride, c_column_stride, c_batch_stride;
  float* d;
  int64_t d_row_stride, d_batch_stride;
  int64_t d_column_stride;  // 1, but for tiles of at most 32 rows, which D^T of few columns may be

  // Two tiles of tile_m * tile_n partial sums for each CTA, when there are shared tiles: see SimtWork.
  float* partials;
};

/// Copies operands of any strides to [batch][k][rows], rows contiguous and padded to `ld`.
struct SimtRepackParams {
  struct Operand {
    const float* from;  // null: nothing to copy
    float* to;
    int64_t row_stride, k_stride, batch_stride;  // elements
    uint32_t rows, k, batches;
    int64_t ld;  // of `to`, a multiple of 4
    uint32_t tiles_rows, tiles_k;
  } operand[2];
};

}  // namespace tilewright::kernels
