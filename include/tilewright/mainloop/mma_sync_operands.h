// From a stage in shared memory to the registers of mma.sync, without bank conflicts (see
// MmaSyncLayout::key).
#pragma once

#include <cstdint>
#include <type_traits>

#include "tilewright/arch/convert.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/matrix.h"
#include "tilewright/arch/shared.h"
#include "tilewright/config.h"
#include "tilewright/mainloop/mma_sync_plan.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// A or B of one warp: what it multiplies in one step of K.
///
/// Lane l of a warp has g = l / 4 and t = l % 4. Of 8 rows of A (columns of B) an MMA wants two registers of
/// row g from each lane: of the step's 32 bytes of K, the four bytes at 4 t and at 4 t + 16; of its 8
/// doubles, k = t and k = t + 4. Of complex numbers the real part is in the first register and the imaginary
/// one in the second (tf32, f64), or both are in each (f16, bf16): K of the MMA runs over the parts.
template <class Config, bool IsA>
class MmaSyncOperand {
  static constexpr tiles::MmaSyncLayout kLayout = IsA ? Config::kLayoutA : Config::kLayoutB;
  static constexpr tiles::MmaSyncRead kRead = kLayout.read;
  static constexpr bool kKMajor = !kLayout.mn_major;
  static constexpr int kTiles = IsA ? Config::kTilesM : Config::kTilesN;
  static constexpr uint32_t kBytes = kLayout.element_bytes;
  static constexpr auto kStep = static_cast<uint32_t>(Config::kShape.step());
  static constexpr uint32_t kRowsOfTile = IsA ? 16 : 8;
  // Reads: of ldmatrix.x4, of 8 rows, or of the last 8 columns of an odd number.
  static constexpr int kRowsOfRead = kRead == tiles::MmaSyncRead::elements ? 8 : 16;
  static constexpr int kReads = (kTiles * static_cast<int>(kRowsOfTile) + kRowsOfRead - 1) / kRowsOfRead;
  static constexpr bool kOddTile = !IsA && kRowsOfRead == 16 && kTiles % 2 != 0;

 public:
  using Word = std::conditional_t<std::is_same_v<typename Config::A, double>, double, uint32_t>;
  static constexpr int kWords = IsA ? 4 : 2;  // of a lane for one MMA
  using Words = Word[kTiles][kWords];

  /// first: row (of B: column) of the tile where the warp's part begins.
  TILEWRIGHT_DEVICE explicit MmaSyncOperand(uint32_t first) {
    const uint32_t lane = arch::lane_index();
    TILEWRIGHT_UNROLL
    for (int i = 0; i < kPlaces; ++i) place_[i] = place_of(first, static_cast<uint32_t>(i), lane);
  }

  /// Registers of step `step` of the stage whose part for this operand begins at `start`. All lanes.
  TILEWRIGHT_DEVICE void load(Words& words, uint32_t start, uint32_t step) const {
    TILEWRIGHT_UNROLL
    for (int read = 0; read < kReads; ++read) {
      if constexpr (kRead == tiles::MmaSyncRead::elements) {
        load_elements(words, start, step, read);
      } else {
        load_matrices(words, start + address(static_cast<uint32_t>(read), kStep * step), read);
      }
    }
  }

 private:
  // Where K is contiguous, the rows of a read are some multiple of 8 rows below those of the first.
  static constexpr int kPlaces = kKMajor ? 1 : kReads;

  /// Offset of what a lane reads in the i-th read of step 0.
  TILEWRIGHT_DEVICE static uint32_t place_of(uint32_t first, uint32_t i, uint32_t lane) {
    constexpr tiles::MmaSyncLayout layout = kLayout;  // a static member has no address on a GPU
    const uint32_t matrix = lane / 8, in_matrix = lane % 8;
    first += static_cast<uint32_t>(kRowsOfRead) * i;
    // Matrices of A are [half of K][half of M], of B [half of N][half of K]; an odd tile has no other half.
    const bool half_n = kOddTile && i + 1 == static_cast<uint32_t>(kReads);
    const uint32_t half = IsA ? matrix % 2 : half_n ? 0 : matrix / 2;
    const uint32_t k_half = IsA ? matrix / 2 : matrix % 2;
    if constexpr (kRead == tiles::MmaSyncRead::matrices) {
      return layout.place(first + 8 * half + in_matrix, 16 * k_half);
    } else if constexpr (kRead == tiles::MmaSyncRead::transposed) {
      return layout.place(8 * k_half + in_matrix, 2 * (first + 8 * half));
    } else if constexpr (kRead == tiles::MmaSyncRead::transposed_bytes) {
      // Matrices are [half of K][half of 4 k]: rows 4 i and 4 i + 1, or 4 i + 2 and 4 i + 3.
      return layout.place(16 * (matrix / 2) + 2 * (matrix % 2) + 4 * (in_matrix / 2) + in_matrix % 2, first);
    } else if constexpr (kKMajor) {
      return layout.place(first + lane / 4, lane % 4 * kBytes);
    } else {
      return layout.place(lane % 4, (first + lane / 4) * kBytes);
    }
  }

