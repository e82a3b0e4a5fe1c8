// Between accumulators, the types that users store, and the types that arithmetic is done in. Any thread.
#pragma once

#include <cstring>
#include <limits>
#include <type_traits>

#include "tilewright/arch/convert.h"
#include "tilewright/arch/math.h"
#include "tilewright/config.h"
#include "tilewright/pipeline/descriptor/elements.h"

namespace tilewright::blas {
inline namespace TILEWRIGHT_MODE {
namespace impl {

template <class T>
TILEWRIGHT_DEVICE uint32_t bits_of(const T& value) {
  uint32_t bits = 0;
  memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <class T>
TILEWRIGHT_DEVICE T from_bits(uint32_t bits) {
  T value;
  memcpy(static_cast<void*>(&value), &bits, sizeof(T));
  return value;
}

/// The value of an element in a type that has arithmetic: float for the narrow formats, the type itself for
/// the others, both parts of complex numbers alike. Exact.
template <class T>
TILEWRIGHT_DEVICE auto widen(const T& value) {
  constexpr Element e = element_of_v<T>;
  if constexpr (is_complex_v<T>) {
    const auto real = widen(value.x);
    return complex<std::remove_cv_t<decltype(real)>>{real, widen(value.y)};
  } else if constexpr (e == Element::f16) {
    return arch::unpack_f16x2(bits_of(value)).lo;
  } else if constexpr (e == Element::bf16) {
    return arch::unpack_bf16x2(bits_of(value)).lo;
  } else if constexpr (e == Element::e4m3) {
    return arch::unpack_e4m3x2(static_cast<uint16_t>(bits_of(value))).lo;
  } else if constexpr (e == Element::e5m2) {
    return arch::unpack_e5m2x2(static_cast<uint16_t>(bits_of(value))).lo;
  } else if constexpr (e == Element::tf32) {
    return tilewright::detail::float_from_bits(bits_of(value) & ~0x1FFFu);
  } else {
    static_assert(std::is_arithmetic_v<T>, "an element of this type cannot be converted");
    return value;
  }
}

/// The ends of an integer type, as constants that device code may use.
template <class Integer>
struct Range {
  static constexpr Integer lowest = std::numeric_limits<Integer>::lowest();
  static constexpr Integer highest = std::numeric_limits<Integer>::max();
};

/// Nearest even; what is out of range becomes the nearest end of it, NaN becomes 0.
template <class Integer, class Float>
TILEWRIGHT_DEVICE Integer round_to_integer(Float value) {
  constexpr Integer lowest = Range<Integer>::lowest, highest = Range<Integer>::highest;
  if (!(value == value)) return 0;
  const Float rounded = rint(value);
  if (rounded <= static_cast<Float>(lowest)) return lowest;
  if (rounded >= static_cast<Float>(highest)) return highest;
  return static_cast<Integer>(rounded);
}

template <class To, class From>
TILEWRIGHT_DEVICE To narrow_integer(From value) {
  constexpr To lowest = Range<To>::lowest, highest = Range<To>::highest;
  if constexpr (std::is_signed_v<From>) {
    if (static_cast<int64_t>(value) < static_cast<int64_t>(lowest)) return lowest;
    if (value >= 0 && static_cast<uint64_t>(value) > static_cast<uint64_t>(highest)) return highest;
  } else {
    if (static_cast<uint64_t>(value) > static_cast<uint64_t>(highest)) return highest;
  }
  return static_cast<To>(value);
}

/// A value as an element of type To: to nearest even; integers clamp, e4m3 and e5m2 saturate, f16 and bf16
/// overflow to infinity. A real number is a complex one without imaginary part.
template <class To, class From>
TILEWRIGHT_DEVICE To convert_to(const From& from) {
  if constexpr (std::is_same_v<To, From>) {
    return from;
  } else if constexpr (is_complex_v<To>) {
    using Part = typename To::value_type;
    if constexpr (is_complex_v<From>) {
      return {convert_to<Part>(from.x), convert_to<Part>(from.y)};
    } else {
      return {convert_to<Part>(from), convert_to<Part>(0.0f)};
    }
  } else {
    static_assert(!is_complex_v<From>, "a complex number is not stored to a real element; take a part of it");
    const auto value = widen(from);
    using Value = std::remove_cv_t<decltype(value)>;
    constexpr Element e = element_of_v<To>;
    if constexpr (e == Element::f16) {
      return from_bits<To>(arch::pack_f16x2(static_cast<float>(value), 0.0f));
    } else if constexpr (e == Element::bf16) {
      return from_bits<To>(arch::pack_bf16x2(static_cast<float>(value), 0.0f));
    } else if constexpr (e == Element::e4m3) {
      return from_bits<To>(arch::pack_e4m3x2(static_cast<float>(value), 0.0f));
    } else if constexpr (e == Element::e5m2) {
      return from_bits<To>(arch::pack_e5m2x2(static_cast<float>(value), 0.0f));
    } else if constexpr (e == Element::tf32) {
      return from_bits<To>(arch::to_tf32(static_cast<float>(value)));
    } else if constexpr (std::is_floating_point_v<To>) {
      return static_cast<To>(value);
    } else if constexpr (std::is_floating_point_v<Value>) {
      static_assert(std::is_integral_v<To>, "an element of this type cannot be converted to");
      return round_to_integer<To>(value);
    } else {
      return narrow_integer<To>(value);
    }
  }
}

// alpha * result + beta * old, each product and sum rounded once.
TILEWRIGHT_DEVICE float scale(float alpha, float x) { return arch::mul_rn(alpha, x); }
TILEWRIGHT_DEVICE float scale_add(float beta, float old, float sum) { return arch::fma_rn(beta, old, sum); }
template <class T>
TILEWRIGHT_DEVICE T scale(T alpha, T x) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;  // wraps
    return static_cast<T>(static_cast<U>(alpha) * static_cast<U>(x));
  } else {
    return alpha * x;
  }
}
template <class T>
TILEWRIGHT_DEVICE T scale_add(T beta, T old, T sum) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(beta) * static_cast<U>(old) + static_cast<U>(sum));
  } else {
    return fma(beta, old, sum);
  }
}

