// The K loop of one tile on Hopper, for every type that wgmma multiplies: stages in shared memory ->
// accumulators.
//
// Floors of one 128 x 256 x 128 stage of 8-bit operands on one SM: 2 * 128 * 256 * 128 FLOP / 8192 per clock
// = 1024 clocks of tensor pipe; operand reads of two m64n128 halves per warpgroup, 2 * 2 * 4 * (2048 + 4096)
// B = 96 KiB / 128 B per clock = 768 clocks; 48 KiB of copies into shared memory. Registers per thread that
// computes, if sums are promoted: 128 main accumulators, 64 of the temporary that both halves share, up to 32
// packed results of the previous tile.
//
// Promotion: every group of MMAs accumulates in a temporary that all parts of a warpgroup share, and which is
// then added to the main accumulators in FP32. The first group of a sum has nothing to be added to. Where
// registers are scarce it is computed in the temporary too, and copied: an accumulator that no wgmma writes
// may lie in the other register bank than the temporary, and an addition then takes one cycle instead of two.
//
// A consumer waits for the next stage while its MMAs run, so that between two groups of MMAs of a warpgroup
// stand only a release and the additions: short enough for the other warpgroup's MMAs to cover.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tilewright/arch/index.h"
#include "tilewright/arch/wgmma.h"
#include "tilewright/mainloop/group_scales.h"
#include "tilewright/mainloop/ring.h"
#include "tilewright/mainloop/wgmma_tile_loads.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// Nothing to do while MMAs run. What a shadow has:
///   first_group<P>() promoted sums: the first group of part P runs, of which the temporary holds nothing yet
///                    (P is 0 for all parts at once where it does not go through the temporary)
///   kStoresLater     and whether it has work for
///   store_later()    once, before the long loop: the MMAs of a later K tile run, if there are so many
///   run(K tile)      tensor core's sums: the MMAs of that K tile run
///   begin()          the MMAs of the first K tile run
///   begin_empty()    in its place where there is none
///   kPacksParts      whether it takes the results by itself, and then:
///   packs_early()    whether it may do so part by part, while MMAs run
///   pack_piece<P, Count>()   the P-th of Count equal pieces of the results is complete; MMAs of the next one
///                    run, unless it is the last
///   pack()           in its place: all of them are, and no MMA runs
///   run_last(K tiles)        tensor core's sums: the MMAs of the last of so many K tiles run
/// begin() and finish() call other functions, those of a LateShadow (pipeline/late_shadow.h).
struct NoShadow {
  static constexpr bool kStoresLater = false, kPacksParts = false;
  template <int Part>
  TILEWRIGHT_DEVICE void first_group() {}
  TILEWRIGHT_DEVICE void run(uint32_t) {}
  TILEWRIGHT_DEVICE void begin() {}
  TILEWRIGHT_DEVICE void begin_empty() {}
};

/// The consumers' half. A `shadow` gets control while MMAs run.
template <class Config>
struct WgmmaTile {
  using Fragment = typename Config::Fragment;
  using Register = typename Config::Register;
  static constexpr int kParts = Config::kParts;
  static constexpr int kRegisters = Config::kRegisters;
  static constexpr int kMmas = Config::kMmas;
  /// Whether the first group of a sum goes through the temporary.
  static constexpr bool kThroughTemporary =
      !Config::kOneStage && tiles::wgmma_begins_in_temporary(Config::kShape);
  /// In how many pieces the last K tile of the tensor core's sums is computed, for a shadow that packs one
  /// while another is computed: parts, or the left and the right half of a wide one.
  static constexpr int kLastPieces =
      kParts == 1 && kRegisters == 128 && std::is_same_v<Register, float> ? 2 : kParts;

  /// stages: as in WgmmaTileLoads. All 128 threads of a consumer warpgroup.
  TILEWRIGHT_DEVICE explicit WgmmaTile(uint32_t stages) : descriptors_(stages) {}

