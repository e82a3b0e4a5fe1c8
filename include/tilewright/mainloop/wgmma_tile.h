// The K loop of one tile on Hopper, for every type that wgmma multiplies: stages in shared memory ->
// accumulators.
//
// A consumer releases the stage before last and waits for the next one while its MMAs run. Where the sum is
// promoted, every group of MMAs accumulates in a temporary that all parts of a warpgroup share, and which is
// then added to the main accumulators in FP32; the first group of a sum goes straight into those. Between two
// groups of a warpgroup stand only the additions, which the MMAs of the other warpgroup cover.
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

/// Nothing to do while MMAs run. What a shadow has:
///   run(K tile)      tensor core's sums: the MMAs of that K tile run
///   first_group()    promoted sums: the first group runs; the temporary is not in use yet
///   kStoresLater     and whether it has work for
///   store_later()    once, before the long loop: the MMAs of a later K tile run, if there are so many
///   kPacksParts      and whether it takes the results part by part:
///   pack_part<P>()   part P is complete; MMAs of part P + 1 run, unless it is the last part or the sum is
///   one
///                    of a single group
struct NoShadow {
  static constexpr bool kStoresLater = false, kPacksParts = false;
  TILEWRIGHT_DEVICE void run(uint32_t) {}
  TILEWRIGHT_DEVICE void first_group() {}
};

