#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tilewright/layout/scale_factors.h"

namespace tilewright {
namespace {

constexpr ScaleLayout kPacked = ScaleLayout::packed;
constexpr ScaleLayout kLinear = ScaleLayout::linear;

constexpr int64_t packed_offset(const ScaleShape& shape, int64_t batch, int64_t row, int64_t column) {
  return scale_offset<kPacked>(shape, {batch, row, column});
}

template <class T>
PackedScales<T> packed(std::vector<T>& bytes, const ScaleShape& shape) {
  bytes.resize(static_cast<size_t>(scale_bytes<kPacked>(shape)));
  return *PackedScales<T>::make(bytes.data(), static_cast<int64_t>(bytes.size()), shape);
}

// A linear tensor must not pass for a packed one, nor one scale type for the other, nor bytes for either.
template <class To, class From>
constexpr bool passes_for = std::is_convertible_v<From, To> || std::is_constructible_v<To, From>;
static_assert(!passes_for<PackedScales<e8m0>, LinearScales<e8m0>>);
static_assert(!passes_for<LinearScales<e8m0>, PackedScales<e8m0>>);
static_assert(!passes_for<PackedScales<const e8m0>, PackedScales<e4m3>>);
static_assert(!passes_for<PackedScales<e8m0>, PackedScales<const e8m0>>);
static_assert(!passes_for<PackedScales<e8m0>, e8m0*>);
static_assert(passes_for<PackedScales<const e8m0>, PackedScales<e8m0>>);
static_assert(!passes_for<PackedBlockScales, LinearScales<const e8m0>>);
static_assert(!passes_for<PackedScaleCodes<const uint8_t>, const uint8_t*>);
static_assert(!passes_for<PackedScaleCodes<const uint8_t>, LinearScales<const e8m0>>);
static_assert(!passes_for<PackedScaleCodes<uint8_t>, PackedScales<const e8m0>>);
static_assert(passes_for<PackedScaleCodes<const uint8_t>, PackedScales<e4m3>>);

// Constant expressions, with T = 2 column tiles.
constexpr ScaleShape kTwoTiles{256, 8, 1};
static_assert(packed_offset(kTwoTiles, 0, 0, 0) == 0);
static_assert(packed_offset(kTwoTiles, 0, 1, 0) == 16);
static_assert(packed_offset(kTwoTiles, 0, 32, 0) == 4);
static_assert(packed_offset(kTwoTiles, 0, 33, 5) == 533);
static_assert(packed_offset(kTwoTiles, 0, 127, 7) == 1023);
static_assert(packed_offset(kTwoTiles, 0, 128, 0) == 1024);

TEST(Case, C22_packed_offsets_follow_the_formula_and_are_a_bijection) {
  for (const ScaleShape& shape : {ScaleShape{256, 8, 1}, ScaleShape{100, 5, 3}, ScaleShape{129, 4, 2}}) {
    const int64_t tiles = scale_column_blocks(shape.columns);
    const int64_t padded_rows = scale_row_blocks(shape.rows) * 128, padded_columns = tiles * 4;
    std::vector<int> seen(static_cast<size_t>(scale_bytes<kPacked>(shape)), 0);
    for (int64_t b = 0; b < shape.batches; ++b) {
      for (int64_t m = 0; m < padded_rows; ++m) {
        for (int64_t k = 0; k < padded_columns; ++k) {
          const int64_t in_batch =
              ((m / 128) * tiles + k / 4) * 512 + (m % 32) * 16 + ((m % 128) / 32) * 4 + k % 4;
          const int64_t offset = packed_offset(shape, b, m, k);
          ASSERT_EQ(offset, b * padded_rows * padded_columns + in_batch);
          ++seen[static_cast<size_t>(offset)];
          ASSERT_EQ(packed_scale_place(shape, offset), (ScalePlace{b, m, k}));
        }
      }
    }
    for (int count : seen) ASSERT_EQ(count, 1);
  }
}

TEST(ScaleFactors, packing_and_unpacking_keep_every_scale_and_fill_the_padding) {
  const ScaleShape shape{131, 6, 2};
  std::vector<e4m3> linear(static_cast<size_t>(scale_bytes<kLinear>(shape))), bytes, back(linear.size());
  for (size_t i = 0; i < linear.size(); ++i) linear[i] = e4m3::from_bits(static_cast<uint32_t>(i * 37 % 120));
  const auto size = static_cast<int64_t>(linear.size());
  const auto from = *LinearScales<const e4m3>::make(linear.data(), size, shape);
  const auto to = packed(bytes, shape);
  ASSERT_FALSE(pack_scales(from, to, e4m3::from_bits(0x7D)));
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t r = 0; r < 256; ++r) {
      for (int64_t c = 0; c < 8; ++c) {
        const bool inside = r < 131 && c < 6;
        ASSERT_EQ(to.at({b, r, c}).bits, inside ? from.at({b, r, c}).bits : 0x7D);
      }
    }
  }
  ASSERT_FALSE(unpack_scales<e4m3>(to, *LinearScales<e4m3>::make(back.data(), size, shape)));
  for (size_t i = 0; i < linear.size(); ++i) ASSERT_EQ(back[i].bits, linear[i].bits);
}

