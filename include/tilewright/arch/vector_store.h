// Sixteen bytes of global memory at once, where the compiler would take them apart.
#pragma once

#include <cstdint>

#include "tilewright/config.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

/// Stores four words at a multiple of 16 bytes. PTX `st.global.v4.b32`. Any thread.
TILEWRIGHT_DEVICE void store_16(void* to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
#if defined(TILEWRIGHT_EMULATE)
  struct alignas(16) Words {
    uint32_t words[4];
  };
  *static_cast<Words*>(to) = Words{{a, b, c, d}};
#else
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
#endif
}

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
