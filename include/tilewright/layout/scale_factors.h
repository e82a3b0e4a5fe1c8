// Where the scale of a block of elements lies. Scales carry their layout in their type, so that a kernel
// never takes bytes of which it would have to guess the order.
//
// A matrix of `rows` rows with a scale for every `vector` elements along K has rows x columns scales,
// columns = ceil(K / vector). Two layouts:
//   linear   [batch][row][column], dense
//   packed   blocks of 128 rows x 4 columns in 512 bytes, as tcgen05.cp wants them (PTX ISA, "Scale Factor
//            Layouts"): the scale of row r and column c of a block is byte 16 (r mod 32) + 4 (r / 32) + c.
//            Blocks lie column by column, then row of blocks by row of blocks. Rows are padded to 128,
//            columns to 4, and every batch starts its own row of blocks.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

#include "tilewright/config.h"
#include "tilewright/error.h"
#include "tilewright/numeric/block_format.h"

namespace tilewright {

/// The layouts that stand at the top of this file.
enum class ScaleLayout : uint8_t { linear, packed };

/// A block of the packed layout.
inline constexpr int64_t scale_block_rows = 128;
inline constexpr int64_t scale_block_columns = 4;
inline constexpr int64_t scale_block_bytes = scale_block_rows * scale_block_columns;

/// How many scales there are, without padding.
struct ScaleShape {
  int64_t rows = 0, columns = 0, batches = 1;

  friend constexpr bool operator==(const ScaleShape&, const ScaleShape&) = default;
};

/// The place of a scale.
struct ScalePlace {
  int64_t batch = 0, row = 0, column = 0;

  friend constexpr bool operator==(const ScalePlace&, const ScalePlace&) = default;
};

/// Blocks that cover `rows` rows.
TILEWRIGHT_HOST_DEVICE constexpr int64_t scale_row_blocks(int64_t rows) {
  return (rows + scale_block_rows - 1) / scale_block_rows;
}
/// Blocks that cover `columns` columns.
TILEWRIGHT_HOST_DEVICE constexpr int64_t scale_column_blocks(int64_t columns) {
  return (columns + scale_block_columns - 1) / scale_block_columns;
}

/// Byte of a packed block that holds the scale of row 0..127 and column 0..3.
TILEWRIGHT_HOST_DEVICE constexpr int64_t offset_in_scale_block(int64_t row, int64_t column) {
  return row % 32 * 16 + row / 32 * 4 + column;
}

/// Bytes of all batches, padding included.
template <ScaleLayout kLayout>
TILEWRIGHT_HOST_DEVICE constexpr int64_t scale_bytes(const ScaleShape& shape) {
  if constexpr (kLayout == ScaleLayout::linear) return shape.batches * shape.rows * shape.columns;
  return shape.batches * scale_row_blocks(shape.rows) * scale_column_blocks(shape.columns) *
         scale_block_bytes;
}

/// Byte of the buffer that holds a scale. `place` lies inside the shape, or inside its padding (packed only).
template <ScaleLayout kLayout>
TILEWRIGHT_HOST_DEVICE constexpr int64_t scale_offset(const ScaleShape& shape, const ScalePlace& place) {
  if constexpr (kLayout == ScaleLayout::linear) {
    return (place.batch * shape.rows + place.row) * shape.columns + place.column;
  }
  const int64_t block_row = place.batch * scale_row_blocks(shape.rows) + place.row / scale_block_rows;
  const int64_t block = block_row * scale_column_blocks(shape.columns) + place.column / scale_block_columns;
  return block * scale_block_bytes +
         offset_in_scale_block(place.row % scale_block_rows, place.column % scale_block_columns);
}

/// The inverse of scale_offset<packed>: row >= shape.rows or column >= shape.columns in the padding.
TILEWRIGHT_HOST_DEVICE constexpr ScalePlace packed_scale_place(const ScaleShape& shape, int64_t offset) {
  const int64_t block = offset / scale_block_bytes, byte = offset % scale_block_bytes;
  const int64_t block_row = block / scale_column_blocks(shape.columns);
  const int64_t block_column = block % scale_column_blocks(shape.columns);
  const int64_t row_blocks = scale_row_blocks(shape.rows);
  return {block_row / row_blocks, block_row % row_blocks * scale_block_rows + byte % 16 / 4 * 32 + byte / 16,
          block_column * scale_block_columns + byte % 4};
}

template <class T>
inline constexpr bool is_scale_type =
    std::is_same_v<std::remove_const_t<T>, e8m0> || std::is_same_v<std::remove_const_t<T>, e4m3>;

/// Scales in memory of someone else. T: e8m0 or e4m3, or const of them. There is no way from one layout to
/// the other but pack_scales and unpack_scales. `at` works on the host and, for device memory, in a kernel.
template <class T, ScaleLayout kLayout>
class ScaleFactors {
  static_assert(is_scale_type<T>, "scales are e8m0 or e4m3");

 public:
  using value_type = std::remove_const_t<T>;
  static constexpr ScaleLayout layout = kLayout;

  /// No scales.
  ScaleFactors() = default;

