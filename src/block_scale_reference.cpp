#include "src/block_scale_reference.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "tilewright/numeric/element.h"

namespace tilewright {
namespace {

Status check_operands(const BlockScaledTensor& a, const BlockScaledTensor& b) {
  if (a.k != b.k || a.batches != b.batches) {
    return Error{ErrorCode::invalid_argument, "reference.operands",
                 "A has K = " + std::to_string(a.k) + " in " + std::to_string(a.batches) +
                     " batches, B K = " + std::to_string(b.k) + " in " + std::to_string(b.batches)};
  }
  if (scale_vector(a.format) != scale_vector(b.format)) {
    return Error{ErrorCode::invalid_argument, "reference.scale_vector",
                 std::string("A is ") + name_of(a.format) + " and B " + name_of(b.format) +
                     ": their scales belong to different numbers of elements"};
  }
  return std::nullopt;
}

// |x~| of every element, [batch][row][k].
std::vector<double> magnitudes(const BlockScaledTensor& tensor, bool packed) {
  std::vector<double> result;
  result.reserve(static_cast<size_t>(tensor.batches * tensor.rows * tensor.k));
  for (int64_t batch = 0; batch < tensor.batches; ++batch)
    for (int64_t row = 0; row < tensor.rows; ++row)
      for (int64_t column = 0; column < tensor.k; ++column)
        result.push_back(block_scaled_magnitude(tensor, batch, row, column, packed));
  return result;
}

MatrixView rows_of(const std::vector<double>& values, const BlockScaledTensor& tensor) {
  return {values.data(), DType::f64, tensor.k, 1, tensor.rows * tensor.k};
}

MatrixView columns_of(const std::vector<double>& values, const BlockScaledTensor& tensor) {
  return {values.data(), DType::f64, 1, tensor.k, tensor.rows * tensor.k};
}

}  // namespace

double block_scaled_magnitude(const BlockScaledTensor& tensor, int64_t batch, int64_t row, int64_t column,
                              bool packed) {
  const double least = with_type(element_type(tensor.format), [](auto t) {
    using T = decltype(t);
    if constexpr (std::is_same_v<T, e2m1> || std::is_same_v<T, e4m3> || std::is_same_v<T, e5m2>) {
      return static_cast<double>(NumericTraits<T>::min_normal);
    }
    return 0.0;
  });
  const double least_scale = scale_type(tensor.format) == DType::e4m3 ? NumericTraits<e4m3>::min_normal : 0.0;
  const double scale =
      std::max(least_scale, tensor.scale(batch, row, column)) * static_cast<double>(tensor.tensor_scale);
  const double value = std::fabs(tensor.value(batch, row, column));
  return value == 0 && !packed ? 0x1p-126 * scale : std::max(value, least * scale);
}

Expected<BlockScaledReference> reference_block_scaled(const BlockScaledTensor& a, const BlockScaledTensor& b,
                                                      const MatrixView& c, double alpha, double beta) {
  if (Status error = check_operands(a, b)) return *error;
  BlockScaledReference out;
  out.a = dequantise(a);
  out.b = dequantise(b);
  out.gemm = {.m = a.rows,
              .n = b.rows,
              .k = a.k,
              .batches = a.batches,
              .a = rows_of(out.a, a),
              .b = columns_of(out.b, b),
              .c = c,
              .alpha = alpha,
              .beta = beta};
  out.d.resize(static_cast<size_t>(a.batches * a.rows * b.rows));
  out.abs_sum.resize(out.d.size());
  if (Status error = reference_gemm(out.gemm, out.d.data(), nullptr)) return *error;

  const bool packed = is_fp4(a.format) && is_fp4(b.format);
  const auto a_magnitude = magnitudes(a, packed), b_magnitude = magnitudes(b, packed);
  ReferenceGemm sums = out.gemm;
  sums.a = rows_of(a_magnitude, a);
  sums.b = columns_of(b_magnitude, b);
  sums.alpha = 1;
  sums.beta = 0;
  if (Status error = reference_gemm(sums, out.abs_sum.data(), nullptr)) return *error;
  out.bound = block_scaled_bound(a.format, b.format, a.k);
  return out;
}

AccumulationBound block_scaled_bound(BlockFormat a, BlockFormat b, int64_t k) {
  const bool packed = is_fp4(a) && is_fp4(b);
  const double steps = std::ceil(static_cast<double>(k) / (packed ? 64 : 32));
  const double loss_of_step = (packed ? 1.01 : 9.0) * 0x1p-23;
  // The FP64 reference rounds products and sums.
  const double reference = static_cast<double>(k + 1) * 0x1p-52;
  return {.relative = std::min(1.0, steps * loss_of_step) + reference,
          .absolute = 0x1p-133 * std::max(1.0, steps),
          .largest = 0x1.fffffep127};
}

}  // namespace tilewright
