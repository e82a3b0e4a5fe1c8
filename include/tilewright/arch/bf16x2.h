// Arithmetic on two bf16 in one register. Any thread; nothing is ordered.
#pragma once

#include <bit>
#include <cstdint>

#include "tilewright/config.h"
#include "tilewright/numeric/float16.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

#if defined(TILEWRIGHT_EMULATE)
namespace detail {

/// The bf16 nearest to the product of two, rounded once: a product of two 8-bit significands is exact in
/// double, and what float then cannot hold is kept as an odd last bit.
inline uint32_t multiply_bf16(uint32_t a, uint32_t b) {
  const double exact = static_cast<double>(static_cast<float>(bf16::from_bits(a & 0xFFFFu))) *
                       static_cast<double>(static_cast<float>(bf16::from_bits(b & 0xFFFFu)));
  auto product = static_cast<float>(exact);
  if (static_cast<double>(product) != exact && product == product) {
    uint32_t bits = std::bit_cast<uint32_t>(product);
    const bool away = std::bit_cast<float>(bits & 0x7FFFFFFFu) > (exact < 0 ? -exact : exact);
    product = std::bit_cast<float>((bits - (away ? 1u : 0u)) | 1u);
  }
  return bf16(product).bits;
}

}  // namespace detail
#endif

/// Products of the halves of a and b, to nearest even; subnormals are honoured, NaN becomes 0x7FFF. PTX
/// `mul.rn.bf16x2`.
TILEWRIGHT_DEVICE uint32_t mul_bf16x2(uint32_t a, uint32_t b) {
#if defined(TILEWRIGHT_EMULATE)
  return detail::multiply_bf16(a, b) | detail::multiply_bf16(a >> 16, b >> 16) << 16;
#else
  uint32_t product;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
  return product;
#endif
}

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
