// D = alpha * result + beta * C of complex numbers with real factors, element by element, at any strides.
#pragma once

#include <cstdint>

#include "tilewright/blas.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {

struct ComplexStrides {
  int64_t row, column, batch;
};

/// A batch of matrices.
template <class T>
struct ComplexMatrix {
  T* data;
  ComplexStrides strides;

  TILEWRIGHT_DEVICE T& at(int64_t i, int64_t j, int64_t b) const {
    return data[i * strides.row + j * strides.column + b * strides.batch];
  }
};

/// An epilogue of one phase for run(). D: a descriptor; T: complex<...>, C's elements. A zero alpha gives
/// zeros whatever the results are; with a zero beta C is not read.
template <class D, class T>
struct ComplexEpilogue {
  ComplexMatrix<T> to;
  ComplexMatrix<const T> from;
  blas::LinearFactors factors;

  template <class Accumulator>
  TILEWRIGHT_DEVICE void operator()(Accumulator& accumulator, schedule::TileCoord tile) const {
    using Value = typename Accumulator::value_type;
    using Real = typename Value::value_type;
    using Part = typename T::value_type;
    Real alpha = factors.alpha, beta = factors.beta;
    if (factors.alpha_device != nullptr) alpha = blas::impl::scale(alpha, Real(*factors.alpha_device));
    if (factors.beta_device != nullptr) beta = blas::impl::scale(beta, Real(*factors.beta_device));
    const uint32_t row0 = tile.m * static_cast<uint32_t>(blas::size_of_v_m<D>),
                   column0 = tile.n * static_cast<uint32_t>(blas::size_of_v_n<D>);
    const auto part = [&](Real x, const Part* old) {
      const Real scaled = alpha == 0 ? Real(0) : blas::impl::scale(alpha, x);
      return old == nullptr ? scaled
                            : blas::impl::scale_add(beta, blas::impl::convert_to<Real>(*old), scaled);
    };
    accumulator.for_each_result([&](int, blas::Coord at, const Value& value) {
      if (!accumulator.is_coord_in_bounds(at)) return;
      const int64_t row = row0 + at.m, column = column0 + at.n;
      const T* const old = beta == 0 ? nullptr : &from.at(row, column, tile.batch);
      to.at(row, column, tile.batch) = {
          blas::impl::convert_to<Part>(part(value.x, old == nullptr ? nullptr : &old->x)),
          blas::impl::convert_to<Part>(part(value.y, old == nullptr ? nullptr : &old->y))};
    });
  }
};

}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
