// Storing one promoted tile while MMAs of the next run, and packing a tile part by part.
//
// A promoted tile has less room beside its accumulators than others, and at other times: while the first
// group of its sum runs there is no temporary yet, and while the last part is computed the accumulators of
// the parts before it are free.
#pragma once

#include <cstdint>

#include "tilewright/config.h"
#include "tilewright/pipeline/store_shadow.h"
#include "tilewright/schedule/tile_schedule.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {
namespace impl {

/// How many of an epilogue's pieces are stored under the first group; the rest waits beside the temporary.
template <class Bound, class Config>
struct PromotedStores {
  static constexpr int kPieces = Bound::pieces, kPacked = Bound::packed_registers;
  static constexpr int kMain = Config::kParts * Config::kRegisters, kTemporary = Config::kRegisters;
  static constexpr int kLimit = Config::kPlan.register_limit;
  // For the few K tiles before the long loop: what is worked out for that waits in local memory meanwhile.
  static constexpr int kLimitBeforeLoop = kLimit >= 192 ? kLimit + 32 : kLimit;

  /// At least half: stores are spread, as staging competes with the MMAs for shared memory.
  static constexpr int first_pieces() {
    int first = (kPieces + 1) / 2;
    while (first < kPieces && kMain + kTemporary + kPacked * (kPieces - first) / kPieces > kLimitBeforeLoop)
      ++first;
    return first;
  }
  static constexpr int kFirst = first_pieces();
  /// Whether packed results can wait for the next tile at all.
  static constexpr bool kDefers = kPieces > 0 && kMain + kPacked <= kLimit;
};

/// Whether run() gives this epilogue a PromotedShadow.
template <class Bound, class Loop>
inline constexpr bool defers_promoted_v = false;
template <class Bound, class Loop>
requires(Loop::kCompletesParts&& Loop::Config::kInterval !=
         0) inline constexpr bool defers_promoted_v<Bound, Loop> =
    PromotedStores<Bound, typename Loop::Config>::kDefers;

/// Pieces [Piece, End).
template <int Piece, int End, class Bound>
TILEWRIGHT_DEVICE void store_pieces(Bound& bound, schedule::TileCoord tile) {
  if constexpr (Piece < End) {
    bound.template store<Piece>(tile);
    store_pieces<Piece + 1, End>(bound, tile);
  }
}

/// The shadow of one tile (see mainloop::NoShadow). It keeps no state from tile to tile but what the epilogue
/// has packed.
///   Tiles   of_current(), of_previous(): coordinates; has_previous(). Worked out when they are needed
///   Ready   called when the accumulator's first part is complete
template <class Bound, class Accumulator, class Config, class Tiles, class Ready>
class PromotedShadow {
  using Stores = PromotedStores<Bound, Config>;
  static constexpr bool kInParts =
      requires(Bound & bound, Accumulator& accumulator, schedule::TileCoord tile) {
    bound.template pack_part<0>(accumulator, tile);
  };
  static constexpr bool kForgets = requires(Bound & bound) { bound.template forget<0, 1>(); };

 public:
  static constexpr bool kStoresLater = Stores::kFirst < Stores::kPieces;
  static constexpr bool kPacksParts = true;

  TILEWRIGHT_DEVICE PromotedShadow(Bound& bound, Accumulator& accumulator, const Tiles& tiles,
                                   const Ready& ready)
      : bound_(bound), accumulator_(accumulator), tiles_(tiles), ready_(ready) {}

  TILEWRIGHT_DEVICE void first_group() { store_previous<0, Stores::kFirst>(); }
  TILEWRIGHT_DEVICE void store_later() { store_previous<Stores::kFirst, Stores::kPieces>(); }

  template <int Part>
  TILEWRIGHT_DEVICE void pack_part() {
    if constexpr (kInParts) {
      if constexpr (Part == 0) ready_();
      bound_.template pack_part<Part>(accumulator_, tiles_.of_current());
    } else if constexpr (Part == Config::kParts - 1) {
      ready_();
      bound_.pack(accumulator_, tiles_.of_current());
    }
  }

 private:
  template <int First, int End>
  TILEWRIGHT_DEVICE void store_previous() {
    if (tiles_.has_previous()) store_pieces<First, End>(bound_, tiles_.of_previous());
    if constexpr (kForgets) bound_.template forget<First, End>();
  }

  Bound& bound_;
  Accumulator& accumulator_;
  const Tiles& tiles_;
  const Ready& ready_;
};

}  // namespace impl
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
