// Shared memory by 32-bit address: this block's own window and, through map_shared, the windows of its
// cluster.
#pragma once

#include <cstddef>
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

/// Start of the block's dynamic shared memory, aligned to 1024 bytes (the widest swizzle pattern). Any
/// thread.
TILEWRIGHT_DEVICE std::byte* dynamic_shared_memory() {
#if defined(TILEWRIGHT_EMULATE)
  return emulator::dynamic_shared_memory();
#else
  extern __shared__ __align__(1024) unsigned char tilewright_dynamic_shared[];
  return reinterpret_cast<std::byte*>(tilewright_dynamic_shared);
#endif
}

/// The 32-bit `shared::cta` address of a pointer into this block's shared memory. PTX `cvta.to.shared`.
TILEWRIGHT_DEVICE uint32_t shared_address(const void* pointer) {
#if defined(TILEWRIGHT_EMULATE)
  return emulator::shared_address(pointer);
#else
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
#endif
}

/// The `shared::cluster` address of the same offset in the block of rank `rank`. PTX `mapa`. Any
/// thread. The peer must be known to run (cluster barrier) before the address is used, and must not exit
/// while it is.
TILEWRIGHT_DEVICE uint32_t map_shared(uint32_t address, uint32_t rank) {
#if defined(TILEWRIGHT_EMULATE)
  return emulator::map_shared(address, rank);
#else
  uint32_t mapped;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
#endif
}

namespace detail {

template <class T>
TILEWRIGHT_DEVICE void check_shared_value() {
  static_assert(std::is_trivially_copyable_v<T>, "only trivially copyable values move through shared memory");
  static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16,
                "one shared-memory access moves 1, 2, 4, 8 or 16 bytes");
}

}  // namespace detail

#if defined(TILEWRIGHT_EMULATE)

/// Loads a T of 1, 2, 4, 8 or 16 bytes, aligned to its size, from this block's window. PTX `ld.shared::cta`.
template <class T>
inline T load_shared(uint32_t address) {
  detail::check_shared_value<T>();
  T value;
  emulator::load_shared(address, &value, sizeof(T), emulator::Space::cta);
  return value;
}
/// Stores a T of 1, 2, 4, 8 or 16 bytes, aligned to its size, to this block's window. PTX `st.shared::cta`.
template <class T>
inline void store_shared(uint32_t address, const T& value) {
  detail::check_shared_value<T>();
  emulator::store_shared(address, &value, sizeof(T), emulator::Space::cta);
}
/// As load_shared, from a block of the cluster; `address` from map_shared. PTX `ld.shared::cluster`.
template <class T>
inline T load_shared_cluster(uint32_t address) {
  detail::check_shared_value<T>();
  T value;
  emulator::load_shared(address, &value, sizeof(T));
  return value;
}
/// As store_shared, to a block of the cluster; `address` from map_shared. PTX `st.shared::cluster`.
template <class T>
inline void store_shared_cluster(uint32_t address, const T& value) {
  detail::check_shared_value<T>();
  emulator::store_shared(address, &value, sizeof(T));
}
/// Stores a T of 4, 8 or 16 bytes to a block of the cluster and signals sizeof(T) bytes on the mbarrier `bar`
/// of that same block; both addresses from map_shared. PTX `st.async`. Visible to who waits on
/// `bar`.
template <class T>
inline void store_async(uint32_t address, const T& value, uint32_t bar) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "st.async moves 4, 8 or 16 bytes");
  emulator::store_async(address, &value, sizeof(T), bar);
}

#else

