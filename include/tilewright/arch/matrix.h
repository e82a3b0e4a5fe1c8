// 8x8 matrices of 16-bit elements between registers and shared memory (PTX `ldmatrix`, `stmatrix`).
//
// Lane l gives the shared address (16-aligned) of row l % 8 of matrix l / 8; lanes past 8 * count give any
// legal address. Register j belongs to matrix j: lane l holds columns 2 (l % 4) and + 1 of row l / 4 (low
// half first). With _trans it holds rows 2 (l % 4) and + 1 of column l / 4. Whole warps, converged.
#pragma once

#include <cstdint>

#include "tilewright/arch/warp.h"
#include "tilewright/config.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

#if defined(TILEWRIGHT_EMULATE)
#  define TILEWRIGHT_STMATRIX(COUNT, TRANSPOSE, REGISTERS, ...) \
    emulator::stmatrix(row_address, r, COUNT, TRANSPOSE[0] != 0)
#  define TILEWRIGHT_LDMATRIX(COUNT, TRANSPOSE, REGISTERS, ADDRESS, ...) \
    emulator::ldmatrix(row_address, r, COUNT, TRANSPOSE[0] != 0)
#else
#  define TILEWRIGHT_STMATRIX(COUNT, TRANSPOSE, REGISTERS, ...)                                      \
    asm volatile("stmatrix.sync.aligned.m8n8.x" #COUNT TRANSPOSE ".shared::cta.b16 [%0], " REGISTERS \
                 ";" ::"r"(row_address),                                                             \
                 __VA_ARGS__                                                                         \
                 : "memory")
#  define TILEWRIGHT_LDMATRIX(COUNT, TRANSPOSE, REGISTERS, ADDRESS, ...)                                     \
    asm volatile("ldmatrix.sync.aligned.m8n8.x" #COUNT TRANSPOSE ".shared::cta.b16 " REGISTERS ", [" ADDRESS \
                 "];"                                                                                        \
                 : __VA_ARGS__                                                                               \
                 : "r"(row_address)                                                                          \
                 : "memory")
#endif

/// Stores one matrix. PTX `stmatrix.x1`.
TILEWRIGHT_DEVICE void stmatrix_x1(uint32_t row_address, const uint32_t (&r)[1]) {
  TILEWRIGHT_STMATRIX(1, "", "{%1}", "r"(r[0]));
}
/// Stores one matrix transposed. PTX `stmatrix.x1.trans`.
TILEWRIGHT_DEVICE void stmatrix_x1_trans(uint32_t row_address, const uint32_t (&r)[1]) {
  TILEWRIGHT_STMATRIX(1, ".trans", "{%1}", "r"(r[0]));
}
/// Stores two matrices. PTX `stmatrix.x2`.
TILEWRIGHT_DEVICE void stmatrix_x2(uint32_t row_address, const uint32_t (&r)[2]) {
  TILEWRIGHT_STMATRIX(2, "", "{%1, %2}", "r"(r[0]), "r"(r[1]));
}
/// Stores two matrices transposed. PTX `stmatrix.x2.trans`.
TILEWRIGHT_DEVICE void stmatrix_x2_trans(uint32_t row_address, const uint32_t (&r)[2]) {
  TILEWRIGHT_STMATRIX(2, ".trans", "{%1, %2}", "r"(r[0]), "r"(r[1]));
}
/// Stores four matrices. PTX `stmatrix.x4`.
TILEWRIGHT_DEVICE void stmatrix_x4(uint32_t row_address, const uint32_t (&r)[4]) {
  TILEWRIGHT_STMATRIX(4, "", "{%1, %2, %3, %4}", "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
}
/// Stores four matrices transposed. PTX `stmatrix.x4.trans`.
TILEWRIGHT_DEVICE void stmatrix_x4_trans(uint32_t row_address, const uint32_t (&r)[4]) {
  TILEWRIGHT_STMATRIX(4, ".trans", "{%1, %2, %3, %4}", "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
}
/// Loads one matrix. PTX `ldmatrix.x1`.
TILEWRIGHT_DEVICE void ldmatrix_x1(uint32_t row_address, uint32_t (&r)[1]) {
  TILEWRIGHT_LDMATRIX(1, "", "{%0}", "%1", "=r"(r[0]));
}
/// Loads one matrix transposed. PTX `ldmatrix.x1.trans`.
TILEWRIGHT_DEVICE void ldmatrix_x1_trans(uint32_t row_address, uint32_t (&r)[1]) {
  TILEWRIGHT_LDMATRIX(1, ".trans", "{%0}", "%1", "=r"(r[0]));
}
/// Loads two matrices. PTX `ldmatrix.x2`.
TILEWRIGHT_DEVICE void ldmatrix_x2(uint32_t row_address, uint32_t (&r)[2]) {
  TILEWRIGHT_LDMATRIX(2, "", "{%0, %1}", "%2", "=r"(r[0]), "=r"(r[1]));
}
/// Loads two matrices transposed. PTX `ldmatrix.x2.trans`.
TILEWRIGHT_DEVICE void ldmatrix_x2_trans(uint32_t row_address, uint32_t (&r)[2]) {
  TILEWRIGHT_LDMATRIX(2, ".trans", "{%0, %1}", "%2", "=r"(r[0]), "=r"(r[1]));
}
/// Loads four matrices. PTX `ldmatrix.x4`.
TILEWRIGHT_DEVICE void ldmatrix_x4(uint32_t row_address, uint32_t (&r)[4]) {
  TILEWRIGHT_LDMATRIX(4, "", "{%0, %1, %2, %3}", "%4", "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]));
}
/// Loads four matrices transposed. PTX `ldmatrix.x4.trans`.
TILEWRIGHT_DEVICE void ldmatrix_x4_trans(uint32_t row_address, uint32_t (&r)[4]) {
  TILEWRIGHT_LDMATRIX(4, ".trans", "{%0, %1, %2, %3}", "%4", "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]));
}

#undef TILEWRIGHT_STMATRIX
#undef TILEWRIGHT_LDMATRIX

/// Transposes a matrix held one register a lane. PTX `movmatrix.trans`. Whole warps, converged.
TILEWRIGHT_DEVICE uint32_t movmatrix_trans(uint32_t value) {
#if defined(TILEWRIGHT_EMULATE)
  // Lane l receives elements (2 (l % 4), l / 4) and (2 (l % 4) + 1, l / 4) of the untransposed matrix.
  const uint32_t lane = lane_index(), column = lane / 4, row = 2 * (lane % 4);
  const uint32_t low = shuffle(value, 4 * row + column / 2);
  const uint32_t high = shuffle(value, 4 * (row + 1) + column / 2);
  const uint32_t shift = 16 * (column % 2);
  return ((low >> shift) & 0xFFFFu) | ((high >> shift) << 16);
#else
  uint32_t transposed;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(transposed) : "r"(value));
  return transposed;
#endif
}

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
