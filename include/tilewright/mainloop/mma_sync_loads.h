// How the operands of a tile of mma.sync reach the stages in shared memory: by TMA, by cp.async of 16, 8 or 4
// bytes, or through registers where memory is aligned to less. What lies outside the matrices arrives as
// zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tilewright/arch/cp_async.h"
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
  static TILEWRIGHT_HOST_DEVICE constexpr bool is_copied(const tiles::MmaSyncLayout& l) {
    return !l.bulk && l.alignment >= 4;
  }
  static TILEWRIGHT_HOST_DEVICE constexpr bool is_stored(const tiles::MmaSyncLayout& l) {
    return !l.bulk && l.alignment < 4;
  }
  static constexpr bool kCopies = is_copied(Config::kLayoutA) || is_copied(Config::kLayoutB);
  static constexpr bool kStores = is_stored(Config::kLayoutA) || is_stored(Config::kLayoutB);
  static constexpr uint32_t kBulkBytes = (Config::kLayoutA.bulk ? Config::kLayoutA.used_bytes() : 0) +
                                         (Config::kLayoutB.bulk ? Config::kLayoutB.used_bytes() : 0);
  static constexpr auto kTileK = static_cast<uint32_t>(Config::kShape.k);
  /// Chunks whose loads are on their way before the first one is stored.
  static constexpr uint32_t kTogether = 4;

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
    constexpr uint32_t kWidth = kLayout.row_bytes() / kLayout.element_bytes;
    // Otherwise the compiler keeps what can be derived from it in registers around the K loop.
    arch::fence_operand(thread);
    Box box;
    box.first = kLayout.mn_major ? from.row : k;
    box.other = kLayout.mn_major ? k : from.row;
    box.end = kLayout.mn_major ? from.rows : k_end;
    box.other_end = kLayout.mn_major ? k_end : from.rows;
    box.start = from.data + static_cast<int64_t>(box.other) * from.ld +
                static_cast<int64_t>(box.first) * kLayout.element_bytes;
    if (box.first + kWidth <= box.end && box.other + kLayout.rows <= box.other_end) {
      copy_chunks<IsA, true>(from, box, to, thread);
    } else {
      copy_chunks<IsA, false>(from, box, to, thread);
    }
  }

  /// What a K tile of an operand is of the matrix: indices in elements, the contiguous one and the other.
  struct Box {
    const std::byte* start;
    uint32_t first, end, other, other_end;
  };

  /// Inside: all of it exists.
  template <bool IsA, bool Inside>
  TILEWRIGHT_DEVICE static void copy_chunks(const MmaSyncSource& from, const Box& box, uint32_t to,
                                            uint32_t thread) {
    constexpr tiles::MmaSyncLayout kLayout = IsA ? Config::kLayoutA : Config::kLayoutB;
    constexpr uint32_t kTimes = times(kLayout);
    if constexpr (is_stored(kLayout)) {
      TILEWRIGHT_NO_UNROLL
      for (uint32_t time = 0; time < kTimes; time += kTogether) {
        ChunkBits bits[kTogether];
        TILEWRIGHT_UNROLL
        for (uint32_t i = 0; i < kTogether; ++i) {
          bits[i] = load_chunk<kLayout.alignment>(chunk_of<IsA, Inside>(from, box, to, thread, time + i));
        }
        TILEWRIGHT_UNROLL
        for (uint32_t i = 0; i < kTogether; ++i) {
          const Chunk chunk = chunk_of<IsA, Inside>(from, box, to, thread, time + i);
          if (chunk.exists) arch::store_shared(chunk.to, bits[i]);
        }
      }
    } else if constexpr (Inside && kTimes <= 16) {
      TILEWRIGHT_UNROLL
      for (uint32_t time = 0; time < kTimes; ++time) {
        copy_chunk<kLayout.alignment, true>(chunk_of<IsA, true>(from, box, to, thread, time));
      }
    } else {
      TILEWRIGHT_NO_UNROLL
      for (uint32_t time = 0; time < kTimes; ++time) {
        copy_chunk<kLayout.alignment, Inside>(chunk_of<IsA, Inside>(from, box, to, thread, time));
      }
    }
  }

  /// How often all threads together take a chunk each.
  TILEWRIGHT_HOST_DEVICE static constexpr uint32_t times(const tiles::MmaSyncLayout& l) {
    return (l.chunks_per_row() * l.rows + kThreads - 1) / kThreads;
  }

  /// 16 bytes of the tile: `bytes` of them are there, the others zero.
  struct Chunk {
    const std::byte* from;
    uint32_t to, bytes;
    bool exists;  // in the tile
  };

  /// The chunk of a thread for the time-th time.
  template <bool IsA, bool Inside>
  TILEWRIGHT_DEVICE static Chunk chunk_of(const MmaSyncSource& from, const Box& box, uint32_t to,
                                          uint32_t thread, uint32_t time) {
    constexpr tiles::MmaSyncLayout kLayout = IsA ? Config::kLayoutA : Config::kLayoutB;
    constexpr uint32_t kColumns = kLayout.chunks_per_row(), kChunks = kColumns * kLayout.rows;
    // Constant parts stay apart where threads stay in their column.
    constexpr bool kSteps = kThreads % kColumns == 0;
    // In copies of several at a time the last ones may be past the end.
    constexpr bool kWhole =
        kChunks % kThreads == 0 && (!is_stored(kLayout) || times(kLayout) % kTogether == 0);
    const uint32_t number = thread + time * kThreads;
    const uint32_t row = kSteps ? thread / kColumns + time * (kThreads / kColumns) : number / kColumns;
    const uint32_t column = kSteps ? thread % kColumns : number % kColumns;
    Chunk chunk{box.start + static_cast<int64_t>(row) * from.ld + 16 * column,
                to + kLayout.place(row, 16 * column), 16, kWhole || number < kChunks};
    if constexpr (!Inside) {
      constexpr uint32_t kOfChunk = 16 / kLayout.element_bytes;
      const uint32_t index = box.first + column * kOfChunk;
      const uint32_t left = index < box.end && box.other + row < box.other_end ? box.end - index : 0;
      chunk.bytes = left < kOfChunk ? left * kLayout.element_bytes : 16;
      if (chunk.bytes == 0) chunk.from = from.data;
    }
    return chunk;
  }

  template <int Alignment, bool Whole>
  TILEWRIGHT_DEVICE static void copy_chunk(const Chunk& chunk) {
    if (!chunk.exists) return;
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < 16; i += Alignment) {
      const uint32_t left = chunk.bytes > i ? chunk.bytes - i : 0;
      copy_piece<Alignment, Whole>(chunk.to + i, Whole || left != 0 ? chunk.from + i : chunk.from,
                                   left < Alignment ? left : Alignment);
    }
  }
  template <int Bytes, bool Whole>
  TILEWRIGHT_DEVICE static void copy_piece(uint32_t to, const std::byte* from, uint32_t bytes) {
    if constexpr (Bytes == 16) {
      arch::cp_async_16(to, from, Whole ? 16 : bytes);
    } else if constexpr (Bytes == 8) {
      arch::cp_async_8(to, from, Whole ? 8 : bytes);
    } else if constexpr (Whole) {
      arch::cp_async_4(to, from);
    } else {
      arch::cp_async_4(to, from, bytes);
    }
  }

  struct alignas(16) ChunkBits {
    uint32_t words[4];
  };

  template <int Alignment>
  TILEWRIGHT_DEVICE static ChunkBits load_chunk(const Chunk& chunk) {
    using Unit = std::conditional_t<Alignment == 2, uint16_t, uint8_t>;
    const auto* units = reinterpret_cast<const Unit*>(chunk.from);
    ChunkBits bits = {};
    TILEWRIGHT_UNROLL
    for (uint32_t i = 0; i < 16 / sizeof(Unit); ++i) {
      const bool there = chunk.exists && i * sizeof(Unit) < chunk.bytes;
      const uint32_t unit = there ? units[i] : 0;
      bits.words[i * sizeof(Unit) / 4] |= unit << 8 * (i * sizeof(Unit) % 4);
    }
    return bits;
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
