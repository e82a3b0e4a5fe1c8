// Which mma.sync instructions exist, and how each is described: as PTX text on the GPU, as a value on the
// emulated machine.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tilewright/arch/wgmma_traits.h"
#include "tilewright/config.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

/// The shape of a warp's MMA: D(m x n) = A(m x k) B(k x n) + C(m x n).
struct MmaShape {
  int m, n, k;

  friend constexpr bool operator==(const MmaShape&, const MmaShape&) = default;
};

inline constexpr MmaShape m8n8k4{8, 8, 4}, m16n8k4{16, 8, 4}, m16n8k8{16, 8, 8}, m16n8k16{16, 8, 16},
    m16n8k32{16, 8, 32};

namespace detail {

/// As for wgmma, and f64 besides.
template <class A, class B>
inline constexpr bool is_mma_sync_pair = is_wgmma_pair<A, B> ||
                                         (std::is_same_v<A, double> && std::is_same_v<B, double>);

/// The shapes of the operand type: those that fill one or two (f64: up to four) registers of B.
template <class A>
TILEWRIGHT_HOST_DEVICE constexpr bool is_mma_sync_shape(MmaShape shape) {
  if (std::is_same_v<A, double>) {
    return shape == m8n8k4 || shape == m16n8k4 || shape == m16n8k8 || shape == m16n8k16;
  }
  if (std::is_same_v<A, tf32>) return shape == m16n8k4 || shape == m16n8k8;
  if (is_float16<A>) return shape == m16n8k8 || shape == m16n8k16;
  return shape == m16n8k16 || shape == m16n8k32;
}

/// Accumulator registers of a lane, or 0 when Register cannot accumulate A B.
template <class A, class B, class Register>
TILEWRIGHT_HOST_DEVICE constexpr int mma_sync_registers(MmaShape shape) {
  if (std::is_same_v<A, double>) return std::is_same_v<Register, double> ? shape.m / 4 : 0;
  return wgmma_registers<A, B, Register>(shape.n);
}

/// One instruction, checked. On the GPU `instruction` is its text from the shape on, on the emulated machine
/// the value that describes it.
template <MmaShape Shape, class A, class B, class Register, class Operand, int DCount, int ACount, int BCount,
          bool Saturate>
struct MmaSyncTraits {
  static constexpr bool integer = is_int8<A>, wide = std::is_same_v<A, double>;
  static_assert(is_mma_sync_pair<A, B>,
                "mma_sync multiplies f16 f16, bf16 bf16, tf32 tf32, f64 f64, {e4m3, e5m2} x {e4m3, e5m2}, "
                "{s8, u8} x {s8, u8}");
  static_assert(is_mma_sync_shape<A>(Shape),
                "mma_sync shapes: f16 and bf16 m16n8k8, m16n8k16; tf32 m16n8k4, m16n8k8; 8-bit types "
                "m16n8k16, m16n8k32; f64 m8n8k4, m16n8k4, m16n8k8, m16n8k16");
  static_assert(mma_sync_registers<A, B, Register>(Shape) != 0,
                "mma_sync accumulates in float, in double (f64), in int32_t (s8, u8), or in uint32_t pairs "
                "of f16 (f16, e4m3, e5m2)");
  static_assert(DCount == mma_sync_registers<A, B, Register>(Shape),
                "mma_sync: a lane holds 4 accumulator registers, 2 when they are pairs of f16 and at m8n8k4");
  static_assert(std::is_same_v<Operand, std::conditional_t<wide, double, uint32_t>>,
                "mma_sync: operands are uint32_t registers, double for f64");
  static constexpr int elements = 32 * static_cast<int>(sizeof(Operand) / sizeof(A));  // of a register
  static_assert(ACount == Shape.m * Shape.k / elements && BCount == Shape.n * Shape.k / elements,
                "mma_sync: the registers of A and B hold m k and n k elements in the 32 lanes of a warp");
  static_assert(integer || !Saturate, "mma_sync: only s8 and u8 products saturate");

#if defined(TILEWRIGHT_EMULATE)
  static constexpr emulator::MmaSyncInstruction instruction() {
    return {Shape.k, mma_type<A>(), mma_type<B>(),
            integer                              ? emulator::AccumulatorType::s32
            : std::is_same_v<Register, uint32_t> ? emulator::AccumulatorType::f16
                                                 : emulator::AccumulatorType::f32,
            Saturate};
  }
#else
  struct Instruction {
    static constexpr PtxText make() {
      constexpr const char* accumulator = integer                              ? ".s32"
                                          : wide                               ? ".f64"
                                          : std::is_same_v<Register, uint32_t> ? ".f16"
                                                                               : ".f32";
      PtxText t;
      t.append("m").append(Shape.m).append("n").append(Shape.n).append("k").append(Shape.k);
      t.append(".row.col").append(Saturate ? ".satfinite" : "").append(accumulator);
      t.append(".").append(NumericTraits<A>::name).append(".").append(NumericTraits<B>::name);
      return t.append(accumulator);
    }
  };
  using instruction = PtxCharacters<Instruction>;
#endif
};

}  // namespace detail
}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
