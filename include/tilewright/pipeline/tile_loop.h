// What a TilePipeline asks of the main loop of a path: to bring the operands of a tile and to multiply them.
//
//   Config         shape, plan and stages
//   Held           what a computing thread keeps of a product (Accumulator's Held)
//   kFullArrivals  threads that arrive on a full barrier
//   kBulkA, B      whether TMA brings the operand
//   kCompletesParts  whether a part is complete when the shadow is given it; the coordinates of the tile are
//                    not looked at then
//   prefetch       one thread, at the start
//   produce        all threads of the warpgroup that brings operands
//   multiply       all computing threads: the tile whose (row, batch) and (column, batch) are given; a
//                  shadow gets control while MMAs run, where the path has them
#pragma once

#include <cstdint>

#include "tilewright/arch/cluster.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/tma.h"
#include "tilewright/arch/warp.h"
#include "tilewright/layout/tensor_shape.h"
#include "tilewright/mainloop/mma_sync_loads.h"
#include "tilewright/mainloop/mma_sync_loop.h"
#include "tilewright/mainloop/mma_sync_tile.h"
#include "tilewright/mainloop/ring.h"
#include "tilewright/mainloop/simt_loads.h"
#include "tilewright/mainloop/simt_loop.h"
#include "tilewright/mainloop/simt_tile.h"
#include "tilewright/mainloop/wgmma_tile.h"
#include "tilewright/mainloop/wgmma_tile_fragment.h"
#include "tilewright/pipeline/mma_sync_pipeline_params.h"
#include "tilewright/pipeline/pipeline_params.h"
#include "tilewright/pipeline/simt_pipeline_params.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {
namespace impl {

/// wgmma, fed by TMA. Tiles are (tile, batch) in A and in B.
template <class TileConfig>
struct WgmmaTileLoop {
  using Config = TileConfig;
  using Held = mainloop::WgmmaFragment<Config>;
  /// Of all products.
  using All = mainloop::WgmmaFragment<Config, Config::kParts>;
  static constexpr uint32_t kFullArrivals = 1;
  static constexpr bool kBulkA = true, kBulkB = true, kCompletesParts = true;

  TILEWRIGHT_DEVICE static void prefetch(const detail::PipelineParams& p) {
    arch::prefetch_tensor_map(&p.a_map);
    arch::prefetch_tensor_map(&p.b_map);
    if (Config::kShape.products == 2) arch::prefetch_tensor_map(&p.b2_map);
  }

  TILEWRIGHT_DEVICE static void produce(const detail::PipelineParams& p, uint32_t stages,
                                        const mainloop::Ring& ring, mainloop::RingPosition& at, Coord a,
                                        Coord b) {
    if (arch::warp_index() == Config::kConsumerWarps && arch::elect_one()) {
      const mainloop::WgmmaTileSource from{
          &p.a_map,
          &p.b_map,
          &p.b2_map,
          static_cast<int32_t>(a.m * static_cast<uint32_t>(Config::kShape.m)),
          static_cast<int32_t>(b.m * static_cast<uint32_t>(Config::kShape.n)),
          static_cast<int32_t>(a.n * p.a_batch_step),
          static_cast<int32_t>(b.n * p.b_batch_step)};
      mainloop::WgmmaTileLoads<Config>{stages}.load(from, ring, at, p.k_tiles);
    }
    arch::sync_warp();
  }

  template <class Shadow>
  TILEWRIGHT_DEVICE static void multiply(All& held, const detail::PipelineParams& p, uint32_t stages,
                                         const mainloop::Ring& ring, mainloop::RingPosition& at, Coord, Coord,
                                         bool accumulate, Shadow& shadow) {
    mainloop::WgmmaTile<Config>{stages}.multiply(held.registers, ring, make_releaser(ring), at, p.k_tiles,
                                                 accumulate, shadow);
  }

 private:
  /// Whom this block's computing threads tell that a stage is free: the blocks that write it.
  TILEWRIGHT_DEVICE static mainloop::Releaser make_releaser(const mainloop::Ring& ring) {
    if constexpr (Config::kMulticast) {
      return mainloop::Releaser(ring, Config::kClusterM, Config::kClusterN);
    } else {
      mainloop::Releaser self(ring, 1, 1);
      if constexpr (Config::kClusterM * Config::kClusterN > 1) {
        self.empty = arch::map_shared(ring.empty, arch::cluster_rank());
      }
      return self;
    }
  }
};

/// FFMA, fed by TMA where rows of M or N are contiguous and aligned, else by copies of single elements.
template <class TileConfig>
struct SimtTileLoop {
  using Config = TileConfig;
  using Held = mainloop::SimtFragment<Config>;
  using Loads = mainloop::SimtLoads<Config>;
  static constexpr uint32_t kFullArrivals = Loads::kThreads;
  static constexpr bool kBulkA = !Loads::kGatherA, kBulkB = !Loads::kGatherB, kCompletesParts = false;