TEST(ScaleFactors, padding_is_as_blocks_of_zeros_unless_asked_otherwise) {
  std::vector<e8m0> bytes;
  const ScaleShape shape{1, 1, 1};
  const e8m0 two = e8m0::from_bits(128);
  const auto to = packed(bytes, shape);
  ASSERT_FALSE(pack_scales(*LinearScales<const e8m0>::make(&two, 1, shape), to));
  EXPECT_EQ(bytes[0].bits, 128);
  for (size_t i = 1; i < 512; ++i) ASSERT_EQ(static_cast<float>(bytes[i]), 0x1p-124f);
  EXPECT_EQ(static_cast<float>(zero_block_scale<e4m3>()), 1);
}

TEST(ScaleFactors, shapes_that_differ_are_refused) {
  std::vector<e8m0> linear(12), bytes;
  const auto from = *LinearScales<const e8m0>::make(linear.data(), 12, {3, 4, 1});
  const auto error = pack_scales(from, packed(bytes, {4, 3, 1}));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->rule, "scales.same_shape");
}

TEST(Case, C25_every_batch_starts_its_own_row_of_blocks) {
  // K = 256 in vectors of 32; all scales distinct.
  const ScaleShape shape{100, 8, 2};
  using T = e4m3;
  std::vector<T> linear(static_cast<size_t>(scale_bytes<kLinear>(shape))), bytes;
  for (size_t i = 0; i < linear.size(); ++i) linear[i] = T::from_bits(static_cast<uint32_t>(i));
  const auto size = static_cast<int64_t>(linear.size());
  const auto to = packed(bytes, shape);
  ASSERT_FALSE(pack_scales(*LinearScales<const T>::make(linear.data(), size, shape), to));
  EXPECT_EQ(packed_offset(shape, 1, 0, 0), 1024);
  for (int64_t r = 0; r < 100; ++r) {
    // The same place as in a matrix of its own.
    const int64_t alone = packed_offset({100, 8, 1}, 0, r, 5);
    ASSERT_EQ(bytes[static_cast<size_t>(1024 + alone)].bits,
              linear[static_cast<size_t>(800 + r * 8 + 5)].bits);
  }
  // 200 rows packed as one matrix put the second batch elsewhere, in a buffer of the same size: the shape is
  // a part of the type of scales because bytes cannot tell.
  EXPECT_EQ(scale_bytes<kPacked>({200, 8, 1}), scale_bytes<kPacked>(shape));
  EXPECT_NE(packed_offset({200, 8, 1}, 0, 100, 0), 1024);
}

TEST(Case, C26_a_buffer_without_the_padding_is_refused) {
  // M = 128, K = 32: one column of scales, padded to four.
  std::vector<e8m0> bytes(512);
  EXPECT_FALSE((PackedScales<e8m0>::make(bytes.data(), 128, {128, 1, 1})));
  const auto short_by_one = PackedScales<e8m0>::make(bytes.data(), 511, {128, 1, 1});
  ASSERT_FALSE(short_by_one);
  EXPECT_EQ(short_by_one.error().rule, "scales.buffer_size");
  EXPECT_NE(short_by_one.error().message.find("512"), std::string::npos);
  EXPECT_TRUE((PackedScales<e8m0>::make(bytes.data(), 512, {128, 1, 1})));
  EXPECT_TRUE((LinearScales<e8m0>::make(bytes.data(), 128, {128, 1, 1})));
  EXPECT_FALSE((LinearScales<e8m0>::make(bytes.data(), 127, {128, 1, 1})));
}

TEST(Case, C28_1856_rows_are_padded_to_1920_by_the_one_rule_for_rows) {
  const ScaleShape shape{1856, 2688 / 16, 1};
  EXPECT_EQ(scale_row_blocks(1856) * scale_block_rows, 1920);
  EXPECT_EQ(scale_bytes<kPacked>(shape), 1920 * 168);
  std::vector<e4m3> bytes(1920 * 168);
  EXPECT_TRUE((PackedScales<e4m3>::make(bytes.data(), 1920 * 168, shape)));
}

TEST(Case, C29_a_buffer_padded_by_another_rule_is_refused_by_its_size) {
  // Rows padded to 64 and not to 128, at a large M.
  const int64_t rows = 100'030, columns = 64;
  std::vector<e8m0> bytes(static_cast<size_t>((rows + 63) / 64 * 64 * columns));
  const auto made =
      PackedScales<e8m0>::make(bytes.data(), static_cast<int64_t>(bytes.size()), {rows, columns, 1});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().rule, "scales.buffer_size");
}

TEST(ScaleFactors, extents_that_are_negative_or_of_2_to_the_31_are_refused) {
  e8m0 scale{};
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const ScaleShape& shape :
       {ScaleShape{-1, 1, 1}, ScaleShape{1, -1, 1}, ScaleShape{1, 1, -1}, ScaleShape{kMost, 0, 1},
        ScaleShape{0, kMost, 1}, ScaleShape{0, 0, kMost}}) {
    const auto made = LinearScales<e8m0>::make(&scale, kMost, shape);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().rule, "scales.extent");
  }
}

TEST(ScaleFactors, a_shape_of_more_bytes_than_can_be_counted_is_refused) {
  e8m0 scale{};
  constexpr int64_t kLargest = (int64_t{1} << 31) - 1;
  const ScaleShape shape{kLargest, kLargest, kLargest};
  const auto packed = PackedScales<e8m0>::make(&scale, std::numeric_limits<int64_t>::max(), shape);
  ASSERT_FALSE(packed);
  EXPECT_EQ(packed.error().rule, "scales.buffer_size");
  EXPECT_FALSE((LinearScales<e8m0>::make(&scale, std::numeric_limits<int64_t>::max(), shape)));
}

}  // namespace
}  // namespace tilewright
