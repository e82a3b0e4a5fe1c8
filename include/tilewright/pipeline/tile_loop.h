// What a TilePipeline asks of the main loop of a path: to bring the operands of a tile and to multiply them.
//
//   Config         shape, plan and stages
//   Held           what a computing thread keeps of a product (Accumulator's Held)
//   full_arrivals, empty_arrivals   threads that fill a stage, and warps that free it
//   kBulkA, B      whether TMA brings the operand
//   kCompletesParts  whether a part is complete when the shadow is given it; the coordinates of the tile are
//                    not looked at then
//   prefetch       one thread, at the start
//   produce        all threads of the warpgroup that brings operands
//   kOneLoader     whether one thread of them could do that alone
//   kHasScaleWarp  whether one of its warps, is_scale_warp, rather calls produce_scales
//   multiply       all computing threads: the tile whose (row, batch) and (column, batch) are given; a
//                  shadow gets control while MMAs run, where the path has them
// Both take k_tiles K tiles, which are those of the product or none.
#pragma once

#include <cstdint>

#include "tilewright/arch/index.h"
#include "tilewright/arch/tma.h"
#include "tilewright/arch/warp.h"
#include "tilewright/layout/tensor_shape.h"
#include "tilewright/mainloop/copied_loads.h"
#include "tilewright/mainloop/group_scales.h"
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

/// wgmma, fed by TMA or, with CopiedInput, by cp.async where lines begin at multiples of 4 bytes, else
/// through registers. Tiles are (tile, batch) in A and in B.
template <class TileConfig>
struct WgmmaTileLoop {
  using Config = TileConfig;
  using Held = mainloop::WgmmaFragment<Config>;
  /// Of all products.
  using All = mainloop::WgmmaFragment<Config, Config::kParts>;
  using Tile = mainloop::WgmmaTile<Config>;
  static constexpr bool kBulkA = !Config::kCopies, kBulkB = !Config::kCopies, kCompletesParts = true;

  template <class Params>
  TILEWRIGHT_DEVICE static uint32_t full_arrivals(const Params& p) {
    const uint32_t loads = Config::kCopies ? arch::warpgroup_size : 1;
    return loads + (has_scales(p) ? 1 : 0);
  }
  /// Of every block that reads what this one writes.
  template <class Params>
  TILEWRIGHT_DEVICE static uint32_t empty_arrivals(const Params& p) {
    if constexpr (Config::kTunable) return Config::kConsumerWarps * (p.cluster_m + p.cluster_n - 1);
    return Config::kEmptyArrivals;
  }

  TILEWRIGHT_DEVICE static void prefetch(const detail::PipelineParams& p) {
    if (Config::kCopies) return;
    arch::prefetch_tensor_map(&p.a_map);
    arch::prefetch_tensor_map(&p.b_map);
    if (Config::kShape.products == 2) arch::prefetch_tensor_map(&p.b2_map);
  }

  template <class Params>
  TILEWRIGHT_DEVICE static void produce(const Params& p, uint32_t stages, const mainloop::Ring& ring,
                                        mainloop::RingPosition& at, Coord a, Coord b, uint32_t k_tiles) {
    if constexpr (Config::kCopies) {
      copy(p, stages, ring, at, a, b, k_tiles);
    } else if (is_loader()) {
      load_tile(make_loads(p, stages), p, ring, at, a, b, k_tiles);
    }
    arch::sync_warp();
  }