namespace detail {

// One access of each size in the state space `SPACE`. The values travel as raw bits.
#  define TILEWRIGHT_SHARED_ACCESS(NAME, SPACE)                                                          \
    template <class T>                                                                                   \
    TILEWRIGHT_DEVICE T load_##NAME(uint32_t address) {                                                  \
      check_shared_value<T>();                                                                           \
      T value;                                                                                           \
      if constexpr (sizeof(T) <= 2) {                                                                    \
        uint16_t bits;                                                                                   \
        if constexpr (sizeof(T) == 1) {                                                                  \
          asm volatile("ld." SPACE ".u8 %0, [%1];" : "=h"(bits) : "r"(address) : "memory");              \
        } else {                                                                                         \
          asm volatile("ld." SPACE ".u16 %0, [%1];" : "=h"(bits) : "r"(address) : "memory");             \
        }                                                                                                \
        memcpy(&value, &bits, sizeof(T));                                                                \
      } else if constexpr (sizeof(T) == 4) {                                                             \
        uint32_t bits;                                                                                   \
        asm volatile("ld." SPACE ".b32 %0, [%1];" : "=r"(bits) : "r"(address) : "memory");               \
        memcpy(&value, &bits, 4);                                                                        \
      } else if constexpr (sizeof(T) == 8) {                                                             \
        uint64_t bits;                                                                                   \
        asm volatile("ld." SPACE ".b64 %0, [%1];" : "=l"(bits) : "r"(address) : "memory");               \
        memcpy(&value, &bits, 8);                                                                        \
      } else {                                                                                           \
        uint32_t w[4];                                                                                   \
        asm volatile("ld." SPACE ".v4.b32 {%0, %1, %2, %3}, [%4];"                                       \
                     : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])                                    \
                     : "r"(address)                                                                      \
                     : "memory");                                                                        \
        memcpy(&value, w, 16);                                                                           \
      }                                                                                                  \
      return value;                                                                                      \
    }                                                                                                    \
    template <class T>                                                                                   \
    TILEWRIGHT_DEVICE void store_##NAME(uint32_t address, const T& value) {                              \
      check_shared_value<T>();                                                                           \
      if constexpr (sizeof(T) <= 2) {                                                                    \
        uint16_t bits = 0;                                                                               \
        memcpy(&bits, &value, sizeof(T));                                                                \
        if constexpr (sizeof(T) == 1) {                                                                  \
          asm volatile("st." SPACE ".u8 [%0], %1;" ::"r"(address), "h"(bits) : "memory");                \
        } else {                                                                                         \
          asm volatile("st." SPACE ".u16 [%0], %1;" ::"r"(address), "h"(bits) : "memory");               \
        }                                                                                                \
      } else if constexpr (sizeof(T) == 4) {                                                             \
        uint32_t bits;                                                                                   \
        memcpy(&bits, &value, 4);                                                                        \
        asm volatile("st." SPACE ".b32 [%0], %1;" ::"r"(address), "r"(bits) : "memory");                 \
      } else if constexpr (sizeof(T) == 8) {                                                             \
        uint64_t bits;                                                                                   \
        memcpy(&bits, &value, 8);                                                                        \
        asm volatile("st." SPACE ".b64 [%0], %1;" ::"r"(address), "l"(bits) : "memory");                 \
      } else {                                                                                           \
        uint32_t w[4];                                                                                   \
        memcpy(w, &value, 16);                                                                           \
        asm volatile("st." SPACE ".v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(w[0]), "r"(w[1]), \
                     "r"(w[2]), "r"(w[3])                                                                \
                     : "memory");                                                                        \
      }                                                                                                  \
    }
TILEWRIGHT_SHARED_ACCESS(cta, "shared::cta")
TILEWRIGHT_SHARED_ACCESS(cluster, "shared::cluster")
#  undef TILEWRIGHT_SHARED_ACCESS

}  // namespace detail

/// Loads a T of 1, 2, 4, 8 or 16 bytes, aligned to its size, from this block's window. PTX `ld.shared::cta`.
template <class T>
TILEWRIGHT_DEVICE T load_shared(uint32_t address) {
  return detail::load_cta<T>(address);
}
/// Stores a T of 1, 2, 4, 8 or 16 bytes, aligned to its size, to this block's window. PTX `st.shared::cta`.
template <class T>
TILEWRIGHT_DEVICE void store_shared(uint32_t address, const T& value) {
  detail::store_cta(address, value);
}
/// As load_shared, from a block of the cluster; `address` from map_shared. PTX `ld.shared::cluster`.
template <class T>
TILEWRIGHT_DEVICE T load_shared_cluster(uint32_t address) {
  return detail::load_cluster<T>(address);
}
/// As store_shared, to a block of the cluster; `address` from map_shared. PTX `st.shared::cluster`.
template <class T>
TILEWRIGHT_DEVICE void store_shared_cluster(uint32_t address, const T& value) {
  detail::store_cluster(address, value);
}
/// Stores a T of 4, 8 or 16 bytes to a block of the cluster and signals sizeof(T) bytes on the mbarrier `bar`
/// of that same block; both addresses from map_shared. PTX `st.async`. Visible to who waits on
/// `bar`.
template <class T>
TILEWRIGHT_DEVICE void store_async(uint32_t address, const T& value, uint32_t bar) {
  static_assert(std::is_trivially_copyable_v<T>, "only trivially copyable values move through shared memory");
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "st.async moves 4, 8 or 16 bytes");
  uint32_t w[sizeof(T) / 4];
  memcpy(w, &value, sizeof(T));
#  define TILEWRIGHT_ST_ASYNC "st.async.shared::cluster.mbarrier::complete_tx::bytes"
  if constexpr (sizeof(T) == 4) {
    asm volatile(TILEWRIGHT_ST_ASYNC ".b32 [%0], %2, [%1];" ::"r"(address), "r"(bar), "r"(w[0]) : "memory");
  } else if constexpr (sizeof(T) == 8) {
    asm volatile(TILEWRIGHT_ST_ASYNC ".v2.b32 [%0], {%2, %3}, [%1];" ::"r"(address), "r"(bar), "r"(w[0]),
                 "r"(w[1])
                 : "memory");
  } else {
    asm volatile(TILEWRIGHT_ST_ASYNC ".v4.b32 [%0], {%2, %3, %4, %5}, [%1];" ::"r"(address), "r"(bar),
                 "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
                 : "memory");
  }
#  undef TILEWRIGHT_ST_ASYNC
}

#endif

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
