// What one needs to know about a number type, by its name.
#pragma once

#include <cstdint>
#include <limits>

namespace tilewright {

/// Limits of a number type. Specialised beside each type; every specialisation has
///   name               short spelling, as in DType
///   bits               storage size of one element
///   mantissa_bits      explicit fraction bits (value bits for integers)
///   max                largest finite value
///   lowest             least finite value
///   min_normal         least positive normal value
///   min_subnormal      least positive value
///   epsilon            distance from 1 to the next value
///   has_infinity, has_nan
/// with the values as double, which holds all of them exactly.
template <class T>
struct NumericTraits;

namespace detail {

template <class T, int kMantissaBits>
struct IeeeTraits {
  static constexpr int bits = 8 * sizeof(T);
  static constexpr int mantissa_bits = kMantissaBits;
  static constexpr double max = static_cast<double>(std::numeric_limits<T>::max());
  static constexpr double lowest = -max;
  static constexpr double min_normal = static_cast<double>(std::numeric_limits<T>::min());
  static constexpr double min_subnormal = static_cast<double>(std::numeric_limits<T>::denorm_min());
  static constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  static constexpr bool has_infinity = true;
  static constexpr bool has_nan = true;
};

template <class T>
struct IntegerTraits {
  static constexpr int bits = 8 * sizeof(T);
  static constexpr int mantissa_bits = std::numeric_limits<T>::digits;
  static constexpr double max = static_cast<double>(std::numeric_limits<T>::max());
  static constexpr double lowest = static_cast<double>(std::numeric_limits<T>::lowest());
  static constexpr double min_normal = 1;
  static constexpr double min_subnormal = 1;
  static constexpr double epsilon = 1;
  static constexpr bool has_infinity = false;
  static constexpr bool has_nan = false;
};

}  // namespace detail

template <>
struct NumericTraits<float> : detail::IeeeTraits<float, 23> {
  static constexpr const char* name = "f32";
};
template <>
struct NumericTraits<double> : detail::IeeeTraits<double, 52> {
  static constexpr const char* name = "f64";
};
template <>
struct NumericTraits<int8_t> : detail::IntegerTraits<int8_t> {
  static constexpr const char* name = "s8";
};
template <>
struct NumericTraits<uint8_t> : detail::IntegerTraits<uint8_t> {
  static constexpr const char* name = "u8";
};
template <>
struct NumericTraits<int32_t> : detail::IntegerTraits<int32_t> {
  static constexpr const char* name = "s32";
};

}  // namespace tilewright
