#include "src/complex_reference.h"

#include <cstring>

namespace tilewright {
namespace {

/// Bytes of a part of an element.
int64_t part_bytes(DType type) { return bits_of(type) / 16; }

const uint8_t* element(const MatrixView& v, int64_t batch, int64_t i, int64_t j) {
  return static_cast<const uint8_t*>(v.data) + v.index(batch, i, j) * 2 * part_bytes(v.type);
}

MatrixView dense(DType type, int64_t rows, int64_t columns, const std::vector<uint8_t>& bytes) {
  return {bytes.data(), real_type_of(type), columns, 1, rows * columns};
}

/// Of a k x n matrix.
MatrixView doubled(const MatrixView& b, int64_t k, int64_t n, int64_t batches, std::vector<uint8_t>& bytes) {
  const auto part = static_cast<size_t>(part_bytes(b.type));
  const size_t row = 2 * static_cast<size_t>(n) * part;
  bytes.resize(static_cast<size_t>(2 * k * batches) * row);
  uint8_t* to = bytes.data();
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t i = 0; i < k; ++i, to += 2 * row)
      for (int64_t j = 0; j < n; ++j) {
        const uint8_t* const from = element(b, batch, i, j);
        uint8_t* const upper = to + static_cast<size_t>(2 * j) * part;
        uint8_t* const lower = upper + row;
        std::memcpy(upper, from, 2 * part);
        std::memcpy(lower, from + part, part);
        lower[part - 1] ^= 0x80;  // the sign
        std::memcpy(lower + part, from, part);
      }
  return dense(b.type, 2 * k, 2 * n, bytes);
}

}  // namespace

MatrixView real_parts(const MatrixView& complex, int64_t rows, int64_t columns, int64_t batches,
                      std::vector<uint8_t>& bytes) {
  const auto size = static_cast<size_t>(2 * part_bytes(complex.type));
  bytes.resize(static_cast<size_t>(rows * columns * batches) * size);
  uint8_t* to = bytes.data();
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j, to += size) std::memcpy(to, element(complex, batch, i, j), size);
  return dense(complex.type, rows, 2 * columns, bytes);
}

RealForm::RealForm(const ReferenceGemm& complex) : gemm(complex) {
  for (MatrixView* v : {&gemm.a, &gemm.b, &gemm.c}) v->type = real_type_of(v->type);  // read or not
  gemm.n = 2 * complex.n;
  gemm.k = 2 * complex.k;
  if (complex.alpha != 0 && complex.k != 0) {
    gemm.a = real_parts(complex.a, complex.m, complex.k, complex.batches, a);
    gemm.b = doubled(complex.b, complex.k, complex.n, complex.batches, b);
  }
  if (complex.beta != 0) gemm.c = real_parts(complex.c, complex.m, complex.n, complex.batches, c);
}

}  // namespace tilewright
