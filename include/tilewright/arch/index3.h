// Three extents or coordinates.
#pragma once

#include <cstdint>

#include "tilewright/config.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

struct Index3 {
  uint32_t x = 0, y = 0, z = 0;
};

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
