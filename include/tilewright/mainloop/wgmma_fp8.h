// The K loop of an FP8 GEMM on Hopper: stages in shared memory -> wgmma, with promoted accumulation.
//
// Floors of one 128 x 256 x 128 stage on one SM: 2 * 128 * 256 * 128 FLOP / 8192 per clock = 1024 clocks of
// tensor pipe; operand reads of two m64n128 halves per warpgroup, 2 * 2 * 4 * (2048 + 4096) B = 96 KiB / 128
// B per clock = 768 clocks; 48 KiB of copies into shared memory. Registers per consumer thread: 128 main
// accumulators, 64 of the temporary that both halves share, up to 32 packed results of the previous tile.
//
// Promotion: the tensor core keeps 13 fraction bits of a running FP8 sum, so every group of MMAs accumulates
// in a temporary that is then added to the main accumulator in FP32. The first group of a tile has nothing to
// be added to. Where registers allow, it is computed in the temporary too, and copied: an accumulator that no
// wgmma writes may lie in the other register bank than the temporary, and an addition then takes one cycle
// instead of two.
//
// A consumer waits for the next stage while its MMAs run, so that between two groups of MMAs of a warpgroup
// stand only a release and the additions: short enough for the other warpgroup's MMAs to cover.
#pragma once

#include <type_traits>

#include "tilewright/arch/fence.h"
#include "tilewright/arch/math.h"
#include "tilewright/arch/mbarrier.h"
#include "tilewright/arch/warp.h"
#include "tilewright/arch/wgmma.h"
#include "tilewright/mainloop/fp8_block_scales.h"
#include "tilewright/mainloop/fp8_loads.h"
#include "tilewright/mainloop/ring.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// The main accumulators of one consumer thread: [part][register], each part 64 x kPartN of the warpgroup's
/// tile.
template <class Config>
using Accumulators = float[Config::kParts][Config::kRegisters];

template <class Config>
struct WgmmaFp8 {
  static constexpr int kParts = Config::kParts;
  static constexpr int kRegisters = Config::kRegisters;
  static constexpr uint32_t kStageBytes = Config::kPlan.stage_bytes;
  static constexpr uint32_t kBytesA = Config::kTileM * kernels::kFp8TileK;
  static constexpr uint32_t kMmas = kernels::kFp8TileK / 32;
  uint32_t stages;            // shared address; the layout of a stage is that of Fp8Loads
  uint32_t scale_slots = 0;   // of Fp8BlockScales
  bool block_scales = false;  // Fp8GemmParams::block_scales

  /// All 128 threads of a consumer warpgroup: accumulates one output tile over k_tiles K tiles and packs it.
  ///
  /// `shadow` keeps the packed results of the previous tile; its store<First, Count>() gets control while
  /// MMAs run, and all of it is stored before new results are packed. A part that is complete is packed under
  /// the MMAs of another if shadow.packs_early(); else all are packed by pack_all().
  template <class Shadow>
  TILEWRIGHT_DEVICE void multiply(const Ring& ring, const Releaser& releaser, RingPosition& at,
                                  uint32_t k_tiles, uint32_t group_tiles, Shadow& shadow) const {
    const Descriptors descriptors(stages);
    Accumulators<Config> acc;
    if (k_tiles != 0) ring.wait(at);
    if (k_tiles == 0) {
      store_rest(shadow);
      shadow.clear_scales();
      clear(acc);
    } else if constexpr (!Config::kPromoted) {
      RingPosition previous = at;
      if (multiply_fast(acc, descriptors, ring, releaser, at, previous, k_tiles, shadow)) return;
      releaser.release(previous);
    } else if constexpr (Config::kInterval != 0) {
      multiply_subtiles(acc, descriptors, ring, releaser, at, k_tiles, shadow);
    } else {
      Scales scales(*this);
      if (multiply_promoted(acc, descriptors, ring, releaser, at, k_tiles, group_tiles, scales, shadow))
        return;
    }
    shadow.pack_all(acc);
  }

  /// Stores what `shadow` still keeps, in the pieces that multiply() uses.
  template <class Shadow>
  TILEWRIGHT_DEVICE static void store_rest(Shadow& shadow) {
    if constexpr (Config::kPromoted) {
      shadow.template store<0, kStoredFirst>();
      if constexpr (kStoredSecond != 0) shadow.template store<kStoredFirst, kStoredSecond>();
      shadow.template store<4 - kStoredLater, kStoredLater>();
    } else {
      shadow.template store<0, 1>();
      shadow.template store<1, 1>();
      shadow.template store<2, 1>();
      shadow.template store<3, 1>();
    }
  }

