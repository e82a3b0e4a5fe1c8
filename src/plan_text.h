// Small words that the planner's files share.
#pragma once

#include <cstdint>
#include <string>

#include "src/rounding.h"
#include "tilewright/gemm.h"

namespace tilewright {

inline std::string text(int64_t value) { return std::to_string(value); }
inline std::string text(Shape2 s) { return text(s.m) + "x" + text(s.n); }

/// "9.0" for 90.
inline std::string capability_text(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

}  // namespace tilewright