  /// The offset of the i-th read at K index k of the tile, for k that leaves keys as they are.
  TILEWRIGHT_DEVICE uint32_t address(uint32_t i, uint32_t k) const {
    if constexpr (kKMajor) {
      const uint32_t byte = k * kBytes;
      return (place_[0] ^ byte % kLayout.width) + byte / kLayout.width * kLayout.slab_bytes() +
             i * static_cast<uint32_t>(kRowsOfRead) * kLayout.width;
    } else {
      return place_[i] + k * kLayout.width;
    }
  }

  TILEWRIGHT_DEVICE static void load_matrices(Words& words, uint32_t from, int read) {
    if constexpr (IsA && kRead != tiles::MmaSyncRead::transposed_bytes) {
      read_matrices(from, words[read]);
    } else if (kOddTile && read + 1 == kReads) {
      if constexpr (kOddTile) read_matrices(from, words[2 * read]);
    } else {
      uint32_t four[4];
      read_matrices(from, four);
      if constexpr (kRead == tiles::MmaSyncRead::transposed_bytes) {
        sort_bytes(words, four, read);
      } else {
        TILEWRIGHT_UNROLL
        for (int i = 0; i < 4; ++i) words[2 * read + i / 2][i % 2] = four[i];
      }
    }
  }

  template <int Count>
  TILEWRIGHT_DEVICE static void read_matrices(uint32_t from, uint32_t (&to)[Count]) {
    constexpr bool kPlain = kRead == tiles::MmaSyncRead::matrices;
    if constexpr (Count == 4 && kPlain) {
      arch::ldmatrix_x4(from, to);
    } else if constexpr (Count == 4) {
      arch::ldmatrix_x4_trans(from, to);
    } else if constexpr (kPlain) {
      arch::ldmatrix_x2(from, to);
    } else {
      arch::ldmatrix_x2_trans(from, to);
    }
  }

  /// A lane has of rows 2 g and 2 g + 1 the bytes of k = 4 t and 4 t + 1 in one word, of the next two k in
  /// another.
  TILEWRIGHT_DEVICE static void sort_bytes(Words& words, const uint32_t (&four)[4], int read) {
    TILEWRIGHT_UNROLL
    for (int half = 0; half < 2; ++half) {  // of K
      const uint32_t even = arch::permute_bytes(four[2 * half], four[2 * half + 1], 0x6420);
      const uint32_t odd = arch::permute_bytes(four[2 * half], four[2 * half + 1], 0x7531);
      if constexpr (IsA) {
        words[read][2 * half] = even;
        words[read][2 * half + 1] = odd;
      } else {
        words[2 * read][half] = even;
        words[2 * read + 1][half] = odd;
      }
    }
  }

  struct alignas(2 * sizeof(Word)) Both {
    Word real, imaginary;
  };

  /// 8 rows. Words of A are [half of K, or part][half of M].
  TILEWRIGHT_DEVICE void load_elements(Words& words, uint32_t start, uint32_t step, int read) const {
    const int tile = IsA ? read / 2 : read, first = IsA ? read % 2 : 0;
    constexpr int kNext = IsA ? 2 : 1;
    const auto i = static_cast<uint32_t>(read);
    if constexpr (kBytes == 2 * sizeof(Word)) {
      const Both both = arch::load_shared<Both>(start + address(i, kStep * step));
      words[tile][first] = both.real;
      words[tile][first + kNext] = both.imaginary;
    } else {
      words[tile][first] = arch::load_shared<Word>(start + address(i, kStep * step));
      words[tile][first + kNext] = arch::load_shared<Word>(start + address(i, kStep * step + 4));
    }
  }

  uint32_t place_[kPlaces];
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
