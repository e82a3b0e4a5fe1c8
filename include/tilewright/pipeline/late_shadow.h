// Storing a large promoted tile spread over the MMAs around a tile switch, and packing most of it under the
// first MMAs of the next tile, so that nothing but additions lies between the MMAs of two tiles.
//
// Budget of a consumer warpgroup, in clocks, for a group of m64n128k128 (256 of tensor pipe): while its own
// MMAs run it may do other work for about 300 (256, and what the additions leave of the other warpgroup's
// 256); then the tensor core waits for it. Packing a part takes 170, staging a slab 130 to 170 (wgmma leaves
// a quarter of shared memory's cycles, 64 x 256 elements of 16 bits fill half of them for a K tile), a proxy
// fence with the store behind it 150 to 250, working out where a tile lies 300. So they are spread, as far as
// there are registers: beside accumulators and temporary for one slab. (Step 0 has more than its time; of
// forty orders this is the quickest: docs/accumulation.md.) A slab's fence comes a group after its words.
#pragma once

#include <cstdint>

#include "tilewright/arch/wgmma.h"
#include "tilewright/config.h"
#include "tilewright/pipeline/store_shadow.h"
#include "tilewright/pipeline/tile_shadow.h"
#include "tilewright/schedule/tile_schedule.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {
namespace impl {

/// The shadow of one tile, which WgmmaTile::begin() and finish() call at the places named below. HasPrevious:
/// whether there is a tile before it.
///   Tiles   of_current(): coordinates; has_previous(). Worked out when they are needed
///   Complete   called with the tile's place when its first part is complete
template <class Bound, class Accumulator, class Loop, class Tiles, class Complete, bool HasPrevious>
class LateShadow {
  static constexpr int kParts = Loop::Config::kParts, kPieces = Bound::pieces;
  static constexpr bool kForgets = requires(Bound & bound) { bound.template forget<0, 1>(); };
  static_assert(kParts == 2 && kPieces == 4);

  /// Steps are groups of MMAs: 0 is the first one of a tile, -1 the last one of the tile before. Step 0 packs
  /// the last part, and the second piece of the first one, if there are registers for it until then.
  static TILEWRIGHT_DEVICE constexpr int staged_at(int piece) { return piece < 3 ? piece - 1 : 3; }
  static TILEWRIGHT_DEVICE constexpr int published_at(int piece) { return staged_at(piece) + 1; }
  static constexpr int kLastStep = published_at(kPieces - 1);
  /// What the packing of the tile needs is loaded when the registers of the one before are free.
  static constexpr bool kBegins = begins_v<Bound>;
  static constexpr int kBeginStep = kLastStep + 1;
  static constexpr bool kPacksPieces = packs_pieces_v<Bound, Accumulator>;
  static constexpr bool kPacksOneAhead = kPacksPieces && !kBegins;

 public:
  /// K tiles after the first one under which there is something to do.
  static constexpr int kStoringTiles = (kBegins ? kBeginStep : kLastStep) / kParts;

  TILEWRIGHT_DEVICE LateShadow(Bound& bound, Accumulator& accumulator, const Tiles& tiles,
                               const Complete& complete)
      : bound_(bound), accumulator_(accumulator), tiles_(tiles), complete_(complete) {}

  /// Whether tiles of so many K tiles of this launch are stored so: a step and the packing of the next tile
  /// never meet, and the epilogue lets itself be packed part by part and late.
  TILEWRIGHT_DEVICE static bool serves([[maybe_unused]] const Bound& bound, uint32_t k_tiles) {
    bool serves = k_tiles >= kStoringTiles + 2;
    if constexpr (kPacksPieces) serves = serves && bound.packs_early();
    if constexpr (asks_whether_late_v<Bound>) serves = serves && bound.packs_late();
    return serves;
  }

  /// The first group of part P runs, of which the temporary holds nothing yet.
  template <int Part>
  TILEWRIGHT_DEVICE void first_group() {
    if constexpr (HasPrevious) step<Part>();
  }
  TILEWRIGHT_DEVICE void begin() {}
  /// The group of part P in K tile KTile runs, 1 <= KTile <= kStoringTiles.
  template <int KTile, int Part>
  TILEWRIGHT_DEVICE void store_later() {
    constexpr int kStep = KTile * kParts + Part;
    if constexpr (kStep <= kLastStep) {
      if (tiles_.has_previous()) {
        step<kStep>();
      } else {
        forget_at<kStep>();
      }
    } else if constexpr (kBegins && kStep == kBeginStep) {
      bound_.begin(tiles_.of_current());
    }
  }
  /// The first group of the last K tile runs: what there is time for now.
  TILEWRIGHT_DEVICE void prepare() {
    bound_.drain();
    tile_ = tiles_.of_current();
    arch::fence_operand(tile_.m);  // worked out here, once
    arch::fence_operand(tile_.n);
    arch::fence_operand(tile_.batch);
  }
  /// The P-th part is complete; the MMAs of the next, the last one, run.
  template <int Part>
  TILEWRIGHT_DEVICE void pack_part() {
    static_assert(Part == 0);
    complete_(tile_);
    if constexpr (kPacksOneAhead) {
      bound_.template pack_piece<0, kPieces>(accumulator_, tile_);
    } else {
      pack<Part>();
    }
    stage_at<-1>();
  }

  /// After the last tile: nothing runs.
  TILEWRIGHT_DEVICE void store_rest() { finish_from<0>(); }

 private:
  template <int Step>
  TILEWRIGHT_DEVICE void step() {
    publish_at<Step>();
    if constexpr (Step == 0) pack_rest();
    stage_at<Step>();
  }
  template <int Step>
  TILEWRIGHT_DEVICE void finish_from() {
    step<Step>();
    if constexpr (Step < kLastStep) finish_from<Step + 1>();
  }
  template <int Part>
  TILEWRIGHT_DEVICE void pack() {
    if constexpr (kPacksPieces) {
      bound_.template pack_piece<Part, kParts>(accumulator_, tile_);
    } else {
      bound_.template pack_part<Part>(accumulator_, tile_);
    }
  }
  TILEWRIGHT_DEVICE void pack_rest() {
    if constexpr (kPacksOneAhead) bound_.template pack_piece<1, kPieces>(accumulator_, tile_);
    pack<kParts - 1>();
  }
  template <int Step, int Piece = 0>
  TILEWRIGHT_DEVICE void publish_at() {
    if constexpr (Piece < kPieces) {
      if constexpr (published_at(Piece) == Step) bound_.template publish<Piece>(tile_);
      publish_at<Step, Piece + 1>();
    }
  }
  template <int Step, int Piece = 0>
  TILEWRIGHT_DEVICE void stage_at() {
    if constexpr (Piece < kPieces) {
      if constexpr (staged_at(Piece) == Step) bound_.template stage<Piece>();
      stage_at<Step, Piece + 1>();
    }
    if constexpr (Piece == 0) forget_at<Step>();
  }
  /// The pieces staged at a step: nothing is kept of them from there on.
  template <int Step, int Piece = 0>
  TILEWRIGHT_DEVICE void forget_at() {
    if constexpr (kForgets && Piece < kPieces) {
      if constexpr (staged_at(Piece) == Step) bound_.template forget<Piece, Piece + 1>();
      forget_at<Step, Piece + 1>();
    }
  }

  Bound& bound_;
  Accumulator& accumulator_;
  const Tiles& tiles_;
  const Complete& complete_;
  schedule::TileCoord tile_{};  // whose results wait
};

}  // namespace impl
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
