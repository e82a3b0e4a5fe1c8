// What the FP8 GEMM kernels take, and which of them are built. Mode-neutral: the planner on the host and the
// kernels of both machines read this file.
#pragma once

#include <cstdint>
#include <string>

#include "tilewright/error.h"
#include "tilewright/numeric/dtype.h"
#include "tilewright/schedule/tile_schedule.h"
#include "tilewright/tensor_map.h"

namespace tilewright::kernels {

/// How A and B reach shared memory.
enum class Load : uint8_t {
  tma,   // bulk tensor copies: bases and leading dimensions are multiples of 16 bytes
  copy,  // ordinary loads by the producer warpgroup: any base, any leading dimension
};

/// Which FP32 scales of A and B a kernel applies, besides one factor for all of D.
enum class Scales : uint8_t {
  none,
  vectors,  // one for each row of A and each row of B (column of D), in the epilogue
  blocks,   // along K, at promotion: one for each row and K tile of A, one for each 128 rows and K tile of B
};

/// One compiled kernel. The table of all of them is src/fp8_kernels.def.
struct Fp8KernelId {
  int tile_m, tile_n;  // K tile: 128 elements
  DType a, b;
  int out_bytes;  // 1: e4m3 or e5m2, 2: f16 or bf16, 4: f32; which of them is a run-time choice
  bool promoted;  // false: the tensor cores' own accumulator all along K
  int interval;   // in MMAs (32 of K). 0: whole K tiles, chosen at run time; 1 or 2: fixed
  Load load;
  Scales scales = Scales::none;

  friend constexpr bool operator==(const Fp8KernelId&, const Fp8KernelId&) = default;
};

/// Short name of a kernel, for one line of output: "fp8_128x256_e4m3_e4m3_o2_promoted_blocks".
std::string fp8_kernel_name(const Fp8KernelId& id);

constexpr int kFp8TileK = 128;
constexpr uint32_t kSharedLimit =
    232448;  // bytes one CTA may use (CUDA programming guide, compute capability 9.0)

/// The shared-memory and thread plan of a kernel, in bytes and threads.
struct Fp8Plan {
  int consumer_warpgroups;  // each computes tile_m / consumer_warpgroups rows
  int parts;                // pieces of a warpgroup's tile that share one temporary accumulator
  int part_m, part_n;
  uint32_t threads;  // consumers and one producer warpgroup
  uint32_t stage_bytes;
  uint32_t slab_columns;  // columns of one TMA store: 16 rows x slab_columns per warp
  uint32_t slab_bytes;
  uint32_t staging_bytes;  // two slabs per consumer warp
  uint32_t barrier_bytes;
  uint32_t scale_bytes;  // of one stage's block scales: those of the rows of A, then those of B
  int max_stages;
};

constexpr int kMaxFp8Stages = 8;
constexpr int kFp8ScaleRows = 128;  // rows of B that share a block scale

constexpr Fp8Plan fp8_plan(int tile_m, int tile_n, int out_bytes, bool promoted,
                           Scales scales = Scales::none) {
  Fp8Plan p{};
  p.consumer_warpgroups = tile_m >= 128 ? 2 : 1;
  const int rows = tile_m / p.consumer_warpgroups;
  // A promoted 64 x 256 part would need 128 + 128 accumulator registers: two halves share one temporary
  // instead.
  p.parts = rows == 128 ? 2 : (promoted && tile_n == 256 ? 2 : 1);
  p.part_m = 64;
  p.part_n = rows == 128 ? tile_n : tile_n / p.parts;
  p.threads = static_cast<uint32_t>(128 * (p.consumer_warpgroups + 1));
  p.stage_bytes = static_cast<uint32_t>((tile_m + tile_n) * kFp8TileK);
  p.slab_columns = out_bytes == 4 ? 32 : 64;
  p.slab_bytes = 16 * p.slab_columns * static_cast<uint32_t>(out_bytes);
  p.staging_bytes = static_cast<uint32_t>(p.consumer_warpgroups) * 4 * 2 * p.slab_bytes;
  p.barrier_bytes = 16 * kMaxFp8Stages;
  p.scale_bytes = scales == Scales::blocks ? static_cast<uint32_t>(4 * tile_m + 16) : 0;
  const uint32_t left = kSharedLimit - p.staging_bytes - p.barrier_bytes;
  const int fit = static_cast<int>(left / (p.stage_bytes + p.scale_bytes));
  p.max_stages = fit < kMaxFp8Stages ? fit : kMaxFp8Stages;
  return p;
}

constexpr Fp8Plan fp8_plan(const Fp8KernelId& id) {
  return fp8_plan(id.tile_m, id.tile_n, id.out_bytes, id.promoted || id.scales != Scales::none, id.scales);
}

/// In this order: stages, staging, barriers, block scales of the stages.
constexpr uint32_t fp8_shared_bytes(const Fp8Plan& p, int stages) {
  return static_cast<uint32_t>(stages) * (p.stage_bytes + p.scale_bytes) + p.staging_bytes + p.barrier_bytes;
}

/// K tiles that one promotion group may span: a shared temporary must be read after every K tile, because its
/// parts take turns on one stage.
constexpr bool fp8_interval_spans_tiles(const Fp8KernelId& id) {
  return id.promoted && fp8_plan(id).parts == 1;
}

/// Whether a promoted kernel computes the first K tile of an output tile in the temporary, too. Quicker
/// (mainloop/wgmma_fp8.h), but then no group can span K tiles: the table has an unpromoted kernel beside each
/// for problems whose K is one group.
constexpr bool fp8_first_through_temporary(const Fp8KernelId& id) {
  return id.promoted && id.interval == 0 && id.tile_m * id.tile_n == 128 * 256;
}

/// Whether a kernel with these scales can apply vectors. One for blocks takes them too (which of them it gets
/// is Fp8GemmParams::block_scales), if registers are left: not when parts share a temporary.
constexpr bool fp8_takes_vectors(int tile_m, int tile_n, int out_bytes, Scales scales) {
  return scales == Scales::vectors ||
         (scales == Scales::blocks && fp8_plan(tile_m, tile_n, out_bytes, true).parts == 1);
}

/// FP32 scales of an operand: that of line i (a row, or for blocks of B 128 rows) and K tile j of a batch is
/// data[batch * batch_stride + i * line_stride + j * k_stride]. Vectors have a k_stride of 0.
struct Fp8Scales {
  const float* data;
  int64_t line_stride, k_stride, batch_stride;
};

/// Kernel parameters. D[m][n] = convert(scale * (sum_k A[m][k] B[n][k]) + beta * C[m][n]) per batch, where
/// scale and beta are the products of their host part and of the device scalars that are given; the scales of
/// A and B multiply their elements (docs/accumulation.md: in which order).
struct Fp8GemmParams {
  // A: (k, m, batch), box 128 x (tile_m / cluster_n) x 1; B: (k, n, batch), box 128 x (tile_n / cluster_m) x
  // 1; both u8, 128-byte swizzle, for Load::tma. D: (n, m, batch), box slab_columns x 16 x 1, swizzle as wide
  // as the slab's rows (64 bytes for 8-bit D, else 128), when d_tma.
  TensorMap a_map, b_map, d_map;
  schedule::TileSchedule tiles;

