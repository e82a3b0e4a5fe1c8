// Matrices in memory as values: a pointer, extents and strides. Nothing is owned, nothing is accessed here.
//
// Offsets are 64-bit. One of the two strides is 1 and known to be: the one across columns of a row_major
// matrix, the one across rows of a col_major one.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tilewright/config.h"
#include "tilewright/layout/tensor_shape.h"

namespace tilewright::blas {

/// The type of static_ld. Calling it as an operator of a descriptor does not compile: the number that
/// std::integral_constant gives would be known at run time alone.
template <int64_t Ld>
struct StaticLeadingDimension {
  static constexpr int64_t value = Ld;
  TILEWRIGHT_HOST_DEVICE constexpr operator int64_t() const { return Ld; }
  template <class Refused = void>
  TILEWRIGHT_HOST_DEVICE constexpr int64_t operator()() const {
    static_assert(!std::is_void_v<Refused>, "static_ld<n> is a value: write it without ()");
    return Ld;
  }
};
/// A leading dimension known at compile time: make_gmem_tensor<row_major>(p, m, k, static_ld<128>).
template <int64_t Ld>
inline constexpr StaticLeadingDimension<Ld> static_ld{};

/// A matrix of T, or several of them (rank 3: the third index is the batch). StaticLd: the leading dimension
/// in elements where it is known at compile time; 0 otherwise.
template <class T, arrangement Arrangement, int Rank = 2, int64_t StaticLd = 0>
class Tensor {
  static_assert(Rank == 2 || Rank == 3, "a tensor is a matrix (rank 2) or a batch of matrices (rank 3)");

 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;
  static constexpr arrangement order = Arrangement;
  static constexpr int64_t static_leading_dimension = StaticLd;
  static TILEWRIGHT_HOST_DEVICE constexpr int rank() { return Rank; }

  Tensor() = default;
  TILEWRIGHT_HOST_DEVICE constexpr Tensor(T* data, int64_t rows, int64_t columns, int64_t ld,
                                          int64_t batches = 1, int64_t batch_stride = 0)
      : data_(data),
        rows_(rows),
        columns_(columns),
        ld_(ld),
        batches_(batches),
        batch_stride_(batch_stride) {}

  TILEWRIGHT_HOST_DEVICE constexpr T* data() const { return data_; }
  TILEWRIGHT_HOST_DEVICE constexpr int64_t rows() const { return rows_; }
  TILEWRIGHT_HOST_DEVICE constexpr int64_t columns() const { return columns_; }
  TILEWRIGHT_HOST_DEVICE constexpr int64_t batches() const { return Rank == 3 ? batches_ : 1; }
  /// Elements between neighbouring rows (row_major) or columns (col_major).
  TILEWRIGHT_HOST_DEVICE constexpr int64_t leading_dimension() const {
    return StaticLd != 0 ? StaticLd : ld_;
  }
  /// Elements between neighbouring batches.
  TILEWRIGHT_HOST_DEVICE constexpr int64_t batch_stride() const { return Rank == 3 ? batch_stride_ : 0; }
  TILEWRIGHT_HOST_DEVICE constexpr int64_t row_stride() const {
    return Arrangement == row_major ? leading_dimension() : 1;
  }
  TILEWRIGHT_HOST_DEVICE constexpr int64_t column_stride() const {
    return Arrangement == row_major ? 1 : leading_dimension();
  }
  TILEWRIGHT_HOST_DEVICE constexpr const Tensor& layout() const { return *this; }

  TILEWRIGHT_HOST_DEVICE constexpr T& operator()(int64_t row, int64_t column, int64_t batch = 0) const {
    return data_[row * row_stride() + column * column_stride() + batch * batch_stride()];
  }

