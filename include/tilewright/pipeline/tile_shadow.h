// Storing one tile while MMAs of the next run, and packing a tile piece by piece.
//
// A promoted tile has less room beside its accumulators than others, and at other times: while the first
// group of its sum runs there is no temporary yet, and while the last part is computed the accumulators of
// the parts before it are free. (Large promoted tiles rather have a LateShadow: late_shadow.h.)
#pragma once

#include <cstdint>

#include "tilewright/config.h"
#include "tilewright/pipeline/store_shadow.h"
#include "tilewright/schedule/tile_schedule.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {
namespace impl {

template <class Bound, class Accumulator>
inline constexpr bool packs_pieces_v = requires(Bound& bound, Accumulator& accumulator,
                                                schedule::TileCoord tile) {
  bound.template pack_piece<0, 1>(accumulator, tile);
};

template <class Bound, class Accumulator>
inline constexpr bool packs_parts_v = requires(Bound& bound, Accumulator& accumulator,
                                               schedule::TileCoord tile) {
  bound.template pack_part<0>(accumulator, tile);
};

/// When the pieces of an epilogue are stored under the MMAs of the next tile. Stores are spread, as staging
/// competes with the MMAs for shared memory. Loop: WgmmaTileLoop.
template <class Bound, class Loop>
struct DeferredStores {
  using Config = typename Loop::Config;
  static constexpr bool kPromoted = Config::kInterval != 0;
  static constexpr bool kThroughTemporary = Loop::Tile::kThroughTemporary;
  static constexpr int kPieces = Bound::pieces, kPacked = Bound::packed_registers;
  static constexpr int kMain = Config::kParts * Config::kRegisters, kTemporary = Config::kRegisters;
  static constexpr int kLimit = Config::kPlan.register_limit;
  // For the few K tiles before the long loop: what is worked out for that waits in local memory meanwhile.
  static constexpr int kLimitBeforeLoop = kLimit >= 192 ? kLimit + 32 : kLimit;

  /// Of promoted sums: how many wait beside the temporary for a K tile after the first one.
  static constexpr int later_pieces() {
    int later = kThroughTemporary ? kPieces / 4 : kPieces / 2;
    while (later > 0 && kMain + kTemporary + kPacked * later / kPieces > kLimitBeforeLoop) --later;
    return later;
  }
  /// The others are stored under the first group, where it goes through the temporary first under that of one
  /// part and then under that of the other.
  static constexpr int kFirstLater = kPieces - later_pieces();
  static constexpr int kFirstOfSecondPart = kThroughTemporary ? (kFirstLater + 1) / 3 : kFirstLater;

  /// Whether a LateShadow is made for such tiles: two warpgroups, each of two parts of 128 columns, and the
  /// four slabs of results of 8 and 16 bits. The clocks and registers of its steps are counted for no other.
  static constexpr bool kInSteps =
      kPromoted && kThroughTemporary && Config::kShape.threads == 256 && kTemporary == 64 && kPieces == 4;

  /// Whether packed results can wait for the next tile at all: beside its accumulators and, but for those
  /// stored before the temporary of two parts is in use, beside that. The tensor core's own sums are packed
  /// in pieces only by epilogues that ask for it.
  template <class Accumulator>
  static constexpr bool defers() {
    if constexpr (kPieces == 0) {
      return false;
    } else {
      constexpr int kBesideTemporary = Config::kParts > 1 ? kPacked * later_pieces() / kPieces : kPacked;
      constexpr bool kFits = !kPromoted || kMain + kTemporary + kBesideTemporary <= kLimitBeforeLoop;
      constexpr bool kAsks = packs_pieces_v<Bound, Accumulator> && !Config::kOneStage;
      return kMain + kPacked <= kLimit && kFits && (kPromoted || kAsks);
    }
  }
};

/// Whether run() gives this epilogue a TileShadow, or a LateShadow.
template <class Bound, class Loop, class Accumulator>
inline constexpr bool stores_in_shadow_v = false;
template <class Bound, class Loop, class Accumulator>
requires(Loop::kCompletesParts) inline constexpr bool stores_in_shadow_v<Bound, Loop, Accumulator> =
    DeferredStores<Bound, Loop>::template defers<Accumulator>();

/// Whether it can be a LateShadow.
template <class Bound, class Loop, class Accumulator>
inline constexpr bool can_pack_late_v = false;
template <class Bound, class Loop, class Accumulator>
requires(stores_in_shadow_v<Bound, Loop, Accumulator>) inline constexpr bool can_pack_late_v<
    Bound, Loop, Accumulator> = DeferredStores<Bound, Loop>::kInSteps && stages_v<Bound> &&
                                (packs_pieces_v<Bound, Accumulator> || packs_parts_v<Bound, Accumulator>);

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
///   Ready   called when the accumulator's first piece is complete
template <class Bound, class Accumulator, class Loop, class Tiles, class Ready>
class TileShadow {
  using Stores = DeferredStores<Bound, Loop>;
  static constexpr int kParts = Loop::Config::kParts;
  static constexpr bool kInPieces = packs_pieces_v<Bound, Accumulator>;
  static constexpr bool kInParts = packs_parts_v<Bound, Accumulator>;
  static constexpr bool kForgets = requires(Bound & bound) { bound.template forget<0, 1>(); };
  static constexpr bool kBegins = begins_v<Bound>;

