#include <gtest/gtest.h>

#include "tilewright/numeric/dtype.h"

namespace tilewright {
namespace {

static_assert(dtype_of<e4m3> == DType::e4m3 && dtype_of<float> == DType::f32 &&
              dtype_of<int8_t> == DType::s8);
static_assert(dtype_of<bf16> == DType::bf16 && dtype_of<e2m1> == DType::e2m1 &&
              dtype_of<double> == DType::f64);
static_assert(bytes_of(DType::e2m1, 5) == 3 && bytes_of(DType::f16, 5) == 10 && bits_of(DType::e2m1) == 4);

static_assert(is_complex(DType::cbf16) && is_complex(DType::cf64) && !is_complex(DType::s32));

TEST(DType, a_complex_number_has_two_parts_of_its_real_type) {
  for (const auto& row : detail::kDTypes) {
    EXPECT_EQ(detail::row_of(row.type).type, row.type);  // the table is in the order of the enumerators
    EXPECT_EQ(bits_of(row.type), (is_complex(row.type) ? 2 : 1) * bits_of(real_type_of(row.type)));
    const std::string prefix = is_complex(row.type) ? "c" : "";
    EXPECT_EQ(name_of(row.type), prefix + name_of(real_type_of(row.type)));
  }
}

TEST(DType, both_names_of_every_type_parse_in_any_case) {
  for (const auto& row : detail::kDTypes) {
    EXPECT_EQ(name_of(row.type), std::string(row.name));
    ASSERT_TRUE(parse_dtype(row.name));
    EXPECT_EQ(*parse_dtype(row.name), row.type);
    ASSERT_TRUE(parse_dtype(row.long_name));
    EXPECT_EQ(*parse_dtype(row.long_name), row.type);
  }
  EXPECT_EQ(*parse_dtype("FLOAT8e4m3fn"), DType::e4m3);
  EXPECT_EQ(*parse_dtype("BFloat16"), DType::bf16);
}

TEST(DType, unknown_names_are_refused_with_the_list) {
  for (const char* text : {"", "float", "e4m3fn ", "Float16x", "f"}) {
    const auto parsed = parse_dtype(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().rule, "dtype.name");
    EXPECT_NE(parsed.error().message.find("Float8E4M3FN"), std::string::npos);
  }
}

template <class... T>
constexpr bool traits_match() {
  return ((bits_of(dtype_of<T>) == NumericTraits<T>::bits) && ...);
}
static_assert(
    traits_match<double, float, tf32, f16, bf16, e4m3, e5m2, e2m1, e8m0, int8_t, uint8_t, int32_t>());

}  // namespace
}  // namespace tilewright
