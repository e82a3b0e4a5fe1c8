// The inner product of a tile of complex FP32 numbers on the ordinary cores.
#pragma once

#include <cstdint>

#include "tilewright/config.h"
#include "tilewright/mainloop/simt_f32.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace mainloop {

/// A SimtTile of real numbers made complex: an operand has two lines for each k, of real parts and of
/// imaginary ones.
template <class Real>
struct SimtComplexTile {
  static constexpr uint32_t kLines = 2;  // of an operand, for one step of K

  /// Real parts, then imaginary ones.
  using Accumulators = typename Real::Accumulators[2];

  struct Fragment {
    typename Real::Fragment real, imaginary;
  };

  TILEWRIGHT_DEVICE static uint32_t row(uint32_t thread) { return Real::row(thread); }
  TILEWRIGHT_DEVICE static uint32_t column(uint32_t thread) { return Real::column(thread); }
  TILEWRIGHT_DEVICE static constexpr uint32_t row_of(int i) { return Real::row_of(i); }
  TILEWRIGHT_DEVICE static constexpr uint32_t column_of(int j) { return Real::column_of(j); }

  TILEWRIGHT_DEVICE static void clear(Accumulators& acc) {
    Real::clear(acc[0]);
    Real::clear(acc[1]);
  }

  TILEWRIGHT_DEVICE static void load(Fragment& f, uint32_t a, uint32_t b, uint32_t k) {
    Real::load(f.real, a, b, 2 * k);
    Real::load(f.imaginary, a, b, 2 * k + 1);
  }

  /// acc += a b^T: a chain of two fused multiply-adds for each part, re re then -im im, re im then im re.
  TILEWRIGHT_DEVICE static void multiply(Accumulators& acc, const Fragment& f) {
    typename Real::Fragment with = f.imaginary;
    TILEWRIGHT_UNROLL
    for (float& a : with.a) a = -a;
    Real::multiply(acc[0], f.real);
    Real::multiply(acc[0], with);
    with = f.real;
    set(with.b, f.imaginary.b);
    Real::multiply(acc[1], with);
    with = f.imaginary;
    set(with.b, f.real.b);
    Real::multiply(acc[1], with);
  }

 private:
  template <int Count>
  TILEWRIGHT_DEVICE static void set(float (&to)[Count], const float (&from)[Count]) {
    TILEWRIGHT_UNROLL
    for (int i = 0; i < Count; ++i) to[i] = from[i];
  }
};

}  // namespace mainloop
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