  /// All 128 threads of a consumer warpgroup: acc = A B over k_tiles K tiles, or acc += A B. Leaves no MMA in
  /// flight and every stage released. group_tiles: K tiles of a promotion group, if tunable. scales: see
  /// GroupScales.
  template <class Scales, class Shadow>
  TILEWRIGHT_DEVICE void multiply(Fragment& acc, const Ring& ring, const Releaser& releaser, RingPosition& at,
                                  uint32_t k_tiles, uint32_t group_tiles, bool accumulate, Scales& scales,
                                  Shadow& shadow) const {
    // No result of these says whether the shadow has packed: the compiler would keep the accumulators for the
    // place where it is looked at.
    if constexpr (Config::kInterval != 0) {
      multiply_promoted(acc, ring, releaser, at, k_tiles, group_tiles, accumulate, scales, shadow);
    } else if (accumulate) {
      multiply_fast<false>(acc, ring, releaser, at, k_tiles, shadow);
    } else {
      multiply_fast<true>(acc, ring, releaser, at, k_tiles, shadow);
    }
  }

  /// A promoted sum that goes through the temporary, in two halves: its first K tile, and the others, more of
  /// them than the shadow stores under. While the MMAs of begin() run, the accumulators of the last part may
  /// still be those of the tile before: finish() leaves them unpacked. For a LateShadow.
  template <class Scales, class Shadow>
  TILEWRIGHT_DEVICE void begin(Fragment& acc, const Ring& ring, const Releaser& releaser, RingPosition& at,
                               uint32_t k_tiles, Scales& scales, Shadow& shadow) const {
    static_assert(kThroughTemporary);
    Register temporary[kRegisters];
    ring.wait(at);
    scales.read(at.stage);
    begin_sum(acc, temporary, descriptors_, ring, releaser, at, k_tiles, 1, scales, shadow);
  }
  template <class Scales, class Shadow>
  TILEWRIGHT_DEVICE void finish(Fragment& acc, const Ring& ring, const Releaser& releaser, RingPosition& at,
                                uint32_t k_tiles, Scales& scales, Shadow& shadow) const {
    Register temporary[kRegisters];
    uint32_t in_group = 0;
    const auto promote = [&](bool more, const auto& in_shadow) {
      promote_tile<0>(acc, temporary, descriptors_, ring, releaser, at, in_group, 1, more, scales, in_shadow);
    };
    promote_storing<1>(shadow, promote);
    TILEWRIGHT_NO_UNROLL
    for (uint32_t kt = 1 + Shadow::kStoringTiles; kt < k_tiles - 1; ++kt) promote(true, [](auto) {});
    promote(false, [&](auto part) {
      if constexpr (part.value == 0) {
        shadow.prepare();
      } else {
        shadow.template pack_part<part.value - 1>();
      }
    });
  }

  TILEWRIGHT_DEVICE static void clear(Fragment& acc) {
    TILEWRIGHT_UNROLL
    for (int part = 0; part < kParts; ++part) {
      TILEWRIGHT_UNROLL
      for (int i = 0; i < kRegisters; ++i) acc[part][i] = 0;
    }
  }

 private:
  /// Everything of the previous tile is stored, and nothing runs meanwhile.
  template <class Shadow>
  TILEWRIGHT_DEVICE static void begin_nothing(Shadow& shadow) {
    if constexpr (Config::kInterval != 0) {
      shadow.template first_group<0>();
      if constexpr (kThroughTemporary) shadow.template first_group<1>();
      if constexpr (Shadow::kStoresLater) shadow.store_later();
    } else if constexpr (Shadow::kPacksParts) {
      shadow.run_last(0);
    }
    shadow.begin_empty();
  }

  /// wgmma descriptors of this warpgroup's operands in stage 0.
  struct Descriptors {
    uint64_t a, b;

    TILEWRIGHT_DEVICE explicit Descriptors(uint32_t stage) {
      constexpr OperandLayout la = Config::kLayoutA, lb = Config::kLayoutB;
      const uint32_t group = arch::warp_index() / 4;
      a = arch::make_smem_descriptor(stage + la.offset(Config::part_row(group, 0), 0), la.swizzle,
                                     la.leading_bytes(), la.stride_bytes());
      b = arch::make_smem_descriptor(stage + la.bytes + lb.offset(Config::part_column(group, 0), 0),
                                     lb.swizzle, lb.leading_bytes(), lb.stride_bytes());
    }
  };

