// Block-scaled matrices as bf16 ones: what the kernel that makes them takes and what it leaves for the store
// of the product. Mode-neutral.
//
// An element times its scale is a bf16 exactly, but for the outermost e8m0 scales. A line (a row of A, a
// column of B) with such a scale is divided by a power of two, its shift, with which the product is
// multiplied when it is stored. Lines whose scales are all in range have the shift 0.
#pragma once

#include <cstdint>

#include "tilewright/config.h"
#include "tilewright/layout/scale_factors.h"
#include "tilewright/numeric/block_format.h"

namespace tilewright::kernels {

inline constexpr uint32_t dequantise_threads = 512;
inline constexpr uint32_t dequantise_ctas_per_sm = 2;
inline constexpr uint32_t dequantise_warps = dequantise_threads / 32;
/// A warp's piece: elements of K of four lines, 32 apart (their scales lie side by side).
inline constexpr uint32_t dequantise_span = 256;
inline constexpr uint32_t dequantise_block_lines = 128;  // of a block of packed scales
inline constexpr uint32_t dequantise_quads = 32;         // in those lines

/// A, or B as N lines.
struct DequantiseOperand {
  const void* elements;                    // null: there is none
  PackedScaleCodes<const uint8_t> scales;  // at a multiple of 16 bytes
  int64_t ld, batch_stride;                // of the elements
  void* to;                                // bf16, [batch][line][to_ld], at a multiple of 16 bytes
  int64_t to_ld;                           // a multiple of 8 elements
  uint32_t* shifts;                        // [batch][block of lines][quad]; null for formats that need none
  uint32_t lines;
  uint32_t batches;       // 1 where those of the product share it
  uint32_t line_blocks;   // of 128 lines, in a batch
  uint32_t scale_blocks;  // along K, in memory
  BlockFormat format;
};

struct DequantiseParams {
  DequantiseOperand operand[2];
  uint32_t k;         // a multiple of 32
  uint32_t spans;     // ceil(k / dequantise_span)
  uint32_t segment;   // spans that a warp takes of its four lines, one after the other
  uint32_t segments;  // ceil(spans / segment)
  uint32_t tasks[2];  // of each operand: batches x line_blocks x segments x 32 quads
  uint32_t* flags;    // one for each CTA: whether it saw a shift; null when no format needs shifts
};

/// Scale exponents with which every element times its scale is a bf16: below, bits are lost, above, the
/// largest element overflows. bf16 has exponents to 127 and bits down to 2^-133.
struct ExponentRange {
  int lowest, highest;
};
constexpr ExponentRange exact_exponents(BlockFormat format) {
  // e4m3: multiples of 2^-9 up to 1.75 x 2^8. e2m1: multiples of 2^-1 up to 1.5 x 2^2.
  return is_fp4(format) ? ExponentRange{-132, 125} : ExponentRange{-124, 119};
}
static_assert(zero_block_scale<e8m0>().bits - 127 >= exact_exponents(BlockFormat::mxfp8).lowest,
              "a block of zeros must not give its line a shift");
/// Whether lines of a format may have shifts.
constexpr bool has_shifts(BlockFormat format) { return scale_type(format) == DType::e8m0; }

/// The shifts of a product: element (m, n) is to be multiplied with 2^(shift of row m + shift of column n).
struct ProductShifts {
  const uint32_t* flags = nullptr;  // as DequantiseParams::flags; null: there are no shifts
  uint32_t flag_count = 0;
  const uint32_t* rows = nullptr;
  const uint32_t* columns = nullptr;
  uint32_t row_blocks = 0, column_blocks = 0;  // of 128 lines, between batches: 0 where they share one
  uint32_t m = 0, n = 0;
};

}  // namespace tilewright::kernels
