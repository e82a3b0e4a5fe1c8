// C = op(A B) stored by TMA through shared memory: whole lines of memory, in the shadow of the next tile.
//
// Each computing warp stages and stores its own 16 rows, a slab of up to 128 bytes of columns at a time, in
// two buffers of its own: no barrier among warps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "tilewright/arch/convert.h"
#include "tilewright/arch/fence.h"
#include "tilewright/arch/matrix.h"
#include "tilewright/arch/shared.h"
#include "tilewright/arch/tma.h"
#include "tilewright/arch/warp.h"
#include "tilewright/arch/wgmma.h"
#include "tilewright/layout/tensor.h"
#include "tilewright/pipeline/convert.h"
#include "tilewright/pipeline/descriptor.h"
#include "tilewright/pipeline/output_binding.h"
#include "tilewright/pipeline/store_shadow.h"
#include "tilewright/schedule/tile_schedule.h"

namespace tilewright::blas {

/// The result itself.
struct identity {
  template <class T>
  TILEWRIGHT_HOST_DEVICE T operator()(const T& value, Coord) const {
    return value;
  }
};

inline namespace TILEWRIGHT_MODE {

template <class D, class T, class Op>
class StoreThroughSmem;

namespace impl {

/// One computing thread's part: see TwoPhaseEpilogue.
template <class D, class T, class Op, class Accumulator>
class BoundStore {
  using Epilogue = StoreThroughSmem<D, T, Op>;
  static constexpr detail::SlabPlan kPlan = Epilogue::plan();
  static constexpr int kPartSize = Accumulator::kPartSize;
  static constexpr int kSlabsOfPart = 2 * kPartSize / static_cast<int>(kPlan.columns);
  static constexpr int kWordsOfPart = kPartSize * static_cast<int>(sizeof(T)) / 4;
  static constexpr int kParts = Accumulator::kSize / kPartSize;

 public:
  static_assert(kPlan.width >= 32, "store_through_smem needs wgmma parts of 32 bytes of columns or more");
  static constexpr int pieces = kParts * kSlabsOfPart;
  static constexpr int packed_registers = kParts * kWordsOfPart;

  TILEWRIGHT_DEVICE BoundStore(const Epilogue& epilogue, std::byte* scratch) : epilogue_(epilogue) {
    const uint32_t warp = arch::warp_index();
    staging_ = arch::shared_address(scratch) + warp * 2 * kPlan.bytes;
    arch::name_shared(staging_, 2 * kPlan.bytes, "C staging", static_cast<int>(warp));
  }

  TILEWRIGHT_DEVICE void pack(Accumulator& accumulator, schedule::TileCoord tile) {
    tile_ = tile;
    const Coord origin{tile.m * static_cast<uint32_t>(size_of_v_m<D>),
                       tile.n * static_cast<uint32_t>(size_of_v_n<D>)};
    using Value = typename Accumulator::value_type;
    Value left{};
    accumulator.for_each_result([&](int i, Coord at, const Value& value) {
      const auto result = epilogue_.op_(value, Coord{origin.m + at.m, origin.n + at.n});
      if constexpr (sizeof(T) == 4) {
        packed_[i / kPartSize][i % kPartSize] = bits_of(convert_to<T>(result));
      } else {
        // Two neighbours share a register.
        if (i % 2 == 0) {
          left = convert_to<Value>(result);
        } else {
          packed_[i / kPartSize][i % kPartSize / 2] = pack_pair<T>(left, convert_to<Value>(result));
        }
      }
    });
  }

  template <int Piece>
  TILEWRIGHT_DEVICE void store() {
    constexpr int kPart = Piece / kSlabsOfPart, kSlab = Piece % kSlabsOfPart;
    const uint32_t buffer = staging_ + buffer_ * kPlan.bytes;
    const bool leader = arch::lane_index() == 0;
    if (leader) arch::tma_wait_read<1>();  // the store before last used this buffer
    arch::sync_warp();
    stage<kSlab>(packed_[kPart], buffer);
    arch::fence_proxy_async_shared();
    arch::sync_warp();
    if (leader) {
      using Config = typename Accumulator::held_type::config_type;
      const uint32_t warp = arch::linear_thread_index() / 32;
      const uint32_t row = tile_.m * static_cast<uint32_t>(size_of_v_m<D>) +
                           Config::part_row(warp / 4, kPart) + 16 * (warp % 4);
      const uint32_t column = tile_.n * static_cast<uint32_t>(size_of_v_n<D>) +
                              Config::part_column(warp / 4, kPart) + kSlab * kPlan.columns;
      // A store must not begin outside: what lies there does not exist.
      if (row < epilogue_.rows_ && column < epilogue_.columns_) {
        arch::tma_store_3d(&epilogue_.map_, buffer, static_cast<int32_t>(column), static_cast<int32_t>(row),
                           static_cast<int32_t>(tile_.batch));
      }
      arch::tma_commit();
    }
    buffer_ ^= 1;
  }

  TILEWRIGHT_DEVICE void finish() const {
    if (arch::lane_index() == 0) arch::tma_wait_read<0>();
  }

 private:
  template <class U, class Value>
  TILEWRIGHT_DEVICE static uint32_t pack_pair(const Value& left, const Value& right) {
    if constexpr (element_of_v<U> == Element::bf16 && std::is_same_v<Value, float>) {
      return arch::pack_bf16x2(left, right);
    } else if constexpr (element_of_v<U> == Element::f16 && std::is_same_v<Value, float>) {
      return arch::pack_f16x2(left, right);
    } else {
      return bits_of(convert_to<U>(left)) | bits_of(convert_to<U>(right)) << 16;
    }
  }

  /// One slab, 16 rows of kPlan.width bytes, in the swizzle of C's tensor map.
  template <int Slab>
  TILEWRIGHT_DEVICE static void stage(const uint32_t (&packed)[kWordsOfPart], uint32_t buffer) {
    constexpr uint32_t kMask = (kPlan.width / 16 - 1) << 4;  // 16-byte chunks exchanged by the line number
    uint32_t lane = arch::lane_index();
    arch::fence_operand(lane);  // offsets are worked out here, not kept around the K loop
    if constexpr (sizeof(T) == 2) {
      TILEWRIGHT_UNROLL
      for (uint32_t strip = 0; strip < kPlan.columns / 16; ++strip) {
        const uint32_t i = 4 * (static_cast<uint32_t>(Slab) * (kPlan.columns / 16) + strip);
        const uint32_t matrices[4] = {packed[i], packed[i + 1], packed[i + 2], packed[i + 3]};
        const uint32_t at = lane % 16 * kPlan.width + strip * 32 + lane / 16 * 16;
        arch::stmatrix_x4(buffer + (at ^ ((at >> 3) & kMask)), matrices);
      }
    } else {
      struct alignas(8) Words {
        uint32_t x, y;
      };
      TILEWRIGHT_UNROLL
      for (uint32_t i = 0; i < kPlan.columns / 4; ++i) {  // 8-column block i / 2, row half i % 2
        const uint32_t r = 4 * (static_cast<uint32_t>(Slab) * (kPlan.columns / 8) + i / 2) + 2 * (i % 2);
        const uint32_t at = (lane / 4 + 8 * (i % 2)) * kPlan.width + (i / 2) * 32 + lane % 4 * 8;
        arch::store_shared(buffer + (at ^ ((at >> 3) & kMask)), Words{packed[r], packed[r + 1]});
      }
    }
  }

  const Epilogue& epilogue_;
  uint32_t packed_[kParts][kWordsOfPart];
  schedule::TileCoord tile_{};
  uint32_t staging_;     // this warp's two buffers
  uint32_t buffer_ = 0;  // which of them the next slab uses
};

}  // namespace impl

/// C = op(result, global coordinate), of 16- or 32-bit elements, row-major. A kernel parameter
/// (TILEWRIGHT_GRID_CONSTANT: it holds a TMA descriptor), made by make_store_through_smem().
template <class D, class T, class Op>
class StoreThroughSmem {
 public:
  /// Shared memory behind the pipeline's buffer, from scratch_offset() on.
  static constexpr uint32_t scratch_bytes() { return D::max_threads_per_block / 32 * 2 * plan().bytes; }

  template <class Accumulator>
  TILEWRIGHT_DEVICE impl::BoundStore<D, T, Op, Accumulator> bind(std::byte* scratch) const {
    return {*this, scratch};
  }

 private:
  template <class D2, class T2, class Op2, class Accumulator>
  friend class impl::BoundStore;
  template <AnyDescription D2, class T2, int Rank, int64_t Ld, class Op2>
  friend auto make_store_through_smem(const Tensor<T2, row_major, Rank, Ld>&, Op2);

  static constexpr detail::SlabPlan plan() {
    return detail::slab_plan(detail::plan_of(facts_of_v<D>).part_n, sizeof(T));
  }

  TensorMap map_;
  uint32_t rows_ = 0, columns_ = 0;
  Op op_;
};

/// An epilogue for run() that stores into `c`. Errors: alignment_unfulfilled where TMA cannot address C:
/// base, leading dimension and rows of C are multiples of 16 bytes.
template <AnyDescription D, class T, int Rank, int64_t Ld, class Op = identity>
auto make_store_through_smem(const Tensor<T, row_major, Rank, Ld>& c, Op op = {}) {
  static_assert(
      path_of_v<D> == path::wgmma,
      "store_through_smem stores what wgmma leaves in registers: give run() an epilogue of one phase, "
      "epilogue(accumulator, tile)");
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "store_through_smem stores elements of 16 or 32 bits");
  using Made = StoreThroughSmem<D, T, Op>;
  Made made;
  made.op_ = op;
  made.rows_ = static_cast<uint32_t>(c.rows());
  made.columns_ = static_cast<uint32_t>(c.columns());
#if defined(TILEWRIGHT_EMULATE)
  const detail::EncodeFunction encode = encode_for_emulator;
#else
  const detail::EncodeFunction encode = encode_for_gpu;
#endif
  const pipeline_status status =
      detail::bind_output(detail::operand_view(c), element_of_v<T>, Made::plan(), encode, made.map_);
  return status ? pipeline_result<Made>(made) : pipeline_result<Made>(status.error());
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
