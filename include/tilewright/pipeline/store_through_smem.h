// C = op(A B) stored by TMA through shared memory: whole lines of memory, in the shadow of the next tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tilewright/arch/math.h"
#include "tilewright/arch/wgmma.h"
#include "tilewright/layout/tensor.h"
#include "tilewright/pipeline/convert.h"
#include "tilewright/pipeline/descriptor.h"
#include "tilewright/pipeline/functors.h"
#include "tilewright/pipeline/slab_store.h"
#include "tilewright/pipeline/store_shadow.h"
#include "tilewright/schedule/tile_schedule.h"

namespace tilewright::blas {

inline namespace TILEWRIGHT_MODE {

template <class D, class T, class Op>
class StoreThroughSmem;

namespace impl {

/// An op as one thread has it. Ops may have a state: then Op::Bound is made of the op, once a thread, by
/// whole warps, and its for_tile(tile, body) calls body(op), once.
template <class Op>
struct BoundOp {
  const Op& op;

  template <class Body>
  TILEWRIGHT_DEVICE void for_tile(schedule::TileCoord, Body&& body) const {
    body(op);
  }
};
template <class Op>
requires requires { typename Op::Bound; }
struct BoundOp<Op> : Op::Bound {
  TILEWRIGHT_DEVICE explicit BoundOp(const Op& op) : Op::Bound(op) {}
};

/// Whether an op does not look at the coordinate: it can be called without.
template <class Op>
inline constexpr bool ignores_place_v = std::is_invocable_v<const Op&, float>;
template <class Op>
requires requires { typename Op::Bound; }
inline constexpr bool ignores_place_v<Op> = false;

/// One computing thread's part: see TwoPhaseEpilogue. Beside the temporary of the next tile there are no
/// registers for what an op works out of the coordinate: with such an op nothing is packed late.
template <class D, class T, class Op, class Accumulator>
class BoundStore {
  using Epilogue = StoreThroughSmem<D, T, Op>;
  using Slabs = SlabStore<D, T, typename Accumulator::held_type>;
  static constexpr int kPartSize = Accumulator::kPartSize;
  static constexpr int kSlabsOfPart = Slabs::kSlabsOfPart;
  static constexpr int kWordsOfPart = kSlabsOfPart * Slabs::kWordsOfSlab;
  static constexpr int kParts = Accumulator::kSize / kPartSize;

 public:
  static constexpr int pieces = kParts * kSlabsOfPart;
  static constexpr int packed_registers = kParts * kWordsOfPart;

  TILEWRIGHT_DEVICE BoundStore(const Epilogue& epilogue, std::byte* scratch)
      : epilogue_(epilogue), op_{epilogue.op_}, slabs_(scratch) {}

  TILEWRIGHT_DEVICE void pack(Accumulator& accumulator, schedule::TileCoord tile) {
    op_.for_tile(tile, [&](const auto& op) { accumulator.for_each_result(packer(op, tile)); });
  }
  template <int Part>
  TILEWRIGHT_DEVICE void pack_part(Accumulator& accumulator, schedule::TileCoord tile) {
    op_.for_tile(
        tile, [&](const auto& op) { accumulator.template for_each_result_of_part<Part>(packer(op, tile)); });
    arch::fence_operand(packed_[Part]);  // here, and not where they are stored
  }

  template <int Piece>
  TILEWRIGHT_DEVICE void store(schedule::TileCoord tile) {
    constexpr int kPart = Piece / kSlabsOfPart, kSlab = Piece % kSlabsOfPart;
    slabs_.template store<kPart, kSlab, kSlab * Slabs::kWordsOfSlab>(epilogue_.target_, packed_[kPart], tile);
  }

  TILEWRIGHT_DEVICE static void drain() requires(ignores_place_v<Op>) { Slabs::drain(); }
  template <int Piece>
  TILEWRIGHT_DEVICE void stage() const requires(ignores_place_v<Op>) {
    slabs_.template stage<Piece % kSlabsOfPart * Slabs::kWordsOfSlab, (Piece > 1)>(
        packed_[Piece / kSlabsOfPart]);
  }
  template <int Piece>
  TILEWRIGHT_DEVICE void publish(schedule::TileCoord tile) requires(ignores_place_v<Op>) {
    slabs_.template publish<Piece / kSlabsOfPart, Piece % kSlabsOfPart>(epilogue_.target_, tile);
  }
  template <int First, int End>
  TILEWRIGHT_DEVICE void forget() {
    TILEWRIGHT_UNROLL
    for (int i = First * Slabs::kWordsOfSlab; i < End * Slabs::kWordsOfSlab; ++i)
      arch::undefine(packed_[i / kWordsOfPart][i % kWordsOfPart]);
  }

  TILEWRIGHT_DEVICE void finish() const { slabs_.finish(); }

 private:
  /// Takes the elements of a tile in their order.
  template <class Function>
  TILEWRIGHT_DEVICE auto packer(const Function& op, schedule::TileCoord tile) {
    using Value = typename Accumulator::value_type;
    const Coord origin{tile.m * static_cast<uint32_t>(size_of_v_m<D>),
                       tile.n * static_cast<uint32_t>(size_of_v_n<D>)};
    return [this, &op, origin, left = Value{}](int i, Coord at, const Value& value) mutable {
      const auto result = op(value, Coord{origin.m + at.m, origin.n + at.n});
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
    };
  }

  const Epilogue& epilogue_;
  BoundOp<Op> op_;
  uint32_t packed_[kParts][kWordsOfPart];
  Slabs slabs_;
};

}  // namespace impl

/// C = op(result, global coordinate), of 16- or 32-bit elements, row-major. A kernel parameter
/// (TILEWRIGHT_GRID_CONSTANT: it holds a TMA descriptor), made by make_store_through_smem().
template <class D, class T, class Op>
class StoreThroughSmem {
 public:
  /// Shared memory behind the pipeline's buffer, from scratch_offset() on.
  static constexpr uint32_t scratch_bytes() { return impl::slab_scratch_bytes<D, T>(); }

  template <class Accumulator>
  TILEWRIGHT_DEVICE impl::BoundStore<D, T, Op, Accumulator> bind(std::byte* scratch) const {
    return {*this, scratch};
  }

 private:
  template <class D2, class T2, class Op2, class Accumulator>
  friend class impl::BoundStore;
  template <AnyDescription D2, class T2, int Rank, int64_t Ld, class Op2>
  friend auto make_store_through_smem(const Tensor<T2, row_major, Rank, Ld>&, Op2);

  impl::SlabTarget target_;
  Op op_;
};

/// An epilogue for run() that stores into `c`. An op that can be called with the result alone, too, says so
/// that it does not look at the coordinate: large promoted tiles are then packed later, and quicker. Errors:
/// alignment_unfulfilled where TMA cannot address C: base, leading dimension and rows of C are multiples of
/// 16 bytes.
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
  const pipeline_status status = impl::bind_slabs<D>(c, made.target_);
  return status ? pipeline_result<Made>(made) : pipeline_result<Made>(status.error());
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
