// How a computing warp stores results by TMA: slabs of its own 16 rows, up to 128 bytes of columns at a time,
// staged in two buffers of its own. No barrier among warps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tilewright/arch/cache_policy.h"
#include "tilewright/arch/convert.h"
#include "tilewright/arch/fence.h"
#include "tilewright/arch/matrix.h"
#include "tilewright/arch/shared.h"
#include "tilewright/arch/tma.h"
#include "tilewright/arch/warp.h"
#include "tilewright/arch/wgmma.h"
#include "tilewright/pipeline/convert.h"
#include "tilewright/pipeline/descriptor.h"
#include "tilewright/pipeline/output_binding.h"
#include "tilewright/schedule/tile_schedule.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {
namespace impl {

/// Where C lies: a map of slabs, what exists, and what L2 does with it.
struct SlabTarget {
  TensorMap map;
  uint32_t rows = 0, columns = 0;
  arch::CachePolicy policy = arch::CachePolicy::normal;
};

/// A C of more bytes would push A and B out of L2 (50 MB on an H100 and an H200) while they are read, and
/// whoever reads it finds little of it there: it leaves first.
inline constexpr double kKeptBytes = 25 << 20;

/// The slabs of a descriptor's tiles with elements of T.
template <class D, class T>
constexpr detail::SlabPlan slab_plan_of() {
  return detail::slab_plan(detail::plan_of(facts_of_v<D>).part_n, sizeof(T));
}

/// Shared memory that the stores of a block take.
template <class D, class T>
constexpr uint32_t slab_scratch_bytes() {
  return D::max_threads_per_block / 32 * 2 * slab_plan_of<D, T>().bytes;
}

/// Two neighbours in a row as one word.
template <class T, class Value>
TILEWRIGHT_DEVICE uint32_t pack_pair(const Value& left, const Value& right) {
  static_assert(sizeof(T) == 2);
  if constexpr (element_of_v<T> == Element::bf16 && std::is_same_v<Value, float>) {
    return arch::pack_bf16x2(left, right);
  } else if constexpr (element_of_v<T> == Element::f16 && std::is_same_v<Value, float>) {
    return arch::pack_f16x2(left, right);
  } else {
    return bits_of(convert_to<T>(left)) | bits_of(convert_to<T>(right)) << 16;
  }
}

/// One warp's stores. Held: what a computing thread keeps (mainloop::WgmmaFragment).
template <class D, class T, class Held>
class SlabStore {
  using Config = typename Held::config_type;

 public:
  static constexpr detail::SlabPlan kPlan = slab_plan_of<D, T>();
  static_assert(kPlan.width >= 32, "stores through shared memory need wgmma parts of 32 bytes of columns");
  static constexpr int kSlabsOfPart = 2 * Held::part_size / static_cast<int>(kPlan.columns);
  static constexpr int kWordsOfSlab = static_cast<int>(kPlan.columns * sizeof(T)) / 8;  // of a thread

  /// scratch: slab_scratch_bytes() of shared memory of the block.
  TILEWRIGHT_DEVICE explicit SlabStore(std::byte* scratch) {
    const uint32_t warp = arch::warp_index();
    staging_ = arch::shared_address(scratch) + warp * 2 * kPlan.bytes;
    arch::name_shared(staging_, 2 * kPlan.bytes, "C staging", static_cast<int>(warp));
  }

  /// Stores slab `Slab` of part `Part` of a tile, whose words are packed[First], packed[First + 1], ... in
  /// the order of the accumulator's elements. All threads of the warp.
  template <int Part, int Slab, int First, int Count>
  TILEWRIGHT_DEVICE void store(const SlabTarget& target, const uint32_t (&packed)[Count],
                               schedule::TileCoord tile) {
    stage<First>(packed);
    publish<Part, Slab>(target, tile);
  }

  /// The same in two steps, each slab after the other: its words to shared memory, and from there to C. What
  /// is staged need not be waited for if other work comes between. Waits: for the store before the last one,
  /// which used this buffer, if drain() has not.
  template <int First, bool Waits = true, int Count = 0>
  TILEWRIGHT_DEVICE void stage(const uint32_t (&packed)[Count]) const {
    if constexpr (Waits) wait_for_all_but<1>();
    write<First>(packed, staging_ + buffer_ * kPlan.bytes);
  }
  template <int Part, int Slab>
  TILEWRIGHT_DEVICE void publish(const SlabTarget& target, schedule::TileCoord tile) {
    arch::fence_proxy_async_shared();
    arch::sync_warp();
    if (arch::lane_index() == 0) {
      const uint32_t warp = Held::thread() / 32;
      const uint32_t row =
          tile.m * static_cast<uint32_t>(size_of_v_m<D>) + Config::part_row(warp / 4, Part) + 16 * (warp % 4);
      const uint32_t column = tile.n * static_cast<uint32_t>(size_of_v_n<D>) +
                              Config::part_column(warp / 4, Part) + Slab * kPlan.columns;
      // What lies outside of C is left out.
      arch::tma_store_3d(&target.map, staging_ + buffer_ * kPlan.bytes, static_cast<int32_t>(column),
                         static_cast<int32_t>(row), static_cast<int32_t>(tile.batch), target.policy);
      arch::tma_commit();
    }
    buffer_ ^= 1;
  }