/// The consumers' half. A `shadow` gets control while MMAs run.
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
      if constexpr (Config::kInterval != 0) shadow.first_group();
      if constexpr (Shadow::kStoresLater) shadow.store_later();
      if (!accumulate) clear(acc);
      if constexpr (Shadow::kPacksParts) pack_parts(shadow);
      return;
    }
    const Descriptors descriptors(stages);
    ring.wait(at);
    if constexpr (Config::kInterval != 0) {
      multiply_promoted(acc, descriptors, ring, releaser, at, k_tiles, accumulate, shadow);
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

  /// MMAs [first, first + Count) of one K tile for one part; the first one adds to `d` when `accumulate`.
  /// Overwrite: it does not look at `d`. Of split operands all three products, the small ones first.
  template <int Count, bool Overwrite = false>
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
        const uint64_t a = arch::advance_descriptor(descriptors.a, start + la.offset(row, k_a));
        const uint64_t b = arch::advance_descriptor(descriptors.b, start_b + lb.offset(column, k_b));
        const bool is_first = term == kTerms - 1 && i == 0;
        if constexpr (Overwrite) {
          if (is_first) {
            arch::wgmma_overwrite<Config::kPlan.part_n, typename Config::A, typename Config::B,
                                  Config::kOptions>(d, a, b);
            continue;
          }
        }
        arch::wgmma<Config::kPlan.part_n, typename Config::A, typename Config::B, Config::kOptions>(
            d, a, b, accumulate || !is_first);
      }
    }
  }

  /// The first MMAs of a sum, of one part.
  template <int Count = kMmas>
  TILEWRIGHT_DEVICE static void issue_first(Register (&d)[kRegisters], const Descriptors& descriptors,
                                            uint32_t stage, int part) {
    issue<Count, true>(d, descriptors, stage, part, 0, false);
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
                                                  RingPosition& at, uint32_t k_tiles, bool accumulate,
                                                  Shadow& shadow) {
    Register temporary[kRegisters];
    RingPosition previous = at;
    uint32_t kt = 0, in_group = 0;
    if (!accumulate)
      kt = begin_sum(acc, temporary, descriptors, ring, releaser, at, previous, k_tiles, shadow);
    const auto promote = [&](bool more, const auto& in_shadow) {
      const bool promote = in_group + 1 == kGroupTiles || !more;
      promote_tile<0>(acc, temporary, descriptors, ring, releaser, at, previous, !(accumulate && kt == 0),
                      more, in_group != 0, promote, in_shadow);
      in_group = promote ? 0 : in_group + 1;
      ++kt;
    };
    const auto nothing = [](auto) {};
    const uint32_t last = k_tiles - 1;
    if constexpr (Shadow::kStoresLater) {
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
      if (kt == last) {
        // Under the MMAs of a part the one before it is packed: its accumulators make room for the results.
        promote(false, [&](auto part) {
          if constexpr (part.value > 0) shadow.template pack_part<part.value - 1>();
        });
        if constexpr (Config::kStages > 1) releaser.release(previous);
        shadow.template pack_part<kParts - 1>();
      } else {
        if constexpr (Config::kStages > 1) releaser.release(previous);
        pack_parts(shadow);
      }
    } else {
      TILEWRIGHT_NO_UNROLL
      while (kt < k_tiles) promote(kt != last, nothing);
      if constexpr (Config::kStages > 1) releaser.release(previous);
    }
  }

  template <class Shadow>
  TILEWRIGHT_DEVICE static void pack_parts(Shadow& shadow) {
    for_each_part([&](auto part) { shadow.template pack_part<part.value>(); });
  }

  /// Whether the first group of a sum goes through the temporary, as in WgmmaFp8: accumulators that no wgmma
  /// writes may lie in the other register bank than what is added to them.
  static constexpr bool kThroughTemporary = Config::kStages > 1 && kParts == 2 &&
                                            kGroup == kMmas&& kGroupTiles == 1 &&
                                            std::is_same_v<Register, float>;

  /// The first group of a sum, and what is left of its K tile. Returns how many K tiles that were; the last
  /// of them is still to be released.
  template <class Shadow>
  TILEWRIGHT_DEVICE static uint32_t begin_sum(Fragment& acc, Register (&temporary)[kRegisters],
                                              const Descriptors& descriptors, const Ring& ring,
                                              const Releaser& releaser, RingPosition& at,
                                              RingPosition& previous, uint32_t k_tiles, Shadow& shadow) {
    const bool more = k_tiles > 1;
    if constexpr (kThroughTemporary) {
      const uint32_t stage = at.stage;
      for_each_part([&](auto part) {
        arch::wgmma_fence();
        issue_first(temporary, descriptors, stage, part.value);
        arch::wgmma_commit();
        if constexpr (part.value == 0) shadow.first_group();
        if constexpr (part.value == kParts - 1) next(ring, at, previous, more);
        arch::wgmma_wait<0>();
        arch::fence_operand(temporary);
        TILEWRIGHT_UNROLL
        for (int i = 0; i < kRegisters; ++i) acc[part.value][i] = arch::copy_rn(temporary[i]);
      });
      return 1;
    }
    arch::wgmma_fence();
    TILEWRIGHT_UNROLL
    for (int part = 0; part < kParts; ++part) issue_first<kGroup>(acc[part], descriptors, at.stage, part);
    arch::wgmma_commit();
    shadow.first_group();
    if constexpr (kGroup < kMmas) {
      arch::wgmma_wait<0>();
      fence(acc);
      promote_tile<kGroup>(acc, temporary, descriptors, ring, releaser, at, previous, false, more, false,
                           true, [](auto) {});
    } else {
      finish_group(acc, ring, releaser, at, previous, more);
    }
    uint32_t kt = 1;
    if constexpr (kGroupTiles > 1) {
      TILEWRIGHT_NO_UNROLL
      for (; kt < kGroupTiles && kt < k_tiles; ++kt) {
        fence(acc);
        arch::wgmma_fence();
        TILEWRIGHT_UNROLL
        for (int part = 0; part < kParts; ++part)
          issue<kMmas>(acc[part], descriptors, at.stage, part, 0, true);
        arch::wgmma_commit();
        if constexpr (Config::kStages > 1) releaser.release(previous);
        finish_group(acc, ring, releaser, at, previous, kt + 1 < k_tiles);
      }
    }
    return kt;
  }

  /// With MMAs into the main accumulators running, the last of their K tile: on to the next one.
  TILEWRIGHT_DEVICE static void finish_group(Fragment& acc, const Ring& ring, const Releaser& releaser,
                                             RingPosition& at, RingPosition& previous, bool more) {
    if constexpr (Config::kStages > 1) next(ring, at, previous, more);
    arch::wgmma_wait<0>();
    fence(acc);
    if constexpr (Config::kStages == 1) {
      releaser.release(at);
      next(ring, at, previous, more);
    }
  }

  /// One K tile from MMA First on: its groups one after another, part by part, into the temporary and from
  /// there into the main accumulators. `accumulate`: the temporary holds the sum of earlier K tiles of the
  /// group. in_shadow(part): the last group of that part runs.
  template <int First, class InShadow>
  TILEWRIGHT_DEVICE static void promote_tile(Fragment& acc, Register (&temporary)[kRegisters],
                                             const Descriptors& descriptors, const Ring& ring,
                                             const Releaser& releaser, RingPosition& at,
                                             RingPosition& previous, bool has_previous, bool more,
                                             bool accumulate, bool promote, const InShadow& in_shadow) {
    const uint32_t stage = at.stage;
    TILEWRIGHT_UNROLL
    for (int first = First; first < kMmas; first += kGroup) {
      for_each_part([&](auto part) {
        const bool last_group = first + kGroup == kMmas, last = last_group && part.value == kParts - 1;
        arch::fence_operand(temporary);
        arch::wgmma_fence();
        issue<kGroup>(temporary, descriptors, stage, part.value, first, accumulate);
        arch::wgmma_commit();
        if (Config::kStages > 1 && first == 0 && part.value == 0 && has_previous) releaser.release(previous);
        if (last_group) in_shadow(part);
        if (Config::kStages > 1 && last) next(ring, at, previous, more);
        arch::wgmma_wait<0>();
        arch::fence_operand(temporary);
        if (Config::kStages == 1 && last) {
          releaser.release(at);
          next(ring, at, previous, more);
        }
        if (promote) add(acc[part.value], temporary);
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

  TILEWRIGHT_DEVICE static void add(Register (&sum)[kRegisters], const Register (&group)[kRegisters]) {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < kRegisters; ++i) sum[i] = arch::add_rn(sum[i], group[i]);
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
