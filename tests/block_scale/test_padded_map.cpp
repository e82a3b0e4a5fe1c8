#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tilewright/tensor_map.h"

namespace tilewright {
namespace {

alignas(64) std::array<uint8_t, 4096> memory;

TensorMapSpec legal() {
  return {.base = memory.data(),
          .type = TmaType::e2m1_padded,
          .rank = 3,
          .extent = {256, 4, 2},
          .strides = {128, 512},
          .box = {128, 4, 1},
          .swizzle = Swizzle::b128};
}

void expect_refused(const TensorMapSpec& spec, const char* nearest) {
  const auto error = check(spec);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->rule, "tensor_map.padded_e2m1");
  EXPECT_NE(error->message.find(nearest), std::string::npos) << error->message;
}

TEST(PaddedMap, rules_of_padded_e2m1) {
  EXPECT_FALSE(check(legal()));
  TensorMapSpec spec = legal();
  spec.extent[0] = 160;
  expect_refused(spec, "256");
  spec = legal();
  spec.box[0] = 64;
  expect_refused(spec, "128");
  spec = legal();
  spec.base = memory.data() + 16;
  expect_refused(spec, "16 modulo 32");
  spec = legal();
  spec.strides[0] = 144;
  expect_refused(spec, "160");
  spec = legal();
  spec.swizzle = Swizzle::none;
  EXPECT_FALSE(check(spec));
}

TEST(PaddedMap, other_types_have_none_of_them) {
  TensorMapSpec spec = legal();
  spec.type = TmaType::u8;
  spec.extent[0] = 112;
  spec.strides[0] = 144;
  spec.box[0] = 64;
  EXPECT_FALSE(check(spec));
}

}  // namespace
}  // namespace tilewright
