#include <algorithm>
#include <cmath>
#include <string>

#include "src/block_scale_quantise.h"
#include "tilewright/detail/parallel.h"
#include "tilewright/layout/scale_tensor.h"
#include "tilewright/numeric/element.h"

namespace tilewright {
namespace {

constexpr int64_t kRowsOfWork = 32;  // even: with whole bytes in a row, no two blocks share a byte

Status check_multiple(BlockFormat format, int64_t multiple) {
  const int vector = scale_vector(format);
  if (multiple > 0 && multiple % vector == 0) return std::nullopt;
  const int64_t nearest = std::max<int64_t>(1, (multiple + vector - 1) / vector) * vector;
  return Error{ErrorCode::invalid_argument, "block_scaled.k_multiple",
               "K cannot be padded to a multiple of " + std::to_string(multiple) + ": " + name_of(format) +
                   " has a scale for every " + std::to_string(vector) +
                   " elements; the nearest legal multiple is " + std::to_string(nearest)};
}

uint8_t zero_block_code(BlockFormat format) {
  return with_format(format, [](auto f) { return zero_block_scale<typename BlockTraits<f>::Scale>().bits; });
}

// The largest finite magnitude.
float finite_amax(const QuantiseSource& source) {
  float greatest = 0;
  for (int64_t batch = 0; batch < source.batches; ++batch) {
    for (int64_t row = 0; row < source.rows; ++row) {
      const int64_t first = batch * source.batch_stride + row * source.row_stride;
      for (int64_t column = 0; column < source.k; ++column) {
        const double magnitude = std::fabs(load_element(source.data, source.type, first + column));
        if (std::isfinite(magnitude)) greatest = std::max(greatest, static_cast<float>(magnitude));
      }
    }
  }
  return greatest;
}

template <BlockFormat kFormat>
void quantise_row(const QuantiseSource& source, int64_t batch, int64_t row, BlockScaledTensor& out) {
  using Traits = BlockTraits<kFormat>;
  const int64_t from = batch * source.batch_stride + row * source.row_stride;
  uint8_t* elements = out.elements.data() + (batch * out.rows + row) * out.row_bytes();
  for (int64_t first = 0; first < out.k; first += Traits::vector) {
    const int count = static_cast<int>(std::min<int64_t>(Traits::vector, out.k - first));
    std::array<float, Traits::vector> values{};
    for (int i = 0; i < count; ++i) {
      values[static_cast<size_t>(i)] =
          static_cast<float>(load_element(source.data, source.type, from + first + i));
    }
    const auto scale = block_scale<kFormat>(block_amax(values.data(), count), out.tensor_scale);
    const ScalePlace place{batch, row, first / Traits::vector};
    out.scales[static_cast<size_t>(scale_offset<ScaleLayout::linear>(out.scale_shape(), place))] = scale.bits;
    for (int i = 0; i < count; ++i) {
      const auto element = quantise_element<kFormat>(values[static_cast<size_t>(i)], scale, out.tensor_scale);
      if constexpr (is_fp4(kFormat)) store_e2m1(elements, first + i, element);
      if constexpr (!is_fp4(kFormat)) elements[first + i] = element.bits;
    }
  }
}

}  // namespace

Status check_quantise(const QuantiseSource& source, BlockFormat format, bool tensor_scale) {
  if (source.type != DType::f32 && source.type != DType::f16 && source.type != DType::bf16) {
    return Error{ErrorCode::not_supported, "quantise.source_type",
                 std::string("cannot quantise ") + name_of(source.type) + "; the source is f32, f16 or bf16"};
  }
  if (tensor_scale && format != BlockFormat::nvfp4) {
    return Error{ErrorCode::invalid_argument, "quantise.tensor_scale",
                 std::string(name_of(format)) + " has no scale of the tensor; only nvfp4 has"};
  }
  if (source.rows > 1 && source.row_stride < std::max<int64_t>(source.k, 0)) {
    return Error{ErrorCode::invalid_argument, "quantise.stride",
                 "rows of " + std::to_string(source.k) + " elements are " +
                     std::to_string(source.row_stride) + " apart; the least is " +
                     std::to_string(std::max<int64_t>(source.k, 0))};
  }
  if (source.batches > 1 && source.batch_stride < 0) {
    return Error{ErrorCode::invalid_argument, "quantise.stride",
                 "batches are " + std::to_string(source.batch_stride) +
                     " elements apart; the least is 0, one matrix for all"};
  }
  return std::nullopt;
}

double BlockScaledTensor::value(int64_t batch, int64_t row, int64_t column) const {
  const int64_t index = (batch * rows + row) * padded_k + column;
  const double element = load_element(elements.data(), element_type(format), index);
  return element * scale(batch, row, column) * static_cast<double>(tensor_scale);
}

double BlockScaledTensor::scale(int64_t batch, int64_t row, int64_t column) const {
  const ScalePlace place{batch, row, column / scale_vector(format)};
  return load_element(scales.data(), scale_type(format),
                      scale_offset<ScaleLayout::linear>(scale_shape(), place));
}

Expected<BlockScaledTensor> make_block_scaled(BlockFormat format, int64_t rows, int64_t k, int64_t batches,
                                              int64_t k_multiple) {
  if (Status error = check_multiple(format, k_multiple)) return *error;
  if (rows < 0 || k < 0 || batches < 0) {
    return Error{ErrorCode::invalid_argument, "block_scaled.extent",
                 std::to_string(rows) + " rows x " + std::to_string(k) + ", " + std::to_string(batches) +
                     " batches: none may be negative"};
  }
  BlockScaledTensor out{.format = format,
                        .rows = rows,
                        .k = k,
                        .padded_k = (k + k_multiple - 1) / k_multiple * k_multiple,
                        .batches = batches,
                        .elements = {},
                        .scales = {}};
  out.elements.assign(static_cast<size_t>(batches * rows * out.row_bytes()), 0);
  out.scales.assign(static_cast<size_t>(scale_bytes<ScaleLayout::linear>(out.scale_shape())),
                    zero_block_code(format));
  return out;
}

Expected<BlockScaledTensor> quantise(const QuantiseSource& source, BlockFormat format,
                                     const QuantiseOptions& options) {
  if (Status error = check_quantise(source, format, options.tensor_scale)) return *error;
  auto made = make_block_scaled(format, source.rows, source.k, source.batches, options.k_multiple);
  if (!made) return made;
  BlockScaledTensor& out = *made;
  if (options.tensor_scale) out.tensor_scale = tensor_scale_for(finite_amax(source));
  const int64_t blocks = (out.rows + kRowsOfWork - 1) / kRowsOfWork;
  for (int64_t batch = 0; batch < out.batches; ++batch) {
    const auto work = [&](int block) {
      const int64_t first = block * kRowsOfWork, last = std::min(first + kRowsOfWork, out.rows);
      with_format(format, [&](auto f) {
        for (int64_t row = first; row < last; ++row) quantise_row<f>(source, batch, row, out);
      });
    };
    detail::parallel_blocks(static_cast<int>(blocks), options.threads, work, {});
  }
  return made;
}

std::vector<double> dequantise(const BlockScaledTensor& tensor) {
  std::vector<double> values;
  values.reserve(static_cast<size_t>(tensor.batches * tensor.rows * tensor.k));
  for (int64_t batch = 0; batch < tensor.batches; ++batch) {
    for (int64_t row = 0; row < tensor.rows; ++row) {
      for (int64_t column = 0; column < tensor.k; ++column) {
        values.push_back(tensor.value(batch, row, column));
      }
    }
  }
  return values;
}

std::vector<uint8_t> packed_scale_bytes(const BlockScaledTensor& tensor, uint8_t padding) {
  return with_format(tensor.format, [&](auto f) {
    using Scale = typename BlockTraits<f>::Scale;
    const ScaleShape shape = tensor.scale_shape();
    std::vector<uint8_t> bytes(static_cast<size_t>(scale_bytes<ScaleLayout::packed>(shape)));
    const auto packed = PackedScales<Scale>::make(reinterpret_cast<Scale*>(bytes.data()),
                                                  static_cast<int64_t>(bytes.size()), shape);
    const auto linear = tensor.linear_scales<Scale>();
    // Shapes are the same and buffers have their sizes.
    if (packed && linear) (void)pack_scales<Scale>(*linear, *packed, Scale::from_bits(padding));
    return bytes;
  });
}

std::vector<uint8_t> packed_scale_bytes(const BlockScaledTensor& tensor) {
  return packed_scale_bytes(tensor, zero_block_code(tensor.format));
}

Expected<std::vector<e8m0>> exact_e8m0_scales(const float* scales, int64_t count) {
  std::vector<e8m0> codes;
  for (int64_t i = 0; i < count; ++i) {
    const e8m0 below = e8m0::round_down(scales[i]), above = e8m0::round_up(scales[i]);
    if (!(static_cast<float>(below) == scales[i])) {
      return Error{ErrorCode::invalid_argument, "scales.power_of_two",
                   "scale " + std::to_string(i) + " is " + std::to_string(scales[i]) +
                       ", and e8m0 scales are powers of two; its neighbours are " +
                       std::to_string(static_cast<float>(below)) + " and " +
                       std::to_string(static_cast<float>(above)) +
                       ". Quantise the matrix again with such scales"};
    }
    codes.push_back(below);
  }
  return codes;
}

}  // namespace tilewright
