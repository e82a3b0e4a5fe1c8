// Names of the vendor's device-side BLAS that this library does not have, so that a kernel that uses them is
// told so in a sentence.
#pragma once

#include <cstdint>

#include "tilewright/pipeline/descriptor/operators.h"

namespace tilewright::blas {

enum class side : uint8_t { left, right };
enum class fill_mode : uint8_t { lower, upper };
enum class diag : uint8_t { non_unit, unit };

namespace detail {

template <auto>
inline constexpr bool is_refused_value = true;
template <class>
inline constexpr bool is_refused_type = true;

}  // namespace detail

/// Operators of the triangular solve: do not compile.
template <side Value>
struct Side : detail::Operator<detail::OperatorKind::function> {
  static_assert(!detail::is_refused_value<Value>,
                "Side belongs to the triangular solve TRSM, which is not part of this library");
};
template <fill_mode Value>
struct FillMode : detail::Operator<detail::OperatorKind::function> {
  static_assert(!detail::is_refused_value<Value>,
                "FillMode belongs to the triangular solve TRSM, which is not part of this library");
};
template <diag Value>
struct Diag : detail::Operator<detail::OperatorKind::function> {
  static_assert(!detail::is_refused_value<Value>,
                "Diag belongs to the triangular solve TRSM, which is not part of this library");
};

namespace detail {

template <class D>
struct NoTrsm {
  static_assert(
      !is_refused_type<D>,
      "side_of_v, fill_mode_of_v and diag_of_v belong to the triangular solve TRSM, which is not part "
      "of this library");
};

}  // namespace detail

/// Traits of the triangular solve: do not compile.
template <class D>
inline constexpr side side_of_v = sizeof(detail::NoTrsm<D>) != 0 ? side::left : side::right;
template <class D>
inline constexpr fill_mode fill_mode_of_v = sizeof(detail::NoTrsm<D>) != 0 ? fill_mode::lower
                                                                           : fill_mode::upper;
template <class D>
inline constexpr diag diag_of_v = sizeof(detail::NoTrsm<D>) != 0 ? diag::non_unit : diag::unit;

/// One thread for each matrix: does not compile.
template <class Refused = void>
constexpr auto Thread() {
  static_assert(!detail::is_refused_type<Refused>,
                "Thread(): products of one thread are not part of this library; use Block() with "
                "BlockDim<32>() and BatchesPerBlock<count>()");
  return Block();
}

}  // namespace tilewright::blas