 private:
  /// What the sums of a part of a K tile are multiplied with, by row (see Fp8BlockScales::factors).
  struct Factors {
    float of[2] = {1, 1};
  };
  /// Block scales of the K tile being multiplied; of kernels that do not take them, nothing.
  class BlockScales {
   public:
    TILEWRIGHT_DEVICE explicit BlockScales(const WgmmaFp8& loop)
        : slots_{loop.scale_slots}, present_(!Config::kVectorScales || loop.block_scales) {}
    TILEWRIGHT_DEVICE void read(uint32_t stage) {
      if (present_) slots_.read(stage, held_);
    }
    TILEWRIGHT_DEVICE Factors factors(int part) const {
      Factors f;
      if (present_) slots_.factors(held_, part, f.of);
      arch::fence_operand(f.of);
      return f;
    }
    /// Under the last MMAs of a K tile, when all its factors have been taken: reads those of the next one, if
    /// there is one. From here on the warp may release the stage: wgmma_wait says that the MMAs of all lanes
    /// are done, but not their reads of scales.
    TILEWRIGHT_DEVICE void advance(bool more, uint32_t stage) {
      arch::sync_warp();
      if (more) read(stage);
    }

   private:
    Fp8BlockScales<Config> slots_;
    typename Fp8BlockScales<Config>::Held held_;
    bool present_;  // otherwise vectors, which a kernel may take instead
  };
  struct NoBlockScales {
    TILEWRIGHT_DEVICE explicit NoBlockScales(const WgmmaFp8&) {}
    TILEWRIGHT_DEVICE void read(uint32_t) {}
    TILEWRIGHT_DEVICE Factors factors(int) const { return {}; }
    TILEWRIGHT_DEVICE void advance(bool, uint32_t) {}
  };
  using Scales = std::conditional_t<Config::kBlockScales, BlockScales, NoBlockScales>;

  /// Low words of the wgmma descriptors of stage 0: only these change along the ring.
  struct Descriptors {
    uint32_t a, b, high;

    TILEWRIGHT_DEVICE explicit Descriptors(uint32_t stage) {
      const uint32_t warpgroup_row =
          (arch::warp_index() / 4) * (Config::kTileM / Config::kConsumers) * kernels::kFp8TileK;
      const uint64_t da = arch::make_smem_descriptor(stage + warpgroup_row, Swizzle::b128, 16, 1024);
      const uint64_t db = arch::make_smem_descriptor(stage + kBytesA, Swizzle::b128, 16, 1024);
      a = static_cast<uint32_t>(da);
      b = static_cast<uint32_t>(db);
      high = static_cast<uint32_t>(da >> 32);
    }
    TILEWRIGHT_DEVICE uint64_t join(uint32_t low) const { return (static_cast<uint64_t>(high) << 32) | low; }
  };

  /// Slabs of the previous tile that promoted kernels store under the first group, under its second part, and
  /// those that wait: as many as registers are left for. Together, stores would outlast the MMAs.
  static constexpr int kStoredSecond = Config::kThroughTemporary ? 2 : 0,
                       kStoredLater = Config::kThroughTemporary ||
                                              (Config::kScales != kernels::Scales::none && kParts == 2)
                                          ? 1
                                          : 2,
                       kStoredFirst = 4 - kStoredSecond - kStoredLater;

  static constexpr bool kPartsAlongM = Config::kTileM / Config::kConsumers > 64;
  static constexpr uint32_t kPartA = kPartsAlongM ? 64 * kernels::kFp8TileK / 16 : 0;
  static constexpr uint32_t kPartB = kPartsAlongM ? 0 : Config::kPartN * kernels::kFp8TileK / 16;

