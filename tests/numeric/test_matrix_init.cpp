#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "src/matrix_init.h"
#include "tilewright/numeric/element.h"

namespace tilewright {
namespace {

constexpr DType kTypes[] = {DType::f64,  DType::f32,  DType::tf32, DType::f16, DType::bf16, DType::e4m3,
                            DType::e5m2, DType::e2m1, DType::e8m0, DType::s8,  DType::u8,   DType::s32};

MatrixShape dense(DType type, int64_t rows, int64_t columns) {
  return {type, rows, columns, 1, columns, 1, 0};
}

std::vector<double> values(const MatrixShape& shape, Init init, uint64_t seed) {
  std::vector<uint8_t> bytes(static_cast<size_t>(bytes_of(shape.type, shape.rows * shape.columns)));
  fill_matrix(bytes.data(), shape, init, seed);
  std::vector<double> result;
  for (int64_t i = 0; i < shape.rows * shape.columns; ++i) {
    result.push_back(load_element(bytes.data(), shape.type, i));
  }
  return result;
}

TEST(MatrixInit, an_element_depends_on_its_place_and_not_on_the_layout) {
  const int64_t rows = 70, columns = 33;
  std::vector<float> row_major(rows * 40, -1), column_major(columns * 80, -1), part(rows * columns);
  fill_matrix(row_major.data(), {DType::f32, rows, columns, 1, 40, 1, 0}, Init::normal, 5);
  fill_matrix(column_major.data(), {DType::f32, rows, columns, 1, 1, 80, 0}, Init::normal, 5);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < 40; ++c) {
      if (c < columns) {
        ASSERT_EQ(row_major[r * 40 + c], column_major[c * 80 + r]);
      } else {
        ASSERT_EQ(row_major[r * 40 + c], -1) << "padding was written";
      }
    }
  }
  fill_matrix(part.data(), dense(DType::f32, 3, columns), Init::normal, 5);
  for (int64_t e = 0; e < 3 * columns; ++e) ASSERT_EQ(part[e], row_major[e / columns * 40 + e % columns]);
}

TEST(MatrixInit, seeds_and_batches_differ) {
  std::vector<float> data(2 * 64);
  fill_matrix(data.data(), {DType::f32, 8, 8, 2, 8, 1, 64}, Init::uniform, 1);
  EXPECT_FALSE(std::equal(data.begin(), data.begin() + 64, data.begin() + 64));
  const MatrixShape shape = dense(DType::f32, 8, 8);
  EXPECT_NE(values(shape, Init::uniform, 1), values(shape, Init::uniform, 2));
  EXPECT_EQ(values(shape, Init::uniform, 1), values(shape, Init::uniform, 1));
}

TEST(MatrixInit, uniform_and_normal_have_their_moments) {
  const MatrixShape shape = dense(DType::f32, 400, 250);
  const auto moments = [](const std::vector<double>& x) {
    double sum = 0, square = 0;
    for (double v : x) sum += v, square += v * v;
    const double n = static_cast<double>(x.size()), mean = sum / n;
    return std::pair(mean, square / n - mean * mean);
  };
  // Five standard deviations of the estimates.
  const auto [uniform_mean, uniform_variance] = moments(values(shape, Init::uniform, 3));
  EXPECT_NEAR(uniform_mean, 0.5, 5 * std::sqrt(1.0 / 12 / 1e5));
  EXPECT_NEAR(uniform_variance, 1.0 / 12, 5 * std::sqrt(1.0 / 180 / 1e5));
  const auto [normal_mean, normal_variance] = moments(values(shape, Init::normal, 3));
  EXPECT_NEAR(normal_mean, 0, 5 / std::sqrt(1e5));
  EXPECT_NEAR(normal_variance, 1, 5 * std::sqrt(2 / 1e5));
}

TEST(MatrixInit, uniform_fp8_is_the_rounding_of_uniform_f32) {
  const auto exact = values(dense(DType::f32, 20, 20), Init::uniform, 9);
  const auto fp8 = values(dense(DType::e4m3, 20, 20), Init::uniform, 9);
  for (size_t i = 0; i < exact.size(); ++i) {
    EXPECT_EQ(fp8[i], static_cast<float>(e4m3(static_cast<float>(exact[i]))));
    EXPECT_GE(fp8[i], 0);
    EXPECT_LE(fp8[i], 1);
  }
}

TEST(MatrixInit, ones_and_integers_in_every_type) {
  for (DType type : kTypes) {
    for (double v : values(dense(type, 9, 11), Init::ones, 1)) ASSERT_EQ(v, 1) << name_of(type);
    if (type == DType::e8m0 || type == DType::e2m1) continue;  // cannot hold them
    const double low = type == DType::u8 ? 0 : -5;
    const auto integers = values(dense(type, 30, 30), Init::integers, 1);
    const std::set<double> seen(integers.begin(), integers.end());
    EXPECT_EQ(seen.size(), 10u) << name_of(type);
    EXPECT_EQ(*seen.begin(), low);
    EXPECT_EQ(*seen.rbegin(), low + 9);
  }
}

TEST(MatrixInit, any_codes_covers_all_finite_codes_and_specials_only_when_asked) {
  std::vector<uint8_t> codes(64 * 64);
  fill_any_codes(codes.data(), dense(DType::e5m2, 64, 64), true, 4);
  EXPECT_EQ(std::set<uint8_t>(codes.begin(), codes.end()).size(), 256u);
  fill_any_codes(codes.data(), dense(DType::e5m2, 64, 64), false, 4);
  EXPECT_EQ(std::set<uint8_t>(codes.begin(), codes.end()).size(), 256u - 8);
  for (DType type : kTypes) {
    std::vector<uint8_t> bytes(static_cast<size_t>(bytes_of(type, 1000)));
    fill_any_codes(bytes.data(), dense(type, 25, 40), false, 4);
    for (int i = 0; i < 1000; ++i)
      ASSERT_TRUE(std::isfinite(load_element(bytes.data(), type, i))) << name_of(type);
  }
}

TEST(MatrixInit, names_parse) {
  EXPECT_EQ(*parse_init("normal"), Init::normal);
  EXPECT_EQ(*parse_init("uniform"), Init::uniform);
  EXPECT_EQ(*parse_init("ones"), Init::ones);
  EXPECT_EQ(*parse_init("integers"), Init::integers);
  const auto wrong = parse_init("gauss");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("'gauss'"), std::string::npos);
}

}  // namespace
}  // namespace tilewright
