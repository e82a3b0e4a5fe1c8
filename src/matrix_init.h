// Test data: host matrices filled from a seed. An element depends on the seed, the batch, its row and its
// column and on nothing else, neither layout nor order nor number of threads.
#pragma once

#include <cstdint>
#include <string_view>

#include "tilewright/error.h"
#include "tilewright/numeric/dtype.h"

namespace tilewright {

/// Values are rounded to nearest even. Parts of complex numbers are drawn one by one; ones are 1 + i.
///   normal    standard normal; for integer types 16 times that, clamped
///   uniform   from [0, 1); for integer types over the whole range
///   ones      1
///   integers  -5 .. 4; for u8 0 .. 9; sums of products stay exact in FP32 for K up to 2^19
enum class Init : uint8_t { normal, uniform, ones, integers };

/// "normal", "uniform", "ones" or "integers". Error: the list.
Expected<Init> parse_init(std::string_view text);

/// A batch of matrices to fill: element (batch, i, j) is number batch * batch_stride + i * row_stride +
/// j * column_stride of the array. Elements between the rows are not written. e2m1 is packed, two to a byte.
struct MatrixShape {
  DType type = DType::f32;
  int64_t rows = 0, columns = 0, batches = 1;
  int64_t row_stride = 0, column_stride = 1, batch_stride = 0;
};

/// Fills the matrices. Different operands want different seeds.
void fill_matrix(void* data, const MatrixShape& shape, Init init, uint64_t seed);

/// Fills with random codes of the type, all equally likely: subnormals, both zeros and the largest numbers
/// occur. `specials`: so do infinities and NaNs; otherwise zeros stand in their place.
void fill_any_codes(void* data, const MatrixShape& shape, bool specials, uint64_t seed);

}  // namespace tilewright