 public:
  static constexpr bool kStoresLater = Stores::kPromoted && Stores::kFirstLater < Stores::kPieces;
  static constexpr bool kPacksParts = true;

  TILEWRIGHT_DEVICE TileShadow(Bound& bound, Accumulator& accumulator, const Tiles& tiles, const Ready& ready)
      : bound_(bound), accumulator_(accumulator), tiles_(tiles), ready_(ready) {}

  template <int Part>
  TILEWRIGHT_DEVICE void first_group() {
    if constexpr (Part == 0) store_previous<0, Stores::kFirstOfSecondPart>();
    if constexpr (Part == 1) store_previous<Stores::kFirstOfSecondPart, Stores::kFirstLater>();
  }
  TILEWRIGHT_DEVICE void store_later() { store_previous<Stores::kFirstLater, Stores::kPieces>(); }

  TILEWRIGHT_DEVICE void run(uint32_t kt) {
    store_spread<0>(kt);
    // What it loads finds the registers of stored results.
    if (kBegins && kt == k_tile_of(Stores::kPieces)) begin();
  }
  TILEWRIGHT_DEVICE void run_last(uint32_t k_tiles) {
    if (k_tile_of(Stores::kPieces - 1) + 1 >= k_tiles) [[unlikely]]
      store_rest<0>(k_tiles);
    if (kBegins && k_tiles != 0 && k_tile_of(Stores::kPieces) + 1 >= k_tiles) begin();
  }

  TILEWRIGHT_DEVICE void begin() {
    if constexpr (kBegins) bound_.begin(tiles_.of_current());
  }
  TILEWRIGHT_DEVICE void begin_empty() {
    if constexpr (kBegins) bound_.begin_empty();
  }

  TILEWRIGHT_DEVICE bool packs_early() const {
    if constexpr (kInPieces) return bound_.packs_early();
    return kInParts;
  }
  template <int Piece, int Count>
  TILEWRIGHT_DEVICE void pack_piece() {
    if constexpr (Piece == 0) ready_();
    if constexpr (kInPieces) {
      bound_.template pack_piece<Piece, Count>(accumulator_, tiles_.of_current());
    } else if constexpr (kInParts) {
      static_assert(Count == kParts);
      bound_.template pack_part<Piece>(accumulator_, tiles_.of_current());
    }
  }
  TILEWRIGHT_DEVICE void pack() {
    if constexpr (kInParts && !kInPieces) {
      pack_from<0>();
    } else {
      ready_();
      bound_.pack(accumulator_, tiles_.of_current());
    }
  }

 private:
  template <int First, int End>
  TILEWRIGHT_DEVICE void store_previous() {
    if constexpr (First < End) {
      if (tiles_.has_previous()) {
        // Of the tensor core's own sums there is no register to keep them in from K tile to K tile.
        if constexpr (First == 0 || !Stores::kPromoted) previous_ = tiles_.of_previous();
        store_pieces<First, End>(bound_, previous_);
      }
      if constexpr (kForgets) bound_.template forget<First, End>();
    }
  }

  /// A piece under every second K tile, and what is left under the last one. (From the third K tile on
  /// instead of the second, 0.1 to 0.7 % of the time were lost.)
  static TILEWRIGHT_DEVICE constexpr uint32_t k_tile_of(int piece) {
    return 2 * static_cast<uint32_t>(piece) + 1;
  }
  template <int Piece>
  TILEWRIGHT_DEVICE void store_spread(uint32_t kt) {
    if constexpr (Piece < Stores::kPieces) {
      if (kt == k_tile_of(Piece)) store_previous<Piece, Piece + 1>();
      store_spread<Piece + 1>(kt);
    }
  }
  template <int Piece>
  TILEWRIGHT_DEVICE void store_rest(uint32_t k_tiles) {
    if constexpr (Piece < Stores::kPieces) {
      if (k_tile_of(Piece) + 1 >= k_tiles) store_previous<Piece, Piece + 1>();
      store_rest<Piece + 1>(k_tiles);
    }
  }

  template <int Part>
  TILEWRIGHT_DEVICE void pack_from() {
    if constexpr (Part < kParts) {
      pack_piece<Part, kParts>();
      pack_from<Part + 1>();
    }
  }

  Bound& bound_;
  Accumulator& accumulator_;
  const Tiles& tiles_;
  const Ready& ready_;
  schedule::TileCoord previous_{};
};

}  // namespace impl
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