 private:
  T* data_ = nullptr;
  int64_t rows_ = 0, columns_ = 0, ld_ = 0, batches_ = 1, batch_stride_ = 0;
};

namespace detail {
struct TileViewTag {};
}  // namespace detail

/// A tile of M x N elements inside a matrix, of which rows() x columns() exist. UnitRowStride and
/// UnitColumnStride: which stride is known to be 1, if any.
template <class T, int M, int N, bool UnitRowStride, bool UnitColumnStride>
class TileView : detail::TileViewTag {
 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;
  static constexpr int tile_rows = M, tile_columns = N;
  /// Neighbours in a row (in a column) are neighbours in memory.
  static constexpr bool contiguous_rows = UnitColumnStride, contiguous_columns = UnitRowStride;

  TILEWRIGHT_HOST_DEVICE constexpr TileView(T* data, uint32_t rows, uint32_t columns, int64_t row_stride,
                                            int64_t column_stride)
      : data_(data), rows_(rows), columns_(columns), row_stride_(row_stride), column_stride_(column_stride) {}

  TILEWRIGHT_HOST_DEVICE constexpr T* data() const { return data_; }
  TILEWRIGHT_HOST_DEVICE constexpr uint32_t rows() const { return rows_; }
  TILEWRIGHT_HOST_DEVICE constexpr uint32_t columns() const { return columns_; }
  TILEWRIGHT_HOST_DEVICE constexpr int64_t row_stride() const { return UnitRowStride ? 1 : row_stride_; }
  TILEWRIGHT_HOST_DEVICE constexpr int64_t column_stride() const {
    return UnitColumnStride ? 1 : column_stride_;
  }
  TILEWRIGHT_HOST_DEVICE constexpr T& operator()(int64_t row, int64_t column) const {
    return data_[row * row_stride() + column * column_stride()];
  }

