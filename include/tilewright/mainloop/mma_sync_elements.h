// From elements anywhere in memory to the registers of mma.sync: for operands that do not lie as
// MmaSyncOperand reads them, or that are changed on the way.
#pragma once

#include <cstdint>
#include <cstring>

#include "tilewright/arch/index.h"
#include "tilewright/config.h"
#include "tilewright/mainloop/mma_sync_operands.h"
#include "tilewright/mainloop/mma_sync_plan.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// A or B of one warp, element by element: the same words as those of MmaSyncOperand.
///
/// Get: get(row, k) is the element of A in this row of the tile (of B: in this column), zero where there is
/// none.
template <class Config, bool IsA, class Get>
class MmaSyncElements {
  static constexpr tiles::MmaSyncLayout kLayout = IsA ? Config::kLayoutA : Config::kLayoutB;
  static constexpr bool kPairs = kLayout.read == tiles::MmaSyncRead::transposed_bytes;
  static constexpr bool kComplex = Config::kShape.is_complex;
  static constexpr int kTiles = IsA ? Config::kTilesM : Config::kTilesN;
  static constexpr uint32_t kBytes = kLayout.element_bytes;
  static constexpr auto kStep = static_cast<uint32_t>(Config::kShape.step());
  using Like = MmaSyncOperand<Config, IsA>;

 public:
  using Word = typename Like::Word;
  using Words = typename Like::Words;

  /// first: row (of B: column) of the tile where the warp's part begins.
  TILEWRIGHT_DEVICE MmaSyncElements(uint32_t first, const Get& get) : first_(first), get_(get) {}

  /// Registers of step `step` of the tile.
  TILEWRIGHT_DEVICE void load(Words& words, uint32_t step) const {
    TILEWRIGHT_UNROLL
    for (int tile = 0; tile < kTiles; ++tile) {
      TILEWRIGHT_UNROLL
      for (int half = 0; half < (IsA ? 2 : 1); ++half) load_row(words[tile], tile, half, step);
    }
  }

 private:
  /// Row of an MMA's half that this lane holds.
  TILEWRIGHT_DEVICE uint32_t row_of(int tile, int half) const {
    const uint32_t g = arch::lane_index() / 4;
    const auto t = static_cast<uint32_t>(tile), h = static_cast<uint32_t>(half);
    if constexpr (IsA) return first_ + 16 * t + (kPairs ? 2 * g + h : 8 * h + g);
    return first_ + (kPairs ? 16 * (t / 2) + 2 * g + t % 2 : 8 * t + g);
  }

  TILEWRIGHT_DEVICE void load_row(Word (&words)[Like::kWords], int tile, int half, uint32_t step) const {
    constexpr int kNext = IsA ? 2 : 1;  // words of A are [half of K, or part][half of M]
    const uint32_t row = row_of(tile, half), t = arch::lane_index() % 4, k = step * kStep;
    if constexpr (kComplex && kBytes == 2 * sizeof(Word)) {
      const auto number = get_(row, k + t);
      words[half] = word_of(number.x);
      words[half + kNext] = word_of(number.y);
    } else {
      constexpr uint32_t kOfWord = sizeof(Word) / kBytes;
      TILEWRIGHT_UNROLL
      for (uint32_t k_half = 0; k_half < 2; ++k_half) {
        decltype(get_(row, k)) numbers[kOfWord];
        TILEWRIGHT_UNROLL
        for (uint32_t i = 0; i < kOfWord; ++i) numbers[i] = get_(row, k + (t + 4 * k_half) * kOfWord + i);
        words[half + (k_half == 0 ? 0 : kNext)] = word_of(numbers);
      }
    }
  }

  template <class Numbers>
  TILEWRIGHT_DEVICE static Word word_of(const Numbers& numbers) {
    static_assert(sizeof(Numbers) == sizeof(Word));
    Word word;
    memcpy(&word, static_cast<const void*>(&numbers), sizeof(word));
    return word;
  }

  uint32_t first_;
  const Get& get_;
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
