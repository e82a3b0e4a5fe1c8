// How the operands of a tile of mma.sync reach the stages in shared memory: by TMA, by cp.async of 16, 8 or 4
// bytes, or through registers where memory is aligned to less. What lies outside the matrices arrives as
// zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tilewright/arch/cp_async.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/mbarrier.h"
#include "tilewright/arch/shared.h"
#include "tilewright/arch/tma.h"
#include "tilewright/arch/wgmma.h"
#include "tilewright/mainloop/mma_sync_plan.h"
#include "tilewright/mainloop/ring.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// A or B of one tile, in global memory.
struct MmaSyncSource {
  const TensorMap* map;   // where TMA brings it
  const std::byte* data;  // of the batch
  int64_t ld;             // bytes
  uint32_t row, rows;     // first row of A (column of B) of the tile, and how many the matrix has
  int32_t batch;          // third coordinate of the map
};

/// The producers' half: kMmaSyncProducers threads.
template <class Config>
class MmaSyncLoads {
  static constexpr auto kThreads = static_cast<uint32_t>(tiles::kMmaSyncProducers);
  static constexpr bool is_copied(const tiles::MmaSyncLayout& l) { return !l.bulk && l.alignment >= 4; }
  static constexpr bool is_stored(const tiles::MmaSyncLayout& l) { return !l.bulk && l.alignment < 4; }
  static constexpr bool kCopies = is_copied(Config::kLayoutA) || is_copied(Config::kLayoutB);
  static constexpr bool kStores = is_stored(Config::kLayoutA) || is_stored(Config::kLayoutB);
  static constexpr uint32_t kBulkBytes = (Config::kLayoutA.bulk ? Config::kLayoutA.used_bytes() : 0) +
                                         (Config::kLayoutB.bulk ? Config::kLayoutB.used_bytes() : 0);
  static constexpr auto kTileK = static_cast<uint32_t>(Config::kShape.k);

 public:
  /// Arrivals on a full barrier: of each thread, when its asynchronous copies are there and when it has
  /// stored the rest; where there is only TMA, of the thread that starts it.
  static constexpr uint32_t kFullArrivals =
      kCopies || kStores ? kThreads * ((kCopies ? 1 : 0) + (kStores ? 1 : 0)) : 1;

  /// Brings the K tiles of one tile of a matrix product of depth k. stages: shared address of the first.
  TILEWRIGHT_DEVICE static void load(const MmaSyncSource& a, const MmaSyncSource& b, uint32_t k,
                                     uint32_t stages, const Ring& ring, RingPosition& at, uint32_t k_tiles,
                                     uint32_t thread) {
    if (!kCopies && !kStores && thread != 0) return;
    TILEWRIGHT_NO_UNROLL
    for (uint32_t kt = 0; kt < k_tiles; ++kt) {
      ring.acquire(at);
      const uint32_t full = ring.full_barrier(at);
      const uint32_t stage = stages + at.stage * Config::kPlan.stage_bytes;
      if constexpr (kBulkBytes != 0) {
        if (thread == 0) {
          arch::mbarrier_expect_tx(full, kBulkBytes);
          if constexpr (Config::kLayoutA.bulk) load_boxes<true>(a, stage, full, kt * kTileK);
          if constexpr (Config::kLayoutB.bulk) {
            load_boxes<false>(b, stage + Config::kLayoutA.bytes, full, kt * kTileK);
          }
        }
      }
      if constexpr (!Config::kLayoutA.bulk) copy<true>(a, stage, kt * kTileK, k, thread);
      if constexpr (!Config::kLayoutB.bulk) {
        copy<false>(b, stage + Config::kLayoutA.bytes, kt * kTileK, k, thread);
      }
      if constexpr (kCopies) arch::cp_async_mbarrier_arrive_noinc(full);
      if constexpr (kStores || !kCopies) arch::mbarrier_arrive(full);
      at.advance(Config::kStages);
    }
  }

