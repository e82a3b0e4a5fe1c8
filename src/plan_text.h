// Small words that the planner's files share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>

#include "src/rounding.h"
#include "tilewright/gemm.h"

namespace tilewright {

inline std::string text(int64_t value) { return std::to_string(value); }
inline std::string text(Shape2 s) { return text(s.m) + "x" + text(s.n); }

/// The shape, as shape_of gives it, of that one of `choices` (one or more) which is nearest to a shape that
/// none has.
template <class Choices, class ShapeOf>
Shape2 nearest_shape(const Choices& choices, Shape2 wanted, ShapeOf shape_of) {
  // Any number may be asked for; distances stay far from overflow.
  constexpr int64_t kMost = int64_t{1} << 32;
  wanted = {std::clamp(wanted.m, -kMost, kMost), std::clamp(wanted.n, -kMost, kMost)};
  const auto distance = [&](const auto& choice) {
    const Shape2 s = shape_of(choice);
    return std::abs(s.m - wanted.m) + std::abs(s.n - wanted.n);
  };
  return shape_of(*std::min_element(std::begin(choices), std::end(choices),
                                    [&](const auto& x, const auto& y) { return distance(x) < distance(y); }));
}

/// "9.0" for 90.
inline std::string capability_text(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

}  // namespace tilewright
