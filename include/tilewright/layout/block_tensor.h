// Tiles whose extents are known at compile time, as values: tensors made of layouts, and views of tensors.
// Nothing is owned, nothing is accessed here.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "tilewright/config.h"
#include "tilewright/layout/tensor.h"
#include "tilewright/layout/tile_layout.h"

namespace tilewright::blas {

/// A tile in shared memory, which asynchronous copies can write.
template <class T, int M, int N, bool UnitRowStride, bool UnitColumnStride>
class SharedTile : public TileView<T, M, N, UnitRowStride, UnitColumnStride> {
 public:
  static constexpr bool is_shared = true;
  using TileView<T, M, N, UnitRowStride, UnitColumnStride>::TileView;
};

/// A tile in a layout of any kind.
template <class T, AnyLayout Layout>
class LayoutView {
 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;
  using layout_type = Layout;
  static constexpr int tile_rows = Layout::rows, tile_columns = Layout::columns;
  static constexpr bool contiguous_rows = detail::says_contiguous_rows<Layout>(),
                        contiguous_columns = detail::says_contiguous_columns<Layout>();
  static constexpr bool is_shared = detail::is_shared_v<Layout>;

  TILEWRIGHT_HOST_DEVICE constexpr LayoutView(T* data, const Layout& layout) : data_(data), layout_(layout) {}

  TILEWRIGHT_HOST_DEVICE constexpr T* data() const { return data_; }
  TILEWRIGHT_HOST_DEVICE constexpr const Layout& layout() const { return layout_; }
  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t rows() { return static_cast<uint32_t>(tile_rows); }
  static TILEWRIGHT_HOST_DEVICE constexpr uint32_t columns() { return static_cast<uint32_t>(tile_columns); }
  TILEWRIGHT_HOST_DEVICE constexpr T& operator()(int64_t row, int64_t column) const {
    return data_[layout_.offset(static_cast<uint32_t>(row), static_cast<uint32_t>(column))];
  }

 private:
  T* data_;
  [[no_unique_address]] Layout layout_;
};

namespace detail {

template <class T>
struct IsLayoutView : std::false_type {};
template <class T, class Layout>
struct IsLayoutView<LayoutView<T, Layout>> : std::true_type {};

}  // namespace detail

template <class T>
concept AnyLayoutView = detail::IsLayoutView<std::remove_cvref_t<T>>::value;

/// A tile whose elements have addresses.
template <class T>
concept AnyTile = AnyTileView<T> || AnyLayoutView<T>;

/// Several tiles of one layout, one behind the other: get_batch() gives one.
template <class T, class Layout, int Count>
class TileBatch {
 public:
  using element_type = T;
  using layout_type = Layout;
  static constexpr int count = Count;

  TILEWRIGHT_HOST_DEVICE constexpr TileBatch(T* data, Layout of_one) : data_(data), of_one_(of_one) {}

  TILEWRIGHT_HOST_DEVICE constexpr T* data() const { return data_; }
  TILEWRIGHT_HOST_DEVICE constexpr const Layout& of_one() const { return of_one_; }

 private:
  T* data_;
  Layout of_one_;
};

namespace detail {

template <class T>
struct IsTileBatch : std::false_type {};
template <class T, class Layout, int Count>
struct IsTileBatch<TileBatch<T, Layout, Count>> : std::true_type {};

}  // namespace detail

template <class T>
concept AnyTileBatch = detail::IsTileBatch<std::remove_cvref_t<T>>::value;

/// The tile at `data` of a layout that a descriptor gave: D::get_layout_smem_a() and so on.
template <class T, int Rows, int Columns, arrangement Order, int64_t StaticLd, bool Shared,
          uint32_t Alignment>
TILEWRIGHT_HOST_DEVICE constexpr auto make_tensor(
    T* data, const MatrixLayout<Rows, Columns, Order, StaticLd, Shared, Alignment>& layout) {
  constexpr bool kRowMajor = Order == row_major;
  using Tile = std::conditional_t<Shared, SharedTile<T, Rows, Columns, !kRowMajor, kRowMajor>,
                                  TileView<T, Rows, Columns, !kRowMajor, kRowMajor>>;
  return Tile(data, static_cast<uint32_t>(Rows), static_cast<uint32_t>(Columns), layout.row_stride(),
              layout.column_stride());
}
template <class T, class Layout, int Count>
TILEWRIGHT_HOST_DEVICE constexpr auto make_tensor(T* data, const BatchedLayout<Layout, Count>& layout) {
  return TileBatch<T, Layout, Count>(data, layout.of_one());
}

/// The tile at `data` of a layout of any kind: of suggest_layout_smem_a, or one's own.
template <class T, AnyLayout Layout>
TILEWRIGHT_HOST_DEVICE constexpr auto make_tensor(T* data, const Layout& layout) {
  if constexpr (requires { Layout::element_bytes; }) {
    static_assert(sizeof(T) == Layout::element_bytes,
                  "a layout of suggest_layout_smem_a or _b is for elements of the descriptor's size");
  }
  return LayoutView<T, Layout>(data, layout);
}

/// One tile of several.
template <class T, class Layout, int Count>
TILEWRIGHT_HOST_DEVICE constexpr auto get_batch(const TileBatch<T, Layout, Count>& tiles, int64_t batch) {
  return make_tensor(tiles.data() + batch * tiles.of_one().batch_stride(), tiles.of_one());
}
/// The same of tiles, and of matrices of a rank-3 tensor: what is left when the last index is given.
template <class T, class Layout, int Count>
TILEWRIGHT_HOST_DEVICE constexpr auto slice(const TileBatch<T, Layout, Count>& tiles, int64_t batch) {
  return get_batch(tiles, batch);
}
template <class T, arrangement Arrangement, int64_t StaticLd>
TILEWRIGHT_HOST_DEVICE constexpr auto slice(const Tensor<T, Arrangement, 3, StaticLd>& t, int64_t batch) {
  return get_batch(t, batch);
}

/// The tiles of a matrix along one of its rows of tiles, or along a column of them: slice(line, i) is the
/// i-th.
template <class Matrix, int M, int N, bool AlongRow>
struct TileLine {
  Matrix matrix;
  int64_t place;  // row or column, in tiles