  TILEWRIGHT_DEVICE static void prefetch(const detail::SimtPipelineParams& p) {
    if (kBulkA) arch::prefetch_tensor_map(&p.a_map);
    if (kBulkB) arch::prefetch_tensor_map(&p.b_map);
  }

  TILEWRIGHT_DEVICE static void produce(const detail::SimtPipelineParams& p, uint32_t stages,
                                        const mainloop::Ring& ring, mainloop::RingPosition& at, Coord a,
                                        Coord b) {
    const uint32_t thread = arch::thread_index().x - 32 * Config::kConsumerWarps;
    if (thread < Loads::kThreads) {
      Loads{stages}.load_tile(p, ring, at, {a.m, 0, a.n}, {0, b.m, b.n}, 0, p.k_tiles, thread);
    }
    arch::sync_warp();
  }

  template <class Shadow>
  TILEWRIGHT_DEVICE static void multiply(Held& held, const detail::SimtPipelineParams& p, uint32_t stages,
                                         const mainloop::Ring& ring, mainloop::RingPosition& at, Coord, Coord,
                                         bool accumulate, Shadow&) {
    using Tile = typename Config::Tile;
    const uint32_t thread = arch::thread_index().x;
    if (!accumulate) Tile::clear(held.registers);
    if (p.k_tiles == 0) return;
    mainloop::SimtLoop<Config>::multiply(held.registers, ring, at, stages + 4 * Tile::row(thread),
                                         stages + Loads::kBytesA + 4 * Tile::column(thread), p.k_tiles);
  }
};

/// mma.sync, fed by TMA, by cp.async, or through registers, as alignment and layout allow.
template <class TileConfig>
struct MmaSyncTileLoop {
  using Config = TileConfig;
  using Held = mainloop::MmaSyncFragment<Config>;
  using Loads = mainloop::MmaSyncLoads<Config>;
  static constexpr uint32_t kFullArrivals = Loads::kFullArrivals;
  static constexpr bool kBulkA = Config::kLayoutA.bulk, kBulkB = Config::kLayoutB.bulk,
                        kCompletesParts = false;

  TILEWRIGHT_DEVICE static void prefetch(const detail::MmaSyncPipelineParams& p) {
    if constexpr (kBulkA) arch::prefetch_tensor_map(&p.a_map);
    if constexpr (kBulkB) arch::prefetch_tensor_map(&p.b_map);
  }

  TILEWRIGHT_DEVICE static void produce(const detail::MmaSyncPipelineParams& p, uint32_t stages,
                                        const mainloop::Ring& ring, mainloop::RingPosition& at, Coord a,
                                        Coord b) {
    const mainloop::MmaSyncSource from_a{&p.a_map, p.a + static_cast<int64_t>(a.n) * p.a_batch_stride,
                                         p.a_ld,   a.m * static_cast<uint32_t>(Config::kShape.m),
                                         p.m,      static_cast<int32_t>(a.n * p.a_batch_step)};
    const mainloop::MmaSyncSource from_b{&p.b_map, p.b + static_cast<int64_t>(b.n) * p.b_batch_stride,
                                         p.b_ld,   b.m * static_cast<uint32_t>(Config::kShape.n),
                                         p.n,      static_cast<int32_t>(b.n * p.b_batch_step)};
    const uint32_t thread = arch::thread_index().x - 32 * Config::kConsumerWarps;
    Loads::load(from_a, from_b, p.k, stages, ring, at, p.k_tiles, thread);
    arch::sync_warp();
  }

  template <class Shadow>
  TILEWRIGHT_DEVICE static void multiply(Held& held, const detail::MmaSyncPipelineParams& p, uint32_t stages,
                                         const mainloop::Ring& ring, mainloop::RingPosition& at, Coord, Coord,
                                         bool accumulate, Shadow&) {
    using Multiply = mainloop::MmaSyncLoop<Config>;
    if (!accumulate) Multiply::clear(held.registers);
    if (p.k_tiles == 0) return;
    Multiply(stages, arch::warp_index()).multiply(held.registers, ring, at, p.k_tiles);
  }
};

}  // namespace impl
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
