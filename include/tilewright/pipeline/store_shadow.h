// Epilogues in two phases: pack (accumulators to registers, right after the last MMA of a tile) and store
// (registers to memory, in pieces, while the MMAs of the next tile run).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tilewright/config.h"
#include "tilewright/schedule/tile_schedule.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {

/// An epilogue that run() takes apart. bind<Accumulator>(scratch) makes the object of one computing thread:
///   pieces                                   how many pieces a packed tile is stored in
///   packed_registers                         32-bit registers that keep it
///   pack(Accumulator&, schedule::TileCoord)  reads the accumulator; the result waits in the object
///   store<Piece>(schedule::TileCoord)        Piece = 0, 1, ... pieces - 1, each once and in this order; the
///                                            tile that was packed
///   finish()                                 after the last store: nothing may still read the block's memory
/// and may have
///   begin(schedule::TileCoord)               MMAs of the tile run: loads what packing it will need
///   begin_empty()                            in its place where nothing is multiplied
///   pack_part<Part>(Accumulator&, schedule::TileCoord)   of promoted tiles, pack() for one part of the
///                                            accumulator (for_each_result_of_part): parts are packed in
///                                            their order, each while the MMAs of the next one run, if any
///   pack_piece<Piece, Count>(Accumulator&, schedule::TileCoord)   instead of it, and of every tile: pack()
///                                            for the Piece-th of Count (which varies) equal pieces, in order
///   packs_early()                            whether the latter is wanted; otherwise pack() is called
///   stage<Piece>(), publish<Piece>(tile)     store<Piece>(tile) in two steps, between which time may pass,
///   drain()                                  which comes before stage<0>() and stage<1>() of each tile. Then
///                                            all but the first slab of a large promoted tile may be packed
///                                            under MMAs of the next one: stage<P>() needs slab P alone
///   packs_late()                             whether that is wanted of what is launched; an epilogue with
///                                            packed(), which is then not called, says so
///   packed(tile)                             tile() is packed: what will not wait for store() is stored
///   forget<First, End>()                     these pieces are stored: arch::undefine() what kept them, so
///                                            that the compiler keeps nothing of it beside the next tile
/// All computing threads make each of these calls. The epilogue itself may have
///   needs_product()                          any thread: otherwise A and B are not read, and all results are
///                                            zeros
template <class Epilogue, class Accumulator>
concept TwoPhaseEpilogue = requires(const Epilogue& epilogue, std::byte* scratch) {
  epilogue.template bind<Accumulator>(scratch);
};

namespace impl {

/// What an epilogue, or what it has bound, has besides. Asked here, as nvcc takes some of these questions for
/// false inside a function.
template <class Epilogue>
inline constexpr bool knows_need_v = requires(const Epilogue& epilogue) {
  epilogue.needs_product();
};
template <class Bound>
inline constexpr bool begins_v = requires(Bound& bound, schedule::TileCoord tile) {
  bound.begin(tile);
};
template <class Bound>
inline constexpr bool stores_packed_v = requires(Bound& bound, schedule::TileCoord (*tile)()) {
  bound.packed(tile);
};

template <class Bound>
inline constexpr bool asks_whether_late_v = requires(Bound& bound) {
  bound.packs_late();
};
/// What a LateShadow needs.
template <class Bound>
inline constexpr bool stages_v = (!stores_packed_v<Bound> ||
                                  asks_whether_late_v<Bound>)&&requires(Bound& bound,
                                                                        schedule::TileCoord tile) {
  bound.drain();
  bound.template stage<0>();
  bound.template publish<0>(tile);
};

/// Clusters of tiles in a schedule.
TILEWRIGHT_DEVICE uint32_t cluster_count(const schedule::TileSchedule& schedule) {
  return schedule.clusters_total;
}
template <class Schedule>
TILEWRIGHT_DEVICE uint32_t cluster_count(const Schedule& schedule) {
  return schedule.tiles();
}

/// Stores the packed results of one tile while MMAs of the next run. What the registers have no room for
/// beside the next accumulators is stored before: the first pieces. Many tiles rather have a TileShadow.
template <class Bound, class Config>
class StoreShadow {
 public:
  static constexpr bool kStoresLater = false, kPacksParts = false;
  TILEWRIGHT_DEVICE explicit StoreShadow(Bound& bound) : bound_(bound) {}

  /// The main loop: MMAs of the kt-th K tile run. Pieces are spread: staging them competes with the MMAs for
  /// shared memory.
  TILEWRIGHT_DEVICE void run(uint32_t kt) { run_piece<kFirstDeferred>(kt); }
  template <int Part>
  TILEWRIGHT_DEVICE void first_group() {
    if constexpr (Part == 0) store_rest();
  }
  TILEWRIGHT_DEVICE void begin() {}
  TILEWRIGHT_DEVICE void begin_empty() {}
  /// After pack().
  TILEWRIGHT_DEVICE void packed(schedule::TileCoord tile) {
    tile_ = tile;
    store_now<0>();
    next_ = kFirstDeferred;
  }
  TILEWRIGHT_DEVICE void store_rest() { store_from<kFirstDeferred>(); }

 private:
  static constexpr int kPieces = Bound::pieces;
  static constexpr int kRoom = Config::kPlan.register_limit - Config::kPlan.live_registers;
  static constexpr int kFit = kRoom <= 0 ? 0 : kRoom * kPieces / Bound::packed_registers;
  static constexpr int kMaxDeferred = 8;  // each is code in the main loop
  // A part of a tile of floats is not kept: the compiler would spill what it has to move out of the way of
  // the next MMAs.
  static constexpr bool kAllOrNothing = std::is_same_v<typename Config::Register, float>;
  static constexpr int kDeferred = kFit >= kPieces ? (kPieces < kMaxDeferred ? kPieces : kMaxDeferred)
                                   : kAllOrNothing ? 0
                                                   : (kFit < kMaxDeferred ? kFit : kMaxDeferred);
  static constexpr int kFirstDeferred = kPieces - kDeferred;

  template <int Piece>
  TILEWRIGHT_DEVICE void run_piece(uint32_t kt) {
    if constexpr (Piece < kPieces) {
      if (kt == 2 * (Piece - kFirstDeferred) + 2 && next_ == Piece) {
        bound_.template store<Piece>(tile_);
        next_ = Piece + 1;
      }
      run_piece<Piece + 1>(kt);
    }
  }
  template <int Piece>
  TILEWRIGHT_DEVICE void store_now() {
    if constexpr (Piece < kFirstDeferred) {
      bound_.template store<Piece>(tile_);
      store_now<Piece + 1>();
    }
  }
  template <int Piece>
  TILEWRIGHT_DEVICE void store_from() {
    if constexpr (Piece < kPieces) {
      if (next_ <= Piece) bound_.template store<Piece>(tile_);
      store_from<Piece + 1>();
    } else {
      next_ = kPieces;
    }
  }

  Bound& bound_;
  schedule::TileCoord tile_{};
  int next_ = kPieces;  // the first piece that is still to be stored
};

}  // namespace impl
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
