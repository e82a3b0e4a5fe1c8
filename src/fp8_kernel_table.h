// The compiled FP8 kernels of a machine, as the planner and the generated tables see them. Mode-neutral.
#pragma once

#include <cstdint>
#include <string>

#include "src/kernel_launch.h"
#include "tilewright/error.h"
#include "tilewright/mainloop/wgmma_tile_plan.h"
#include "tilewright/numeric/dtype.h"
#include "tilewright/pipeline/linear_epilogue_ops.h"
#include "tilewright/pipeline/output_binding.h"
#include "tilewright/pipeline/pipeline_binding.h"
#include "tilewright/schedule/tile_schedule.h"

namespace tilewright::kernels {

/// How A and B reach shared memory.
enum class Load : uint8_t {
  tma,   // bulk tensor copies: bases and leading dimensions are multiples of 16 bytes
  copy,  // by cp.async where lines begin at multiples of 4 bytes, else through registers: any base, any
         // leading dimension
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
constexpr int kMaxFp8Stages = 8;

/// The tile of a kernel's descriptor (fp8_instance.h), with the largest cluster that it takes.
constexpr tiles::WgmmaTileShape fp8_tile_shape(const Fp8KernelId& id) {
  tiles::WgmmaTileShape s;
  s.m = id.tile_m;
  s.n = id.tile_n;
  s.k = kFp8TileK;
  s.threads = id.tile_m >= 128 ? 256 : 128;
  s.interval = !id.promoted ? 0 : id.interval == 0 ? kFp8TileK / 32 : id.interval;
  s.cluster_m = s.cluster_n = id.load == Load::tma ? 2 : 1;
  s.tunable = true;
  s.copied = id.load == Load::copy;
  s.scaled = id.scales == Scales::blocks;
  return s;
}

/// Shared memory through which D is stored.
constexpr uint32_t fp8_scratch_bytes(const Fp8KernelId& id) {
  const tiles::WgmmaTileShape shape = fp8_tile_shape(id);
  const int part_n = tiles::wgmma_tile_plan(shape).part_n;
  return static_cast<uint32_t>(shape.threads) / 32 * 2 *
         blas::detail::slab_plan(part_n, static_cast<size_t>(id.out_bytes)).bytes;
}
/// Shared memory of a CTA with so many stages.
constexpr uint32_t fp8_shared_bytes(const Fp8KernelId& id, int stages) {
  return tiles::wgmma_tile_plan(fp8_tile_shape(id)).ring_end(static_cast<uint32_t>(stages)) +
         fp8_scratch_bytes(id);
}
constexpr int fp8_max_stages(const Fp8KernelId& id) {
  int stages = kMaxFp8Stages;
  while (fp8_shared_bytes(id, stages) > tiles::kTileSharedLimit) --stages;
  return stages;
}

/// K tiles that one promotion group may span: a shared temporary must be read after every K tile, because its
/// parts take turns on one stage.
constexpr bool fp8_interval_spans_tiles(const Fp8KernelId& id) {
  return id.promoted && tiles::wgmma_tile_plan(fp8_tile_shape(id)).parts() == 1;
}

/// Whether a promoted kernel computes the first K tile of an output tile in the temporary, too. Then no group
/// can span K tiles: the table has an unpromoted kernel beside each for problems whose K is one group.
constexpr bool fp8_begins_in_temporary(const Fp8KernelId& id) {
  return id.promoted && id.interval == 0 && tiles::wgmma_begins_in_temporary(fp8_tile_shape(id));
}

/// Whether a kernel can apply vectors. One for blocks takes them too (which of them it gets is
/// Fp8GemmArguments::block_scales), if registers are left: not when parts share a temporary.
constexpr bool fp8_takes_vectors(const Fp8KernelId& id) {
  return id.scales == Scales::vectors ||
         (id.scales == Scales::blocks && tiles::wgmma_tile_plan(fp8_tile_shape(id)).parts() == 1);
}

/// Per batch, D[m][n] = convert(scale * (sum_k A[m][k] B[n][k]) + beta * C[m][n]); the scales of A and B
/// multiply their elements (docs/accumulation.md: in which order).
struct Fp8GemmArguments {
  schedule::TileSchedule tiles;
  blas::Tuning tuning;             // its scratch is the kernel's own
  blas::detail::OperandView a, b;  // M x K and K x N; K is 0 where they are not read
  blas::detail::OperandView c, d;  // M x N. C is read only when beta is not zero
  blas::LinearEpilogueOps ops;     // its vectors are a_scales and b_scales
  tiles::ScaleLines a_scales, b_scales;
  bool block_scales = false;  // Scales::blocks: blocks along K; otherwise vectors
};

/// One row of a machine's kernel table.
struct Fp8Kernel {
  Fp8KernelId id;
  Status (*launch)(const Fp8GemmArguments&, const Launch&);
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