  /// Whether one thread of them brings all: the one that is_loader() elects. Then make_loads() and
  /// load_tile() do the same for it alone.
  static constexpr bool kOneLoader = !Config::kCopies;
  using Loads = mainloop::WgmmaTileLoads<Config>;
  TILEWRIGHT_DEVICE static bool is_loader() {
    return arch::warp_index() == Config::kConsumerWarps && arch::elect_one();
  }
  template <class Params>
  TILEWRIGHT_DEVICE static Loads make_loads(const Params& p, uint32_t stages) {
    return Loads(stages, cluster_of(p));
  }
  TILEWRIGHT_DEVICE static void load_tile(const Loads& loads, const detail::PipelineParams& p,
                                          const mainloop::Ring& ring, mainloop::RingPosition& at, Coord a,
                                          Coord b, uint32_t k_tiles) {
    const mainloop::WgmmaTileSource from{&p.a_map,
                                         &p.b_map,
                                         &p.b2_map,
                                         a.m * static_cast<uint32_t>(Config::kShape.m),
                                         b.m * static_cast<uint32_t>(Config::kShape.n),
                                         static_cast<int32_t>(a.n * p.a_batch_step),
                                         static_cast<int32_t>(b.n * p.b_batch_step)};
    loads.load(from, ring, at, k_tiles);
  }

  /// Whether this warp of the producer warpgroup brings scales instead, beside the thread that loads tiles.
  static constexpr bool kHasScaleWarp = Config::kScaled && !Config::kCopies;
  template <class Params>
  TILEWRIGHT_DEVICE static bool is_scale_warp(const Params& p) {
    return has_scales(p) && mainloop::ScaleSlots<Config>::is_loader();
  }
  template <class Params>
  TILEWRIGHT_DEVICE static void produce_scales(const Params& p, const mainloop::Ring& ring,
                                               mainloop::RingPosition& at, Coord a, Coord b,
                                               uint32_t k_tiles) {
    mainloop::ScaleSlots<Config>{slots_of(ring)}.load_tile(p, ring, at, {a.m, b.m, a.n}, k_tiles);
  }

  /// What a computing thread may work out once for all tiles.
  struct Computer {
    Tile tile;
    mainloop::Releaser releaser;
  };
  template <class Params>
  TILEWRIGHT_DEVICE static Computer make_computer(const Params& p, uint32_t stages,
                                                  const mainloop::Ring& ring) {
    return {Tile(stages), make_releaser(p, ring)};
  }

  template <class Params, class Shadow>
  TILEWRIGHT_DEVICE static void multiply(All& held, const Params& p, uint32_t stages,
                                         const mainloop::Ring& ring, mainloop::RingPosition& at, Coord, Coord,
                                         uint32_t k_tiles, bool accumulate, Shadow& shadow) {
    multiply(make_computer(p, stages, ring), held, p, ring, at, k_tiles, accumulate, shadow);
  }
  template <class Params, class Shadow>
  TILEWRIGHT_DEVICE static void multiply(const Computer& computer, All& held, const Params& p,
                                         const mainloop::Ring& ring, mainloop::RingPosition& at,
                                         uint32_t k_tiles, bool accumulate, Shadow& shadow) {
    uint32_t group_tiles = 1;
    if constexpr (Config::kTunable) group_tiles = p.group_tiles;
    auto scales = scales_of(p, ring);
    computer.tile.multiply(held.registers, ring, computer.releaser, at, k_tiles, group_tiles, accumulate,
                           scales, shadow);
  }

  /// A tile in two halves (mainloop::WgmmaTile), with the scales that both of them take.
  template <class Params>
  TILEWRIGHT_DEVICE static auto make_scales(const Params& p, const mainloop::Ring& ring) {
    return scales_of(p, ring);
  }
  template <class Scales, class Shadow>
  TILEWRIGHT_DEVICE static void begin(const Computer& computer, All& held, const mainloop::Ring& ring,
                                      mainloop::RingPosition& at, uint32_t k_tiles, Scales& scales,
                                      Shadow& shadow) {
    computer.tile.begin(held.registers, ring, computer.releaser, at, k_tiles, scales, shadow);
  }
  template <class Scales, class Shadow>
  TILEWRIGHT_DEVICE static void finish(const Computer& computer, All& held, const mainloop::Ring& ring,
                                       mainloop::RingPosition& at, uint32_t k_tiles, Scales& scales,
                                       Shadow& shadow) {
    computer.tile.finish(held.registers, ring, computer.releaser, at, k_tiles, scales, shadow);
  }

