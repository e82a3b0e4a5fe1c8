// Descriptors of tcgen05: the 32-bit one of an instruction, the 64-bit one of an operand in shared memory.
#pragma once

#include <cstdint>

#include "operand.h"
#include "tilewright/emulator/tcgen05.h"
#include "tilewright/emulator/tcgen05_core.h"

namespace tilewright::emulator {

constexpr uint32_t kTensorRowBytes = 32;     // of K, per instruction
constexpr uint32_t kTensorRows = 128;        // of A and D in a CTA
constexpr uint32_t kTensorScaleColumns = 4;  // of 128 rows

constexpr bool is_block_scaled(Tcgen05Kind kind) { return kind >= Tcgen05Kind::mxf8f6f4; }
/// Scales of a row that one instruction uses.
constexpr int scales_of(Tcgen05Kind kind) {
  return kind == Tcgen05Kind::mxf8f6f4   ? 1
         : kind == Tcgen05Kind::mxf4     ? 2
         : kind == Tcgen05Kind::mxf4nvf4 ? 4
                                         : 0;
}

/// The fields of an instruction descriptor (PTX ISA, "Instruction descriptor") that the machine looks at.
struct Tcgen05Instruction {
  uint32_t m, n;
  uint32_t a_code, b_code;
  uint32_t d_code;  // dense kinds
  bool a_mn_major, b_mn_major;
  bool e8m0;  // block-scaled kinds
  uint32_t a_scale_id, b_scale_id;
  bool reserved_zero;  // and what the machine does not model is off: sparsity, negation, saturation

  static constexpr Tcgen05Instruction decode(Tcgen05Kind kind, uint32_t bits) {
    const auto field = [bits](int first, int width) { return bits >> first & ((1u << width) - 1); };
    const bool scaled = is_block_scaled(kind);
    return {.m = scaled ? field(27, 2) << 7 : field(24, 5) << 4,
            .n = field(17, 6) << 3,
            .a_code = field(7, 3),
            .b_code = field(10, 3),
            .d_code = scaled ? 1 : field(4, 2),
            .a_mn_major = field(15, 1) != 0,
            .b_mn_major = field(16, 1) != 0,
            .e8m0 = scaled && field(23, 1) != 0,
            .a_scale_id = scaled ? field(29, 2) : 0,
            .b_scale_id = scaled ? field(4, 2) : 0,
            .reserved_zero = scaled ? (bits & 0x8700604Fu) == 0 : (bits & 0xE080604Fu) == 0};
  }
};

/// The type behind a code of a kind; false when the kind has no such code.
constexpr bool decode_type(Tcgen05Kind kind, uint32_t code, Tcgen05Type& type) {
  using T = Tcgen05Type;
  switch (kind) {
    case Tcgen05Kind::f16:
      type = code == 0 ? T::f16 : T::bf16;
      return code <= 1;
    case Tcgen05Kind::tf32:
      type = T::tf32;
      return code == 2;
    case Tcgen05Kind::i8:
      type = code == 0 ? T::u8 : T::s8;
      return code <= 1;
    case Tcgen05Kind::f8f6f4:
    case Tcgen05Kind::mxf8f6f4:
      type = code == 0 ? T::e4m3 : code == 1 ? T::e5m2 : T::e2m1;
      return code == 0 || code == 1 || code == 5;
    default:
      type = T::e2m1;
      return code == 1;
  }
}

/// The shared-memory descriptor in wgmma's form, which differs in its constant bit; `legal`: that bit is set
/// and the swizzle is one that both have.
struct Tcgen05OperandDescriptor {
  MatrixDescriptor matrix;
  bool legal;

  explicit constexpr Tcgen05OperandDescriptor(uint64_t bits)
      : matrix(bits & ~(uint64_t{7} << 46)),
        legal((bits >> 46 & 7) == 1 && (bits >> 61 & 1) == 0 && matrix.reserved_zero &&
              matrix.base_offset == 0) {}
};

/// What a tcgen05.cp moves.
struct CopyShape {
  uint32_t rows, row_bytes;
  bool all_quarters;  // 32 rows go to every lane quarter
};

constexpr CopyShape shape_of(Tcgen05CopyShape shape) {
  switch (shape) {
    case Tcgen05CopyShape::s128x128b:
      return {128, 16, false};
    case Tcgen05CopyShape::s128x256b:
      return {128, 32, false};
    default:
      return {32, 16, true};
  }
}

/// Shared address of the 16 bytes `piece` of a row: 8 x 16-byte core matrices, no swizzle.
constexpr uint32_t copy_source(const MatrixDescriptor& descriptor, uint32_t row, uint32_t piece) {
  return descriptor.start + row / 8 * descriptor.stride + row % 8 * 16 + piece * descriptor.leading;
}

}  // namespace tilewright::emulator
