#include "bench_reference.h"

#include <algorithm>
#include <cmath>

namespace tilewright::cli {
namespace {

constexpr int64_t kRows = 32;

MatrixView view(const void* data, DType type, Layout layout, int64_t rows, int64_t columns) {
  const bool row = layout == Layout::row_major;
  return {data, type, row ? columns : 1, row ? 1 : rows, 0};
}

MatrixView transposed(const MatrixView& v) {
  return {v.data, v.type, v.column_stride, v.row_stride, v.batch_stride};
}

}  // namespace

Expected<SampledReference> SampledReference::make(const Problem& p, const void* a, const void* b,
                                                  const ScaleView& a_scales, const ScaleView& b_scales) {
  SampledReference out;
  out.problem_ = p;
  out.step_ = std::max<int64_t>(1, p.m / kRows);
  out.rows_ = p.m / out.step_;
  // D^T = B^T A^T: the reference works on blocks of its rows side by side, and here the columns are many.
  ReferenceGemm gemm;
  gemm.m = p.n;
  gemm.n = out.rows_;
  gemm.k = p.k;
  gemm.a = transposed(view(b, p.b.type, p.b.layout, p.k, p.n));
  gemm.b = transposed(view(a, p.a.type, p.a.layout, p.m, p.k));
  gemm.b.column_stride *= out.step_;
  gemm.a_scales = b_scales;
  gemm.b_scales = a_scales;  // one for each row
  gemm.b_scales.line_stride *= out.step_;
  out.values_.resize(static_cast<size_t>(p.n * out.rows_));
  if (Status s = reference_gemm(gemm, out.values_.data(), nullptr)) return *s;
  return out;
}

double SampledReference::error_of(const std::vector<float>& d) const {
  const MatrixView at = view(d.data(), DType::f32, problem_.d.layout, problem_.m, problem_.n);
  double error = 0, norm = 0;
  for (int64_t column = 0; column < problem_.n; ++column)
    for (int64_t row = 0; row < rows_; ++row) {
      const double want = values_[static_cast<size_t>(column * rows_ + row)];
      const double got = d[static_cast<size_t>(at.index(0, row * step_, column))];
      error += (got - want) * (got - want);
      norm += want * want;
    }
  return norm > 0 ? std::sqrt(error / norm) : std::sqrt(error);
}

}  // namespace tilewright::cli
