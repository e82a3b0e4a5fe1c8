// Every rule of tensor maps flipped, with what its message must name, and the emulated machine's encoding.
#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>

#include "tilewright/tensor_map.h"

namespace tilewright {
namespace {

alignas(128) std::byte memory[256];

// A legal map: 3 x 64 rows of 256 bytes, tiles of 64 rows x 128 bytes.
TensorMapSpec legal_spec() {
  TensorMapSpec spec;
  spec.base = memory;
  spec.type = TmaType::u8;
  spec.rank = 3;
  spec.extent = {256, 64, 3};
  spec.strides = {256, 64 * 256};
  spec.box = {128, 64, 1};
  spec.swizzle = Swizzle::b128;
  return spec;
}

// `rule` is broken; the message names `found` and `legal`.
void expect_broken(const TensorMapSpec& spec, const std::string& rule, const std::string& found,
                   const std::string& legal, ErrorCode code = ErrorCode::invalid_argument) {
  const auto error = check(spec);
  ASSERT_TRUE(error.has_value()) << rule;
  EXPECT_EQ(error->rule, rule);
  EXPECT_EQ(error->code, code);
  EXPECT_NE(error->message.find(found), std::string::npos) << error->message;
  EXPECT_NE(error->message.find(legal), std::string::npos) << error->message;
  EXPECT_FALSE(encode_for_emulator(spec).has_value());
  EXPECT_FALSE(encode_for_gpu(spec).has_value());
}

TEST(TensorMapRules, AcceptALegalMap) { EXPECT_FALSE(check(legal_spec()).has_value()); }

TEST(TensorMapRules, BoundTheRank) {
  TensorMapSpec spec = legal_spec();
  spec.rank = 0;
  expect_broken(spec, "tensor_map.rank", "rank 0", "value is 1");
  spec.rank = 6;
  expect_broken(spec, "tensor_map.rank", "rank 6", "value is 5");
}

TEST(TensorMapRules, RefuseANullBase) {
  TensorMapSpec spec = legal_spec();
  spec.base = nullptr;
  expect_broken(spec, "tensor_map.base_not_null", "null", "not null");
}

TEST(TensorMapRules, NameTheAddressModuloSixteen) {
  TensorMapSpec spec = legal_spec();
  for (const int offset : {1, 2, 4, 8}) {
    spec.base = memory + offset;
    const std::string fix =
        offset < 8 ? std::to_string(offset) + " bytes lower" : std::to_string(16 - offset) + " bytes higher";
    expect_broken(spec, "tensor_map.base_alignment", std::to_string(offset) + " modulo 16", fix,
                  ErrorCode::alignment);
  }
  spec.base = memory + 16;
  EXPECT_FALSE(check(spec).has_value());
}

TEST(TensorMapRules, BoundTheExtents) {
  TensorMapSpec spec = legal_spec();
  spec.extent[1] = 0;
  expect_broken(spec, "tensor_map.extent", "dimension 1: extent 0", "value is 1", ErrorCode::out_of_range);
  spec.extent[1] = (uint64_t{1} << 32) + 1;
  expect_broken(spec, "tensor_map.extent", "4294967297", "4294967296", ErrorCode::out_of_range);
  spec.extent[1] = uint64_t{1} << 32;
  EXPECT_FALSE(check(spec).has_value());
}

TEST(TensorMapRules, RefuseAStrideThatIsNotAMultipleOfSixteenBytes) {
  TensorMapSpec spec = legal_spec();
  spec.type = TmaType::f32;
  spec.rank = 2;
  spec.extent = {1733, 128};
  spec.strides = {6932};
  spec.box = {32, 64};
  expect_broken(spec, "tensor_map.stride_alignment", "stride 6932 bytes is 4 modulo 16", "6944",
                ErrorCode::alignment);
}

TEST(TensorMapRules, RefuseAStrideOfTwoToTheForty) {
  TensorMapSpec spec = legal_spec();
  spec.strides[1] = uint64_t{1} << 40;
  expect_broken(spec, "tensor_map.stride_size", "1099511627776", "1099511627760", ErrorCode::out_of_range);
  spec.strides[1] = (uint64_t{1} << 40) - 16;
  EXPECT_FALSE(check(spec).has_value());
}

TEST(TensorMapRules, IgnoreTheStrideOfADimensionOfOne) {
  TensorMapSpec spec = legal_spec();
  spec.extent[2] = 1;
  spec.strides[1] = ~uint64_t{0};
  EXPECT_FALSE(check(spec).has_value());
  const auto map = encode_for_emulator(spec);
  ASSERT_TRUE(map.has_value());
  EXPECT_EQ(decode_for_emulator(*map).strides[1] % 16, 0u);
  EXPECT_LT(decode_for_emulator(*map).strides[1], uint64_t{1} << 40);
}

TEST(TensorMapRules, BoundTheBox) {
  TensorMapSpec spec = legal_spec();
  spec.box[1] = 257;
  expect_broken(spec, "tensor_map.box", "dimension 1: box 257", "256");
  spec.box[1] = 0;
  expect_broken(spec, "tensor_map.box", "box 0", "value is 1");
}

TEST(TensorMapRules, RefuseABoxRowThatIsNotAMultipleOfSixteenBytes) {
  TensorMapSpec spec = legal_spec();
  spec.type = TmaType::bf16;
  spec.box[0] = 12;
  expect_broken(spec, "tensor_map.box_row", "12 elements, 24 bytes", "16 elements");
}

TEST(TensorMapRules, RefuseABoxRowWiderThanItsSwizzle) {
  TensorMapSpec spec = legal_spec();
  spec.swizzle = Swizzle::b64;
  expect_broken(spec, "tensor_map.swizzle_width", "128 bytes, under a 64-byte swizzle", "64 elements");
  spec.swizzle = Swizzle::none;
  EXPECT_FALSE(check(spec).has_value());
}

TEST(TensorMapRules, HaveNamesOfTheirOwnAndAText) {
  std::set<std::string> names;
  for (const TensorMapRule& rule : tensor_map_rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_FALSE(std::string(rule.requirement).empty()) << rule.name;
  }
}

TEST(TensorMap, StaysAlignedInAParameterStruct) {
  struct Parameters {
    uint64_t first;
    TensorMap map;
  };
  EXPECT_EQ(offsetof(Parameters, map) % 64, 0u);
  EXPECT_EQ(alignof(Parameters) % 64, 0u);
}

TEST(TensorMap, KeepsTheSpecForTheEmulatedMachine) {
  const TensorMapSpec spec = legal_spec();
  const auto map = encode_for_emulator(spec);
  ASSERT_TRUE(map.has_value());
  const TensorMapSpec back = decode_for_emulator(*map);
  EXPECT_EQ(back.base, spec.base);
  EXPECT_EQ(back.type, spec.type);
  EXPECT_EQ(back.rank, spec.rank);
  EXPECT_EQ(back.extent, spec.extent);
  EXPECT_EQ(back.strides, spec.strides);
  EXPECT_EQ(back.box, spec.box);
  EXPECT_EQ(back.swizzle, spec.swizzle);
}

TEST(TensorMap, KnowsBytesThatAreNotOneOfTheEmulatedMachine) {
  EXPECT_EQ(decode_for_emulator(TensorMap{}).rank, 0);
}

}  // namespace
}  // namespace tilewright
