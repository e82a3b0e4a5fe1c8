// Kernels that multiply with wgmma, with A in shared memory and in registers.
#pragma once

#include <utility>

#include "tilewright/arch/wgmma.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

using arch::Major;
using arch::WgmmaOptions;

/// One group of two MMAs, one for each source of A; its accumulators go to `out`.
template <int N, class A, class B, class Register, int Count, WgmmaOptions Options>
TILEWRIGHT_DEVICE void multiply(Register* out, uint64_t a, uint64_t b, bool accumulate) {
  Register d[Count];
  TILEWRIGHT_UNROLL
  for (int i = 0; i < Count; ++i) d[i] = out[i];
  uint32_t registers[4];
  for (uint32_t i = 0; i < 4; ++i) registers[i] = static_cast<uint32_t>(a) + i;
  arch::fence_operand(d);
  arch::fence_operand(registers);
  arch::wgmma_fence();
  arch::wgmma<N, A, B, Options>(d, a, b, accumulate);
  WgmmaOptions constexpr k_major_a{Major::k, Options.major_b, Options.negate_a, Options.negate_b,
                                   Options.saturate};
  arch::wgmma<N, A, B, k_major_a>(d, registers, arch::advance_descriptor(b, 32), true);
  arch::wgmma_commit();
  arch::wgmma_wait<0>();
  arch::fence_operand(d);
  arch::fence_operand(registers);
  TILEWRIGHT_UNROLL
  for (int i = 0; i < Count; ++i) out[i] = d[i];
}

/// What a kernel below multiplies. (nvcc cannot name a kernel with an argument of type WgmmaOptions.)
template <class TypeA, class TypeB, class TypeRegister, WgmmaOptions kOptions = WgmmaOptions{}>
struct Case {
  using A = TypeA;
  using B = TypeB;
  using Register = TypeRegister;
  static constexpr WgmmaOptions options = kOptions;
};

/// multiply at N = 8 (I + 1) for every I that is legal.
template <class C, int... I>
TILEWRIGHT_DEVICE void multiply_each(std::integer_sequence<int, I...>, typename C::Register* out, uint64_t a,
                                     uint64_t b, bool accumulate) {
  const auto one = [&]<int N>(std::integral_constant<int, N>) {
    if constexpr (arch::detail::is_wgmma_n(N, arch::detail::is_int8<typename C::A>)) {
      constexpr int count = N / (std::is_same_v<typename C::Register, uint32_t> ? 4 : 2);
      multiply<N, typename C::A, typename C::B, typename C::Register, count, C::options>(out, a, b,
                                                                                         accumulate);
    }
  };
  (one(std::integral_constant<int, 8 * (I + 1)>{}), ...);
}

template <class C>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(128)
    every_n(typename C::Register* out, uint64_t a, uint64_t b, bool accumulate) {
  multiply_each<C>(std::make_integer_sequence<int, 32>{}, out, a, b, accumulate);
}

/// N = 8, 64 and 256.
template <class C>
TILEWRIGHT_GLOBAL void TILEWRIGHT_LAUNCH_BOUNDS(128)
    some_n(typename C::Register* out, uint64_t a, uint64_t b, bool accumulate) {
  multiply_each<C>(std::integer_sequence<int, 0, 7, 31>{}, out, a, b, accumulate);
}

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
