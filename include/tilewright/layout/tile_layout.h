// Layouts: where the elements of a tile whose extents are known at compile time lie. Mode-neutral.
#pragma once

#include <concepts>
#include <cstdint>

#include "tilewright/config.h"
#include "tilewright/layout/tensor_shape.h"

namespace tilewright::blas {

/// Rows x Columns elements, rows (row_major) or columns (col_major) of them leading_dimension() apart, which
/// is as long as one of them at least. StaticLd: where it is known at compile time, else 0. Shared: in shared
/// memory. Alignment: of the first element, in bytes, beside that of an element.
template <int Rows, int Columns, arrangement Order, int64_t StaticLd, bool Shared, uint32_t Alignment = 1>
class MatrixLayout {
 public:
  static constexpr int rows = Rows, columns = Columns;
  static constexpr arrangement order = Order;
  static constexpr bool is_shared = Shared;
  static constexpr int64_t packed_leading_dimension = Order == row_major ? Columns : Rows;
  static constexpr uint32_t alignment = Alignment;
  static_assert(StaticLd == 0 || StaticLd >= packed_leading_dimension,
                "the leading dimension is below the row (row_major) or column (col_major) of the tile");

  TILEWRIGHT_HOST_DEVICE constexpr explicit MatrixLayout(int64_t ld = StaticLd) : ld_(ld) {}

  TILEWRIGHT_HOST_DEVICE constexpr int64_t leading_dimension() const {
    return StaticLd != 0 ? StaticLd : ld_;
  }
  TILEWRIGHT_HOST_DEVICE constexpr int64_t row_stride() const {
    return Order == row_major ? leading_dimension() : 1;
  }
  TILEWRIGHT_HOST_DEVICE constexpr int64_t column_stride() const {
    return Order == row_major ? 1 : leading_dimension();
  }
  /// Elements, and elements from the first to one past the last.
  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t size() { return static_cast<uint32_t>(Rows * Columns); }
  TILEWRIGHT_HOST_DEVICE constexpr uint32_t cosize() const {
    return static_cast<uint32_t>((Rows - 1) * row_stride() + (Columns - 1) * column_stride() + 1);
  }
  /// Elements between two such matrices of a batch.
  TILEWRIGHT_HOST_DEVICE constexpr int64_t batch_stride() const {
    return leading_dimension() * (Order == row_major ? Rows : Columns);
  }

 private:
  int64_t ld_;
};

namespace detail {

template <class Layout>
constexpr uint32_t layout_alignment() {
  if constexpr (requires { Layout::alignment; }) {
    return Layout::alignment;
  } else {
    return 1;
  }
}
template <class Layout>
inline constexpr uint32_t layout_alignment_v = layout_alignment<Layout>();

}  // namespace detail

/// Count matrices of one layout, one behind the other.
template <class Layout, int Count>
class BatchedLayout {
 public:
  static constexpr int count = Count;
  static constexpr uint32_t alignment = detail::layout_alignment_v<Layout>;

  TILEWRIGHT_HOST_DEVICE constexpr explicit BatchedLayout(Layout of_one) : of_one_(of_one) {}

  TILEWRIGHT_HOST_DEVICE constexpr const Layout& of_one() const { return of_one_; }
  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t size() { return Count * Layout::size(); }
  TILEWRIGHT_HOST_DEVICE constexpr uint32_t cosize() const {
    return static_cast<uint32_t>((Count - 1) * of_one_.batch_stride()) + of_one_.cosize();
  }

 private:
  Layout of_one_;
};

/// A layout of any kind: static rows and columns, and offset(row, column) of an element, in elements.
/// Besides, where it has them: cosize(); alignment, in bytes, beside that of an element; is_shared, if it is
/// for shared memory alone; contiguous_rows or contiguous_columns, if neighbours there are neighbours in
/// memory in every 16 aligned bytes.
template <class Layout>
concept AnyLayout = requires(const Layout& layout, uint32_t i) {
  { Layout::rows } -> std::convertible_to<int>;
  { Layout::columns } -> std::convertible_to<int>;
  { layout.offset(i, i) } -> std::convertible_to<int64_t>;
};

namespace detail {

/// What a layout, or a tile, says of itself; false where it says nothing.
template <class T>
constexpr bool says_shared() {
  if constexpr (requires { T::is_shared; }) {
    return T::is_shared;
  } else {
    return false;
  }
}
template <class T>
inline constexpr bool is_shared_v = says_shared<T>();
template <class T>
constexpr bool says_contiguous_rows() {
  if constexpr (requires { T::contiguous_rows; }) {
    return T::contiguous_rows;
  } else {
    return false;
  }
}
template <class T>
constexpr bool says_contiguous_columns() {
  if constexpr (requires { T::contiguous_columns; }) {
    return T::contiguous_columns;
  } else {
    return false;
  }
}

}  // namespace detail

/// The same elements with rows and columns exchanged.
template <AnyLayout Layout>
class TransposedLayout {
 public:
  using layout_type = Layout;
  static constexpr int rows = Layout::columns, columns = Layout::rows;
  static constexpr bool is_shared = detail::is_shared_v<Layout>;
  static constexpr bool contiguous_rows = detail::says_contiguous_columns<Layout>(),
                        contiguous_columns = detail::says_contiguous_rows<Layout>();

  TILEWRIGHT_HOST_DEVICE constexpr explicit TransposedLayout(const Layout& layout) : layout_(layout) {}

  TILEWRIGHT_HOST_DEVICE constexpr int64_t offset(uint32_t row, uint32_t column) const {
    return layout_.offset(column, row);
  }

 private:
  [[no_unique_address]] Layout layout_;
};

/// Elements from the first to one past the last that a layout reaches, and elements of it.
template <class Layout>
requires requires(const Layout& l) { l.cosize(); }
TILEWRIGHT_HOST_DEVICE constexpr uint32_t cosize(const Layout& layout) { return layout.cosize(); }
template <class Layout>
requires requires(const Layout& l) {
  l.cosize();
  l.size();
}
TILEWRIGHT_HOST_DEVICE constexpr uint32_t size(const Layout& layout) { return layout.size(); }

}  // namespace tilewright::blas