  /// MMAs [first, first + Count) of one K tile for a part, or for columns of it beside each other; the first
  /// one adds to `d` when `accumulate`. Overwrite: it does not look at `d`. Of split operands all three
  /// products, the small ones first.
  template <int Count, bool Overwrite = false, int Columns = Config::kPlan.part_n, int Registers>
  TILEWRIGHT_DEVICE static void issue(Register (&d)[Registers], const Descriptors& descriptors,
                                      uint32_t stage, const typename Config::Part& where, int first,
                                      bool accumulate) {
    constexpr OperandLayout la = Config::kLayoutA, lb = Config::kLayoutB;
    const uint64_t stage_a = arch::advance_descriptor(descriptors.a, Config::kPlan.stage_bytes, stage);
    const uint64_t stage_b = arch::advance_descriptor(descriptors.b, Config::kPlan.stage_bytes, stage);
    constexpr int kTerms = Config::kShape.splits == 2 ? 3 : 1;
    TILEWRIGHT_UNROLL
    for (int term = kTerms - 1; term >= 0; --term) {
      // Which MMA of a row is the first of the operand's part: high high, high low, low high.
      const int low_a = term == 2 ? kMmas : 0, low_b = term == 1 ? kMmas : 0;
      TILEWRIGHT_UNROLL
      for (int i = 0; i < Count; ++i) {
        const auto k_a = static_cast<uint32_t>(low_a + first + i);
        const auto k_b = static_cast<uint32_t>(low_b + first + i);
        const uint64_t a = arch::advance_descriptor(stage_a, la.offset(where.row, k_a));
        const uint64_t b =
            arch::advance_descriptor(stage_b, where.product * lb.bytes + lb.offset(where.column, k_b));
        const bool is_first = term == kTerms - 1 && i == 0;
        if constexpr (Overwrite) {
          if (is_first) {
            arch::wgmma_overwrite<Columns, typename Config::A, typename Config::B, Config::kOptions>(d, a, b);
            continue;
          }
        }
        arch::wgmma<Columns, typename Config::A, typename Config::B, Config::kOptions>(
            d, a, b, accumulate || !is_first);
      }
    }
  }
  template <int Count>
  TILEWRIGHT_DEVICE static void issue_part(Register (&d)[kRegisters], const Descriptors& descriptors,
                                           uint32_t stage, int part, int first, bool accumulate) {
    issue<Count>(d, descriptors, stage, Config::part_of(part), first, accumulate);
  }
  /// The first MMAs of a sum, of one part.
  template <int Count = kMmas>
  TILEWRIGHT_DEVICE static void issue_first(Register (&d)[kRegisters], const Descriptors& descriptors,
                                            uint32_t stage, int part) {
    issue<Count, true>(d, descriptors, stage, Config::part_of(part), 0, false);
  }

  TILEWRIGHT_DEVICE static void fence(Fragment& acc) {
    TILEWRIGHT_UNROLL
    for (int part = 0; part < kParts; ++part) arch::fence_operand(acc[part]);
  }

  /// Steps to the next stage and, if the tile has one, waits for its bytes. Returns the stage left.
  TILEWRIGHT_DEVICE static RingPosition next(const Ring& ring, RingPosition& at, bool more) {
    const RingPosition left = at;
    at.advance(ring.stages);
    if (more) ring.wait(at);
    return left;
  }

  // ---- the tensor core's own accumulator to the end

  /// The MMAs of a K tile queue behind those of the one before. Fresh: what the accumulators hold is not
  /// looked at, nor kept alive up to here.
  template <bool Fresh, class Shadow>
  TILEWRIGHT_DEVICE void multiply_fast(Fragment& acc, const Ring& ring, const Releaser& releaser,
                                       RingPosition& at, uint32_t k_tiles, Shadow& shadow) const {
    if (k_tiles == 0) [[unlikely]] {
      begin_nothing(shadow);
      if (Fresh) clear(acc);
    } else {
      ring.wait(at);
      RingPosition previous = at;
      if constexpr (Shadow::kPacksParts) {
        fence(acc);
        TILEWRIGHT_NO_UNROLL
        for (uint32_t kt = 0; kt + 1 < k_tiles; ++kt)
          multiply_k_tile(acc, ring, releaser, at, previous, kt, !Fresh || kt != 0, true, shadow);
        // The last K tile in pieces, one packed while the other is computed.
        issue_pieces(acc, at.stage, !Fresh || k_tiles != 1);
        shadow.run_last(k_tiles);
        arch::wgmma_wait<kLastPieces>();
        if (k_tiles != 1) releaser.release(previous);
        previous = next(ring, at, false);
        if (kLastPieces == 2 && shadow.packs_early()) {
          arch::wgmma_wait<1>();
          arch::fence_operand(piece(acc, 0));
          shadow.template pack_piece<0, kLastPieces>();
          arch::wgmma_wait<0>();
          arch::fence_operand(piece(acc, kLastPieces - 1));
          releaser.release(previous);
          shadow.template pack_piece<kLastPieces - 1, kLastPieces>();
          return;
        }
      } else {
        constexpr bool kOverwrite = Fresh && std::is_same_v<Register, float>;
        if constexpr (kOverwrite) {
          arch::wgmma_fence();
          TILEWRIGHT_UNROLL
          for (int part = 0; part < kParts; ++part) issue_first(acc[part], descriptors_, at.stage, part);
          arch::wgmma_commit();
          shadow.run(0);
          finish_k_tile(ring, releaser, at, previous, false, k_tiles > 1);
        } else {
          if (Fresh) clear(acc);
          fence(acc);
        }
        TILEWRIGHT_NO_UNROLL
        for (uint32_t kt = kOverwrite ? 1 : 0; kt < k_tiles; ++kt)
          multiply_k_tile(acc, ring, releaser, at, previous, kt, true, kt + 1 < k_tiles, shadow);
      }
      arch::wgmma_wait<0>();
      fence(acc);
      if constexpr (!Config::kOneStage) releaser.release(previous);
    }
    if constexpr (Shadow::kPacksParts) shadow.pack();
  }