  /// MMAs [First, First + Count) of one K tile for one part, added to what `registers` hold (`accumulate` may
  /// be a run-time choice), or the first of a group (issue_first).
  template <uint32_t First = 0, uint32_t Count = kMmas>
  TILEWRIGHT_DEVICE static void issue(float (&registers)[kRegisters], const Descriptors& d, uint32_t stage,
                                      int part, bool accumulate = true) {
    const uint32_t a = d.a + stage * (kStageBytes / 16) + static_cast<uint32_t>(part) * kPartA;
    const uint32_t b = d.b + stage * (kStageBytes / 16) + static_cast<uint32_t>(part) * kPartB;
    TILEWRIGHT_UNROLL
    for (uint32_t k = First; k < First + Count; ++k) {
      arch::wgmma<Config::kPartN, typename Config::A, typename Config::B>(
          registers, d.join(a + 2 * k), d.join(b + 2 * k), accumulate || k > First);
    }
  }
  template <uint32_t First = 0, uint32_t Count = kMmas>
  TILEWRIGHT_DEVICE static void issue_first(float (&registers)[kRegisters], const Descriptors& d,
                                            uint32_t stage, int part) {
    const uint32_t a = d.a + stage * (kStageBytes / 16) + static_cast<uint32_t>(part) * kPartA;
    const uint32_t b = d.b + stage * (kStageBytes / 16) + static_cast<uint32_t>(part) * kPartB;
    arch::wgmma_overwrite<Config::kPartN, typename Config::A, typename Config::B>(
        registers, d.join(a + 2 * First), d.join(b + 2 * First));
    if constexpr (Count > 1) issue<First + 1, Count - 1>(registers, d, stage, part);
  }

  TILEWRIGHT_DEVICE static void begin(Accumulators<Config>& acc) {
    TILEWRIGHT_UNROLL
    for (int part = 0; part < kParts; ++part) arch::fence_operand(acc[part]);
    arch::wgmma_fence();
  }
  TILEWRIGHT_DEVICE static void end(Accumulators<Config>& acc) {
    TILEWRIGHT_UNROLL
    for (int part = 0; part < kParts; ++part) arch::fence_operand(acc[part]);
  }

  /// One group to the end: the MMAs of a K tile queue behind those of the one before. The stores of the
  /// previous tile are spread over the first K tiles: staging competes with the MMAs for shared memory.
  template <class Shadow>
  TILEWRIGHT_DEVICE static bool multiply_fast(Accumulators<Config>& acc, const Descriptors& descriptors,
                                              const Ring& ring, const Releaser& releaser, RingPosition& at,
                                              RingPosition& previous, uint32_t k_tiles, Shadow& shadow) {
    begin(acc);
    TILEWRIGHT_NO_UNROLL
    for (uint32_t kt = 0; kt + 1 < k_tiles; ++kt) {
      arch::wgmma_fence();
      TILEWRIGHT_UNROLL
      for (int part = 0; part < kParts; ++part) issue(acc[part], descriptors, at.stage, part, kt != 0);
      arch::wgmma_commit();
      if (kt == 2) shadow.template store<0, 1>();
      if (kt == 4) shadow.template store<1, 1>();
      if (kt == 6) shadow.template store<2, 1>();
      if (kt == 8) shadow.template store<3, 1>();
      arch::wgmma_wait<1>();
      if (kt != 0) releaser.release(previous);
      previous = next(ring, at, true);
    }
    // The last K tile in two pieces, one packed while the other is computed.
    arch::wgmma_fence();
    constexpr int kPieces = kParts == 1 && kRegisters == 128 ? 2 : kParts;
    constexpr int kPieceRegisters = kParts * kRegisters / kPieces;
    TILEWRIGHT_UNROLL
    for (int piece = 0; piece < kPieces; ++piece) {
      issue_piece<kPieces>(registers<kPieceRegisters>(acc, piece), descriptors, at.stage, piece,
                           k_tiles != 1);
      arch::wgmma_commit();
    }
    store_rest(shadow);
    arch::wgmma_wait<kPieces>();
    if (k_tiles != 1) releaser.release(previous);
    previous = at;
    at.advance(ring.stages);
    if (kPieces == 2 && shadow.packs_early()) {
      arch::wgmma_wait<1>();
      arch::fence_operand(registers<kPieceRegisters>(acc, 0));
      shadow.pack(registers<kPieceRegisters>(acc, 0), half(shadow.packed, 0));
      arch::wgmma_wait<0>();
      arch::fence_operand(registers<kPieceRegisters>(acc, 1));
      releaser.release(previous);
      shadow.pack(registers<kPieceRegisters>(acc, 1), half(shadow.packed, 1));
      return true;
    }
    arch::wgmma_wait<0>();
    end(acc);
    return false;
  }

