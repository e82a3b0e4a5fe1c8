// Functions of elements for execute(), and the conjugate transpose of a tile.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tilewright/config.h"
#include "tilewright/layout/block_tensor.h"
#include "tilewright/pipeline/descriptor/elements.h"

namespace tilewright::blas {

/// The element itself, or the result at a coordinate.
struct identity {
  template <class T>
  TILEWRIGHT_HOST_DEVICE constexpr T operator()(const T& value) const {
    return value;
  }
  template <class T>
  TILEWRIGHT_HOST_DEVICE constexpr T operator()(const T& value, Coord) const {
    return value;
  }
};

/// The complex conjugate; a real number is its own.
struct conjugate {
  template <class T>
  TILEWRIGHT_HOST_DEVICE T operator()(const T& value) const {
    if constexpr (is_complex_v<T>) {
      return {value.x, negative(value.y)};
    } else {
      return value;
    }
  }

 private:
  /// With the sign bit flipped, whatever the format.
  template <class Number>
  static TILEWRIGHT_HOST_DEVICE Number negative(const Number& value) {
    static_assert(!std::is_integral_v<Number>, "conjugate: complex integers are not supported");
    using Bits =
        std::conditional_t<sizeof(Number) == 8, uint64_t,
                           std::conditional_t<sizeof(Number) == 4, uint32_t,
                                              std::conditional_t<sizeof(Number) == 2, uint16_t, uint8_t>>>;
    Bits bits;
    memcpy(&bits, static_cast<const void*>(&value), sizeof(bits));
    bits = static_cast<Bits>(bits ^ Bits{1} << (8 * sizeof(Bits) - 1));
    Number result;
    memcpy(static_cast<void*>(&result), &bits, sizeof(bits));
    return result;
  }
};

/// The conjugate transpose of a tile, for execute(): it is read through it, and cannot be written.
template <class View>
TILEWRIGHT_HOST_DEVICE constexpr auto conj_transpose_view(const View& t) {
  const auto transposed = transpose_view(t);
  return MappedView<std::remove_const_t<decltype(transposed)>, conjugate>(transposed);
}

}  // namespace tilewright::blas