  /// Both buffers may be filled again.
  TILEWRIGHT_DEVICE static void drain() { wait_for_all_but<0>(); }

  /// After the last store.
  TILEWRIGHT_DEVICE void finish() const {
    if (arch::lane_index() == 0) arch::tma_wait_read<0>();
  }

 private:
  template <int Stores>
  TILEWRIGHT_DEVICE static void wait_for_all_but() {
    if (arch::lane_index() == 0) arch::tma_wait_read<Stores>();
    arch::sync_warp();
  }

  /// One slab, 16 rows of kPlan.width bytes, in the swizzle of C's tensor map.
  template <int First, int Count>
  TILEWRIGHT_DEVICE static void write(const uint32_t (&packed)[Count], uint32_t buffer) {
    constexpr uint32_t kMask = (kPlan.width / 16 - 1) << 4;  // 16-byte chunks exchanged by the line number
    uint32_t lane = arch::lane_index();
    arch::fence_operand(lane);  // offsets are worked out here, not kept around the K loop
    if constexpr (sizeof(T) == 2) {
      uint32_t first = lane % 16 * kPlan.width + lane / 16 * 16;
      first ^= (first >> 3) & kMask;
      TILEWRIGHT_UNROLL
      for (uint32_t strip = 0; strip < kPlan.columns / 16; ++strip) {
        const uint32_t i = First + 4 * strip;
        const uint32_t matrices[4] = {packed[i], packed[i + 1], packed[i + 2], packed[i + 3]};
        arch::stmatrix_x4(buffer + (first ^ strip * 32), matrices);
      }
    } else if constexpr (sizeof(T) == 1) {
      TILEWRIGHT_UNROLL
      for (uint32_t i = 0; i < kPlan.columns / 4; ++i) {  // 8-column block i / 2, row half i % 2
        const uint32_t at = (lane / 4 + 8 * (i % 2)) * kPlan.width + (i / 2) * 8 + lane % 4 * 2;
        arch::store_shared(buffer + (at ^ ((at >> 3) & kMask)),
                           static_cast<uint16_t>(packed[First + i / 2] >> 16 * (i % 2)));
      }
    } else {
      struct alignas(8) Words {
        uint32_t x, y;
      };
      TILEWRIGHT_UNROLL
      for (uint32_t i = 0; i < kPlan.columns / 4; ++i) {  // 8-column block i / 2, row half i % 2
        const uint32_t r = First + 4 * (i / 2) + 2 * (i % 2);
        const uint32_t at = (lane / 4 + 8 * (i % 2)) * kPlan.width + (i / 2) * 32 + lane % 4 * 8;
        arch::store_shared(buffer + (at ^ ((at >> 3) & kMask)), Words{packed[r], packed[r + 1]});
      }
    }
  }

  uint32_t staging_;     // this warp's two buffers
  uint32_t buffer_ = 0;  // which of them the next slab uses
};

/// Fills in the target of a row-major C with elements of T. Errors: alignment_unfulfilled where TMA cannot
/// address it.
template <class D, class T>
pipeline_status bind_slabs(const detail::OperandView& c, SlabTarget& target) {
#if defined(TILEWRIGHT_EMULATE)
  const detail::EncodeFunction encode = encode_for_emulator;
#else
  const detail::EncodeFunction encode = encode_for_gpu;
#endif
  target.rows = static_cast<uint32_t>(c.rows);
  target.columns = static_cast<uint32_t>(c.columns);
  const double bytes = static_cast<double>(c.rows) * static_cast<double>(c.columns) *
                       static_cast<double>(c.batches) * sizeof(T);
  if (bytes > kKeptBytes) target.policy = arch::CachePolicy::evict_first;
  return detail::bind_output(c, element_of_v<T>, slab_plan_of<D, T>(), encode, target.map);
}

template <class D, class T, int Rank, int64_t Ld>
pipeline_status bind_slabs(const Tensor<T, row_major, Rank, Ld>& c, SlabTarget& target) {
  return bind_slabs<D, T>(detail::operand_view(c), target);
}

}  // namespace impl
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