  /// Tiles along the line, the last one partial where the extent is no multiple.
  TILEWRIGHT_HOST_DEVICE constexpr int64_t count() const {
    return AlongRow ? (matrix.columns() + N - 1) / N : (matrix.rows() + M - 1) / M;
  }
};
template <class T, arrangement Arrangement, int64_t StaticLd, int M, int N>
TILEWRIGHT_HOST_DEVICE constexpr auto get_tile_row(const Tensor<T, Arrangement, 2, StaticLd>& t, Shape<M, N>,
                                                   int64_t row) {
  return TileLine<Tensor<T, Arrangement, 2, StaticLd>, M, N, true>{t, row};
}
template <class T, arrangement Arrangement, int64_t StaticLd, int M, int N>
TILEWRIGHT_HOST_DEVICE constexpr auto get_tile_col(const Tensor<T, Arrangement, 2, StaticLd>& t, Shape<M, N>,
                                                   int64_t column) {
  return TileLine<Tensor<T, Arrangement, 2, StaticLd>, M, N, false>{t, column};
}
template <class Matrix, int M, int N, bool AlongRow>
TILEWRIGHT_HOST_DEVICE constexpr auto slice(const TileLine<Matrix, M, N, AlongRow>& line, int64_t i) {
  return get_tile(line.matrix, Shape<M, N>{}, AlongRow ? line.place : i, AlongRow ? i : line.place);
}

/// Rows and columns exchanged; the elements stay where they are.
template <AnyTileView View>
TILEWRIGHT_HOST_DEVICE constexpr auto transpose_view(const View& t) {
  using T = typename View::element_type;
  using Transposed = std::conditional_t<
      detail::is_shared_v<View>,
      SharedTile<T, View::tile_columns, View::tile_rows, View::contiguous_rows, View::contiguous_columns>,
      TileView<T, View::tile_columns, View::tile_rows, View::contiguous_rows, View::contiguous_columns>>;
  return Transposed(t.data(), t.columns(), t.rows(), t.column_stride(), t.row_stride());
}

template <class T, class Layout>
TILEWRIGHT_HOST_DEVICE constexpr auto transpose_view(const LayoutView<T, Layout>& t) {
  return LayoutView<T, TransposedLayout<Layout>>(t.data(), TransposedLayout<Layout>(t.layout()));
}

/// A tile that shows f(element) of another: it can be read only.
template <class View, class F>
class MappedView {
 public:
  using value_type = std::remove_cvref_t<decltype(std::declval<const F&>()(
      std::declval<const typename View::value_type&>()))>;
  static constexpr int tile_rows = View::tile_rows, tile_columns = View::tile_columns;

  TILEWRIGHT_HOST_DEVICE constexpr explicit MappedView(View view, F f = {}) : view_(view), f_(f) {}

  TILEWRIGHT_HOST_DEVICE constexpr uint32_t rows() const { return view_.rows(); }
  TILEWRIGHT_HOST_DEVICE constexpr uint32_t columns() const { return view_.columns(); }
  TILEWRIGHT_HOST_DEVICE constexpr const View& viewed() const { return view_; }
  TILEWRIGHT_HOST_DEVICE constexpr value_type operator()(int64_t row, int64_t column) const {
    return f_(view_(row, column));
  }

 private:
  View view_;
  [[no_unique_address]] F f_;
};

/// Elements of a tile, and elements from the first to one past the last that it reaches.
template <AnyTileView View>
TILEWRIGHT_HOST_DEVICE constexpr int64_t size(const View& t) {
  return int64_t{t.rows()} * t.columns();
}
template <AnyTileView View>
TILEWRIGHT_HOST_DEVICE constexpr int64_t cosize(const View& t) {
  if (t.rows() == 0 || t.columns() == 0) return 0;
  return (t.rows() - 1) * t.row_stride() + (t.columns() - 1) * t.column_stride() + 1;
}
template <AnyTensor Matrix>
TILEWRIGHT_HOST_DEVICE constexpr int64_t size(const Matrix& t) {
  return t.rows() * t.columns() * t.batches();
}

}  // namespace tilewright::blas
