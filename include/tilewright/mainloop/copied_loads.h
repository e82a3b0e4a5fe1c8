// Operands of a wgmma tile by ordinary loads, where TMA cannot address them: any base, any leading dimension.
#pragma once

#include <cstdint>

#include "tilewright/arch/fence.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/mbarrier.h"
#include "tilewright/arch/shared.h"
#include "tilewright/mainloop/group_scales.h"
#include "tilewright/mainloop/ring.h"
#include "tilewright/mainloop/wgmma_tile_loads.h"
#include "tilewright/schedule/tile_schedule.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// Lines of K of an operand in global memory. In bytes.
struct CopiedOperand {
  const uint8_t* data;
  int64_t ld;
  uint32_t lines, k;
};

/// The producer warpgroup fills the stages that WgmmaTileLoads describes. What lies outside the matrices is
/// filled with zeros, as TMA does.
template <class Config>
struct CopiedLoads {
  static constexpr uint32_t kThreads = 128;  // that arrive on a full barrier
  static_assert(Config::kLayoutA.width == 128 && Config::kLayoutB.width == 128 &&
                    Config::kLayoutA.slabs == 1 && Config::kLayoutB.slabs == 1,
                "K tiles of 128 bytes");

  uint32_t stages;  // shared address of the first stage

  /// All threads of the warpgroup. scale_tile(at, K tile): what else belongs to a stage.
  template <class LoadScales>
  TILEWRIGHT_DEVICE void load(const CopiedOperand& a, const CopiedOperand& b, schedule::TileCoord tile,
                              const Ring& ring, RingPosition& at, uint32_t k_tiles,
                              LoadScales&& load_scales) const {
    TILEWRIGHT_NO_UNROLL
    for (uint32_t kt = 0; kt < k_tiles; ++kt) {
      ring.acquire(at);
      const uint32_t stage = stages + at.stage * Config::kPlan.stage_bytes;
      copy_lines<Config::kShape.m>(stage, a, tile.m, kt * 128);
      copy_lines<Config::kShape.n>(stage + Config::kLayoutA.bytes, b, tile.n, kt * 128);
      load_scales(at, kt);
      arch::fence_proxy_async_shared();
      arch::mbarrier_arrive(ring.full_barrier(at));
      at.advance(ring.stages);
    }
  }

 private:
  /// The lines of a tile, 128 bytes from k0 on, in the 128-byte swizzle.
  template <int Lines>
  TILEWRIGHT_DEVICE static void copy_lines(uint32_t to, const CopiedOperand& from, uint32_t tile,
                                           uint32_t k0) {
    struct alignas(16) Chunk {
      uint32_t words[4];
    };
    TILEWRIGHT_NO_UNROLL
    for (uint32_t i = arch::thread_index().x % kThreads; i < Lines * 8; i += kThreads) {
      const uint32_t line = i / 8, k = k0 + i % 8 * 16;
      const uint32_t global_line = tile * Lines + line;
      Chunk chunk{};
      if (global_line < from.lines && k < from.k) {
        const uint8_t* source = from.data + static_cast<int64_t>(global_line) * from.ld + k;
        const uint32_t bytes = from.k - k < 16 ? from.k - k : 16;
        TILEWRIGHT_UNROLL
        for (uint32_t byte = 0; byte < 16; ++byte) {
          if (byte < bytes) chunk.words[byte / 4] |= static_cast<uint32_t>(source[byte]) << (8 * (byte % 4));
        }
      }
      arch::store_shared(to + line * 128 + ((i % 8 ^ line % 8) * 16), chunk);
    }
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
