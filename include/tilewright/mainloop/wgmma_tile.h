// The K loop of one tile on Hopper, for every type that wgmma multiplies: stages in shared memory ->
// accumulators.
//
// A consumer releases the stage before last and waits for the next one while its MMAs run. Where the sum is
// promoted, every group of MMAs accumulates in a temporary that all parts of a warpgroup share, and which is
// then added to the main accumulators in FP32.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tilewright/arch/index.h"
#include "tilewright/arch/math.h"
#include "tilewright/arch/wgmma.h"
#include "tilewright/mainloop/ring.h"
#include "tilewright/mainloop/wgmma_tile_loads.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// Nothing to do while MMAs run.
struct NoShadow {
  TILEWRIGHT_DEVICE void run(uint32_t) {}
};

/// The consumers' half. A `shadow` gets control once in each K tile, while its MMAs run: run(K tile).
template <class Config>
struct WgmmaTile {
  using Fragment = typename Config::Fragment;
  using Register = typename Config::Register;
  static constexpr int kParts = Config::kParts;
  static constexpr int kRegisters = Config::kRegisters;
  static constexpr int kMmas = Config::kMmas;

  uint32_t stages;  // as in WgmmaTileLoads

  /// All 128 threads of a consumer warpgroup: acc = A B over k_tiles K tiles, or acc += A B. Leaves no MMA in
  /// flight and every stage released.
  template <class Shadow>
  TILEWRIGHT_DEVICE void multiply(Fragment& acc, const Ring& ring, const Releaser& releaser, RingPosition& at,
                                  uint32_t k_tiles, bool accumulate, Shadow& shadow) const {
    if (k_tiles == 0) {
      if (!accumulate) clear(acc);
      return;
    }
    const Descriptors descriptors(stages);
    ring.wait(at);
    if constexpr (Config::kInterval != 0) {
      if (!accumulate) clear(acc);
      multiply_promoted(acc, descriptors, ring, releaser, at, k_tiles, shadow);
    } else if (accumulate) {
      multiply_fast<false>(acc, descriptors, ring, releaser, at, k_tiles, shadow);
    } else {
      multiply_fast<true>(acc, descriptors, ring, releaser, at, k_tiles, shadow);
    }
  }

  TILEWRIGHT_DEVICE static void clear(Fragment& acc) {
    TILEWRIGHT_UNROLL
    for (int part = 0; part < kParts; ++part) {
      TILEWRIGHT_UNROLL
      for (int i = 0; i < kRegisters; ++i) acc[part][i] = 0;
    }
  }

 private:
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

  /// MMAs [first, first + Count) of one K tile for one part; the first one adds to `d` when `accumulate`. Of
  /// split operands all three products, the small ones first.
  template <int Count>
  TILEWRIGHT_DEVICE static void issue(Register (&d)[kRegisters], const Descriptors& descriptors,
                                      uint32_t stage, int part, int first, bool accumulate) {
    constexpr OperandLayout la = Config::kLayoutA, lb = Config::kLayoutB;
    const auto [row, column, product] = Config::part_of(part);
    const uint32_t start = stage * Config::kPlan.stage_bytes, start_b = start + product * lb.bytes;
    constexpr int kTerms = Config::kShape.splits == 2 ? 3 : 1;
    TILEWRIGHT_UNROLL
    for (int term = kTerms - 1; term >= 0; --term) {
      // Which MMA of a row is the first of the operand's part: high high, high low, low high.
      const int low_a = term == 2 ? kMmas : 0, low_b = term == 1 ? kMmas : 0;
      TILEWRIGHT_UNROLL
      for (int i = 0; i < Count; ++i) {
        const auto k_a = static_cast<uint32_t>(low_a + first + i);
        const auto k_b = static_cast<uint32_t>(low_b + first + i);
        arch::wgmma<Config::kPlan.part_n, typename Config::A, typename Config::B, Config::kOptions>(
            d, arch::advance_descriptor(descriptors.a, start + la.offset(row, k_a)),
            arch::advance_descriptor(descriptors.b, start_b + lb.offset(column, k_b)),
            accumulate || term + 1 < kTerms || i > 0);
      }
    }
  }

  /// One K tile of a part, the first of a sum.
  TILEWRIGHT_DEVICE static void issue_first(float (&d)[kRegisters], const Descriptors& descriptors,
                                            uint32_t stage, int part) {
    constexpr OperandLayout la = Config::kLayoutA, lb = Config::kLayoutB;
    const auto [row, column, product] = Config::part_of(part);
    const uint32_t start = stage * Config::kPlan.stage_bytes, start_b = start + product * lb.bytes;
    arch::wgmma_overwrite<Config::kPlan.part_n, typename Config::A, typename Config::B, Config::kOptions>(
        d, arch::advance_descriptor(descriptors.a, start + la.offset(row, 0)),
        arch::advance_descriptor(descriptors.b, start_b + lb.offset(column, 0)));
    if constexpr (kMmas > 1) issue<kMmas - 1>(d, descriptors, stage, part, 1, true);
  }

  TILEWRIGHT_DEVICE static void fence(Fragment& acc) {
    TILEWRIGHT_UNROLL
    for (int part = 0; part < kParts; ++part) arch::fence_operand(acc[part]);
  }

