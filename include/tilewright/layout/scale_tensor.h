// Block-scaled matrices in host memory: made from floats, read back, and their scales handed out in the
// layout that a kernel asks for. The rule of quantisation stands in numeric/block_format.h.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewright/error.h"
#include "tilewright/layout/scale_factors.h"
#include "tilewright/numeric/block_format.h"

namespace tilewright {

/// K is padded to a multiple of this, by default: whole 128-byte rows and whole words of scales for every
/// format, so that every kernel takes the matrix.
inline constexpr int64_t block_scaled_k_multiple = 128;

/// `rows` rows of K elements, K contiguous: A, or B as N rows. The columns k..padded_k - 1 hold zeros;
/// blocks of nothing else have zero_block_scale.
struct BlockScaledTensor {
  BlockFormat format = BlockFormat::mxfp8;
  int64_t rows = 0, k = 0, padded_k = 0, batches = 1;
  std::vector<uint8_t> elements;  // [batch][row][padded_k]; e2m1 two to a byte, even index in the low nibble
  std::vector<uint8_t> scales;    // linear, of scale_shape()
  float tensor_scale = 1;         // a factor of every element

  ScaleShape scale_shape() const { return {rows, padded_k / scale_vector(format), batches}; }
  /// Bytes between rows.
  int64_t row_bytes() const { return bytes_of(element_type(format), padded_k); }
  /// The value of an element. Exact.
  double value(int64_t batch, int64_t row, int64_t column) const;
  /// The value of the scale of that element, without the tensor's.
  double scale(int64_t batch, int64_t row, int64_t column) const;

  /// The scales with their layout. T: BlockTraits<format>::Scale; any other is an error.
  template <class T>
  Expected<LinearScales<const T>> linear_scales() const {
    if (dtype_of<T> != scale_type(format)) {
      return Error{ErrorCode::invalid_argument, "scales.type",
                   std::string("the scales of ") + tilewright::name_of(format) + " are " +
                       tilewright::name_of(scale_type(format)) + ", not " + NumericTraits<T>::name};
    }
    return LinearScales<const T>::make(reinterpret_cast<const T*>(scales.data()),
                                       static_cast<int64_t>(scales.size()), scale_shape());
  }
};

/// A tensor without elements: zeros with zero_block_scale. `k_multiple`: as in QuantiseOptions. Errors: a
/// negative extent, an illegal multiple.
Expected<BlockScaledTensor> make_block_scaled(BlockFormat format, int64_t rows, int64_t k, int64_t batches,
                                              int64_t k_multiple = block_scaled_k_multiple);

/// Matrices to quantise: element (batch, i, j) is number batch * batch_stride + i * row_stride + j of the
/// array at `data`, of type f32, f16 or bf16. Rows do not overlap; batches may.
struct QuantiseSource {
  const void* data = nullptr;
  DType type = DType::f32;
  int64_t rows = 0, k = 0, batches = 1;
  int64_t row_stride = 0, batch_stride = 0;
};

struct QuantiseOptions {
  bool tensor_scale = false;  // nvfp4: use the scale tensor_scale_for(largest finite magnitude)
  int64_t k_multiple = block_scaled_k_multiple;  // what K is padded to: a multiple of the scale vector
  int threads = 0;                               // 0: one for each core
};

/// Errors: a source type, a stride or an extent that cannot be; a tensor scale for e8m0 scales; an illegal
/// k_multiple.
Expected<BlockScaledTensor> quantise(const QuantiseSource& source, BlockFormat format,
                                     const QuantiseOptions& options = {});

/// All values, [batch][row][k] without padding. Exact.
std::vector<double> dequantise(const BlockScaledTensor& tensor);

/// The scales in blocks of 128 x 4, padding included; scales of padding are `padding`, an arbitrary code.
std::vector<uint8_t> packed_scale_bytes(const BlockScaledTensor& tensor, uint8_t padding);
/// The same with zero_block_scale in the padding.
std::vector<uint8_t> packed_scale_bytes(const BlockScaledTensor& tensor);

/// FP32 scales as e8m0, for kernels whose scales are powers of two. Rounding them would change the matrix, so
/// anything but a power of two from 2^-127 to 2^127 is an error that names its place.
Expected<std::vector<e8m0>> exact_e8m0_scales(const float* scales, int64_t count);

}  // namespace tilewright
