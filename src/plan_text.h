// Small words that the planner's files share.
#pragma once

#include <cstdint>
#include <string>

#include "tilewright/gemm.h"

namespace tilewright {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

inline std::string text(int64_t value) { return std::to_string(value); }
inline std::string text(Shape2 s) { return text(s.m) + "x" + text(s.n); }

/// "9.0" for 90.
inline std::string capability_text(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

}  // namespace tilewright
