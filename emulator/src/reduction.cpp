// The element-wise arithmetic of reductions.
#include "reduction.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "tilewright/numeric/float16.h"

namespace tilewright::emulator {
namespace {

template <class T>
T reduced(T old, T value, Reduction op) {
  switch (op) {
    case Reduction::add:
      return static_cast<T>(old + value);
    case Reduction::min:
      return std::min(old, value);
    case Reduction::max:
      return std::max(old, value);
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    switch (op) {
      case Reduction::inc:
        return old >= value ? T{0} : static_cast<T>(old + 1);
      case Reduction::dec:
        return old == 0 || old > value ? value : static_cast<T>(old - 1);
      case Reduction::bit_and:
        return static_cast<T>(old & value);
      case Reduction::bit_or:
        return static_cast<T>(old | value);
      case Reduction::bit_xor:
        return static_cast<T>(old ^ value);
      default:
        break;
    }
  }
  return old;
}

template <class T>
void reduce_as(std::byte* memory, const std::byte* source, uint32_t bytes, Reduction op) {
  for (uint32_t i = 0; i < bytes; i += sizeof(T)) {
    T old, value;
    std::memcpy(&old, memory + i, sizeof(T));
    std::memcpy(&value, source + i, sizeof(T));
    old = reduced(old, value, op);
    std::memcpy(memory + i, &old, sizeof(T));
  }
}

template <class Half>
void reduce_as_half(std::byte* memory, const std::byte* source, uint32_t bytes, Reduction op) {
  for (uint32_t i = 0; i < bytes; i += 2) {
    Half old, value;
    std::memcpy(&old, memory + i, 2);
    std::memcpy(&value, source + i, 2);
    old = Half(reduced(static_cast<float>(old), static_cast<float>(value), op));
    std::memcpy(memory + i, &old, 2);
  }
}

}  // namespace

void reduce_elements(TmaType type, std::byte* memory, const std::byte* source, uint32_t bytes, Reduction op) {
  switch (type) {
    case TmaType::e2m1_padded:  // never: only loads have it
    case TmaType::u8:
      return reduce_as<uint8_t>(memory, source, bytes, op);
    case TmaType::u16:
      return reduce_as<uint16_t>(memory, source, bytes, op);
    case TmaType::u32:
      return reduce_as<uint32_t>(memory, source, bytes, op);
    case TmaType::s32:
      return reduce_as<int32_t>(memory, source, bytes, op);
    case TmaType::u64:
      return reduce_as<uint64_t>(memory, source, bytes, op);
    case TmaType::s64:
      return reduce_as<int64_t>(memory, source, bytes, op);
    case TmaType::f16:
      return reduce_as_half<f16>(memory, source, bytes, op);
    case TmaType::bf16:
      return reduce_as_half<bf16>(memory, source, bytes, op);
    case TmaType::f64:
      return reduce_as<double>(memory, source, bytes, op);
    case TmaType::f32:
    case TmaType::tf32:
      return reduce_as<float>(memory, source, bytes, op);
  }
}

}  // namespace tilewright::emulator
