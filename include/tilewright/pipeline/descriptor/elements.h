// Element types of a descriptor: ours, the CUDA toolkit's, and how the two count as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tilewright/config.h"
#include "tilewright/numeric/e8m0.h"
#include "tilewright/numeric/float16.h"
#include "tilewright/numeric/float4.h"
#include "tilewright/numeric/float8.h"
#include "tilewright/numeric/tf32.h"

// The toolkit's number types, declared only: a program that uses them has included their headers itself.
struct __half;
struct __nv_bfloat16;
struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;
struct __nv_fp4_e2m1;
struct __nv_fp8_e8m0;

namespace tilewright::blas {

using half_t = f16;
using bfloat16_t = bf16;
using tfloat32_t = tf32;
using float_e4m3_t = e4m3;
using float_e5m2_t = e5m2;
using byte = std::byte;

/// A complex number: real part first, aligned to its size. Laid out as cuda::std::complex is, and as
/// std::complex but for the alignment.
template <class T>
struct alignas(2 * sizeof(T)) complex {
  using value_type = T;
  T x, y;

  TILEWRIGHT_HOST_DEVICE constexpr T real() const { return x; }
  TILEWRIGHT_HOST_DEVICE constexpr T imag() const { return y; }
  friend TILEWRIGHT_HOST_DEVICE constexpr bool operator==(const complex& a, const complex& b) {
    return a.x == b.x && a.y == b.y;
  }
};

namespace detail {

template <class T>
struct IsComplex : std::false_type {};
template <class T>
struct IsComplex<complex<T>> : std::true_type {};

}  // namespace detail

template <class T>
inline constexpr bool is_complex_v = detail::IsComplex<std::remove_cv_t<T>>::value;

/// What an operand's elements are, whichever type spells them.
enum class Element : uint8_t {
  none,
  f64,
  f32,
  tf32,
  f16,
  bf16,
  e4m3,
  e5m2,
  e2m1,  // two to a byte
  e8m0,  // scales
  s8,
  u8,
  s16,
  u16,
  s32,
  u32,
  s64,
  u64,
  other
};

constexpr const char* name_of(Element e) {
  constexpr const char* kNames[] = {"none", "f64",  "f32",  "tf32", "f16",         "bf16", "e4m3",
                                    "e5m2", "e2m1", "e8m0", "s8",   "u8",          "s16",  "u16",
                                    "s32",  "u32",  "s64",  "u64",  "another type"};
  return kNames[static_cast<size_t>(e)];
}

/// Bytes of one element, of a pair of e2m1.
constexpr int bytes_of(Element e) {
  switch (e) {
    case Element::f64:
    case Element::s64:
    case Element::u64:
      return 8;
    case Element::f32:
    case Element::tf32:
    case Element::s32:
    case Element::u32:
      return 4;
    case Element::f16:
    case Element::bf16:
    case Element::s16:
    case Element::u16:
      return 2;
    default:
      return 1;
  }
}

namespace detail {

template <Element E, class Ours>
struct ElementEntry {
  static constexpr Element element = E;
  using type = Ours;  // the type that arch/ knows
};

template <class T>
struct ElementOf : ElementEntry<Element::other, T> {};
template <class T>
struct ElementOf<complex<T>> : ElementEntry<Element::other, complex<typename ElementOf<T>::type>> {};
template <>
struct ElementOf<double> : ElementEntry<Element::f64, double> {};
template <>
struct ElementOf<float> : ElementEntry<Element::f32, float> {};
template <>
struct ElementOf<tf32> : ElementEntry<Element::tf32, tf32> {};
template <>
struct ElementOf<f16> : ElementEntry<Element::f16, f16> {};
template <>
struct ElementOf<::__half> : ElementEntry<Element::f16, f16> {};
template <>
struct ElementOf<bf16> : ElementEntry<Element::bf16, bf16> {};
template <>
struct ElementOf<::__nv_bfloat16> : ElementEntry<Element::bf16, bf16> {};
template <>
struct ElementOf<e4m3> : ElementEntry<Element::e4m3, e4m3> {};
template <>
struct ElementOf<::__nv_fp8_e4m3> : ElementEntry<Element::e4m3, e4m3> {};
template <>
struct ElementOf<e5m2> : ElementEntry<Element::e5m2, e5m2> {};
template <>
struct ElementOf<::__nv_fp8_e5m2> : ElementEntry<Element::e5m2, e5m2> {};
template <>
struct ElementOf<e2m1> : ElementEntry<Element::e2m1, e2m1> {};
template <>
struct ElementOf<::__nv_fp4_e2m1> : ElementEntry<Element::e2m1, e2m1> {};
template <>
struct ElementOf<e8m0> : ElementEntry<Element::e8m0, e8m0> {};
template <>
struct ElementOf<::__nv_fp8_e8m0> : ElementEntry<Element::e8m0, e8m0> {};
template <>
struct ElementOf<int8_t> : ElementEntry<Element::s8, int8_t> {};
template <>
struct ElementOf<uint8_t> : ElementEntry<Element::u8, uint8_t> {};
template <>
struct ElementOf<int16_t> : ElementEntry<Element::s16, int16_t> {};
template <>
struct ElementOf<uint16_t> : ElementEntry<Element::u16, uint16_t> {};
template <>
struct ElementOf<int32_t> : ElementEntry<Element::s32, int32_t> {};
template <>
struct ElementOf<uint32_t> : ElementEntry<Element::u32, uint32_t> {};
template <>
struct ElementOf<int64_t> : ElementEntry<Element::s64, int64_t> {};
template <>
struct ElementOf<uint64_t> : ElementEntry<Element::u64, uint64_t> {};

}  // namespace detail

/// The element kind of a C++ type; Element::other for a type that no path multiplies.
template <class T>
inline constexpr Element element_of_v = detail::ElementOf<T>::element;

/// Our type for a spelling of an element: f16 for __half, T for anything that is not the toolkit's.
template <class T>
using canonical_t = typename detail::ElementOf<T>::type;

/// Whether two types are the same element: an element type of the toolkit and ours are, two types that
/// merely have the same size are not.
template <class T, class U>
inline constexpr bool is_same_element_v = std::is_same_v<canonical_t<T>, canonical_t<U>>;

/// Whether products may be summed in this type.
constexpr bool is_accumulator(Element e) {
  return e == Element::f16 || e == Element::f32 || e == Element::f64 || e == Element::s32 ||
         e == Element::u32 || e == Element::s64 || e == Element::u64;
}

}  // namespace tilewright::blas
