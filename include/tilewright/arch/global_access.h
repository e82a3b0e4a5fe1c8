// Several words of global memory at once, where the compiler would take them apart, and with a say in what L2
// does with them.
#pragma once

#include <cstdint>

#include "tilewright/arch/cache_policy.h"
#include "tilewright/config.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

/// Loads one or two words at a multiple of their size, past L1: what nobody else on this multiprocessor
/// reads. PTX `ld.global.L1::no_allocate.L2::cache_hint`. Any thread.
template <int Words>
TILEWRIGHT_DEVICE void load_past_l1(const void* from, uint32_t (&to)[Words],
                                    [[maybe_unused]] CachePolicy policy = CachePolicy::normal) {
  static_assert(Words == 1 || Words == 2, "load_past_l1 loads one or two words");
#if defined(TILEWRIGHT_EMULATE)
  struct alignas(4 * Words) Loaded {
    uint32_t words[Words];
  };
  const Loaded loaded = *static_cast<const Loaded*>(from);
  for (int i = 0; i < Words; ++i) to[i] = loaded.words[i];
#else
  if constexpr (Words == 1) {
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.u32 %0, [%1], %2;"
                 : "=r"(to[0])
                 : "l"(from), "l"(static_cast<uint64_t>(policy)));
  } else {
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;"
                 : "=r"(to[0]), "=r"(to[1])
                 : "l"(from), "l"(static_cast<uint64_t>(policy)));
  }
#endif
}

/// Stores four words at a multiple of 16 bytes. PTX `st.global.L2::cache_hint.v4.b32`. Any thread.
TILEWRIGHT_DEVICE void store_16(void* to, uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                                [[maybe_unused]] CachePolicy policy = CachePolicy::normal) {
#if defined(TILEWRIGHT_EMULATE)
  struct alignas(16) Words {
    uint32_t words[4];
  };
  *static_cast<Words*>(to) = Words{{a, b, c, d}};
#else
  asm volatile("st.global.L2::cache_hint.v4.b32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(to), "r"(a), "r"(b),
               "r"(c), "r"(d), "l"(static_cast<uint64_t>(policy))
               : "memory");
#endif
}

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
