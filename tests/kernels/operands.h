// The operands of a GEMM case in host memory.
#pragma once

#include <cstdint>
#include <vector>

#include "src/model.h"
#include "tests/kernels/gemm_case.h"

namespace tilewright::testing {

/// A batch of matrices with all strides resolved, in elements.
struct OperandShape {
  DType type{};
  int64_t rows = 0, columns = 0, batches = 0;
  int64_t row_stride = 0, column_stride = 0, batch_stride = 0;

  int64_t index(int64_t batch, int64_t row, int64_t column) const {
    return batch * batch_stride + row * row_stride + column * column_stride;
  }
  /// From the first element to the last.
  int64_t bytes() const;
};
OperandShape shape_of(const Operand& operand, int64_t rows, int64_t columns, int64_t batches);

struct HostOperand {
  OperandShape shape;
  std::vector<uint8_t> bytes;

  MatrixView view() const {
    return {bytes.data(), shape.type, shape.row_stride, shape.column_stride, shape.batch_stride};
  }
};

/// The FP32 scales of A or B with all strides resolved; nothing but for problems that have them.
struct HostScales {
  int64_t lines = 0, k_blocks = 0, batches = 0;
  int64_t line_stride = 0, k_stride = 0, batch_stride = 0;
  std::vector<uint8_t> bytes{};

  bool present() const { return lines != 0; }
  int64_t index(int64_t batch, int64_t line, int64_t block) const {
    return batch * batch_stride + line * line_stride + block * k_stride;
  }
  const float* data() const { return reinterpret_cast<const float*>(bytes.data()); }
  float at(int64_t batch, int64_t line, int64_t block) const { return data()[index(batch, line, block)]; }
  /// The largest magnitude, at least 1.
  double greatest() const;
};

/// What a case reads and writes. The bytes of D and aux are their contents before a run, but for the pattern.
struct HostOperands {
  HostOperand a, b, c, d;
  HostOperand bias;  // rows: its elements, one column; nothing without a bias
  HostOperand aux;   // nothing without one
  HostScales a_scales, b_scales;
};
HostOperands make_operands(const GemmCase& c);

/// The factors of the epilogue as kernels compute them.
Factors factors_of(const GemmCase& c);

}  // namespace tilewright::testing