  template <class Shadow>
  TILEWRIGHT_DEVICE void multiply_k_tile(Fragment& acc, const Ring& ring, const Releaser& releaser,
                                         RingPosition& at, RingPosition& previous, uint32_t kt,
                                         bool accumulate, bool more, Shadow& shadow) const {
    arch::wgmma_fence();
    TILEWRIGHT_UNROLL
    for (int part = 0; part < kParts; ++part)
      issue_part<kMmas>(acc[part], descriptors_, at.stage, part, 0, accumulate);
    arch::wgmma_commit();
    shadow.run(kt);
    finish_k_tile(ring, releaser, at, previous, kt != 0, more);
  }

  /// With the MMAs of stage `at` running: frees the stage before it and waits for the next one. A ring of one
  /// stage has to wait for the MMAs themselves.
  TILEWRIGHT_DEVICE static void finish_k_tile(const Ring& ring, const Releaser& releaser, RingPosition& at,
                                              RingPosition& previous, bool has_previous, bool more) {
    if constexpr (Config::kOneStage) {
      arch::wgmma_wait<0>();
      releaser.release(at);
    } else {
      arch::wgmma_wait<1>();
      if (has_previous) releaser.release(previous);
    }
    previous = next(ring, at, more);
  }

  TILEWRIGHT_DEVICE void issue_pieces(Fragment& acc, uint32_t stage, bool accumulate) const {
    arch::wgmma_fence();
    TILEWRIGHT_UNROLL
    for (int i = 0; i < kLastPieces; ++i) {
      issue<kMmas, false, kParts * Config::kPlan.part_n / kLastPieces>(piece(acc, i), descriptors_, stage,
                                                                       where_of_piece(i), 0, accumulate);
      arch::wgmma_commit();
    }
  }

  static constexpr int kPieceRegisters = kParts * kRegisters / kLastPieces;
  TILEWRIGHT_DEVICE static Register (&piece(Fragment& acc, int i))[kPieceRegisters] {
    return *reinterpret_cast<Register(*)[kPieceRegisters]>(&acc[0][0] + i * kPieceRegisters);
  }
  static TILEWRIGHT_DEVICE constexpr typename Config::Part where_of_piece(int i) {
    if (kLastPieces == kParts) return Config::part_of(i);
    return {0, static_cast<uint32_t>(i * Config::kPlan.part_n / kLastPieces), 0};
  }

  // ---- promotion

  /// MMAs of a group inside one K tile, and K tiles of a group.
  static constexpr int kGroup =
      Config::kInterval == 0 || Config::kInterval > kMmas ? kMmas : Config::kInterval;
  static constexpr uint32_t kGroupTiles = Config::kInterval > kMmas
                                              ? static_cast<uint32_t>(Config::kInterval / kMmas)
                                              : 1;
  /// Whether a group may span K tiles: the first one of a sum, and the others, where one part has the
  /// temporary to itself.
  static constexpr bool kFirstSpans =
      !kThroughTemporary && kGroup == kMmas && (Config::kTunable || kGroupTiles > 1);
  static constexpr bool kSpans = kFirstSpans && kParts == 1;
  TILEWRIGHT_DEVICE static uint32_t tiles_of_group([[maybe_unused]] uint32_t group_tiles) {
    if constexpr (Config::kTunable) return group_tiles;
    return kGroupTiles;
  }

