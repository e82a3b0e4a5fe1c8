// What the two pipelines of the FP32 kernels share.
#pragma once

#include "tilewright/arch/index.h"
#include "tilewright/mainloop/simt_f32.h"
#include "tilewright/mainloop/simt_gemm_params.h"
#include "tilewright/mainloop/simt_work.h"
#include "tilewright/pipeline/simt_epilogue.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline {

/// Compile-time shape of an FP32 kernel.
template <int TileM, int TileN, kernels::SimtPipeline Pipeline, kernels::SimtLoad LoadA,
          kernels::SimtLoad LoadB, bool Whole>
struct SimtConfig {
  static constexpr int kTileM = TileM, kTileN = TileN;
  static constexpr kernels::SimtPipeline kPipeline = Pipeline;
  static constexpr kernels::SimtLoad kLoadA = LoadA, kLoadB = LoadB;
  static constexpr bool kWhole = Whole;
  static constexpr kernels::SimtPlan kPlan =
      kernels::simt_plan(kernels::SimtKernelId{TileM, TileN, Pipeline, LoadA, LoadB, Whole});
  using Tile = mainloop::SimtTile<TileM, TileN, kPlan.thread_m, kPlan.thread_n, kPlan.pitch_a, kPlan.pitch_b>;

  static_assert(kPlan.consumers == 128, "one warpgroup computes a tile");
  static_assert(kPlan.stages >= 3, "copies of two stages run under the multiplications of a third");
  static_assert(Pipeline == kernels::SimtPipeline::producer ||
                    (LoadA == kernels::SimtLoad::gather && LoadB == kernels::SimtLoad::gather),
                "the pipeline without a producer has no bulk loads");
};

/// The segments of this CTA.
TILEWRIGHT_DEVICE kernels::SimtWork simt_work(const kernels::SimtGemmParams& p) {
  return kernels::SimtWork(p, arch::block_index().x, arch::grid_dim().x);
}

/// Stores what a segment computed: D where it is a whole tile, else its sums for simt_fixup.
template <class Epilogue>
TILEWRIGHT_DEVICE void finish_segment(const kernels::SimtGemmParams& p, const Epilogue& epilogue,
                                      const typename Epilogue::Accumulators& acc,
                                      const kernels::SimtSegment& segment) {
  if (segment.count == p.k_tiles) {
    epilogue.store(acc, p.tiles.tile(segment.tile, 0));
  } else {
    epilogue.keep(acc, arch::block_index().x, segment.place);
  }
}

/// Names A and B of each stage for the emulated machine's reports.
template <class Config>
TILEWRIGHT_DEVICE void name_simt_stages(uint32_t shared) {
  constexpr uint32_t kBytesA = 4 * Config::kPlan.tile_k * Config::kPlan.pitch_a;
  for (int s = 0; s < Config::kPlan.stages; ++s) {
    const uint32_t stage = shared + static_cast<uint32_t>(s) * Config::kPlan.stage_bytes;
    arch::name_shared(stage, kBytesA, "A", s);
    arch::name_shared(stage + kBytesA, Config::kPlan.stage_bytes - kBytesA, "B", s);
  }
}

}  // namespace pipeline
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
