// Operands of a wgmma tile where TMA cannot address them: any base, any leading dimension. Lines at a
// multiple of 4 bytes come by cp.async, a stage ahead of its arrival; others through registers, as aligned
// words.
#pragma once

#include <cstdint>

#include "tilewright/arch/convert.h"
#include "tilewright/arch/cp_async.h"
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

  /// Whether every line begins at a multiple of `bytes`, a power of two.
  TILEWRIGHT_DEVICE bool is_aligned(uint32_t bytes) const {
    return ((reinterpret_cast<uintptr_t>(data) | static_cast<uintptr_t>(ld)) & (bytes - 1)) == 0;
  }
};

/// The producer warpgroup fills the stages that WgmmaTileLoads describes. What lies outside the matrices is
/// filled with zeros, as TMA does.
template <class Config>
struct CopiedLoads {
  static constexpr uint32_t kThreads = arch::warpgroup_size;  // that arrive on a full barrier
  static_assert(Config::kLayoutA.width == 128 && Config::kLayoutB.width == 128 &&
                    Config::kLayoutA.slabs == 1 && Config::kLayoutB.slabs == 1,
                "K tiles of 128 bytes");

  uint32_t stages;  // shared address of the first stage

  /// All threads of the warpgroup. load_scales(at, K tile): what else belongs to a stage.
  template <class LoadScales>
  TILEWRIGHT_DEVICE void load(const CopiedOperand& a, const CopiedOperand& b, schedule::TileCoord tile,
                              const Ring& ring, RingPosition& at, uint32_t k_tiles,
                              LoadScales&& load_scales) const {
    // A stage is announced when the copies of the one after it have been issued, if there is a third: a
    // consumer may keep a stage until it has the next one.
    const bool ahead = ring.stages > 2;
    RingPosition issued = at;
    TILEWRIGHT_NO_UNROLL
    for (uint32_t kt = 0; kt < k_tiles; ++kt) {
      ring.acquire(at);
      const uint32_t stage = stages + at.stage * Config::kPlan.stage_bytes;
      copy_lines<Config::kShape.m>(stage, a, tile.m, kt * 128);
      copy_lines<Config::kShape.n>(stage + Config::kLayoutA.bytes, b, tile.n, kt * 128);
      load_scales(at, kt);
      arch::cp_async_commit();
      if (ahead && kt != 0) {
        arch::cp_async_wait<1>();
        announce(ring, issued);
      }
      issued = at;
      at.advance(ring.stages);
      if (!ahead || kt + 1 == k_tiles) {
        arch::cp_async_wait<0>();
        announce(ring, issued);
      }
    }
  }

 private:
  TILEWRIGHT_DEVICE static void announce(const Ring& ring, RingPosition at) {
    arch::fence_proxy_async_shared();
    arch::mbarrier_arrive(ring.full_barrier(at));
  }

  /// The lines of a tile, 128 bytes from k0 on, in the 128-byte swizzle.
  template <int Lines>
  TILEWRIGHT_DEVICE static void copy_lines(uint32_t to, const CopiedOperand& from, uint32_t tile,
                                           uint32_t k0) {
    if (from.is_aligned(8)) {
      copy_pieces<8, Lines>(to, from, tile * Lines, k0);
    } else if (from.is_aligned(4)) {
      copy_pieces<4, Lines>(to, from, tile * Lines, k0);
    } else if (k0 != 0 && from.k - k0 >= 128 + 4) {
      copy_words<Lines>(to, from, tile * Lines, k0);
    } else {
      copy_bytes<Lines>(to, from, tile * Lines, k0);
    }
  }

  TILEWRIGHT_DEVICE static uint32_t thread() { return arch::thread_index().x % kThreads; }
  TILEWRIGHT_DEVICE static uint32_t place(uint32_t line, uint32_t byte) {
    return line * 128 + ((byte / 16 ^ line % 8) * 16) + byte % 16;
  }