 private:
  T* data_;
  uint32_t rows_, columns_;
  int64_t row_stride_, column_stride_;
};

namespace detail {

template <class T>
struct IsTensor : std::false_type {};
template <class T, arrangement Arrangement, int Rank, int64_t StaticLd>
struct IsTensor<Tensor<T, Arrangement, Rank, StaticLd>> : std::true_type {};

template <class Ld>
inline constexpr int64_t static_ld_of = 0;
template <int64_t Ld>
inline constexpr int64_t static_ld_of<StaticLeadingDimension<Ld>> = Ld;
template <std::integral I, I Value>
inline constexpr int64_t static_ld_of<std::integral_constant<I, Value>> = static_cast<int64_t>(Value);

/// How many of `tile` elements from index * tile on lie below `extent`.
TILEWRIGHT_HOST_DEVICE constexpr uint32_t clipped(int64_t extent, int64_t index, int tile) {
  const int64_t left = extent - index * tile;
  return static_cast<uint32_t>(left < 0 ? 0 : left < tile ? left : tile);
}

}  // namespace detail

template <class T>
concept AnyTensor = detail::IsTensor<std::remove_cvref_t<T>>::value;
template <class T>
concept AnyTileView = std::is_base_of_v<detail::TileViewTag, std::remove_cvref_t<T>>;

/// std::mdspan and everything that is made like it, of rank 2 or 3 (the third index is the batch).
template <class T>
concept MdspanLike = requires(const T& t, size_t i) {
  {t.data_handle()};
  { t.extent(i) } -> std::convertible_to<int64_t>;
  { t.stride(i) } -> std::convertible_to<int64_t>;
  { T::rank() } -> std::convertible_to<size_t>;
}
&&(T::rank() == 2 || T::rank() == 3);

/// A rows x columns matrix in global memory with leading dimension ld (static_ld<n>: known at compile time).
template <arrangement Arrangement, class T, class Ld>
TILEWRIGHT_HOST_DEVICE constexpr auto make_gmem_tensor(T* data, int64_t rows, int64_t columns, Ld ld) {
  return Tensor<T, Arrangement, 2, detail::static_ld_of<Ld>>(data, rows, columns, static_cast<int64_t>(ld));
}
/// The same, packed.
template <arrangement Arrangement, class T>
TILEWRIGHT_HOST_DEVICE constexpr auto make_gmem_tensor(T* data, int64_t rows, int64_t columns) {
  return Tensor<T, Arrangement>(data, rows, columns, Arrangement == row_major ? columns : rows);
}

/// `batches` matrices, `batch_stride` elements apart (0: all are the same).
template <arrangement Arrangement, class T, class Ld>
TILEWRIGHT_HOST_DEVICE constexpr auto make_gmem_tensor_batched(T* data, int64_t rows, int64_t columns,
                                                               int64_t batches, Ld ld, int64_t batch_stride) {
  return Tensor<T, Arrangement, 3, detail::static_ld_of<Ld>>(data, rows, columns, static_cast<int64_t>(ld),
                                                             batches, batch_stride);
}
/// The same, packed.
template <arrangement Arrangement, class T>
TILEWRIGHT_HOST_DEVICE constexpr auto make_gmem_tensor_batched(T* data, int64_t rows, int64_t columns,
                                                               int64_t batches) {
  return Tensor<T, Arrangement, 3>(data, rows, columns, Arrangement == row_major ? columns : rows, batches,
                                   rows * columns);
}

/// Elements from the first to one past the last that a tensor reaches.
template <AnyTensor Matrix>
TILEWRIGHT_HOST_DEVICE constexpr int64_t cosize(const Matrix& t) {
  if (t.rows() <= 0 || t.columns() <= 0 || t.batches() <= 0) return 0;
  return (t.rows() - 1) * t.row_stride() + (t.columns() - 1) * t.column_stride() +
         (t.batches() - 1) * t.batch_stride() + 1;
}

/// One matrix of a batch.
template <class T, arrangement Arrangement, int64_t StaticLd>
TILEWRIGHT_HOST_DEVICE constexpr auto get_batch(const Tensor<T, Arrangement, 3, StaticLd>& t, int64_t batch) {
  return Tensor<T, Arrangement, 2, StaticLd>(t.data() + batch * t.batch_stride(), t.rows(), t.columns(),
                                             t.leading_dimension());
}

/// The tile at (row, column), counted in tiles. What lies outside the matrix is not part of the view.
template <class T, arrangement Arrangement, int64_t StaticLd, int M, int N>
TILEWRIGHT_HOST_DEVICE constexpr auto get_tile(const Tensor<T, Arrangement, 2, StaticLd>& t, Shape<M, N>,
                                               int64_t row, int64_t column) {
  return TileView<T, M, N, Arrangement == col_major, Arrangement == row_major>(
      t.data() + row * M * t.row_stride() + column * N * t.column_stride(), detail::clipped(t.rows(), row, M),
      detail::clipped(t.columns(), column, N), t.row_stride(), t.column_stride());
}
/// The same of one matrix of a batch.
template <class T, arrangement Arrangement, int64_t StaticLd, int M, int N>
TILEWRIGHT_HOST_DEVICE constexpr auto get_tile(const Tensor<T, Arrangement, 3, StaticLd>& t,
                                               Shape<M, N> shape, int64_t row, int64_t column,
                                               int64_t batch) {
  return get_tile(get_batch(t, batch), shape, row, column);
}
/// The same of an mdspan, whatever its strides.
template <MdspanLike Span, int M, int N>
TILEWRIGHT_HOST_DEVICE constexpr auto get_tile(const Span& t, Shape<M, N>, int64_t row, int64_t column) {
  static_assert(Span::rank() == 2, "get_tile of an mdspan takes a matrix");
  const auto row_stride = static_cast<int64_t>(t.stride(0)),
             column_stride = static_cast<int64_t>(t.stride(1));
  using T = std::remove_pointer_t<std::remove_cvref_t<decltype(t.data_handle())>>;
  return TileView<T, M, N, false, false>(t.data_handle() + row * M * row_stride + column * N * column_stride,
                                         detail::clipped(static_cast<int64_t>(t.extent(0)), row, M),
                                         detail::clipped(static_cast<int64_t>(t.extent(1)), column, N),
                                         row_stride, column_stride);
}

}  // namespace tilewright::blas