/// Complex ones: two roundings a part for a product, four with a sum.
template <class T>
TILEWRIGHT_DEVICE complex<T> scale(const complex<T>& alpha, const complex<T>& x) {
  return {scale_add(-alpha.y, x.y, scale(alpha.x, x.x)), scale_add(alpha.y, x.x, scale(alpha.x, x.y))};
}
template <class T>
TILEWRIGHT_DEVICE complex<T> scale_add(const complex<T>& beta, const complex<T>& old, const complex<T>& sum) {
  return {scale_add(-beta.y, old.y, scale_add(beta.x, old.x, sum.x)),
          scale_add(beta.y, old.x, scale_add(beta.x, old.y, sum.y))};
}

template <class T>
using Widened = std::remove_cv_t<decltype(widen(std::declval<T>()))>;

/// Whether float holds every value of T, which has arithmetic.
template <class T>
inline constexpr bool fits_float_v = std::is_same_v<T, float> || (std::is_integral_v<T> && sizeof(T) <= 2);

/// Both are integers of 64 bits without sign.
template <class Result, class Old>
inline constexpr bool are_u64_v = std::is_same_v<Result, uint64_t>&& std::is_same_v<Old, uint64_t>;

template <class Result, class Alpha, class Beta, class Old>
struct LinearTypeOf {
  static constexpr bool kIntegers = std::is_integral_v<Result> && std::is_integral_v<Alpha> &&
                                    std::is_integral_v<Beta> && std::is_integral_v<Old>;
  using Integer = std::conditional_t<are_u64_v<Result, Old>, uint64_t, int64_t>;
  using Real = std::conditional_t<std::is_same_v<Result, float> && fits_float_v<Old>, float, double>;
  using type = std::conditional_t<kIntegers, Integer, Real>;
};
template <class Result, class Alpha, class Beta, class Old>
struct LinearTypeOf<complex<Result>, Alpha, Beta, complex<Old>> {
  using type = complex<typename LinearTypeOf<Result, float, float, Old>::type>;
};
template <class Result, class Alpha, class Beta, class Old>
struct LinearTypeOf<complex<Result>, Alpha, Beta, Old> {
  using type = complex<Result>;
};

/// The type in which alpha * result + beta * old is computed. It holds results and old values exactly: 64-bit
/// integers where everything is an integer; double where one is not and float does not hold the others. The
/// factors' precision does not decide it: those of float results are floats.
template <class Result, class Alpha, class Beta, class Old = Result>
using LinearType = typename LinearTypeOf<Widened<Result>, Widened<Alpha>, Widened<Beta>, Widened<Old>>::type;

}  // namespace impl
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright::blas
