// A whole persistent FP32 GEMM loop inside a kernel, for sm_80 and later: the threads that multiply issue the
// asynchronous copies of the stages ahead.
//
//   wait for tile 0 | load operands of k = 0
//   per K tile:  k = 0 ..                       : load operands of k + 1, multiply k
//                k = 0                          : copies of tile + 2 into the stage of tile - 1
//                last k                         : wait for tile + 1, block barrier, load its first operands
#pragma once

#include "tilewright/arch/cp_async.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/named_barrier.h"
#include "tilewright/arch/shared.h"
#include "tilewright/mainloop/simt_loads.h"
#include "tilewright/pipeline/simt_config.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline {

/// As SimtProducerPipeline.
template <class Config, class Function>
class SimtAsyncPipeline {
 public:
  TILEWRIGHT_DEVICE SimtAsyncPipeline(const kernels::SimtGemmParams& params, const Function& function)
      : p_(params), function_(function) {}

  TILEWRIGHT_DEVICE void run() const {
    const uint32_t shared = arch::shared_address(arch::dynamic_shared_memory());
    const uint32_t thread = arch::thread_index().x;
    if (thread == 0) name_simt_stages<Config>(shared);
    const SimtEpilogue<Config, Function> epilogue(p_, function_, thread);
    kernels::SimtWork todo = simt_work(p_);
    kernels::SimtSegment segment;
    TILEWRIGHT_NO_UNROLL
    while (todo.take(p_, segment)) {
      typename Tile::Accumulators acc;
      Tile::clear(acc);
      if (segment.count != 0) {
        arch::sync_threads();  // other threads may still read operands of the segment before
        multiply(acc, shared, segment);
      }
      finish_segment(p_, epilogue, acc, segment);
    }
  }

 private:
  using Tile = typename Config::Tile;
  using Gather = mainloop::SimtGather<Config>;
  static constexpr uint32_t kStages = static_cast<uint32_t>(Config::kPlan.stages);
  static constexpr uint32_t kStageBytes = Config::kPlan.stage_bytes;
  static constexpr uint32_t kTileK = Config::kPlan.tile_k;
  static constexpr uint32_t kBytesA = 4 * kTileK * Config::kPlan.pitch_a;
  static constexpr uint32_t kBlockK = 8;  // unrolled
  static constexpr uint32_t kBlocks = kTileK / kBlockK;

  /// Issues the copies of K tile `index` of the segment, if there is one, as a group.
  TILEWRIGHT_DEVICE void copy(uint32_t stage, const kernels::SimtSegment& segment, uint32_t index) const {
    if (index < segment.count) {
      const schedule::TileCoord tile = p_.tiles.tile(segment.tile, 0);
      const uint32_t k = (segment.first + index) * kTileK, thread = arch::thread_index().x;
      Gather::template gather<true>(p_, tile, stage, k, thread);
      Gather::template gather<false>(p_, tile, stage + kBytesA, k, thread);
    }
    arch::cp_async_commit();
  }

  /// The tile whose group is the oldest of kStages - 1 has landed, for all threads.
  TILEWRIGHT_DEVICE static void wait() {
    arch::cp_async_wait<static_cast<int>(kStages) - 2>();
    arch::sync_threads();
  }

  TILEWRIGHT_DEVICE void multiply(typename Tile::Accumulators& acc, uint32_t shared,
                                  const kernels::SimtSegment& segment) const {
    const uint32_t offset_a = 4 * Tile::row(arch::thread_index().x);
    const uint32_t offset_b = kBytesA + 4 * Tile::column(arch::thread_index().x);
    TILEWRIGHT_UNROLL
    for (uint32_t s = 0; s + 1 < kStages; ++s) copy(shared + s * kStageBytes, segment, s);
    uint32_t read = shared, write = shared + (kStages - 1) * kStageBytes;  // stages of tiles kt and kt - 1
    wait();
    typename Tile::Fragment f[2];
    Tile::load(f[0], read + offset_a, read + offset_b, 0);
    TILEWRIGHT_NO_UNROLL
    for (uint32_t kt = 0; kt < segment.count; ++kt) {
      copy(write, segment, kt + kStages - 1);
      write = read;
      uint32_t a = read + offset_a, b = read + offset_b;
      TILEWRIGHT_NO_UNROLL
      for (uint32_t block = 0; block < kBlocks; ++block) {
        TILEWRIGHT_UNROLL
        for (uint32_t k = 0; k + 1 < kBlockK; ++k) {
          Tile::load(f[(k + 1) % 2], a, b, k + 1);
          Tile::multiply(acc, f[k % 2]);
        }
        a += 4 * kBlockK * Config::kPlan.pitch_a;
        b += 4 * kBlockK * Config::kPlan.pitch_b;
        const bool stage_ends = block + 1 == kBlocks;
        if (stage_ends && kt + 1 < segment.count) {
          wait();
          read = read == shared + (kStages - 1) * kStageBytes ? shared : read + kStageBytes;
          a = read + offset_a;
          b = read + offset_b;
        }
        if (!stage_ends || kt + 1 < segment.count) Tile::load(f[0], a, b, 0);
        Tile::multiply(acc, f[1]);
      }
    }
    arch::cp_async_wait<0>();
  }

  const kernels::SimtGemmParams& p_;
  const Function& function_;
};

}  // namespace pipeline
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
