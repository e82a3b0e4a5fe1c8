// A tile in shared memory as mma.sync reads it without bank conflicts. Mode-neutral.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tilewright/config.h"
#include "tilewright/layout/block_tensor.h"
#include "tilewright/mainloop/mma_sync_plan.h"

namespace tilewright::tiles {

/// Whether two operands lie alike, whatever brings them.
constexpr bool same_places(const MmaSyncLayout& x, const MmaSyncLayout& y) {
  return x.mn_major == y.mn_major && x.element_bytes == y.element_bytes && x.width == y.width &&
         x.slabs == y.slabs && x.rows == y.rows && x.read == y.read;
}

}  // namespace tilewright::tiles

namespace tilewright::blas {

/// Rows x Columns elements. RowsAreMn: rows are those of M or N, columns of K (A), or the other way about
/// (B).
template <int Rows, int Columns, tiles::MmaSyncLayout Layout, bool RowsAreMn>
class PermutedLayout {
 public:
  static constexpr int rows = Rows, columns = Columns;
  static constexpr tiles::MmaSyncLayout layout = Layout;
  static constexpr bool rows_are_mn = RowsAreMn;
  /// Neighbours in a row are neighbours in memory, but for the permutation of whole 16 bytes.
  static constexpr bool contiguous_rows = RowsAreMn != Layout.mn_major, contiguous_columns = !contiguous_rows;
  static constexpr uint32_t alignment = 16;  // bytes
  static constexpr uint32_t element_bytes = Layout.element_bytes;
  static constexpr bool is_shared = true;

  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t size() { return static_cast<uint32_t>(Rows * Columns); }
  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t cosize() {
    constexpr tiles::MmaSyncLayout kLayout = Layout;
    return kLayout.used_bytes() / kLayout.element_bytes;
  }
  static TILEWRIGHT_HOST_DEVICE constexpr int64_t batch_stride() { return cosize(); }
  /// Of an element, in elements.
  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t offset(uint32_t row, uint32_t column) {
    constexpr tiles::MmaSyncLayout kLayout = Layout;
    const uint32_t line = contiguous_rows ? row : column, in_line = contiguous_rows ? column : row;
    return kLayout.place(line, in_line * kLayout.element_bytes) / kLayout.element_bytes;
  }
};

namespace detail {

template <class T>
struct IsPermutedView : std::false_type {};
template <class T, int Rows, int Columns, tiles::MmaSyncLayout L, bool RowsAreMn>
struct IsPermutedView<LayoutView<T, PermutedLayout<Rows, Columns, L, RowsAreMn>>> : std::true_type {};

}  // namespace detail

template <class T>
concept AnyPermutedView = detail::IsPermutedView<std::remove_cvref_t<T>>::value;

/// Rows and columns exchanged; the elements stay where they are.
template <class T, int Rows, int Columns, tiles::MmaSyncLayout L, bool RowsAreMn>
TILEWRIGHT_HOST_DEVICE constexpr auto transpose_view(
    const LayoutView<T, PermutedLayout<Rows, Columns, L, RowsAreMn>>& t) {
  using Transposed = PermutedLayout<Columns, Rows, L, !RowsAreMn>;
  return LayoutView<T, Transposed>(t.data(), Transposed());
}

}  // namespace tilewright::blas
