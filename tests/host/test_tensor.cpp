// Addresses of elements of matrices larger than 32 bits can count.
#include <gtest/gtest.h>

#include "tilewright/layout/tensor.h"

namespace tilewright::testing {
namespace {

using namespace blas;

/// Elements from the first to (row, column), and to the tile and the element of it that this is.
template <class Matrix>
void expect_offset(const Matrix& t, int64_t row, int64_t column, int64_t offset) {
  const auto from_first = [&](const auto& element) { return &element - t.data(); };
  EXPECT_EQ(from_first(t(row, column)), offset);
  const auto tile = get_tile(t, Shape<128, 2>{}, row / 128, column / 2);
  EXPECT_EQ(from_first(tile(row % 128, column % 2)), offset);
  EXPECT_LT(row % 128, int64_t{tile.rows()});
  EXPECT_EQ(cosize(t), offset + 1);
}

TEST(Case, C49_static_and_dynamic_leading_dimensions_give_the_same_64_bit_offset) {
  constexpr int64_t kLines = 536870913, kLd = 4;
  constexpr int64_t kOffset = (kLines - 1) * kLd + 3;  // 2^31 + 3
  auto* const data = reinterpret_cast<int8_t*>(uintptr_t{1} << 40);
  expect_offset(make_gmem_tensor<row_major>(data, kLines, kLd, static_ld<kLd>), kLines - 1, 3, kOffset);
  expect_offset(make_gmem_tensor<row_major>(data, kLines, kLd, kLd), kLines - 1, 3, kOffset);
  expect_offset(make_gmem_tensor<col_major>(data, kLd, kLines, static_ld<kLd>), 3, kLines - 1, kOffset);
  expect_offset(make_gmem_tensor<col_major>(data, kLd, kLines, kLd), 3, kLines - 1, kOffset);
}

}  // namespace
}  // namespace tilewright::testing