  /// Accumulators [piece * Count, (piece + 1) * Count) of a thread: a part, or half of one (its lower or
  /// upper columns).
  template <int Count>
  TILEWRIGHT_DEVICE static float (&registers(Accumulators<Config>& acc, int piece))[Count] {
    return *reinterpret_cast<float(*)[Count]>(&acc[0][0] + piece * Count);
  }
  template <class Packed>
  TILEWRIGHT_DEVICE static uint32_t (&half(Packed& packed, int piece))[sizeof(Packed) / 8] {
    return *reinterpret_cast<uint32_t(*)[sizeof(Packed) / 8]>(&packed[0][0] + piece * (sizeof(Packed) / 8));
  }

  /// One K tile of a piece: as issue(), with half of B where the pieces are halves of a part.
  template <int Pieces, int Count>
  TILEWRIGHT_DEVICE static void issue_piece(float (&registers)[Count], const Descriptors& d, uint32_t stage,
                                            int piece, bool accumulate) {
    constexpr uint32_t kHalfB = Pieces > kParts ? Config::kPartN / 2 * kernels::kFp8TileK / 16 : kPartB;
    const uint32_t a = d.a + stage * (kStageBytes / 16) + static_cast<uint32_t>(piece) * kPartA;
    const uint32_t b = d.b + stage * (kStageBytes / 16) + static_cast<uint32_t>(piece) * kHalfB;
    TILEWRIGHT_UNROLL
    for (uint32_t k = 0; k < kMmas; ++k) {
      arch::wgmma<2 * Count, typename Config::A, typename Config::B>(registers, d.join(a + 2 * k),
                                                                     d.join(b + 2 * k), accumulate || k > 0);
    }
  }

  /// Promotion after every group of whole K tiles.
  template <class Shadow>
  TILEWRIGHT_DEVICE static bool multiply_promoted(Accumulators<Config>& acc, const Descriptors& descriptors,
                                                  const Ring& ring, const Releaser& releaser,
                                                  RingPosition& at, uint32_t k_tiles, uint32_t group_tiles,
                                                  Scales& scales, Shadow& shadow) {
    float temporary[kRegisters];
    scales.read(at.stage);
    uint32_t kt = 1;
    if constexpr (Config::kThroughTemporary) {
      multiply_first(acc, temporary, descriptors, ring, releaser, at, k_tiles, scales, shadow);
    } else {
      kt = multiply_first_group(acc, descriptors, ring, releaser, at, k_tiles, group_tiles, scales, shadow);
    }
    if (kt < k_tiles) {
      uint32_t in_group = 0;
      const uint32_t last = k_tiles - 1;
      const auto promote = [&](bool store) {
        promote_tile<false, false>(acc, temporary, descriptors, ring, releaser, at, in_group, group_tiles,
                                   store, scales, shadow);
        ++kt;
      };
      // The results of the previous tile that are still to be stored leave registers before the long loop.
      TILEWRIGHT_NO_UNROLL
      while (kt < 3 && kt < last) promote(false);
      if (kt < last) promote(true);
      shadow.template store<4 - kStoredLater, kStoredLater>();
      TILEWRIGHT_NO_UNROLL
      while (kt < last) promote(false);
      // Two copies of the last K tile: only in this one are a packed part's accumulators dead while the next
      // part is computed, which makes room for its packed results.
      if (kParts > 1 && shadow.packs_early()) {
        promote_tile<true, true>(acc, temporary, descriptors, ring, releaser, at, in_group, group_tiles,
                                 false, scales, shadow);
        shadow.scale(kParts - 1, acc[kParts - 1]);
        shadow.pack(acc[kParts - 1], shadow.packed[kParts - 1]);
        return true;
      }
      promote_tile<true, false>(acc, temporary, descriptors, ring, releaser, at, in_group, group_tiles, false,
                                scales, shadow);
    } else {
      shadow.template store<4 - kStoredLater, kStoredLater>();
    }
    return false;
  }

