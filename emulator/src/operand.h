// wgmma operands in shared memory: the matrix descriptor and the layout it describes.
#pragma once

#include <cstdint>

#include "swizzle.h"

namespace tilewright::emulator {

/// The fields of a 64-bit matrix descriptor (PTX ISA, "Matrix Descriptor Format"), in bytes.
struct MatrixDescriptor {
  uint32_t start, leading, stride;
  uint32_t base_offset;
  Swizzle swizzle;
  bool reserved_zero;  // the bits that must be zero are

  explicit constexpr MatrixDescriptor(uint64_t bits)
      : start(field(bits, 0)),
        leading(field(bits, 16)),
        stride(field(bits, 32)),
        base_offset(static_cast<uint32_t>(bits >> 49 & 7)),
        swizzle(mode(static_cast<uint32_t>(bits >> 62))),
        reserved_zero((bits & 0x3FF1C000C000C000ull) == 0) {}

 private:
  static constexpr uint32_t field(uint64_t bits, int shift) {
    return static_cast<uint32_t>(bits >> shift & 0x3FFF) << 4;
  }
  static constexpr Swizzle mode(uint32_t code) {
    constexpr Swizzle kModes[] = {Swizzle::none, Swizzle::b128, Swizzle::b64, Swizzle::b32};
    return kModes[code];
  }
};

/// Calls f(shared address, row, k_byte) for each 16-byte piece of a K-major operand: row is its M or N index
/// and k_byte its place in the 32 bytes of K. f(shared address, row, k) for an MN-major one: eight rows from
/// `row` at one k of 16.
template <class F>
void for_each_piece(const MatrixDescriptor& descriptor, uint32_t first_row, uint32_t end_row, bool mn_major,
                    F&& f) {
  const uint32_t width = swizzle_width(descriptor.swizzle);
  const bool plain = descriptor.swizzle == Swizzle::none;
  const auto at = [&](uint32_t offset) {
    return swizzled((descriptor.start + offset) & 0x3FFFF, descriptor.swizzle);
  };
  if (!mn_major) {
    for (uint32_t row = first_row; row < end_row; ++row) {
      const uint32_t base = row / 8 * descriptor.stride + row % 8 * width;
      f(at(base), row, 0u);
      f(at(base + (plain ? descriptor.leading : 16)), row, 16u);
    }
    return;
  }
  const uint32_t slab = width / 2;  // 16-bit elements along MN
  for (uint32_t row = first_row; row < end_row; row += 8) {
    for (uint32_t k = 0; k < 16; ++k) {
      const uint32_t across =
          plain ? row / 8 * descriptor.stride : row / slab * descriptor.leading + row % slab * 2;
      const uint32_t down = k / 8 * (plain ? descriptor.leading : descriptor.stride);
      f(at(across + down + k % 8 * width), row, k);
    }
  }
}

}  // namespace tilewright::emulator