  /// By cp.async, whole lines in neighbouring threads.
  template <uint32_t Bytes, int Lines>
  TILEWRIGHT_DEVICE static void copy_pieces(uint32_t to, const CopiedOperand& from, uint32_t first_line,
                                            uint32_t k0) {
    constexpr uint32_t kPieces = 128 / Bytes, kAtOnce = 4;
    constexpr bool kWhole = Lines * kPieces % (kAtOnce * kThreads) == 0;
    const uint32_t byte = thread() % kPieces * Bytes, k = k0 + byte;
    const uint32_t left = k >= from.k ? 0 : from.k - k < Bytes ? from.k - k : Bytes;
    TILEWRIGHT_NO_UNROLL
    for (uint32_t first = thread() / kPieces; first < Lines; first += kAtOnce * kThreads / kPieces) {
      TILEWRIGHT_UNROLL
      for (uint32_t j = 0; j < kAtOnce; ++j) {
        const uint32_t line = first + j * kThreads / kPieces;
        if constexpr (!kWhole) {
          if (line >= Lines) break;
        }
        const uint32_t bytes = first_line + line < from.lines ? left : 0;
        const uint8_t* source =
            bytes != 0 ? from.data + static_cast<int64_t>(first_line + line) * from.ld + k : from.data;
        if constexpr (Bytes == 8) {
          arch::cp_async_8(to + place(line, byte), source, bytes);
        } else {
          arch::cp_async_4(to + place(line, byte), source, bytes);
        }
      }
    }
  }

  struct alignas(16) Chunk {
    uint32_t words[4];
  };

  /// Through registers, a chunk of 16 bytes from the five aligned words that it touches: all of their bytes
  /// are in the line, whose K tile is neither its first nor its last.
  template <int Lines>
  TILEWRIGHT_DEVICE static void copy_words(uint32_t to, const CopiedOperand& from, uint32_t first_line,
                                           uint32_t k0) {
    constexpr uint32_t kAtOnce = 4;
    constexpr bool kWhole = Lines * 8 % (kAtOnce * kThreads) == 0;
    const uint32_t byte = thread() % 8 * 16;
    TILEWRIGHT_NO_UNROLL
    for (uint32_t first = thread() / 8; first < Lines; first += kAtOnce * kThreads / 8) {
      uint32_t words[kAtOnce][5], offset[kAtOnce];
      TILEWRIGHT_UNROLL
      for (uint32_t j = 0; j < kAtOnce; ++j) {
        const uint32_t line = first_line + first + j * kThreads / 8;
        const uint32_t existing = line < from.lines ? line : from.lines - 1;
        const uint8_t* source = from.data + static_cast<int64_t>(existing) * from.ld + k0 + byte;
        offset[j] = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(source) % 4);
        const auto* aligned = reinterpret_cast<const uint32_t*>(source - offset[j]);
        TILEWRIGHT_UNROLL
        for (uint32_t w = 0; w < 5; ++w) words[j][w] = aligned[w];
      }
      TILEWRIGHT_UNROLL
      for (uint32_t j = 0; j < kAtOnce; ++j) {
        const uint32_t line = first + j * kThreads / 8;
        if constexpr (!kWhole) {
          if (line >= Lines) break;
        }
        const bool exists = first_line + line < from.lines;
        Chunk chunk;
        TILEWRIGHT_UNROLL
        for (uint32_t w = 0; w < 4; ++w) {
          const uint32_t joined =
              arch::permute_bytes(words[j][w], words[j][w + 1], 0x3210 + 0x1111 * offset[j]);
          chunk.words[w] = exists ? joined : 0;
        }
        arch::store_shared(to + place(line, byte), chunk);
      }
    }
  }

  /// Byte by byte.
  template <int Lines>
  TILEWRIGHT_DEVICE static void copy_bytes(uint32_t to, const CopiedOperand& from, uint32_t first_line,
                                           uint32_t k0) {
    TILEWRIGHT_NO_UNROLL
    for (uint32_t i = thread(); i < Lines * 8; i += kThreads) {
      const uint32_t line = i / 8, byte = i % 8 * 16, k = k0 + byte;
      Chunk chunk{};
      if (first_line + line < from.lines && k < from.k) {
        const uint8_t* source = from.data + static_cast<int64_t>(first_line + line) * from.ld + k;
        const uint32_t bytes = from.k - k < 16 ? from.k - k : 16;
        TILEWRIGHT_UNROLL
        for (uint32_t b = 0; b < 16; ++b) {
          if (b < bytes) chunk.words[b / 4] |= static_cast<uint32_t>(source[b]) << (8 * (b % 4));
        }
      }
      arch::store_shared(to + place(line, byte), chunk);
    }
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
