// Shared-memory swizzles on absolute shared addresses (PTX ISA, "Swizzling Modes").
#pragma once

#include <cstdint>

#include "tilewright/tensor_map.h"

namespace tilewright::emulator {

/// Where the byte of an unswizzled layout lies; its own inverse.
constexpr uint32_t swizzled(uint32_t address, Swizzle mode) {
  switch (mode) {
    case Swizzle::b128:
      return address ^ ((address >> 3) & 0x70);
    case Swizzle::b64:
      return address ^ ((address >> 3) & 0x30);
    case Swizzle::b32:
      return address ^ ((address >> 3) & 0x10);
    case Swizzle::none:
      break;
  }
  return address;
}

/// The pattern repeats after this many bytes and must start on such a boundary.
constexpr uint32_t swizzle_atom(Swizzle mode) {
  return mode == Swizzle::none ? 128 : 8 * swizzle_width(mode);
}

}  // namespace tilewright::emulator
