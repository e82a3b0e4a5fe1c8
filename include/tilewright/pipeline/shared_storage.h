// Laying out the dynamic shared memory of a block.
#pragma once

#include <cstdint>

#include "tilewright/config.h"
#include "tilewright/layout/tile_layout.h"

namespace tilewright::blas {

/// Adds up pieces of shared memory, each aligned as asked:
///   make_shared_storage_calculator().add(p->buffer_alignment(), p->buffer_size()).add(16, 4096).get()
class SharedStorageCalculator {
 public:
  /// `bytes` more, from the next multiple of `alignment` (a power of two) on.
  TILEWRIGHT_HOST_DEVICE constexpr SharedStorageCalculator add(uint32_t alignment, uint32_t bytes) const {
    return SharedStorageCalculator((bytes_ + alignment - 1) / alignment * alignment + bytes);
  }
  /// `count` elements of `element_bytes`.
  TILEWRIGHT_HOST_DEVICE constexpr SharedStorageCalculator add(uint32_t alignment, uint32_t element_bytes,
                                                               uint32_t count) const {
    return add(alignment, element_bytes * count);
  }
  /// A tile of elements of `element_bytes` in a layout, which may ask for more alignment.
  template <class Layout>
  requires requires(const Layout& l) { l.cosize(); }
  TILEWRIGHT_HOST_DEVICE constexpr SharedStorageCalculator add(uint32_t alignment, uint32_t element_bytes,
                                                               const Layout& layout) const {
    constexpr uint32_t kLeast = detail::layout_alignment_v<Layout>;
    return add(alignment > kLeast ? alignment : kLeast,
               element_bytes * static_cast<uint32_t>(layout.cosize()));
  }
  /// Bytes so far.
  TILEWRIGHT_HOST_DEVICE constexpr uint32_t get() const { return bytes_; }

  TILEWRIGHT_HOST_DEVICE constexpr explicit SharedStorageCalculator(uint32_t bytes = 0) : bytes_(bytes) {}

 private:
  uint32_t bytes_;
};

TILEWRIGHT_HOST_DEVICE constexpr SharedStorageCalculator make_shared_storage_calculator() {
  return SharedStorageCalculator();
}

/// What a stage of a pipeline takes beside its tiles: a full and an empty barrier.
struct pipeline_stage_scratch_t {
  uint64_t full, empty;
};

}  // namespace tilewright::blas
