// Where the elements of an operand lie in a stage, for the copies that bring them and the wgmma that read
// them. Mode-neutral.
//
// An operand is cut along its contiguous index into slabs as wide as the swizzle. A slab is `rows` rows of
// `width` bytes: [slab][m or n][k] for a K-major operand, [slab][k][m or n] for an MN-major one.
#pragma once

#include <cstdint>

#include "tilewright/config.h"
#include "tilewright/mainloop/wgmma_tile_plan.h"
#include "tilewright/tensor_map.h"

namespace tilewright::tiles {

struct OperandLayout {
  bool mn_major = false;
  Swizzle swizzle = Swizzle::none;
  uint32_t element_bytes = 1;
  uint32_t width = 16;    // bytes of a slab's row
  uint32_t slabs = 1;     // side by side along the contiguous index
  uint32_t rows = 8;      // of a slab
  uint32_t shares = 1;    // blocks that load a part of the rows each and multicast it to the others
  uint32_t box_rows = 8;  // of one copy: the largest divisor of a share that a box may have
  uint32_t bytes = 0;     // of the operand in a stage

  TILEWRIGHT_HOST_DEVICE constexpr uint32_t slab_bytes() const { return rows * width; }
  TILEWRIGHT_HOST_DEVICE constexpr uint32_t box_columns() const { return width / element_bytes; }
  TILEWRIGHT_HOST_DEVICE constexpr uint32_t rows_of_share() const { return rows / shares; }
  TILEWRIGHT_HOST_DEVICE constexpr uint32_t boxes_per_slab() const { return rows_of_share() / box_rows; }

  /// Byte offset of a row of M or N (a multiple of 8, and of the slab where the operand is MN-major) and of
  /// the `mma`-th 32 bytes of K.
  TILEWRIGHT_HOST_DEVICE constexpr uint32_t offset(uint32_t row, uint32_t mma) const {
    if (mn_major) return row / box_columns() * slab_bytes() + mma * 16 * width;
    return row * width + 32 * mma / width * slab_bytes() + 32 * mma % width;
  }
  /// The two strides of a wgmma descriptor, in bytes (arch::make_smem_descriptor).
  TILEWRIGHT_HOST_DEVICE constexpr uint32_t leading_bytes() const {
    if (!mn_major) return 16;  // not read in a swizzled K-major layout
    return swizzle == Swizzle::none ? 8 * width : slab_bytes();
  }
  TILEWRIGHT_HOST_DEVICE constexpr uint32_t stride_bytes() const {
    return mn_major && swizzle == Swizzle::none ? slab_bytes() : 8 * width;
  }
};

namespace detail {

constexpr Swizzle swizzle_of_width(uint32_t width) {
  return width == 128  ? Swizzle::b128
         : width == 64 ? Swizzle::b64
         : width == 32 ? Swizzle::b32
                       : Swizzle::none;
}

/// The widest swizzle whose rows divide `bytes`.
constexpr uint32_t widest_slab(uint32_t bytes) {
  for (uint32_t width = 128; width > 16; width /= 2) {
    if (bytes % width == 0) return width;
  }
  return 16;
}

constexpr uint32_t largest_box(uint32_t rows) {
  for (uint32_t box = 256; box > 8; box -= 8) {
    if (rows % box == 0) return box;
  }
  return 8;
}

/// extent: M or N of the tile; part: rows of it that one wgmma reads; sharers: blocks of a cluster that need
/// the same operand. They share the loads where each gets whole swizzle patterns of 8 rows.
constexpr OperandLayout operand_layout(bool mn_major, int extent, int part, int k, int element_bytes,
                                       int sharers) {
  OperandLayout l;
  l.mn_major = mn_major;
  l.element_bytes = static_cast<uint32_t>(element_bytes);
  const auto contiguous = static_cast<uint32_t>((mn_major ? part : k) * element_bytes);
  l.width = widest_slab(contiguous);
  l.swizzle = swizzle_of_width(l.width);
  l.slabs = static_cast<uint32_t>((mn_major ? extent : k) * element_bytes) / l.width;
  l.rows = static_cast<uint32_t>(mn_major ? k : extent);
  const auto blocks = static_cast<uint32_t>(sharers);
  if ((blocks & (blocks - 1)) == 0 && l.rows % (8 * blocks) == 0) l.shares = blocks;
  l.box_rows = largest_box(l.rows_of_share());
  l.bytes = static_cast<uint32_t>(extent * k * element_bytes);
  return l;
}

}  // namespace detail

constexpr OperandLayout wgmma_layout_a(const WgmmaTileShape& s) {
  return detail::operand_layout(s.mn_major_a, s.m, 64, s.stage_k(), s.bytes_a, s.cluster_n);
}
constexpr OperandLayout wgmma_layout_b(const WgmmaTileShape& s) {
  return detail::operand_layout(s.mn_major_b, s.n, wgmma_tile_plan(s).part_n, s.stage_k(), s.bytes_b,
                                s.cluster_m);
}

}  // namespace tilewright::tiles
