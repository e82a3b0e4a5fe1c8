// Descriptors of tcgen05.mma and tcgen05.cp as constant expressions (PTX 9.7.16.4): the 32 bits that choose
// types and shape, and the 64 bits that say how an operand lies in shared memory.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tilewright/arch/wgmma.h"
#include "tilewright/config.h"
#include "tilewright/numeric/e8m0.h"
#include "tilewright/numeric/float16.h"
#include "tilewright/numeric/float4.h"
#include "tilewright/numeric/float8.h"
#include "tilewright/numeric/tf32.h"
#include "tilewright/tensor_map.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

/// Kinds of tcgen05.mma. Each multiplies 32 bytes of K as its operands lie in shared memory.
///   f16       f16 or bf16; K 16                    tf32      tf32; K 8
///   f8f6f4    e4m3, e5m2, padded e2m1; K 32        i8        int8_t, uint8_t; K 32; accumulates in int32_t
///   mxf8f6f4  as f8f6f4, an e8m0 scale for 32 K    mxf4      packed e2m1; K 64, an e8m0 scale for 32
///   mxf4nvf4  packed e2m1; K 64, an e4m3 scale for 16
/// Padded: 16 elements in 8 bytes followed by 8 unused ones (TmaType::e2m1_padded).
enum class Tcgen05Kind : uint8_t { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };

TILEWRIGHT_HOST_DEVICE constexpr bool is_block_scaled(Tcgen05Kind kind) {
  return kind >= Tcgen05Kind::mxf8f6f4;
}

/// Elements of K that an instruction multiplies.
TILEWRIGHT_HOST_DEVICE constexpr int mma_depth(Tcgen05Kind kind) {
  switch (kind) {
    case Tcgen05Kind::f16:
      return 16;
    case Tcgen05Kind::tf32:
      return 8;
    case Tcgen05Kind::mxf4:
    case Tcgen05Kind::mxf4nvf4:
      return 64;
    default:
      return 32;
  }
}

/// Scales of a row that an instruction uses; 0 for the kinds without.
TILEWRIGHT_HOST_DEVICE constexpr int mma_scales(Tcgen05Kind kind) {
  return kind == Tcgen05Kind::mxf8f6f4   ? 1
         : kind == Tcgen05Kind::mxf4     ? 2
         : kind == Tcgen05Kind::mxf4nvf4 ? 4
                                         : 0;
}

namespace detail {

/// The code of an operand type in the instruction descriptor; -1: the kind does not take it.
template <class T>
TILEWRIGHT_HOST_DEVICE constexpr int operand_code(Tcgen05Kind kind) {
  switch (kind) {
    case Tcgen05Kind::f16:
      return std::is_same_v<T, f16> ? 0 : std::is_same_v<T, bf16> ? 1 : -1;
    case Tcgen05Kind::tf32:
      return std::is_same_v<T, tf32> ? 2 : -1;
    case Tcgen05Kind::i8:
      return std::is_same_v<T, uint8_t> ? 0 : std::is_same_v<T, int8_t> ? 1 : -1;
    case Tcgen05Kind::f8f6f4:
    case Tcgen05Kind::mxf8f6f4:
      return std::is_same_v<T, e4m3> ? 0 : std::is_same_v<T, e5m2> ? 1 : std::is_same_v<T, e2m1> ? 5 : -1;
    default:
      return std::is_same_v<T, e2m1> ? 1 : -1;
  }
}

}  // namespace detail

/// M of an instruction: 128 rows in each CTA.
TILEWRIGHT_HOST_DEVICE constexpr int mma_rows(int cta_group) { return 128 * cta_group; }

/// The instruction descriptor for K-major (or, for 16-bit types, MN-major) operands and 32-bit accumulators.
/// `cta_group` 1 or 2; `n` a multiple of 16 in 16..256. Scale ids are 0: see with_scale_ids.
template <Tcgen05Kind Kind, class A, class B>
TILEWRIGHT_HOST_DEVICE constexpr uint32_t make_instruction_descriptor(int cta_group, int n,
                                                                      Major major_a = Major::k,
                                                                      Major major_b = Major::k) {
  constexpr int a = detail::operand_code<A>(Kind), b = detail::operand_code<B>(Kind);
  static_assert(a >= 0 && b >= 0, "this kind of tcgen05.mma does not take these operand types");
  uint32_t bits = static_cast<uint32_t>(a) << 7 | static_cast<uint32_t>(b) << 10 |
                  static_cast<uint32_t>(n >> 3) << 17 | static_cast<uint32_t>(mma_rows(cta_group) >> 4) << 24;
  if (major_a == Major::mn) bits |= 1u << 15;
  if (major_b == Major::mn) bits |= 1u << 16;
  if constexpr (!is_block_scaled(Kind)) {
    bits |= (Kind == Tcgen05Kind::i8 ? 2u : 1u) << 4;
  } else if constexpr (Kind != Tcgen05Kind::mxf4nvf4) {
    bits |= 1u << 23;  // e8m0 scales
  }
  return bits;
}

/// The descriptor with the bytes that the scales of A and of B start at in their 32-bit words: 0..3 for one
/// scale a row, 0 or 2 for two, 0 for four.
TILEWRIGHT_HOST_DEVICE constexpr uint32_t with_scale_ids(uint32_t instruction, uint32_t a, uint32_t b) {
  return instruction | a << 29 | b << 4;
}

/// The descriptor of an operand in shared memory. As make_smem_descriptor of wgmma.h, with the constant bit
/// that tcgen05 asks for: advance_descriptor works on it too.
TILEWRIGHT_HOST_DEVICE constexpr uint64_t make_tcgen05_descriptor(uint32_t address, Swizzle swizzle,
                                                                  uint32_t leading_bytes,
                                                                  uint32_t stride_bytes) {
  return make_smem_descriptor(address, swizzle, leading_bytes, stride_bytes) | uint64_t{1} << 46;
}

/// A tensor-memory address: of a lane and a column, from the base that tcgen05_alloc gave.
TILEWRIGHT_HOST_DEVICE constexpr uint32_t tmem_address(uint32_t base, uint32_t lane, uint32_t column) {
  return base + (lane << 16) + column;
}

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
