#include "src/model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "tilewright/emulator/tensor_core.h"
#include "tilewright/numeric/activation.h"
#include "tilewright/numeric/element.h"

namespace tilewright {
namespace {

constexpr int64_t kRows = 64, kColumns = 64, kBytes = 32;  // of one MMA, as it is modelled here

emulator::MmaType mma_type(DType type) {
  using emulator::MmaType;
  switch (type) {
    case DType::e4m3:
      return MmaType::e4m3;
    case DType::e5m2:
      return MmaType::e5m2;
    case DType::f16:
      return MmaType::f16;
    case DType::bf16:
      return MmaType::bf16;
    case DType::tf32:
      return MmaType::tf32;
    case DType::u8:
      return MmaType::u8;
    default:
      return MmaType::s8;
  }
}

/// An operand as rows of K: its strides are those of rows and of K.
struct Rows {
  const MatrixView& view;
  int64_t row_stride, k_stride, rows, k;

  /// 32 bytes of K of each of `count` rows; zeros outside of the matrix.
  void gather(int64_t batch, int64_t row, int64_t count, int64_t first, uint8_t* out) const {
    const int64_t size = bits_of(view.type) / 8, depth = std::min(kBytes / size, k - first);
    std::memset(out, 0, static_cast<size_t>(count * kBytes));
    for (int64_t r = 0; r < std::min(count, rows - row); ++r)
      for (int64_t i = 0; i < depth; ++i) {
        const int64_t index = batch * view.batch_stride + (row + r) * row_stride + (first + i) * k_stride;
        std::memcpy(out + r * kBytes + i * size, static_cast<const uint8_t*>(view.data) + index * size,
                    static_cast<size_t>(size));
      }
  }
};

double value_of(uint32_t word, bool integer) {
  if (integer) return static_cast<int32_t>(word);
  float value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

/// FP64: a chain of fused multiply-adds.
std::vector<double> fma_sums(const Problem& p, const MatrixView& a, const MatrixView& b) {
  std::vector<double> out;
  const auto value = [](const MatrixView& v, int64_t index) {
    return static_cast<const double*>(v.data)[index];
  };
  for (int64_t batch = 0; batch < p.l; ++batch)
    for (int64_t row = 0; row < p.m; ++row)
      for (int64_t column = 0; column < p.n; ++column) {
        double sum = 0;
        for (int64_t k = 0; k < p.k; ++k)
          sum = std::fma(value(a, a.index(batch, row, k)), value(b, b.index(batch, k, column)), sum);
        out.push_back(sum);
      }
  return out;
}

/// One chain of MMAs along K.
std::vector<double> wgmma_sums(const Problem& p, const MatrixView& a, const MatrixView& b) {
  const bool integer = is_integer(p.a.type);
  const Rows rows_a{a, a.row_stride, a.column_stride, p.m, p.k};
  const Rows rows_b{b, b.column_stride, b.row_stride, p.n, p.k};
  const emulator::WgmmaInstruction mma{
      static_cast<int>(kColumns), mma_type(p.a.type), mma_type(p.b.type),
      integer ? emulator::AccumulatorType::s32 : emulator::AccumulatorType::f32};
  std::array<uint8_t, kRows * kBytes> a_bytes;
  std::array<uint8_t, kColumns * kBytes> b_bytes;
  std::array<uint32_t, kRows * kColumns> sums;
  std::vector<double> out(static_cast<size_t>(p.l * p.m * p.n));
  const int64_t step = kBytes * 8 / bits_of(p.a.type);
  for (int64_t batch = 0; batch < p.l; ++batch)
    for (int64_t row = 0; row < p.m; row += kRows)
      for (int64_t column = 0; column < p.n; column += kColumns) {
        sums.fill(0);
        for (int64_t k = 0; k < p.k; k += step) {
          rows_a.gather(batch, row, kRows, k, a_bytes.data());
          rows_b.gather(batch, column, kColumns, k, b_bytes.data());
          emulator::tensor_core_multiply(mma, a_bytes.data(), b_bytes.data(), sums.data(), k > 0);
        }
        for (int64_t r = 0; r < std::min(kRows, p.m - row); ++r)
          for (int64_t c = 0; c < std::min(kColumns, p.n - column); ++c)
            out[static_cast<size_t>((batch * p.m + row + r) * p.n + column + c)] =
                value_of(sums[static_cast<size_t>(r * kColumns + c)], integer);
      }
  return out;
}

emulator::ModelScales scales_at(const ScaleView& s, int64_t batch) {
  if (s.data == nullptr) return {};
  return {s.data + batch * s.batch_stride, s.line_stride, s.k_stride, s.lines};
}

std::vector<double> promoted_sums(const Problem& p, const ReferenceGemm& g) {
  emulator::ModelGemm model;
  model.a_type = mma_type(p.a.type);
  model.b_type = mma_type(p.b.type);
  model.m = p.m;
  model.n = p.n;
  model.k = p.k;
  model.lda = g.a.row_stride;
  model.ldb = g.b.column_stride;
  model.interval = p.interval;
  model.fast = p.accumulation == Accumulation::fast;
  model.threads = g.threads;
  std::vector<double> out;
  std::vector<float> sums(static_cast<size_t>(p.m * p.n));
  for (int64_t batch = 0; batch < p.l; ++batch) {
    model.a = static_cast<const uint8_t*>(g.a.data) + batch * g.a.batch_stride;
    model.b = static_cast<const uint8_t*>(g.b.data) + batch * g.b.batch_stride;
    if (p.scale_mode == ScaleMode::block_1x128_128x128) {
      model.a_scales = scales_at(g.a_scales, batch);
      model.b_scales = scales_at(g.b_scales, batch);
    }
    static_cast<void>(emulator::model_gemm_fp8(model, sums.data(), p.n));  // a problem's values are legal
    out.insert(out.end(), sums.begin(), sums.end());
  }
  return out;
}

}  // namespace

std::vector<double> model_sums(const Problem& p, const ReferenceGemm& g) {
  if (p.a.type == DType::f64) return fma_sums(p, g.a, g.b);
  return is_fp8(p.a.type) ? promoted_sums(p, g) : wgmma_sums(p, g.a, g.b);
}

float ModelEpilogue::scale_of(int64_t batch, int64_t row, int64_t column) const {
  if (problem.scale_mode != ScaleMode::per_row_column || factors.scale == 0) return factors.scale;
  const auto of_row = static_cast<float>(gemm.a_scales.at(batch, row, 0)),
             of_column = static_cast<float>(gemm.b_scales.at(batch, column, 0));
  return exchanged ? factors.scale * of_column * of_row : factors.scale * of_row * of_column;
}

// Before an activation.
double ModelEpilogue::value(double sum, int64_t batch, int64_t row, int64_t column) const {
  const double source =
      factors.reads_c() ? load_element(gemm.c.data, gemm.c.type, gemm.c.index(batch, row, column)) : 0.0;
  // One rounding for the product and one for the sum, in the arithmetic of the kernel's epilogue.
  const auto linear = [&](auto scale, auto beta) {
    using Type = decltype(scale);
    const Type product = scale * static_cast<Type>(sum);
    return static_cast<double>(factors.reads_c() ? std::fma(beta, static_cast<Type>(source), product)
                                                 : product);
  };
  const double value = is_integer(problem.a.type) || problem.a.type == DType::f64
                           ? linear(double{factors.scale}, double{factors.beta})
                           : linear(scale_of(batch, row, column), factors.beta);
  if (problem.epilogue.bias == BiasKind::none) return value;
  return static_cast<float>(value) + static_cast<float>(gemm.epilogue.bias_at(batch, row, column));
}

uint64_t ModelEpilogue::bits(double sum, int64_t batch, int64_t row, int64_t column, bool aux) const {
  double value = this->value(sum, batch, row, column);
  uint64_t bits = 0;
  if (aux) {
    store_element(&bits, problem.epilogue.aux->type, 0, value, false);
    return bits;
  }
  if (problem.epilogue.any()) {
    value = activate(problem.epilogue.activation, value);
    value = factors.after == 0 ? 0.0f : factors.after * static_cast<float>(value);
  }
  store_element(&bits, problem.d.type, 0, value, problem.saturate && bits_of(problem.d.type) == 8);
  return bits;
}

uint64_t element_bits(DType type, const void* data, int64_t index) {
  const int64_t size = bits_of(type) / 8;
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const uint8_t*>(data) + index * size, static_cast<size_t>(size));
  return bits;
}

bool same_element(DType type, uint64_t left, uint64_t right) {
  if (left == right) return true;
  return std::isnan(load_element(&left, type, 0)) && std::isnan(load_element(&right, type, 0));
}

}  // namespace tilewright
