// A Problem brought into the one form that kernels know: row-major D, K-major A and B, explicit strides.
#pragma once

#include <cstdint>
#include <string>

#include "tilewright/gemm.h"

namespace tilewright {

/// Strides in elements. Extents of one element have any stride, so theirs are 0.
struct Strides {
  int64_t row = 0, column = 0, batch = 0;

  friend bool operator==(const Strides&, const Strides&) = default;
};
inline Strides transposed(const Strides& s) { return {s.column, s.row, s.batch}; }

/// Of an operand, from 0 to 2^31 - 1.
struct Extents {
  int64_t rows, columns, batches;
  bool written = false;  // batches of an output do not share memory
};
/// The strides that an operand has, with the packed ones filled in. Errors: rules of strides and of the
/// operand's alignment.
Expected<Strides> strides_of(const char* name, const Operand& operand, const Extents& extents);

/// A or B of a kernel: `rows` rows of K elements in each batch. FP8: K is contiguous.
struct KernelOperand {
  char name = 'A';  // as the caller knows it
  DType type{};
  int64_t rows = 0, row_stride = 0, k_stride = 0, batch_stride = 0;
  int alignment = 1;
  // Bulk copies can address it, with K or the rows as the contiguous dimension.
  bool bulk_along_k = false, bulk_along_rows = false;
};

/// Why bulk copies cannot address an operand in the order that it has, and what they could.
struct BulkObstacle {
  std::string found, nearest;
};
BulkObstacle bulk_obstacle_of(const KernelOperand& operand);

/// Of the scales of A or B, in elements.
struct ScaleLines {
  int64_t line_stride = 0, k_stride = 0, batch_stride = 0;
};

/// EpilogueOps of D as the kernel computes it: a bias of rows of a column-major D is one of columns.
struct KernelEpilogue {
  bool any = false;
  BiasKind bias = BiasKind::none;
  DType bias_type = DType::f32;
  int64_t bias_batch_stride = 0;
  Activation activation = Activation::none;
  bool aux = false;
  DType aux_type = DType::f32;
  Strides aux_strides;  // columns are contiguous
  int aux_alignment = 1;
  bool amax = false;
  float scale_d = 1;  // only here: otherwise it is in `scale` and `beta`
};

/// Which planner and kernels a problem belongs to. Those with an epilogue have kernels of their own.
enum class Family : uint8_t {
  fp8,           // e4m3 and e5m2 on tensor cores, with promotion
  simt,          // f32 on the ordinary cores
  tensor,        // f16, bf16, tf32, s8, u8 and f64 on tensor cores; complex numbers
  block_scaled,  // mxfp8, mxfp4 and nvfp4 on tensor cores
};

struct KernelProblem {
  Family family = Family::fp8;
  bool exchanged = false;  // the caller's D is column-major: A and B, M and N have changed places
  ScaleMode scale_mode = ScaleMode::per_tensor;  // blocks: never exchanged
  ScaleLines a_scales, b_scales;                 // in the order that the kernel takes them
  int64_t m = 0, n = 0, k = 0, l = 0;
  KernelOperand a, b;
  DType c_type{}, d_type{};
  Strides c;  // but for f32 and block scales: columns are contiguous, as D's are
  Strides d;  // columns are contiguous, unless flipped, or a column-major one of block scales
  bool d_bulk = false;
  bool in_place_ok = false;  // C and D have the same type and strides
  int c_alignment = 1, d_alignment = 1;
  float scale = 0, beta = 0;  // host parts of the epilogue's factors
  bool reads_ab = false, reads_c = false, empty = false;
  KernelEpilogue epilogue;

  /// Of the caller's operands, the one that the kernel takes as its A, and B.
  const void* pointer_a(const Buffers& buffers) const { return exchanged ? buffers.b : buffers.a; }
  const void* pointer_b(const Buffers& buffers) const { return exchanged ? buffers.a : buffers.b; }
  const float* scales_a(const Buffers& b) const { return exchanged ? b.scale_b : b.scale_a; }
  const float* scales_b(const Buffers& b) const { return exchanged ? b.scale_a : b.scale_b; }

  /// The same with A and B, M and N exchanged: D^T = B^T A^T. Its D has contiguous rows.
  KernelProblem flipped() const;

  Shape2 to_kernel(Shape2 s) const { return exchanged ? Shape2{s.n, s.m} : s; }
  Shape2 to_caller(Shape2 s) const { return to_kernel(s); }
};

/// The factors of an epilogue as kernels compute them from host scalars: products are rounded once, to FP32,
/// and a zero wins over Inf and NaN.
struct Factors {
  float scale = 0, beta = 0;  // D = convert(scale * sum + beta * C), but for scales of rows and columns
  float after = 1;            // scale_d where bias or activation come before it: not in `scale` and `beta`

  bool reads_ab() const { return scale != 0; }
  bool reads_c() const { return beta != 0; }
};
Factors factors_of(const Problem& problem);

/// Fills in scale, beta, reads_ab and reads_c; `empty` is known.
void set_factors(const Problem& problem, KernelProblem& out);

/// Checks everything that does not depend on the kernels or the device.
Expected<KernelProblem> canonical(const Problem& problem);

}  // namespace tilewright