  /// Steps to the next stage and, if the tile has one, waits for its bytes.
  TILEWRIGHT_DEVICE static void next(const Ring& ring, RingPosition& at, RingPosition& previous, bool more) {
    previous = at;
    at.advance(Config::kStages);
    if (more) ring.wait(at);
  }

  /// The tensor core's own accumulator to the end: the MMAs of a K tile queue behind those of the one before.
  /// Fresh: what the accumulators hold is not looked at, nor kept alive up to here.
  template <bool Fresh, class Shadow>
  TILEWRIGHT_DEVICE static void multiply_fast(Fragment& acc, const Descriptors& descriptors, const Ring& ring,
                                              const Releaser& releaser, RingPosition& at, uint32_t k_tiles,
                                              Shadow& shadow) {
    constexpr bool kOverwrite = Fresh && std::is_same_v<Register, float>;
    RingPosition previous = at;
    if constexpr (kOverwrite) {
      arch::wgmma_fence();
      TILEWRIGHT_UNROLL
      for (int part = 0; part < kParts; ++part) issue_first(acc[part], descriptors, at.stage, part);
      arch::wgmma_commit();
      shadow.run(0);
      finish_k_tile(ring, releaser, at, previous, false, k_tiles > 1);
    } else {
      if (Fresh) clear(acc);
      fence(acc);
    }
    TILEWRIGHT_NO_UNROLL
    for (uint32_t kt = kOverwrite ? 1 : 0; kt < k_tiles; ++kt) {
      arch::wgmma_fence();
      TILEWRIGHT_UNROLL
      for (int part = 0; part < kParts; ++part) issue<kMmas>(acc[part], descriptors, at.stage, part, 0, true);
      arch::wgmma_commit();
      shadow.run(kt);
      finish_k_tile(ring, releaser, at, previous, kt != 0, kt + 1 < k_tiles);
    }
    arch::wgmma_wait<0>();
    fence(acc);
    if constexpr (Config::kStages > 1) releaser.release(previous);
  }

  /// With the MMAs of stage `at` running: frees the stage before it and waits for the next one. A ring of one
  /// stage has to wait for the MMAs themselves.
  TILEWRIGHT_DEVICE static void finish_k_tile(const Ring& ring, const Releaser& releaser, RingPosition& at,
                                              RingPosition& previous, bool has_previous, bool more) {
    if constexpr (Config::kStages == 1) {
      arch::wgmma_wait<0>();
      releaser.release(at);
    } else if (has_previous) {
      arch::wgmma_wait<1>();
      releaser.release(previous);
    }
    next(ring, at, previous, more);
  }

  // ---- promotion

  /// MMAs of a group inside one K tile, and K tiles of a group.
  static constexpr int kGroup =
      Config::kInterval == 0 || Config::kInterval > kMmas ? kMmas : Config::kInterval;
  static constexpr uint32_t kGroupTiles = Config::kInterval > kMmas
                                              ? static_cast<uint32_t>(Config::kInterval / kMmas)
                                              : 1;

  template <class Shadow>
  TILEWRIGHT_DEVICE static void multiply_promoted(Fragment& acc, const Descriptors& descriptors,
                                                  const Ring& ring, const Releaser& releaser,
                                                  RingPosition& at, uint32_t k_tiles, Shadow& shadow) {
    Register temporary[kRegisters];
    uint32_t in_group = 0;
    TILEWRIGHT_NO_UNROLL
    for (uint32_t kt = 0; kt < k_tiles; ++kt) {
      const bool more = kt + 1 < k_tiles;
      const bool promote = in_group + 1 == kGroupTiles || !more;
      const auto in_shadow = [&] { shadow.run(kt); };
      promote_tile(acc, temporary, descriptors, ring, releaser, at, more, in_group != 0, promote, in_shadow);
      in_group = promote ? 0 : in_group + 1;
    }
  }

  /// One K tile: its groups one after another, part by part, into the temporary and from there into the main
  /// accumulators. `accumulate`: the temporary holds the sum of earlier K tiles of the group.
  template <class InShadow>
  TILEWRIGHT_DEVICE static void promote_tile(Fragment& acc, Register (&temporary)[kRegisters],
                                             const Descriptors& descriptors, const Ring& ring,
                                             const Releaser& releaser, RingPosition& at, bool more,
                                             bool accumulate, bool promote, const InShadow& in_shadow) {
    const RingPosition stage = at;
    RingPosition previous = at;
    TILEWRIGHT_UNROLL
    for (int first = 0; first < kMmas; first += kGroup) {
      TILEWRIGHT_UNROLL
      for (int part = 0; part < kParts; ++part) {
        const bool last = first + kGroup == kMmas && part == kParts - 1;
        arch::fence_operand(temporary);
        arch::wgmma_fence();
        issue<kGroup>(temporary, descriptors, stage.stage, part, first, accumulate);
        arch::wgmma_commit();
        if (last) in_shadow();
        if (last && Config::kStages > 1) next(ring, at, previous, more);
        arch::wgmma_wait<0>();
        arch::fence_operand(temporary);
        if (last) releaser.release(stage);
        if (last && Config::kStages == 1) next(ring, at, previous, more);
        if (promote) add(acc[part], temporary);
      }
    }
  }

  TILEWRIGHT_DEVICE static void add(Register (&sum)[kRegisters], const Register (&group)[kRegisters]) {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < kRegisters; ++i) sum[i] = arch::add_rn(sum[i], group[i]);
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