  /// `bytes`: the size of the buffer at `data`. Errors: an extent below 0 or of 2^31 or more; a buffer
  /// smaller than the shape with its padding.
  static Expected<ScaleFactors> make(T* data, int64_t bytes, const ScaleShape& shape) {
    constexpr int64_t kLimit = int64_t{1} << 31;
    for (const int64_t extent : {shape.rows, shape.columns, shape.batches}) {
      if (extent >= 0 && extent < kLimit) continue;
      return Error{ErrorCode::invalid_argument, "scales.extent",
                   describe(shape) + ": no extent may be negative, or above " + std::to_string(kLimit - 1)};
    }
    // The bytes of all batches may not fit in 64 bits.
    const int64_t batch_bytes = scale_bytes<kLayout>({shape.rows, shape.columns, 1});
    if (bytes < 0 || (batch_bytes > 0 && shape.batches > bytes / batch_bytes)) {
      return Error{ErrorCode::invalid_argument, "scales.buffer_size",
                   describe(shape) + " take " + std::to_string(batch_bytes) +
                       " bytes each, with their padding; the buffer has " + std::to_string(bytes)};
    }
    return ScaleFactors(data, shape);
  }

  /// Scales that may be written are scales that may be read.
  template <class Readable>
  requires(!std::is_const_v<T> && std::is_same_v<Readable, const T>)
  operator ScaleFactors<Readable, kLayout>() const {
    return *ScaleFactors<Readable, kLayout>::make(data_, scale_bytes<kLayout>(shape_), shape_);
  }

  TILEWRIGHT_HOST_DEVICE T* data() const { return data_; }
  TILEWRIGHT_HOST_DEVICE const ScaleShape& shape() const { return shape_; }
  TILEWRIGHT_HOST_DEVICE T& at(const ScalePlace& place) const {
    return data_[scale_offset<kLayout>(shape_, place)];
  }

 private:
  ScaleFactors(T* data, const ScaleShape& shape) : data_(data), shape_(shape) {}

  static std::string describe(const ScaleShape& shape) {
    return std::string(kLayout == ScaleLayout::packed ? "packed" : "linear") + " scales of " +
           std::to_string(shape.rows) + " rows x " + std::to_string(shape.columns) + " columns, " +
           std::to_string(shape.batches) + " batches";
  }

  T* data_ = nullptr;
  ScaleShape shape_;
};

template <class T>
using LinearScales = ScaleFactors<T, ScaleLayout::linear>;
template <class T>
using PackedScales = ScaleFactors<T, ScaleLayout::packed>;

/// The codes of packed scales, in the parameters of a kernel that is told their type besides: a pointer to
/// someone else's memory, as ScaleFactors is. Byte: uint8_t or const uint8_t.
template <class Byte>
class PackedScaleCodes {
  static_assert(std::is_same_v<std::remove_const_t<Byte>, uint8_t>);

 public:
  /// No scales.
  PackedScaleCodes() = default;
  /// The codes of `scales`, which must outlive this one's use: memory of the machine that runs the kernel.
  template <class T>
  requires(std::is_const_v<Byte> || !std::is_const_v<T>) PackedScaleCodes(const PackedScales<T>& scales)
      : data_(reinterpret_cast<Byte*>(scales.data())) {}
  // Compilers print this line where one is used.
  template <class T>
  PackedScaleCodes(const LinearScales<T>&) = delete;  // kernels take packed scales: pack_scales

  /// The first code; null when there are none.
  TILEWRIGHT_HOST_DEVICE Byte* data() const { return data_; }

 private:
  Byte* data_ = nullptr;
};

/// Scales as a kernel takes them: packed, of one of the two types.
using PackedBlockScales = std::variant<PackedScales<const e8m0>, PackedScales<const e4m3>>;

namespace detail {

inline Status same_shape(const ScaleShape& from, const ScaleShape& to) {
  if (from == to) return std::nullopt;
  return Error{ErrorCode::invalid_argument, "scales.same_shape",
               "scales of " + std::to_string(from.batches) + " x " + std::to_string(from.rows) + " x " +
                   std::to_string(from.columns) + " do not fit " + std::to_string(to.batches) + " x " +
                   std::to_string(to.rows) + " x " + std::to_string(to.columns)};
}

}  // namespace detail

/// Linear to packed, host memory. The padding gets `padding`. Error: different shapes.
template <class T>
Status pack_scales(LinearScales<const T> from, PackedScales<T> to,
                   std::type_identity_t<T> padding = zero_block_scale<T>()) {
  const ScaleShape& shape = from.shape();
  if (Status error = detail::same_shape(shape, to.shape())) return error;
  for (int64_t offset = 0; offset < scale_bytes<ScaleLayout::packed>(shape); ++offset) {
    const ScalePlace place = packed_scale_place(shape, offset);
    const bool inside = place.row < shape.rows && place.column < shape.columns;
    to.data()[offset] = inside ? from.at(place) : padding;
  }
  return std::nullopt;
}

/// Packed to linear, host memory; padding is not looked at. Error: different shapes.
template <class T>
Status unpack_scales(PackedScales<const T> from, LinearScales<T> to) {
  const ScaleShape& shape = from.shape();
  if (Status error = detail::same_shape(shape, to.shape())) return error;
  for (int64_t batch = 0; batch < shape.batches; ++batch) {
    for (int64_t row = 0; row < shape.rows; ++row) {
      for (int64_t column = 0; column < shape.columns; ++column) {
        to.at({batch, row, column}) = from.at({batch, row, column});
      }
    }
  }
  return std::nullopt;
}

}  // namespace tilewright
