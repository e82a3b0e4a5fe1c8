// Element types as run-time values: sizes, names, and the spellings that users type.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "tilewright/error.h"
#include "tilewright/numeric/e8m0.h"
#include "tilewright/numeric/float16.h"
#include "tilewright/numeric/float4.h"
#include "tilewright/numeric/float8.h"
#include "tilewright/numeric/tf32.h"
#include "tilewright/numeric/traits.h"

namespace tilewright {

/// cf64 to cbf16: complex numbers, real part first.
enum class DType : uint8_t {
  f64,
  f32,
  tf32,
  f16,
  bf16,
  e4m3,
  e5m2,
  e2m1,
  e8m0,
  s8,
  u8,
  s32,
  cf64,
  cf32,
  ctf32,
  cf16,
  cbf16
};

namespace detail {

struct DTypeRow {
  DType type;
  int bits;
  const char* name;
  const char* long_name;
};

inline constexpr std::array<DTypeRow, 17> kDTypes{{
    {DType::f64, 64, "f64", "Float64"},
    {DType::f32, 32, "f32", "Float32"},
    {DType::tf32, 32, "tf32", "TFloat32"},
    {DType::f16, 16, "f16", "Float16"},
    {DType::bf16, 16, "bf16", "BFloat16"},
    {DType::e4m3, 8, "e4m3", "Float8E4M3FN"},
    {DType::e5m2, 8, "e5m2", "Float8E5M2"},
    {DType::e2m1, 4, "e2m1", "Float4E2M1FN"},
    {DType::e8m0, 8, "e8m0", "Float8E8M0FNU"},
    {DType::s8, 8, "s8", "Int8"},
    {DType::u8, 8, "u8", "Uint8"},
    {DType::s32, 32, "s32", "Int32"},
    {DType::cf64, 128, "cf64", "Complex128"},
    {DType::cf32, 64, "cf32", "Complex64"},
    {DType::ctf32, 64, "ctf32", "ComplexTFloat32"},
    {DType::cf16, 32, "cf16", "Complex32"},
    {DType::cbf16, 32, "cbf16", "ComplexBFloat16"},
}};

constexpr const DTypeRow& row_of(DType type) { return kDTypes[static_cast<size_t>(type)]; }

}  // namespace detail

/// Bits of one element; e2m1 has 4.
constexpr int bits_of(DType type) { return detail::row_of(type).bits; }
/// Bytes that `count` neighbouring elements take.
constexpr int64_t bytes_of(DType type, int64_t count) { return (count * bits_of(type) + 7) / 8; }
constexpr bool is_fp8(DType type) { return type == DType::e4m3 || type == DType::e5m2; }
constexpr bool is_integer(DType type) { return type == DType::s8 || type == DType::u8 || type == DType::s32; }
constexpr bool is_complex(DType type) { return type >= DType::cf64; }
/// The type of a part of a complex number; any other type itself.
constexpr DType real_type_of(DType type) {
  switch (type) {
    case DType::cf64:
      return DType::f64;
    case DType::cf32:
      return DType::f32;
    case DType::ctf32:
      return DType::tf32;
    case DType::cf16:
      return DType::f16;
    case DType::cbf16:
      return DType::bf16;
    default:
      return type;
  }
}
/// "e4m3", "bf16", ...
constexpr const char* name_of(DType type) { return detail::row_of(type).name; }
/// "Float8E4M3FN", "BFloat16", ...
constexpr const char* long_name_of(DType type) { return detail::row_of(type).long_name; }

/// The DType of a C++ type.
template <class T>
inline constexpr DType dtype_of = [] {
  size_t i = 0;
  while (std::string_view(detail::kDTypes[i].name) != NumericTraits<T>::name) ++i;
  return detail::kDTypes[i].type;
}();

/// Either name of a type, in any case ("Float16", "f16", "FLOAT8E4M3FN"). Error: the list of names.
inline Expected<DType> parse_dtype(std::string_view text) {
  const auto same = [](std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
      if (lower(a[i]) != lower(b[i])) return false;
    }
    return true;
  };
  std::string known;
  for (const auto& row : detail::kDTypes) {
    if (same(text, row.name) || same(text, row.long_name)) return row.type;
    known += std::string(known.empty() ? "" : ", ") + row.name + " (" + row.long_name + ")";
  }
  return Error{ErrorCode::invalid_argument, "dtype.name",
               "'" + std::string(text) + "' is not an element type; known are " + known};
}

}  // namespace tilewright
