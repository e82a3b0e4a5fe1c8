// Every mma.sync, as a list, and a kernel that makes one of each.
#pragma once

#include <cstdint>

#include "tilewright/arch/index.h"
#include "tilewright/arch/mma_sync.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

/// One instruction. (nvcc cannot name a kernel with an argument of type MmaShape.)
template <int kM, int kK, class TypeA, class TypeB, class TypeRegister, bool kSaturate = false>
struct MmaSyncCase {
  using A = TypeA;
  using B = TypeB;
  using Register = TypeRegister;
  static constexpr int m = kM, k = kK;
  static constexpr bool saturate = kSaturate, wide = std::is_same_v<A, double>,
                        packed = std::is_same_v<Register, uint32_t>;
  static constexpr arch::MmaShape shape{kM, 8, kK};
  /// A register of an operand, and how many of them make a row of A or a column of B.
  using Operand = std::conditional_t<wide, double, uint32_t>;
  static constexpr int row = kK * static_cast<int>(sizeof(A)) / static_cast<int>(sizeof(Operand));
  static constexpr int columns = packed ? 4 : 8;  // of D, in registers
  static constexpr int a_count = kM * row / 32, b_count = row / 4, d_count = kM * columns / 32;
};

/// X(case type): all of them.
#define TILEWRIGHT_MMA_SYNC_CASES(X)       \
  X(16, 8, f16, f16, float)                \
  X(16, 8, f16, f16, uint32_t)             \
  X(16, 16, f16, f16, float)               \
  X(16, 16, f16, f16, uint32_t)            \
  X(16, 8, bf16, bf16, float)              \
  X(16, 16, bf16, bf16, float)             \
  X(16, 4, tf32, tf32, float)              \
  X(16, 8, tf32, tf32, float)              \
  X(16, 16, int8_t, int8_t, int32_t)       \
  X(16, 16, uint8_t, int8_t, int32_t)      \
  X(16, 32, int8_t, uint8_t, int32_t)      \
  X(16, 32, uint8_t, uint8_t, int32_t)     \
  X(16, 32, int8_t, int8_t, int32_t, true) \
  X(16, 16, e4m3, e4m3, float)             \
  X(16, 16, e5m2, e4m3, uint32_t)          \
  X(16, 32, e4m3, e4m3, float)             \
  X(16, 32, e4m3, e5m2, float)             \
  X(16, 32, e5m2, e4m3, float)             \
  X(16, 32, e5m2, e5m2, float)             \
  X(16, 32, e4m3, e5m2, uint32_t)          \
  X(8, 4, double, double, double)          \
  X(16, 4, double, double, double)         \
  X(16, 8, double, double, double)         \
  X(16, 16, double, double, double)

/// D = A B + C by one warp, with the fragments that mma_sync.h describes. a: the rows of A, b: the columns of
/// B, K contiguous; c and d: the rows of C and D; all in registers (f16 sums: pairs).
template <class C>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(32)
    multiply_warp(const typename C::Operand* a, const typename C::Operand* b, const typename C::Register* c,
                  typename C::Register* d) {
  const int g = static_cast<int>(arch::lane_index() / 4), t = static_cast<int>(arch::lane_index() % 4);
  constexpr int tall = C::m / 8 - 1;
  typename C::Operand left[C::a_count], right[C::b_count];
  typename C::Register sum[C::d_count];
  TILEWRIGHT_UNROLL
  for (int r = 0; r < C::a_count; ++r) left[r] = a[(g + 8 * (r & tall)) * C::row + t + 4 * (r >> tall)];
  TILEWRIGHT_UNROLL
  for (int r = 0; r < C::b_count; ++r) right[r] = b[g * C::row + t + 4 * r];
  const auto at = [&](int i) {
    return C::packed ? (g + 8 * i) * 4 + t : (g + 8 * (i >> 1)) * 8 + 2 * t + (i & 1);
  };
  TILEWRIGHT_UNROLL
  for (int i = 0; i < C::d_count; ++i) sum[i] = c[at(i)];
  arch::mma_sync<C::shape, typename C::A, typename C::B, C::saturate>(sum, left, right, sum);
  TILEWRIGHT_UNROLL
  for (int i = 0; i < C::d_count; ++i) d[at(i)] = sum[i];
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