  template <class Scales, class Shadow>
  TILEWRIGHT_DEVICE void multiply_promoted(Fragment& acc, const Ring& ring, const Releaser& releaser,
                                           RingPosition& at, uint32_t k_tiles, uint32_t group_tiles,
                                           bool accumulate, Scales& scales, Shadow& shadow) const {
    Register temporary[kRegisters];
    uint32_t kt = 0, in_group = 0;
    const uint32_t last = k_tiles - 1;
    const Descriptors& descriptors = descriptors_;
    const auto promote = [&](bool more, const auto& in_shadow) {
      promote_tile<0>(acc, temporary, descriptors, ring, releaser, at, in_group, group_tiles, more, scales,
                      in_shadow);
      ++kt;
    };
    const auto nothing = [](auto) {};
    if (k_tiles == 0) [[unlikely]] {
      begin_nothing(shadow);
      if (!accumulate) clear(acc);
    } else {
      ring.wait(at);
      scales.read(at.stage);
      if (!accumulate)
        kt = begin_sum(acc, temporary, descriptors, ring, releaser, at, k_tiles, group_tiles, scales, shadow);
      if (kt == k_tiles) {
        if constexpr (Shadow::kStoresLater) shadow.store_later();
      } else {
        if constexpr (Shadow::kStoresLater) {
          // The results of the previous tile that are still to be stored leave registers before the long
          // loop.
          TILEWRIGHT_NO_UNROLL
          while (kt < 3 && kt < last) promote(true, nothing);
          if (kt < last) {
            promote(true, [&](auto part) {
              if constexpr (part.value == 0) shadow.store_later();
            });
          } else {
            shadow.store_later();
          }
        }
        if constexpr (Shadow::kPacksParts) {
          TILEWRIGHT_NO_UNROLL
          while (kt < last) promote(true, nothing);
          // Two copies of the last K tile: only in this one are a packed part's accumulators dead while the
          // next part is computed, which makes room for its packed results.
          if (kParts > 1 && shadow.packs_early()) [[likely]] {
            promote(false, [&](auto part) {
              if constexpr (part.value > 0) shadow.template pack_piece<part.value - 1, kParts>();
            });
            shadow.template pack_piece<kParts - 1, kParts>();
            return;
          }
          promote(false, nothing);
        } else {
          TILEWRIGHT_NO_UNROLL
          while (kt < k_tiles) promote(kt != last, nothing);
        }
      }
    }
    if constexpr (Shadow::kPacksParts) shadow.pack();
  }

  /// promote(true, in_shadow) for the K tiles from that one on under which a LateShadow stores.
  template <int KTile, class Shadow, class Promote>
  TILEWRIGHT_DEVICE static void promote_storing(Shadow& shadow, const Promote& promote) {
    if constexpr (KTile <= Shadow::kStoringTiles) {
      promote(true, [&](auto part) { shadow.template store_later<KTile, part.value>(); });
      promote_storing<KTile + 1>(shadow, promote);
    }
  }

