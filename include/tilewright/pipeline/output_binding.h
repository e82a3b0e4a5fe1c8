// Binding C to an epilogue that stores it by TMA. Host, mode-neutral.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tilewright/numeric/dtype.h"
#include "tilewright/pipeline/pipeline_binding.h"

namespace tilewright::blas::detail {

/// What one warp stores at a time: 16 rows of `columns` elements.
struct SlabPlan {
  uint32_t columns = 8, width = 16, bytes = 0;  // width: bytes of a row, that of the swizzle
};

/// part_n: columns of one wgmma. The widest slab whose rows divide it; of bytes at most 64, so that a thread
/// has no more elements of a slab than it has of 16-bit ones.
constexpr SlabPlan slab_plan(int part_n, size_t element_bytes) {
  const auto size = static_cast<uint32_t>(element_bytes);
  SlabPlan p;
  p.width = tiles::detail::widest_slab(static_cast<uint32_t>(part_n) * size);
  if (size == 1 && p.width > 64) p.width = 64;
  p.columns = p.width / size;
  p.bytes = 16 * p.width;
  return p;
}

/// Checks C and encodes its map: (column, row, batch), boxes of one slab.
pipeline_status bind_output(const OperandView& c, Element element, const SlabPlan& plan,
                            EncodeFunction encode, TensorMap& map);

/// Checks a matrix that an epilogue may read or store element by element: its extents and strides, and that
/// it begins at a multiple of an element. Errors: as check_operands.
pipeline_status check_elements(const OperandView& v, const char* name, int element_bytes,
                               arrangement order = row_major);
/// The same, of elements that are f32, f16 or bf16, as `type` says. Errors: unsupported_element too.
pipeline_status check_wide_elements(const OperandView& v, const char* name, DType type,
                                    arrangement order = row_major);
/// The same, of what is stored as elements of so many bytes: f32; f16 or bf16; e4m3 or e5m2.
pipeline_status check_stored_elements(const OperandView& v, const char* name, DType type, int element_bytes,
                                      arrangement order = row_major);

/// A matrix, or a batch of them, as a kernel reaches its elements one by one.
struct StridedMatrix {
  void* data = nullptr;
  int64_t row_stride = 0, batch_stride = 0;  // elements
  bool pairs = false;  // two neighbours that begin at an even column may be accessed as one
  int64_t column_stride = 1;
};

inline StridedMatrix strided_matrix(const OperandView& v, size_t element_bytes) {
  StridedMatrix m{const_cast<void*>(v.data), v.row_stride, v.batches > 1 ? v.batch_stride : 0};
  m.column_stride = v.column_stride;
  const uint64_t starts = reinterpret_cast<uintptr_t>(v.data) |
                          static_cast<uint64_t>(v.rows > 1 ? m.row_stride : 0) * element_bytes |
                          static_cast<uint64_t>(m.batch_stride) * element_bytes;
  m.pairs = m.column_stride == 1 && starts % (2 * element_bytes) == 0;
  return m;
}

}  // namespace tilewright::blas::detail
