// One element of an array whose type is known only at run time. For host code that checks, fills and
// converts.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "tilewright/numeric/dtype.h"

namespace tilewright {

/// Calls f with a value-initialised object of the C++ type of `type`, of a complex type that of its parts,
/// and returns what it returns. So the functions below count the parts of complex elements one by one.
template <class F>
decltype(auto) with_type(DType type, F&& f) {
  switch (real_type_of(type)) {
    case DType::f64:
      return f(double{});
    case DType::tf32:
      return f(tf32{});
    case DType::f16:
      return f(f16{});
    case DType::bf16:
      return f(bf16{});
    case DType::e4m3:
      return f(e4m3{});
    case DType::e5m2:
      return f(e5m2{});
    case DType::e2m1:
      return f(e2m1{});
    case DType::e8m0:
      return f(e8m0{});
    case DType::s8:
      return f(int8_t{});
    case DType::u8:
      return f(uint8_t{});
    case DType::s32:
      return f(int32_t{});
    default:
      return f(float{});
  }
}

/// The value of element `index`. Exact. e2m1 arrays are packed two to a byte.
template <class T>
double load_as(const void* data, int64_t index) {
  if constexpr (std::is_same_v<T, e2m1>) {
    return static_cast<float>(load_e2m1(static_cast<const uint8_t*>(data), index));
  } else {
    T value;
    std::memcpy(&value, static_cast<const uint8_t*>(data) + index * static_cast<int64_t>(sizeof(T)),
                sizeof(T));
    if constexpr (std::is_arithmetic_v<T>) return static_cast<double>(value);
    if constexpr (!std::is_arithmetic_v<T>) return static_cast<float>(value);
  }
}

/// value as a T: through float and then to nearest even (e8m0: up); integers to nearest even and clamped, NaN
/// to 0. `saturate`: overflow of a floating-point T becomes its largest finite value instead of infinity or
/// NaN.
template <class T>
T convert_to(double value, bool saturate) {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>) {
    return static_cast<T>(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    if (std::isnan(value)) return T{0};
    const double rounded = std::nearbyint(value);
    if (rounded <= NumericTraits<T>::lowest) return std::numeric_limits<T>::lowest();
    if (rounded >= NumericTraits<T>::max) return std::numeric_limits<T>::max();
    return static_cast<T>(rounded);
  } else if constexpr (std::is_same_v<T, e8m0>) {
    const float single = static_cast<float>(value);
    return saturate ? e8m0::saturate_up(single) : e8m0::round_up(single);
  } else {
    const float single = static_cast<float>(value);
    return saturate ? T::saturate(single) : T(single);
  }
}

/// Sets element `index` to convert_to<T>(value, saturate).
template <class T>
void store_as(void* data, int64_t index, double value, bool saturate) {
  const T converted = convert_to<T>(value, saturate);
  if constexpr (std::is_same_v<T, e2m1>) {
    store_e2m1(static_cast<uint8_t*>(data), index, converted);
  } else {
    std::memcpy(static_cast<uint8_t*>(data) + index * static_cast<int64_t>(sizeof(T)), &converted, sizeof(T));
  }
}

/// load_as for a type known at run time.
inline double load_element(const void* data, DType type, int64_t index) {
  return with_type(type, [&](auto t) { return load_as<decltype(t)>(data, index); });
}

/// store_as for a type known at run time.
inline void store_element(void* data, DType type, int64_t index, double value, bool saturate) {
  with_type(type, [&](auto t) { store_as<decltype(t)>(data, index, value, saturate); });
}

}  // namespace tilewright