  /// The first group of a sum, and what is left of its K tile. Returns how many K tiles that were.
  template <class Scales, class Shadow>
  TILEWRIGHT_DEVICE static uint32_t begin_sum(Fragment& acc, Register (&temporary)[kRegisters],
                                              const Descriptors& descriptors, const Ring& ring,
                                              const Releaser& releaser, RingPosition& at, uint32_t k_tiles,
                                              uint32_t group_tiles, Scales& scales, Shadow& shadow) {
    const bool more = k_tiles > 1;
    if constexpr (kThroughTemporary) {
      RingPosition done = at;
      for_each_part([&](auto part) {
        constexpr bool kLast = part.value == kParts - 1;
        arch::wgmma_fence();
        issue<1, true>(temporary, descriptors, done.stage, Config::part_of(part.value), 0, false);
        const auto by = scales.factors(part.value);
        issue_part<kMmas - 1>(temporary, descriptors, done.stage, part.value, 1, true);
        arch::wgmma_commit();
        shadow.template first_group<part.value>();
        if constexpr (kLast) {
          done = next(ring, at, more);
          scales.advance(more, at.stage);
          shadow.begin();
        }
        arch::wgmma_wait<0>();
        arch::fence_operand(temporary);
        if constexpr (kLast) releaser.release(done);
        by.assign(acc[part.value], temporary);
      });
      return 1;
    } else {
      arch::wgmma_fence();
      TILEWRIGHT_UNROLL
      for (int part = 0; part < kParts; ++part) issue_first<kGroup>(acc[part], descriptors, at.stage, part);
      arch::wgmma_commit();
      shadow.template first_group<0>();
      if constexpr (kGroup < kMmas) {
        shadow.begin();
        arch::wgmma_wait<0>();
        fence(acc);
        uint32_t in_group = 0;
        promote_tile<kGroup>(acc, temporary, descriptors, ring, releaser, at, in_group, group_tiles, more,
                             scales, [](auto) {});
        return 1;
      } else {
        const auto by = scales.factors(0);  // a scaled sum of two parts goes through the temporary
        finish_group(acc, ring, releaser, at, more, [&] {
          scales.advance(more, at.stage);
          shadow.begin();
        });
        by.multiply(acc[0]);
        uint32_t kt = 1;
        if constexpr (kFirstSpans) {
          TILEWRIGHT_NO_UNROLL
          for (; kt < tiles_of_group(group_tiles) && kt < k_tiles; ++kt) {
            fence(acc);
            arch::wgmma_fence();
            TILEWRIGHT_UNROLL
            for (int part = 0; part < kParts; ++part)
              issue_part<kMmas>(acc[part], descriptors, at.stage, part, 0, true);
            arch::wgmma_commit();
            finish_group(acc, ring, releaser, at, kt + 1 < k_tiles, [] {});
          }
        }
        return kt;
      }
    }
  }

  /// With MMAs into the main accumulators running, the last of their K tile: on to the next one.
  /// in_shadow(): its bytes are there.
  template <class InShadow>
  TILEWRIGHT_DEVICE static void finish_group(Fragment& acc, const Ring& ring, const Releaser& releaser,
                                             RingPosition& at, bool more, const InShadow& in_shadow) {
    RingPosition done = at;
    if constexpr (!Config::kOneStage) done = next(ring, at, more);
    in_shadow();
    arch::wgmma_wait<0>();
    fence(acc);
    releaser.release(done);
    if constexpr (Config::kOneStage) next(ring, at, more);
  }

  /// One K tile from MMA First on: its groups one after another, part by part, into the temporary and from
  /// there into the main accumulators, unless the group goes on in the next K tile (in_group counts those
  /// that it has). in_shadow(part): the last group of that part runs.
  template <int First, class Scales, class InShadow>
  TILEWRIGHT_DEVICE static void promote_tile(Fragment& acc, Register (&temporary)[kRegisters],
                                             const Descriptors& descriptors, const Ring& ring,
                                             const Releaser& releaser, RingPosition& at, uint32_t& in_group,
                                             uint32_t group_tiles, bool more, Scales& scales,
                                             const InShadow& in_shadow) {
    RingPosition done = at;
    TILEWRIGHT_UNROLL
    for (int first = First; first < kMmas; first += kGroup) {
      for_each_part([&](auto part) {
        const bool last_group = first + kGroup == kMmas, last = last_group && part.value == kParts - 1;
        arch::fence_operand(temporary);
        arch::wgmma_fence();
        const bool accumulate = kSpans && in_group != 0;
        constexpr int kBeforeFactors = Config::kScaled ? 1 : kGroup;
        issue_part<kBeforeFactors>(temporary, descriptors, done.stage, part.value, first, accumulate);
        const auto by = scales.factors(part.value);  // while the first MMA runs
        if constexpr (kGroup > kBeforeFactors) {
          issue_part<kGroup - kBeforeFactors>(temporary, descriptors, done.stage, part.value,
                                              first + kBeforeFactors, true);
        }
        arch::wgmma_commit();
        if (last_group) in_shadow(part);
        if (!Config::kOneStage && last) done = next(ring, at, more);
        if (last) scales.advance(more, at.stage);
        arch::wgmma_wait<0>();
        arch::fence_operand(temporary);
        if (last) releaser.release(done);
        if (Config::kOneStage && last) next(ring, at, more);
        if (kSpans && more && ++in_group < tiles_of_group(group_tiles)) return;
        by.add(acc[part.value], temporary);
        in_group = 0;
      });
    }
  }

  /// f(part) with the part as a constant.
  template <int Part = 0, class F>
  TILEWRIGHT_DEVICE static void for_each_part(const F& f) {
    if constexpr (Part < kParts) {
      f(std::integral_constant<int, Part>());
      for_each_part<Part + 1>(f);
    }
  }

  Descriptors descriptors_;
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