 private:
  template <bool IsA>
  TILEWRIGHT_DEVICE static void load_boxes(const MmaSyncSource& from, uint32_t to, uint32_t full,
                                           uint32_t k) {
    constexpr tiles::MmaSyncLayout kLayout = IsA ? Config::kLayoutA : Config::kLayoutB;
    const uint32_t contiguous = kLayout.mn_major ? from.row : k, other = kLayout.mn_major ? k : from.row;
    TILEWRIGHT_UNROLL
    for (uint32_t slab = 0; slab < kLayout.slabs; ++slab) {
      TILEWRIGHT_UNROLL
      for (uint32_t row = 0; row < kLayout.rows; row += kLayout.box_rows) {
        arch::tma_load_3d(to + slab * kLayout.slab_bytes() + row * kLayout.width, from.map, full,
                          static_cast<int32_t>(contiguous + slab * kLayout.box_columns()),
                          static_cast<int32_t>(other + row), from.batch);
      }
    }
  }

  /// A K tile of one operand, chunk by chunk of 16 bytes: neighbouring threads read neighbouring chunks.
  template <bool IsA>
  TILEWRIGHT_DEVICE static void copy(const MmaSyncSource& from, uint32_t to, uint32_t k, uint32_t k_end,
                                     uint32_t thread) {
    constexpr tiles::MmaSyncLayout kLayout = IsA ? Config::kLayoutA : Config::kLayoutB;
    constexpr uint32_t kColumns = kLayout.chunks_per_row(), kOfChunk = 16 / kLayout.element_bytes;
    // Otherwise the compiler keeps what can be derived from it in registers around the K loop.
    arch::fence_operand(thread);
    const uint32_t first = kLayout.mn_major ? from.row : k, first_other = kLayout.mn_major ? k : from.row;
    const uint32_t end = kLayout.mn_major ? from.rows : k_end,
                   end_other = kLayout.mn_major ? k_end : from.rows;
    const bool inside = first + kColumns * kOfChunk <= end && first_other + kLayout.rows <= end_other;
    const std::byte* const start = from.data + static_cast<int64_t>(first_other) * from.ld +
                                   static_cast<int64_t>(first) * kLayout.element_bytes;
    for (uint32_t chunk = thread; chunk < kColumns * kLayout.rows; chunk += kThreads) {
      const uint32_t row = chunk / kColumns, column = chunk % kColumns;
      uint32_t bytes = 16;
      if (!inside) {
        const uint32_t index = first + column * kOfChunk;
        const uint32_t left = index < end && first_other + row < end_other ? end - index : 0;
        bytes = left < kOfChunk ? left * kLayout.element_bytes : 16;
      }
      const std::byte* const source =
          bytes == 0 ? from.data : start + static_cast<int64_t>(row) * from.ld + 16 * column;
      copy_chunk<kLayout.alignment>(to + kLayout.place(row, 16 * column), source, bytes);
    }
  }

  /// `bytes` of 16 from memory, the others zero.
  template <int Alignment>
  TILEWRIGHT_DEVICE static void copy_chunk(uint32_t to, const std::byte* from, uint32_t bytes) {
    if constexpr (Alignment >= 16) {
      arch::cp_async_16(to, from, bytes);
    } else if constexpr (Alignment == 8 || Alignment == 4) {
      constexpr uint32_t kBytes = Alignment;
      TILEWRIGHT_UNROLL
      for (uint32_t i = 0; i < 16; i += kBytes) {
        const uint32_t left = bytes > i ? bytes - i : 0, part = left < kBytes ? left : kBytes;
        if constexpr (kBytes == 8) {
          arch::cp_async_8(to + i, part == 0 ? from : from + i, part);
        } else {
          arch::cp_async_4(to + i, part == 0 ? from : from + i, part);
        }
      }
    } else {
      store_chunk<std::conditional_t<Alignment == 2, uint16_t, uint8_t>>(to, from, bytes);
    }
  }

  struct alignas(16) Chunk {
    uint32_t words[4];
  };

  template <class Unit>
  TILEWRIGHT_DEVICE static void store_chunk(uint32_t to, const std::byte* from, uint32_t bytes) {
    const auto* units = reinterpret_cast<const Unit*>(from);
    Chunk chunk = {};
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < 16 / sizeof(Unit); ++i) {
      const uint32_t unit = i * sizeof(Unit) < bytes ? units[i] : 0;
      chunk.words[i * sizeof(Unit) / 4] |= unit << 8 * (i * sizeof(Unit) % 4);
    }
    arch::store_shared(to, chunk);
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