 private:
  template <class Params>
  TILEWRIGHT_DEVICE static bool has_scales([[maybe_unused]] const Params& p) {
    // Where parts share the temporary there is no register for the question.
    if constexpr (Config::kScaled && Config::kParts == 1) return p.a_scales.data != nullptr;
    return Config::kScaled;
  }
  template <class Params>
  TILEWRIGHT_DEVICE static auto scales_of(const Params& p, const mainloop::Ring& ring) {
    if constexpr (Config::kScaled) {
      return mainloop::GroupScales<Config>({slots_of(ring)}, has_scales(p));
    } else {
      return mainloop::NoGroupScales();
    }
  }
  /// Slots of scales lie behind the barriers.
  TILEWRIGHT_DEVICE static uint32_t slots_of(const mainloop::Ring& ring) {
    return ring.full + tiles::kStageBarrierBytes * ring.stages;
  }

  /// All threads of the producer warpgroup.
  TILEWRIGHT_DEVICE static void copy(const detail::TunedPipelineParams& p, uint32_t stages,
                                     const mainloop::Ring& ring, mainloop::RingPosition& at, Coord a, Coord b,
                                     uint32_t k_tiles) {
    const schedule::TileCoord tile{a.m, b.m, a.n};
    const mainloop::CopiedOperand of_a{p.a + static_cast<int64_t>(a.n) * p.a_batch_stride, p.a_ld, p.m,
                                       p.k_bytes},
        of_b{p.b + static_cast<int64_t>(b.n) * p.b_batch_stride, p.b_ld, p.n, p.k_bytes};
    const mainloop::CopiedLoads<Config> loads{stages};
    if constexpr (Config::kScaled) {
      using Slots = mainloop::ScaleSlots<Config>;
      typename Slots::Ahead ahead{};
      const bool scales = has_scales(p) && Slots::is_loader();
      loads.load(of_a, of_b, tile, ring, at, k_tiles, [&](mainloop::RingPosition stage, uint32_t k_tile) {
        if (scales) Slots{slots_of(ring)}.load(p, ring, stage, tile, k_tile, ahead);
      });
    } else {
      loads.load(of_a, of_b, tile, ring, at, k_tiles, [](mainloop::RingPosition, uint32_t) {});
    }
  }

  template <class Params>
  TILEWRIGHT_DEVICE static auto cluster_of([[maybe_unused]] const Params& p) {
    if constexpr (Config::kTunable) {
      return mainloop::LaunchedCluster{p.cluster_m, p.cluster_n, p.log2_cluster_m, p.row_mask};
    } else {
      return mainloop::StaticCluster<Config::kClusterM, Config::kClusterN>();
    }
  }

