// Global memory that blocks share while they run: ordered loads and stores, and atomic updates (PTX `ld`,
// `st`, `atom`). Any thread. The scope is the whole device. Addresses are aligned to the size of the value.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tilewright/config.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/hooks.h"
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

namespace detail {

template <class T>
inline constexpr bool is_ordered_value = std::is_trivially_copyable_v<T> &&
                                         (sizeof(T) == 4 || sizeof(T) == 8);
template <class T>
inline constexpr bool is_atomic_integer =
    std::is_same_v<T, uint32_t> || std::is_same_v<T, int32_t> || std::is_same_v<T, unsigned long long> ||
    std::is_same_v<T, uint64_t>;

#if defined(TILEWRIGHT_EMULATE)

/// One atomic of type T on the emulated machine; returns the old value.
template <class T>
inline T emulated_atomic(T* address, T operand, T compare, emulator::AtomicOp op) {
  constexpr emulator::AtomicType type = std::is_same_v<T, float>     ? emulator::AtomicType::f32
                                        : std::is_same_v<T, int32_t> ? emulator::AtomicType::s32
                                        : sizeof(T) == 8             ? emulator::AtomicType::u64
                                                                     : emulator::AtomicType::u32;
  uint64_t operand_bits = 0, compare_bits = 0;
  memcpy(&operand_bits, &operand, sizeof(T));
  memcpy(&compare_bits, &compare, sizeof(T));
  const uint64_t old = emulator::atomic(address, operand_bits, compare_bits, type, op, emulator::Scope::gpu);
  T value;
  memcpy(&value, &old, sizeof(T));
  return value;
}

#else

/// What CUDA's atomics take in place of uint64_t, which may be another type of the same size.
template <class T>
using CudaInteger = std::conditional_t<sizeof(T) == 8, unsigned long long, T>;

#endif

}  // namespace detail

/// Loads a T of 4 or 8 bytes; later accesses of this thread come after it. The only way to poll: on the
/// emulated machine it lets the other threads run. PTX `ld.acquire.gpu`.
template <class T>
TILEWRIGHT_DEVICE T load_acquire(const T* address) {
  static_assert(detail::is_ordered_value<T>, "load_acquire moves 4 or 8 bytes");
#if defined(TILEWRIGHT_EMULATE)
  const uint64_t bits = emulator::load_acquire(address, sizeof(T), emulator::Scope::gpu);
#else
  std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t> bits;
  if constexpr (sizeof(T) == 8) {
    asm volatile("ld.acquire.gpu.global.b64 %0, [%1];" : "=l"(bits) : "l"(address) : "memory");
  } else {
    asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(bits) : "l"(address) : "memory");
  }
#endif
  T value;
  memcpy(&value, &bits, sizeof(T));
  return value;
}

/// Stores a T of 4 or 8 bytes; earlier accesses of this thread, and those of threads it has synchronised
/// with, come before it. PTX `st.release.gpu`.
template <class T>
TILEWRIGHT_DEVICE void store_release(T* address, T value) {
  static_assert(detail::is_ordered_value<T>, "store_release moves 4 or 8 bytes");
  std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t> bits;
  memcpy(&bits, &value, sizeof(T));
#if defined(TILEWRIGHT_EMULATE)
  emulator::store_release(address, bits, sizeof(T), emulator::Scope::gpu);
#else
  if constexpr (sizeof(T) == 8) {
    asm volatile("st.release.gpu.global.b64 [%0], %1;" ::"l"(address), "l"(bits) : "memory");
  } else {
    asm volatile("st.release.gpu.global.b32 [%0], %1;" ::"l"(address), "r"(bits) : "memory");
  }
#endif
}

/// *address += value; returns the old value. Orders nothing else. A float sum flushes subnormals to zero on
/// the GPU. T: float, int32_t, uint32_t, uint64_t. PTX `atom.add`
/// (`red.add` when the result is not used).
template <class T>
TILEWRIGHT_DEVICE T atomic_add(T* address, T value) {
  static_assert(std::is_same_v<T, float> || detail::is_atomic_integer<T>,
                "atomic_add takes float, int32_t, uint32_t or uint64_t");
#if defined(TILEWRIGHT_EMULATE)
  return detail::emulated_atomic(address, value, T{}, emulator::AtomicOp::add);
#else
  using C = detail::CudaInteger<T>;
  return static_cast<T>(atomicAdd(reinterpret_cast<C*>(address), static_cast<C>(value)));
#endif
}

/// *address = min(*address, value); returns the old value. T: int32_t, uint32_t, uint64_t. PTX `atom.min`.
template <class T>
TILEWRIGHT_DEVICE T atomic_min(T* address, T value) {
  static_assert(detail::is_atomic_integer<T>, "atomic_min takes int32_t, uint32_t or uint64_t");
#if defined(TILEWRIGHT_EMULATE)
  return detail::emulated_atomic(address, value, T{}, emulator::AtomicOp::min);
#else
  using C = detail::CudaInteger<T>;
  return static_cast<T>(atomicMin(reinterpret_cast<C*>(address), static_cast<C>(value)));
#endif
}

/// *address = max(*address, value); returns the old value. T: int32_t, uint32_t, uint64_t. PTX `atom.max`.
template <class T>
TILEWRIGHT_DEVICE T atomic_max(T* address, T value) {
  static_assert(detail::is_atomic_integer<T>, "atomic_max takes int32_t, uint32_t or uint64_t");
#if defined(TILEWRIGHT_EMULATE)
  return detail::emulated_atomic(address, value, T{}, emulator::AtomicOp::max);
#else
  using C = detail::CudaInteger<T>;
  return static_cast<T>(atomicMax(reinterpret_cast<C*>(address), static_cast<C>(value)));
#endif
}

/// *address = value; returns the old value. T: int32_t, uint32_t, uint64_t. PTX `atom.exch`.
template <class T>
TILEWRIGHT_DEVICE T atomic_exchange(T* address, T value) {
  static_assert(detail::is_atomic_integer<T>, "atomic_exchange takes int32_t, uint32_t or uint64_t");
#if defined(TILEWRIGHT_EMULATE)
  return detail::emulated_atomic(address, value, T{}, emulator::AtomicOp::exchange);
#else
  using C = detail::CudaInteger<T>;
  return static_cast<T>(atomicExch(reinterpret_cast<C*>(address), static_cast<C>(value)));
#endif
}

/// If *address == expected, *address = desired; returns the old value. T: int32_t, uint32_t, uint64_t. PTX
/// `atom.cas`.
template <class T>
TILEWRIGHT_DEVICE T atomic_compare_exchange(T* address, T expected, T desired) {
  static_assert(detail::is_atomic_integer<T>, "atomic_compare_exchange takes int32_t, uint32_t or uint64_t");
#if defined(TILEWRIGHT_EMULATE)
  return detail::emulated_atomic(address, desired, expected, emulator::AtomicOp::compare_exchange);
#else
  using C = detail::CudaInteger<T>;
  return static_cast<T>(
      atomicCAS(reinterpret_cast<C*>(address), static_cast<C>(expected), static_cast<C>(desired)));
#endif
}

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
