// Binding C to an epilogue that stores it by TMA. Host, mode-neutral.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewright/pipeline/pipeline_binding.h"

namespace tilewright::blas::detail {

/// What one warp stores at a time: 16 rows of `columns` elements.
struct SlabPlan {
  uint32_t columns = 8, width = 16, bytes = 0;  // width: bytes of a row, that of the swizzle
};

/// part_n: columns of one wgmma. The widest slab whose rows divide it.
constexpr SlabPlan slab_plan(int part_n, size_t element_bytes) {
  const auto size = static_cast<uint32_t>(element_bytes);
  SlabPlan p;
  p.width = tiles::detail::widest_slab(static_cast<uint32_t>(part_n) * size);
  p.columns = p.width / size;
  p.bytes = 16 * p.width;
  return p;
}

/// Checks C and encodes its map: (column, row, batch), boxes of one slab.
pipeline_status bind_output(const OperandView& c, Element element, const SlabPlan& plan,
                            EncodeFunction encode, TensorMap& map);

}  // namespace tilewright::blas::detail
