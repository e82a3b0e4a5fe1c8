// The whole-grid FP32 GEMM kernels.
#pragma once

#include "tilewright/arch/grid_dependency.h"
#include "tilewright/pipeline/simt_async_pipeline.h"
#include "tilewright/pipeline/simt_producer_pipeline.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

/// The GEMM. `function` is applied to each result before it is stored: see pipeline::Identity. kPlan.threads
/// threads and kPlan.shared_bytes a block; at most as many blocks as are resident at once.
template <class Config, class Function>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS_CTAS(Config::kPlan.threads, Config::kPlan.ctas_per_sm)
    simt_gemm(const TILEWRIGHT_GRID_CONSTANT kernels::SimtGemmParams params,
              const TILEWRIGHT_GRID_CONSTANT Function function) {
  if constexpr (Config::kPipeline == kernels::SimtPipeline::producer) {
    pipeline::SimtProducerPipeline<Config, Function>(params, function).run();
  } else {
    pipeline::SimtAsyncPipeline<Config, Function>(params, function).run();
  }
}

/// Completes the tiles that several CTAs of simt_gemm computed. kPlan.consumers threads; blocks in x: one for
/// every accumulator of a thread (few tiles of many parts), or for every four; in y: any number.
template <class Config, class Function>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Config::kPlan.consumers)
    simt_fixup(const TILEWRIGHT_GRID_CONSTANT kernels::SimtGemmParams params,
               const TILEWRIGHT_GRID_CONSTANT Function function) {
  const pipeline::SimtEpilogue<Config, Function> epilogue(params, function, arch::thread_index().x);
  if constexpr (Config::kPipeline == kernels::SimtPipeline::producer) {  // dependent launches need sm_90
    arch::launch_dependents();
    arch::grid_dependency_wait();
  }
  constexpr uint32_t kAccumulators = Config::kPlan.thread_m * Config::kPlan.thread_n;
  const uint32_t tiles = params.tiles.clusters_total - params.whole_tiles;
  TILEWRIGHT_NO_UNROLL
  for (uint32_t tile = arch::block_index().y; tile < tiles; tile += arch::grid_dim().y) {
    if (arch::grid_dim().x == kAccumulators) {
      epilogue.template add_and_store<1>(tile, arch::block_index().x);
    } else {
      epilogue.template add_and_store<4>(tile, arch::block_index().x);
    }
  }
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
