#include "tests/kernels/wgmma_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "tilewright/emulator/tensor_core.h"

namespace tilewright::testing {
namespace {

constexpr int64_t kRows = 64, kColumns = 64, kBytes = 32;  // of one MMA, as it is modelled here

emulator::MmaType mma_type(DType type) {
  using emulator::MmaType;
  switch (type) {
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

}  // namespace

std::vector<double> wgmma_sums(const Problem& p, const MatrixView& a, const MatrixView& b) {
  if (p.a.type == DType::f64) return fma_sums(p, a, b);
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

}  // namespace tilewright::testing
