// Arithmetic of the Blackwell tensor core, element by element of D (f32). The model follows what is published
// of it; it was not checked against the hardware here.
//
//   f16, tf32      the fused sum of tensor_core.h with F = 25, K = 32 bytes
//   f8f6f4         the same for 32 products of e4m3, e5m2 and e2m1, with F = 25 and a result of 23 bits
//   mxf8f6f4       the same; the exponents of the two scales are added to that of every product
//   mxf4, mxf4nvf4 64 products in exact sums of 16. A sum times the significands of its two scales is a term;
//   its
//                  exponent is that of the scales alone. Terms and D are cut to 2^(E - 35), E the greatest
//                  exponent among them, and added; the result is cut to 23 bits.
//   i8             exact
// A NaN scale, a NaN among the factors or in D, and Inf - Inf give 0x7FFFFFFF.
#pragma once

#include <array>
#include <cstdint>

#include "tilewright/emulator/tcgen05.h"

namespace tilewright::emulator {

enum class Tcgen05Type : uint8_t { e4m3, e5m2, e2m1, f16, bf16, tf32, s8, u8 };

/// Operands of one instruction for `rows` rows of A and `columns` columns of B. A row is 32 bytes as the
/// instruction reads them: packed nibbles for mxf4 and mxf4nvf4; 16-byte slots of 8 bytes and a gap for e2m1
/// of f8f6f4 and mxf8f6f4. Scales: up to four codes a row, the first for the first elements of K.
struct Tcgen05Product {
  Tcgen05Kind kind = Tcgen05Kind::f16;
  Tcgen05Type a_type = Tcgen05Type::f16, b_type = Tcgen05Type::f16;
  bool e4m3_scales = false;  // mxf4nvf4; otherwise e8m0
  int scales = 0;            // of a row: 1, 2 or 4; 0 for the kinds without
  int rows = 0;              // a multiple of 64
  int columns = 0;           // a multiple of 8, at most 256
  const uint8_t* a = nullptr;
  const uint8_t* b = nullptr;
  const std::array<uint8_t, 4>* a_scales = nullptr;
  const std::array<uint8_t, 4>* b_scales = nullptr;
};

/// d[row * ldd + column] = the product, added to what is there when `accumulate`. f32 words; s32 for i8.
void tcgen05_multiply(const Tcgen05Product& product, uint32_t* d, int64_t ldd, bool accumulate);

}  // namespace tilewright::emulator