  uint32_t m, n, k;
  uint32_t k_tiles;       // ceil(k / 128)
  uint32_t group_tiles;   // K tiles of a promotion group, at least 1
  uint32_t stages;        // 2..max_stages of the kernel's plan
  uint32_t a_batch_step;  // 1, or 0 when every batch reads the same A
  uint32_t b_batch_step;

  // Load::copy only. Leading dimensions and batch strides in elements (bytes).
  const uint8_t* a;
  const uint8_t* b;
  int64_t lda, ldb, a_batch_stride, b_batch_stride;

  // Epilogue. Device scalars may be null.
  float scale, beta;
  const float* scale_device[4];  // alpha, scale_a, scale_b, scale_d: multiply `scale`
  const float* beta_device[2];   // beta, scale_d: multiply `beta`
  const void* c;                 // f32, f16 or bf16; read only when beta is not zero
  int64_t c_ld, c_batch_stride;  // elements, row-major like D
  DType c_type;
  void* d;
  int64_t d_ld, d_batch_stride;  // elements, row-major
  DType d_type;
  bool saturate;  // 8-bit D: clamp to the largest finite value; otherwise overflow gives NaN (e4m3) or Inf
                  // (e5m2)
  bool d_tma;     // store through shared memory and TMA; otherwise predicated stores of single elements

  // Kernels with scales only; last, so that the others find their parameters where they were.
  Fp8Scales a_scales, b_scales;
  bool block_scales;  // Scales::blocks: blocks along K; otherwise vectors
  // Scales::blocks: elements between neighbouring columns of C and D. Not 1 only without d_tma: a
  // column-major D cannot be exchanged for D^T = B^T A^T, as the scales of A and B are not alike.
  int64_t c_column_stride, d_column_stride;
};

/// How a kernel is launched: the same on both machines.
struct Fp8Launch {
  uint32_t grid_ctas;  // a multiple of the cluster size
  uint32_t cluster_ctas;
  uint32_t shared_bytes;
  bool dependent_launch;
  void* stream;  // cudaStream_t, or the emulator::Machine*
};

using Fp8LaunchFunction = Status (*)(const Fp8GemmParams&, const Fp8Launch&);

/// One row of a machine's kernel table.
struct Fp8Kernel {
  Fp8KernelId id;
  Fp8LaunchFunction launch;
  /// How many clusters of so many CTAs can be resident at once on the current device, or on the emulated
  /// chip.
  Expected<int> (*max_active_clusters)(uint32_t cluster_ctas, uint32_t shared_bytes);
};

/// The kernels of each machine; a machine that is not built in has none.
struct Fp8KernelTable {
  const Fp8Kernel* kernels = nullptr;
  int count = 0;
};
Fp8KernelTable fp8_kernels_gpu();
Fp8KernelTable fp8_kernels_emulated();

}  // namespace tilewright::kernels
