// Which wgmma instructions exist, and how each is described: as PTX text on the GPU, as a value on the
// emulated machine.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tilewright/config.h"
#include "tilewright/numeric/float16.h"
#include "tilewright/numeric/float8.h"
#include "tilewright/numeric/tf32.h"
#include "tilewright/numeric/traits.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/hooks.h"
#else
#  include "tilewright/arch/ptx_text.h"
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

/// Which dimension of an operand in shared memory is contiguous: K, or M (of A) and N (of B).
enum class Major : uint8_t { k, mn };

/// What an instruction may do besides: MN-major operands (f16 and bf16 only), negated operands (not the
/// integers), and clamping to the range of s32 (the integers only).
struct WgmmaOptions {
  Major major_a = Major::k, major_b = Major::k;
  bool negate_a = false, negate_b = false;
  bool saturate = false;
};

namespace detail {

template <class T>
inline constexpr bool is_float8 = std::is_same_v<T, e4m3> || std::is_same_v<T, e5m2>;
template <class T>
inline constexpr bool is_float16 = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;
template <class T>
inline constexpr bool is_int8 = std::is_same_v<T, int8_t> || std::is_same_v<T, uint8_t>;

/// f16, bf16 and tf32 multiply their own kind only; the 8-bit types mix within floats and within integers.
template <class A, class B>
inline constexpr bool is_wgmma_pair = (is_float8<A> && is_float8<B>) || (is_int8<A> && is_int8<B>) ||
                                      (std::is_same_v<A, B> && (is_float16<A> || std::is_same_v<A, tf32>));

TILEWRIGHT_HOST_DEVICE constexpr bool is_wgmma_n(int n, bool integer) {
  return n >= 8 && n <= 256 && n % 8 == 0 && (!integer || n <= 24 || n % 16 == 0);
}

/// Registers a thread needs for an m64nN accumulator, or 0 when Register cannot accumulate A B.
template <class A, class B, class Register>
TILEWRIGHT_HOST_DEVICE constexpr int wgmma_registers(int n) {
  if (is_int8<A>) return std::is_same_v<Register, int32_t> ? n / 2 : 0;
  if (std::is_same_v<Register, float>) return n / 2;
  const bool f16_accumulator = is_float8<A> || std::is_same_v<A, f16>;
  return std::is_same_v<Register, uint32_t> && f16_accumulator ? n / 4 : 0;
}

#if defined(TILEWRIGHT_EMULATE)

template <class T>
constexpr emulator::MmaType mma_type() {
  if (std::is_same_v<T, f16>) return emulator::MmaType::f16;
  if (std::is_same_v<T, bf16>) return emulator::MmaType::bf16;
  if (std::is_same_v<T, tf32>) return emulator::MmaType::tf32;
  if (std::is_same_v<T, e4m3>) return emulator::MmaType::e4m3;
  if (std::is_same_v<T, e5m2>) return emulator::MmaType::e5m2;
  return std::is_same_v<T, int8_t> ? emulator::MmaType::s8 : emulator::MmaType::u8;
}

#endif

/// One instruction, checked. On the GPU `instruction` and `immediates` are the text around the operands, on
/// the emulated machine `instruction` is the value that describes it.
template <int N, class A, class B, class Register, int Count, WgmmaOptions Options, bool AInRegisters>
struct WgmmaTraits {
  static constexpr bool integer = is_int8<A>;
  static_assert(
      is_wgmma_pair<A, B>,
      "wgmma multiplies f16 f16, bf16 bf16, tf32 tf32, {e4m3, e5m2} x {e4m3, e5m2}, {s8, u8} x {s8, u8}");
  static_assert(is_wgmma_n(N, integer),
                "wgmma: N is 8 to 256 in steps of 8; for s8 and u8 8, 16, 24, 32, 48, ... 256");
  static_assert(
      wgmma_registers<A, B, Register>(N) != 0,
      "wgmma accumulates in float, in int32_t (s8, u8), or in uint32_t pairs of f16 (f16, e4m3, e5m2)");
  static_assert(Count == wgmma_registers<A, B, Register>(N),
                "wgmma: a thread holds N / 2 accumulator registers, N / 4 when they are pairs of f16");
  static_assert(is_float16<A> || (Options.major_a == Major::k && Options.major_b == Major::k),
                "wgmma: only f16 and bf16 operands may be MN-major");
  static_assert(!AInRegisters || Options.major_a == Major::k, "wgmma: A from registers is K-major");
  static_assert(!integer || !(Options.negate_a || Options.negate_b),
                "wgmma: s8 and u8 operands cannot be negated");
  static_assert(integer || !Options.saturate, "wgmma: only s8 and u8 products saturate");

#if defined(TILEWRIGHT_EMULATE)
  static constexpr emulator::WgmmaInstruction instruction{N,
                                                          mma_type<A>(),
                                                          mma_type<B>(),
                                                          integer ? emulator::AccumulatorType::s32
                                                          : std::is_same_v<Register, uint32_t>
                                                              ? emulator::AccumulatorType::f16
                                                              : emulator::AccumulatorType::f32,
                                                          Options.major_a == Major::mn,
                                                          Options.major_b == Major::mn,
                                                          Options.negate_a,
                                                          Options.negate_b,
                                                          Options.saturate};
#else
  struct Instruction {
    static constexpr PtxText make() {
      PtxText t;
      t.append("m64n").append(N).append("k").append(static_cast<int>(32 / sizeof(A)));
      t.append(integer ? ".s32." : std::is_same_v<Register, uint32_t> ? ".f16." : ".f32.");
      t.append(NumericTraits<A>::name).append(".").append(NumericTraits<B>::name);
      return t.append(Options.saturate ? ".satfinite" : "");
    }
  };
  struct Immediates {
    static constexpr PtxText make() {
      PtxText t;
      if (integer) return t;
      t.append(Options.negate_a ? ", -1" : ", 1").append(Options.negate_b ? ", -1" : ", 1");
      if (!is_float16<A>) return t;
      if (!AInRegisters) t.append(Options.major_a == Major::mn ? ", 1" : ", 0");
      return t.append(Options.major_b == Major::mn ? ", 1" : ", 0");
    }
  };
  using instruction = PtxCharacters<Instruction>;
  using immediates = PtxCharacters<Immediates>;
#endif
};

}  // namespace detail
}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