  /// The first K tile of a promoted tile, part by part through the temporary.
  template <class Shadow>
  TILEWRIGHT_DEVICE static void multiply_first(Accumulators<Config>& acc, float (&temporary)[kRegisters],
                                               const Descriptors& descriptors, const Ring& ring,
                                               const Releaser& releaser, RingPosition& at, uint32_t k_tiles,
                                               Scales& scales, Shadow& shadow) {
    RingPosition done = at;
    TILEWRIGHT_UNROLL
    for (int part = 0; part < kParts; ++part) {
      arch::wgmma_fence();
      issue_first<0, 1>(temporary, descriptors, done.stage, part);
      const Factors by = scales.factors(part);
      issue<1, kMmas - 1>(temporary, descriptors, done.stage, part);
      arch::wgmma_commit();
      if (part == 0) shadow.template store<0, kStoredFirst>();
      if (part == 1) shadow.template store<kStoredFirst, kStoredSecond>();
      if (part == kParts - 1) done = next(ring, at, k_tiles > 1);
      if (part == kParts - 1) scales.advance(k_tiles > 1, at.stage);
      if (part == kParts - 1) shadow.load_scales();
      arch::wgmma_wait<0>();
      arch::fence_operand(temporary);
      if (part == kParts - 1) releaser.release(done);
      TILEWRIGHT_UNROLL
      for (int i = 0; i < kRegisters; ++i) {
        acc[part][i] =
            Config::kBlockScales ? arch::mul_rn(temporary[i], by.of[i / 2 % 2]) : arch::copy_rn(temporary[i]);
      }
    }
  }

  /// The first group of a promoted tile, straight into the main accumulators. Returns its K tiles.
  template <class Shadow>
  TILEWRIGHT_DEVICE static uint32_t multiply_first_group(Accumulators<Config>& acc,
                                                         const Descriptors& descriptors, const Ring& ring,
                                                         const Releaser& releaser, RingPosition& at,
                                                         uint32_t k_tiles, uint32_t group_tiles,
                                                         Scales& scales, Shadow& shadow) {
    const uint32_t tiles = group_tiles < k_tiles ? group_tiles : k_tiles;
    arch::wgmma_fence();
    TILEWRIGHT_UNROLL
    for (int part = 0; part < kParts; ++part) issue_first(acc[part], descriptors, at.stage, part);
    arch::wgmma_commit();
    shadow.template store<0, kStoredFirst>();
    RingPosition done = next(ring, at, k_tiles > 1);
    const Factors by = scales.factors(0);  // block scales have groups of one K tile
    scales.advance(k_tiles > 1, at.stage);
    shadow.load_scales();
    arch::wgmma_wait<0>();
    end(acc);
    releaser.release(done);
    if constexpr (Config::kBlockScales) multiply(acc[0], by);

    TILEWRIGHT_NO_UNROLL
    for (uint32_t kt = 1; kt < tiles; ++kt) {
      begin(acc);
      TILEWRIGHT_UNROLL
      for (int part = 0; part < kParts; ++part) issue(acc[part], descriptors, at.stage, part);
      arch::wgmma_commit();
      done = next(ring, at, kt + 1 < k_tiles);
      arch::wgmma_wait<0>();
      end(acc);
      releaser.release(done);
    }
    return tiles;
  }

  /// Promotion every kInterval MMAs, several times in a K tile.
  template <class Shadow>
  TILEWRIGHT_DEVICE static void multiply_subtiles(Accumulators<Config>& acc, const Descriptors& descriptors,
                                                  const Ring& ring, const Releaser& releaser,
                                                  RingPosition& at, uint32_t k_tiles, Shadow& shadow) {
    subtiles<true>(acc, descriptors, at.stage, shadow);
    releaser.release(next(ring, at, k_tiles > 1));
    TILEWRIGHT_NO_UNROLL
    for (uint32_t kt = 1; kt < k_tiles; ++kt) {
      subtiles<false>(acc, descriptors, at.stage, shadow);
      releaser.release(next(ring, at, kt + 1 < k_tiles));
    }
  }

  TILEWRIGHT_DEVICE static void clear(Accumulators<Config>& acc) {
    TILEWRIGHT_UNROLL
    for (int part = 0; part < kParts; ++part) {
      TILEWRIGHT_UNROLL
      for (int i = 0; i < kRegisters; ++i) acc[part][i] = 0;
    }
  }

  /// Steps to the next stage and, if the tile has one, waits for its bytes. Returns the stage left.
  TILEWRIGHT_DEVICE static RingPosition next(const Ring& ring, RingPosition& at, bool more) {
    const RingPosition left = at;
    at.advance(ring.stages);
    if (more) ring.wait(at);
    return left;
  }

