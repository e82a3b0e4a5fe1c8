// Quantising and packing scales on the emulated machine, and what is refused.
#include "tilewright/quantise.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/block_scale/quantise_cases.h"
#include "tests/kernels/emulated_machine.h"

namespace tilewright::testing {
namespace {

class QuantiseOnDevice : public ::testing::TestWithParam<std::tuple<BlockFormat, DType>> {};

INSTANTIATE_TEST_SUITE_P(Formats, QuantiseOnDevice,
                         ::testing::Combine(::testing::Values(BlockFormat::mxfp8, BlockFormat::mxfp8_e5m2,
                                                              BlockFormat::mxfp4, BlockFormat::nvfp4),
                                            ::testing::Values(DType::f32, DType::bf16, DType::f16)),
                         [](const auto& info) {
                           return std::string(name_of(std::get<0>(info.param))) + "_" +
                                  name_of(std::get<1>(info.param));
                         });

TEST_P(QuantiseOnDevice, equals_the_host) {
  const auto [format, source] = GetParam();
  EmulatedMachine machine;
  expect_quantised_as_on_host(format, source, machine);
}

TEST(PackScalesOnDevice, equals_the_host) {
  EmulatedMachine machine;
  expect_packed_as_on_host<e8m0>(machine);
  expect_packed_as_on_host<e4m3>(machine);
}

/// Good arguments, each test changes one.
struct Call {
  Call() : source(4 * 64), elements(4 * 128), scale_bytes(512) {
    matrices.elements = elements.data() + (16 - reinterpret_cast<uintptr_t>(elements.data()) % 16) % 16;
  }

  std::string refused() const {
    return quantise_on_device({source.data(), type, 4, k, batches, row_stride, batch_stride}, format,
                              matrices, how)
        .value_or(Error{})
        .rule;
  }
  template <class T>
  void set_scales(const ScaleShape& shape, int64_t offset = 0) {
    auto* data = reinterpret_cast<T*>(scale_bytes.data() +
                                      (16 - reinterpret_cast<uintptr_t>(scale_bytes.data()) % 16) % 16);
    matrices.scales = *PackedScales<T>::make(data + offset, 4096, shape);
  }

  std::vector<float> source;
  std::vector<uint8_t> elements, scale_bytes;
  DType type = DType::f32;
  int64_t k = 64, batches = 1, row_stride = 64, batch_stride = 0;
  BlockFormat format = BlockFormat::mxfp8;
  QuantisedMatrices matrices;
  QuantiseLaunch how{.device = Device::emulator};
};

TEST(QuantiseOnDeviceRules, name_what_is_wrong) {
  const auto rule = [](const auto& change) {
    Call call;
    call.set_scales<e8m0>({4, 4, 1});
    change(call);
    return call.refused();
  };
  EXPECT_EQ(rule([](Call& c) { c.type = DType::f64; }), "quantise.source_type");
  const float one = 1;
  EXPECT_EQ(rule([&](Call& c) { c.how.tensor_scale = &one; }), "quantise.tensor_scale");
  EXPECT_EQ(rule([](Call& c) { c.set_scales<e4m3>({4, 4, 1}); }), "quantise.scale_type");
  EXPECT_EQ(rule([](Call& c) { c.set_scales<e8m0>({5, 4, 1}); }), "quantise.scale_shape");
  EXPECT_EQ(rule([](Call& c) { c.set_scales<e8m0>({4, 1, 1}); }), "quantise.scale_shape");
  EXPECT_EQ(rule([](Call& c) { c.set_scales<e8m0>({4, 4, 2}); }), "quantise.scale_shape");
  EXPECT_EQ(rule([](Call& c) { c.k = -1; }), "quantise.scale_shape");
  for (const int64_t k : {int64_t{129}, std::numeric_limits<int64_t>::max()})
    EXPECT_EQ(rule([k](Call& c) { c.k = c.row_stride = k; }), "quantise.scale_shape") << k;
  for (const int64_t stride : {63, 0, -64})
    EXPECT_EQ(rule([stride](Call& c) { c.row_stride = stride; }), "quantise.stride") << stride;
  EXPECT_EQ(rule([](Call& c) { c.batches = 2, c.batch_stride = -1; }), "quantise.stride");
  EXPECT_EQ(rule([](Call& c) { c.batches = 2; }), "quantise.scale_shape");
  EXPECT_EQ(rule([](Call& c) { c.set_scales<e8m0>({4, 4, 1}, 8); }), "quantise.alignment");
  EXPECT_EQ(rule([](Call& c) { c.matrices.elements += 8; }), "quantise.alignment");
  EXPECT_EQ(rule([](Call& c) { c.matrices.elements = nullptr; }), "quantise.null");
}

TEST(QuantiseOnDeviceRules, scales_of_one_layout_do_not_fit_another_shape) {
  std::vector<uint8_t> memory(2048);
  const auto* from = reinterpret_cast<const e8m0*>(memory.data());
  const auto linear = *LinearScales<const e8m0>::make(from, 16, {4, 4, 1});
  const auto packed = *PackedScales<e8m0>::make(nullptr, 512, {4, 4, 1});
  const auto other = *PackedScales<e8m0>::make(nullptr, 512, {5, 4, 1});
  EXPECT_EQ(pack_scales_on_device<e8m0>(linear, other, nullptr, Device::emulator).value_or(Error{}).rule,
            "scales.same_shape");
  EXPECT_EQ(pack_scales_on_device<e8m0>(linear, packed, nullptr, Device::emulator).value_or(Error{}).rule,
            "quantise.null");
}

}  // namespace
}  // namespace tilewright::testing
