// Warpgroup matrix multiply-accumulate of sm_90a (PTX 9.7.15): D(64 x N) = A(64 x K) B(K x N) [+ D], K 32
// bytes.
//
// Every function is for all 128 threads of a warpgroup, converged, with the same descriptors. An instruction
// runs some time between its issue and the wgmma_wait that retires it; until then its accumulators must not
// be touched and its shared memory must not be written.
#pragma once

#include <cstdint>

#include "tilewright/config.h"
#include "tilewright/numeric/float16.h"
#include "tilewright/numeric/float8.h"
#include "tilewright/numeric/tf32.h"
#include "tilewright/tensor_map.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/hooks.h"
#else
#  include "tilewright/arch/wgmma_issue.h"
#endif
#include "tilewright/arch/wgmma_traits.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

/// Orders earlier register accesses (accumulators, A from registers) before the wgmma that follow. Before the
/// first one and whenever ordinary code has touched those registers. PTX `wgmma.fence`.
TILEWRIGHT_DEVICE void wgmma_fence() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::wgmma_fence();
#else
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

/// Closes a group of all wgmma issued since the last one. PTX `wgmma.commit_group`.
TILEWRIGHT_DEVICE void wgmma_commit() {
#if defined(TILEWRIGHT_EMULATE)
  emulator::wgmma_commit();
#else
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

/// Waits until at most the `Pending` newest groups still run: the older ones' accumulators may be read and
/// their shared memory reused. Pass the accumulators to fence_operand next. PTX `wgmma.wait_group`.
template <int Pending>
TILEWRIGHT_DEVICE void wgmma_wait() {
  static_assert(Pending >= 0 && Pending <= 7, "wgmma_wait takes 0 to 7 pending groups");
#if defined(TILEWRIGHT_EMULATE)
  emulator::wgmma_wait(Pending);
#else
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
#endif
}

/// Keeps the compiler from moving uses of an accumulator register over the fence, commit or wait beside it.
/// No instruction. Any thread.
TILEWRIGHT_DEVICE void fence_operand([[maybe_unused]] float& value) {
#if !defined(TILEWRIGHT_EMULATE)
  asm volatile("" : "+f"(value)::"memory");
#endif
}
TILEWRIGHT_DEVICE void fence_operand([[maybe_unused]] uint32_t& value) {
#if !defined(TILEWRIGHT_EMULATE)
  asm volatile("" : "+r"(value)::"memory");
#endif
}
TILEWRIGHT_DEVICE void fence_operand([[maybe_unused]] int32_t& value) {
#if !defined(TILEWRIGHT_EMULATE)
  asm volatile("" : "+r"(value)::"memory");
#endif
}
/// fence_operand of every register of a fragment.
template <class T, int Count>
TILEWRIGHT_DEVICE void fence_operand([[maybe_unused]] T (&values)[Count]) {
#if !defined(TILEWRIGHT_EMULATE)
  TILEWRIGHT_UNROLL
  for (int i = 0; i < Count; ++i) fence_operand(values[i]);
#endif
}

/// The 64-bit descriptor of an operand in shared memory (PTX 9.7.15.5.1.2). `address`: shared::cta address of
/// its first row, in a tile aligned to the swizzle pattern (1024, 512 or 256 bytes). Offsets in bytes,
/// multiples of 16:
///   K-major, swizzled   stride: the next 8 rows; leading: not read
///   K-major, none       stride: the next 8 rows; leading: the next 16 bytes of K
///   MN-major, swizzled  stride: the next 8 k; leading: the next swizzle width of M or N
///   MN-major, none      stride: the next 8 of M or N; leading: the next 8 k
TILEWRIGHT_HOST_DEVICE constexpr uint64_t make_smem_descriptor(uint32_t address, Swizzle swizzle,
                                                               uint32_t leading_bytes,
                                                               uint32_t stride_bytes) {
  const uint64_t mode = swizzle == Swizzle::b128  ? 1
                        : swizzle == Swizzle::b64 ? 2
                        : swizzle == Swizzle::b32 ? 3
                                                  : 0;
  return uint64_t{(address & 0x3FFFFu) >> 4} | uint64_t{(leading_bytes & 0x3FFFFu) >> 4} << 16 |
         uint64_t{(stride_bytes & 0x3FFFFu) >> 4} << 32 | mode << 62;
}

/// The descriptor `bytes` (a multiple of 16) further on in the same tile: 32 for the next instruction inside
/// a K-major swizzle pattern. Touches the low word alone, which shared memory cannot overflow.
TILEWRIGHT_HOST_DEVICE constexpr uint64_t advance_descriptor(uint64_t descriptor, uint32_t bytes) {
  return (descriptor & 0xFFFFFFFF00000000u) |
         static_cast<uint32_t>(static_cast<uint32_t>(descriptor) + (bytes >> 4));
}
/// The same by `count` times `bytes`: one multiplication where `bytes` is known and `count` is not.
TILEWRIGHT_HOST_DEVICE constexpr uint64_t advance_descriptor(uint64_t descriptor, uint32_t bytes,
                                                             uint32_t count) {
  return (descriptor & 0xFFFFFFFF00000000u) |
         static_cast<uint32_t>(static_cast<uint32_t>(descriptor) + count * (bytes >> 4));
}

/// D = A B (+ D when `accumulate`) with both operands in shared memory. PTX `wgmma.mma_async.sync.aligned`
/// (9.7.15.5.2).
///   A, B  f16 f16, bf16 bf16, tf32 tf32, {e4m3, e5m2} in any mix, {int8_t, uint8_t} in any mix
///   d     float[N / 2]; for the integers int32_t[N / 2]; for f16 accumulators (f16, FP8) uint32_t[N / 4]
///   N     8 to 256 in steps of 8; for the integers 8, 16, 24, 32, 48, 64, ... 256
/// A constant `accumulate` costs no instruction. Between wgmma_fence and wgmma_commit.
template <int N, class A, class B, WgmmaOptions Options = WgmmaOptions{}, class Register, int Count>
TILEWRIGHT_DEVICE void wgmma(Register (&d)[Count], uint64_t desc_a, uint64_t desc_b, bool accumulate) {
  using Traits = detail::WgmmaTraits<N, A, B, Register, Count, Options, false>;
#if defined(TILEWRIGHT_EMULATE)
  emulator::wgmma(Traits::instruction, d, nullptr, desc_a, desc_b, accumulate);
#else
  detail::issue_wgmma<Traits>(d, desc_a, desc_b, accumulate ? 1u : 0u);
#endif
}

/// D = A B with both operands in shared memory and f32 accumulators: the first MMA of a group. What was in
/// `d` is neither read nor kept alive up to here.
template <int N, class A, class B, WgmmaOptions Options = WgmmaOptions{}, int Count>
TILEWRIGHT_DEVICE void wgmma_overwrite(float (&d)[Count], uint64_t desc_a, uint64_t desc_b) {
  using Traits = detail::WgmmaTraits<N, A, B, float, Count, Options, false>;
#if defined(TILEWRIGHT_EMULATE)
  emulator::wgmma(Traits::instruction, d, nullptr, desc_a, desc_b, false);
#else
  detail::issue_wgmma_overwrite<Traits>(d, desc_a, desc_b);
#endif
}

/// As above with A in registers: register r of a thread holds row 16 w + l / 4 + 8 (r & 1) (w: warp, l: lane)
/// and 4 bytes of K from 4 (l % 4) + 16 (r >> 1) (PTX 9.7.15.5.1.1). A is K-major: Options.major_a stays
/// Major::k.
template <int N, class A, class B, WgmmaOptions Options = WgmmaOptions{}, class Register, int Count>
TILEWRIGHT_DEVICE void wgmma(Register (&d)[Count], const uint32_t (&a)[4], uint64_t desc_b, bool accumulate) {
  using Traits = detail::WgmmaTraits<N, A, B, Register, Count, Options, true>;
#if defined(TILEWRIGHT_EMULATE)
  emulator::wgmma(Traits::instruction, d, a, 0, desc_b, accumulate);
#else
  detail::issue_wgmma<Traits>(d, a, desc_b, accumulate ? 1u : 0u);
#endif
}

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
