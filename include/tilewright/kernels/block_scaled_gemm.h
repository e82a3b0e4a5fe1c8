// The library's block-scaled GEMM of sm_100a: a user of the pipeline API, tile 256 x 256 on pairs of CTAs.
#pragma once

#include "tilewright/arch/grid_dependency.h"
#include "tilewright/blas.h"
#include "tilewright/kernels/block_scaled_epilogue.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

/// The descriptor of a kernel: formats of A and B.
template <BlockFormat A, BlockFormat B>
using BlockScaledDescriptor =
    decltype(blas::Size<kernels::block_scaled_tile, kernels::block_scaled_tile,
                        kernels::block_scaled_tile_k(A, B)>() +
             blas::Precision<typename BlockTraits<A>::Element, typename BlockTraits<B>::Element, float>() +
             blas::BlockScale<BlockTraits<A>::vector, typename BlockTraits<A>::Scale>() +
             blas::MaxAlignment() + blas::WithPipeline() + blas::EnableInputStreaming() +
             blas::SM<1000, blas::arch_specific>() + blas::BlocksPerCluster<2, 1>() +
             blas::RequirePath<blas::path::tcgen05>());

/// D = epilogue(A B) over all tiles, in clusters of two CTAs of Pipeline::max_threads_per_block threads.
template <class Pipeline, class Epilogue>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(Pipeline::max_threads_per_block)
    block_scaled_gemm(const TILEWRIGHT_GRID_CONSTANT schedule::ScheduledTiles tiles,
                      const TILEWRIGHT_GRID_CONSTANT Pipeline pipeline,
                      const TILEWRIGHT_GRID_CONSTANT Epilogue epilogue) {
  arch::launch_dependents();
  arch::grid_dependency_wait();
  pipeline.run(tiles, epilogue);
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