  TILEWRIGHT_DEVICE static void add(float (&sum)[kRegisters], const float (&group)[kRegisters]) {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < kRegisters; ++i) sum[i] = arch::add_rn(sum[i], group[i]);
  }
  /// Registers 2 and 3 of each four are eight rows below 0 and 1 (PTX ISA, wgmma register fragments).
  TILEWRIGHT_DEVICE static void add(float (&sum)[kRegisters], const float (&group)[kRegisters],
                                    const Factors& factors) {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < kRegisters; ++i) sum[i] = arch::fma_rn(group[i], factors.of[i / 2 % 2], sum[i]);
  }
  TILEWRIGHT_DEVICE static void multiply(float (&sum)[kRegisters], const Factors& factors) {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < kRegisters; ++i) sum[i] = arch::mul_rn(sum[i], factors.of[i / 2 % 2]);
  }

  /// One K tile into the temporary, part by part, and from there into the main accumulators.
  template <bool Last, bool PackEarly, class Shadow>
  TILEWRIGHT_DEVICE static void promote_tile(Accumulators<Config>& acc, float (&temporary)[kRegisters],
                                             const Descriptors& descriptors, const Ring& ring,
                                             const Releaser& releaser, RingPosition& at, uint32_t& in_group,
                                             uint32_t group_tiles, bool store, Scales& scales,
                                             Shadow& shadow) {
    RingPosition done = at;
    TILEWRIGHT_UNROLL
    for (int part = 0; part < kParts; ++part) {
      arch::fence_operand(temporary);
      arch::wgmma_fence();
      issue<0, 1>(temporary, descriptors, done.stage, part, kParts == 1 && in_group != 0);
      const Factors by = scales.factors(part);  // while the first MMA runs
      issue<1, kMmas - 1>(temporary, descriptors, done.stage, part);
      arch::wgmma_commit();
      if (part == 0 && store) shadow.template store<4 - kStoredLater, kStoredLater, false>();
      if (part == kParts - 1) {
        done = next(ring, at, !Last);
        if (PackEarly) {
          shadow.scale(0, acc[0]);
          shadow.pack(acc[0], shadow.packed[0]);
        }
      }
      if (part == kParts - 1) scales.advance(!Last, at.stage);
      arch::wgmma_wait<0>();
      arch::fence_operand(temporary);
      if (part == kParts - 1) releaser.release(done);
      if (kParts == 1 && !Last && ++in_group < group_tiles) continue;
      if constexpr (Config::kBlockScales) {
        add(acc[part], temporary, by);
      } else {
        add(acc[part], temporary);
      }
      in_group = 0;
    }
  }

  /// One K tile with kInterval MMAs per promotion.
  template <bool FirstTile, class Shadow>
  TILEWRIGHT_DEVICE static void subtiles(Accumulators<Config>& acc, const Descriptors& descriptors,
                                         uint32_t stage, Shadow& shadow) {
    constexpr uint32_t kCount = Config::kInterval == 0 ? kMmas : Config::kInterval;
    float temporary[kRegisters];
    subtile<FirstTile, 0, kCount>(acc[0], temporary, descriptors, stage, shadow);
    subtile<false, kCount, kCount>(acc[0], temporary, descriptors, stage, shadow);
    if constexpr (kCount == 1) {
      subtile<false, 2, 1>(acc[0], temporary, descriptors, stage, shadow);
      subtile<false, 3, 1>(acc[0], temporary, descriptors, stage, shadow);
    }
  }

  template <bool Direct, uint32_t First, uint32_t Count, class Shadow>
  TILEWRIGHT_DEVICE static void subtile(float (&sum)[kRegisters], float (&temporary)[kRegisters],
                                        const Descriptors& descriptors, uint32_t stage, Shadow& shadow) {
    float(&target)[kRegisters] = Direct ? sum : temporary;
    if constexpr (Direct) {
      arch::wgmma_fence();
      issue_first<First, Count>(target, descriptors, stage, 0);
    } else {
      arch::fence_operand(target);
      arch::wgmma_fence();
      issue<First, Count>(target, descriptors, stage, 0, false);
    }
    arch::wgmma_commit();
    if constexpr (Direct) store_rest(shadow);
    arch::wgmma_wait<0>();
    arch::fence_operand(target);
    if constexpr (!Direct) add(sum, temporary);
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
