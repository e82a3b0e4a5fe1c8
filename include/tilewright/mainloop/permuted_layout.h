// A tile in shared memory as mma.sync reads it without bank conflicts. Mode-neutral.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tilewright/config.h"
#include "tilewright/layout/tensor_shape.h"
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
  static constexpr bool contiguous_rows = RowsAreMn != Layout.mn_major;
  static constexpr uint32_t alignment = 16;  // bytes

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

/// A tile of such a layout.
template <class T, class Layout>
class PermutedView {
 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;
  using layout_type = Layout;
  static constexpr int tile_rows = Layout::rows, tile_columns = Layout::columns;
  static constexpr bool contiguous_rows = Layout::contiguous_rows, contiguous_columns = !contiguous_rows;
  static constexpr bool is_shared = true;
  static_assert(sizeof(T) == Layout::layout.element_bytes,
                "a layout of suggest_layout_smem_a or _b is for elements of the descriptor's size");

  TILEWRIGHT_HOST_DEVICE constexpr explicit PermutedView(T* data) : data_(data) {}

  TILEWRIGHT_HOST_DEVICE constexpr T* data() const { return data_; }
  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t rows() { return static_cast<uint32_t>(tile_rows); }
  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t columns() { return static_cast<uint32_t>(tile_columns); }
  TILEWRIGHT_HOST_DEVICE constexpr T& operator()(int64_t row, int64_t column) const {
    return data_[Layout::offset(static_cast<uint32_t>(row), static_cast<uint32_t>(column))];
  }

 private:
  T* data_;
};

namespace detail {

template <class T>
struct IsPermutedView : std::false_type {};
template <class T, class Layout>
struct IsPermutedView<PermutedView<T, Layout>> : std::true_type {};

}  // namespace detail

template <class T>
concept AnyPermutedView = detail::IsPermutedView<std::remove_cvref_t<T>>::value;

/// The tile at `data`, of 16 aligned bytes or more, in a layout of suggest_layout_smem_a or _b.
template <class T, int Rows, int Columns, tiles::MmaSyncLayout L, bool RowsAreMn>
TILEWRIGHT_HOST_DEVICE constexpr auto make_tensor(T* data,
                                                  const PermutedLayout<Rows, Columns, L, RowsAreMn>&) {
  return PermutedView<T, PermutedLayout<Rows, Columns, L, RowsAreMn>>(data);
}

/// Rows and columns exchanged; the elements stay where they are.
template <class T, int Rows, int Columns, tiles::MmaSyncLayout L, bool RowsAreMn>
TILEWRIGHT_HOST_DEVICE constexpr auto transpose_view(
    const PermutedView<T, PermutedLayout<Rows, Columns, L, RowsAreMn>>& t) {
  return PermutedView<T, PermutedLayout<Columns, Rows, L, !RowsAreMn>>(t.data());
}

}  // namespace tilewright::blas