  /// Whom this block's computing threads tell that a stage is free: the blocks that write it.
  template <class Params>
  TILEWRIGHT_DEVICE static mainloop::Releaser make_releaser(const Params& p, const mainloop::Ring& ring) {
    if constexpr (Config::kMulticast) {
      return mainloop::Releaser(ring, cluster_of(p));
    } else {
      mainloop::Releaser self(ring, mainloop::StaticCluster<1, 1>());
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
  static constexpr bool kBulkA = !Loads::kGatherA, kBulkB = !Loads::kGatherB, kCompletesParts = false,
                        kHasScaleWarp = false, kOneLoader = false;

  TILEWRIGHT_DEVICE static uint32_t full_arrivals(const detail::SimtPipelineParams&) {
    return Loads::kThreads;
  }
  TILEWRIGHT_DEVICE static uint32_t empty_arrivals(const detail::SimtPipelineParams&) {
    return Config::kEmptyArrivals;
  }

  TILEWRIGHT_DEVICE static void prefetch(const detail::SimtPipelineParams& p) {
    if (kBulkA) arch::prefetch_tensor_map(&p.a_map);
    if (kBulkB) arch::prefetch_tensor_map(&p.b_map);
  }

  TILEWRIGHT_DEVICE static void produce(const detail::SimtPipelineParams& p, uint32_t stages,
                                        const mainloop::Ring& ring, mainloop::RingPosition& at, Coord a,
                                        Coord b, uint32_t k_tiles) {
    const uint32_t thread = arch::thread_index().x - 32 * Config::kConsumerWarps;
    if (thread < Loads::kThreads) {
      Loads{stages}.load_tile(p, ring, at, {a.m, 0, a.n}, {0, b.m, b.n}, 0, k_tiles, thread);
    }
    arch::sync_warp();
  }

  template <class Shadow>
  TILEWRIGHT_DEVICE static void multiply(Held& held, const detail::SimtPipelineParams&, uint32_t stages,
                                         const mainloop::Ring& ring, mainloop::RingPosition& at, Coord, Coord,
                                         uint32_t k_tiles, bool accumulate, Shadow&) {
    using Tile = typename Config::Tile;
    const uint32_t thread = arch::thread_index().x;
    if (!accumulate) Tile::clear(held.registers);
    if (k_tiles == 0) return;
    mainloop::SimtLoop<Config>::multiply(held.registers, ring, at, stages + 4 * Tile::row(thread),
                                         stages + Loads::kBytesA + 4 * Tile::column(thread), k_tiles);
  }
};

/// mma.sync, fed by TMA, by cp.async, or through registers, as alignment and layout allow.
template <class TileConfig>
struct MmaSyncTileLoop {
  using Config = TileConfig;
  using Held = mainloop::MmaSyncFragment<Config>;
  using Loads = mainloop::MmaSyncLoads<Config>;
  static constexpr bool kBulkA = Config::kLayoutA.bulk, kBulkB = Config::kLayoutB.bulk,
                        kCompletesParts = false, kHasScaleWarp = false, kOneLoader = false;

  TILEWRIGHT_DEVICE static uint32_t full_arrivals(const detail::MmaSyncPipelineParams&) {
    return Loads::kFullArrivals;
  }
  TILEWRIGHT_DEVICE static uint32_t empty_arrivals(const detail::MmaSyncPipelineParams&) {
    return Config::kEmptyArrivals;
  }

  TILEWRIGHT_DEVICE static void prefetch(const detail::MmaSyncPipelineParams& p) {
    if constexpr (kBulkA) arch::prefetch_tensor_map(&p.a_map);
    if constexpr (kBulkB) arch::prefetch_tensor_map(&p.b_map);
  }

  TILEWRIGHT_DEVICE static void produce(const detail::MmaSyncPipelineParams& p, uint32_t stages,
                                        const mainloop::Ring& ring, mainloop::RingPosition& at, Coord a,
                                        Coord b, uint32_t k_tiles) {
    const mainloop::MmaSyncSource from_a{&p.a_map, p.a + static_cast<int64_t>(a.n) * p.a_batch_stride,
                                         p.a_ld,   a.m * static_cast<uint32_t>(Config::kShape.m),
                                         p.m,      static_cast<int32_t>(a.n * p.a_batch_step)};
    const mainloop::MmaSyncSource from_b{&p.b_map, p.b + static_cast<int64_t>(b.n) * p.b_batch_stride,
                                         p.b_ld,   b.m * static_cast<uint32_t>(Config::kShape.n),
                                         p.n,      static_cast<int32_t>(b.n * p.b_batch_step)};
    const uint32_t thread = arch::thread_index().x - 32 * Config::kConsumerWarps;
    Loads::load(from_a, from_b, p.k, stages, ring, at, k_tiles, thread);
    arch::sync_warp();
  }

  template <class Shadow>
  TILEWRIGHT_DEVICE static void multiply(Held& held, const detail::MmaSyncPipelineParams&, uint32_t stages,
                                         const mainloop::Ring& ring, mainloop::RingPosition& at, Coord, Coord,
                                         uint32_t k_tiles, bool accumulate, Shadow&) {
    using Multiply = mainloop::MmaSyncLoop<Config>;
    if (!accumulate) Multiply::clear(held.registers);
    if (k_tiles == 0) return;
    Multiply(stages, arch::warp_index()).multiply(held.registers, ring, at, k_tiles);
  }
};

}  // namespace impl
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
