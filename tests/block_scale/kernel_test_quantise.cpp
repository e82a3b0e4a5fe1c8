// The quantising kernel gives what the host gives, bit for bit.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "src/matrix_init.h"
#include "tests/block_scale/quantise_kernels.h"
#include "tilewright/emulator/machine.h"
#include "tilewright/layout/scale_tensor.h"
#include "tilewright/numeric/element.h"

namespace tilewright {
namespace {

struct Shape {
  int64_t rows, k, batches;
};

class QuantiseKernel : public testing::TestWithParam<std::tuple<BlockFormat, DType>> {
 protected:
  // Magnitudes of many binades, blocks of zeros, an infinity and a NaN.
  static std::vector<uint8_t> source(DType type, const Shape& s, int64_t ld) {
    std::vector<uint8_t> bytes(static_cast<size_t>(bytes_of(type, s.batches * s.rows * ld)));
    fill_matrix(bytes.data(), {type, s.rows, s.k, s.batches, ld, 1, s.rows * ld}, Init::normal, 5);
    const auto set = [&](int64_t index, double value) {
      store_element(bytes.data(), type, index, value, false);
    };
    for (int64_t row = 0; row < s.batches * s.rows; ++row) {
      for (int64_t column = 0; column < s.k; ++column) {
        const double value = load_element(bytes.data(), type, row * ld + column);
        const bool zero = (row + column / 16) % 7 == 3;
        set(row * ld + column,
            zero ? -0.0 : value * std::exp2(static_cast<double>((row * 5 + column / 32) % 40 - 20)));
      }
    }
    set(1, std::numeric_limits<double>::infinity());
    set(ld + s.k - 1, std::numeric_limits<double>::quiet_NaN());
    return bytes;
  }
};

INSTANTIATE_TEST_SUITE_P(Formats, QuantiseKernel,
                         testing::Combine(testing::Values(BlockFormat::mxfp8, BlockFormat::mxfp8_e5m2,
                                                          BlockFormat::mxfp4, BlockFormat::nvfp4),
                                          testing::Values(DType::f32, DType::bf16)),
                         [](const auto& info) {
                           return std::string(name_of(std::get<0>(info.param))) + "_" +
                                  name_of(std::get<1>(info.param));
                         });

TEST_P(QuantiseKernel, equals_the_host_with_ragged_rows_and_k_and_batches) {
  const auto [format, type] = GetParam();
  for (const Shape& s : {Shape{5, 100, 1}, Shape{130, 256, 2}, Shape{3, 1, 3}}) {
    const int64_t ld = s.k + 3;
    std::vector<uint8_t> data = source(type, s, ld);
    const bool scaled = format == BlockFormat::nvfp4 && s.rows != 5;
    const auto host = *quantise({data.data(), type, s.rows, s.k, s.batches, ld, s.rows * ld}, format,
                                {.tensor_scale = scaled});
    const std::vector<uint8_t> host_scales = packed_scale_bytes(host);

    std::vector<uint8_t> elements(host.elements.size(), 0x55), scales(host_scales.size(), 0x55);
    float tensor_scale = host.tensor_scale;
    emulator::Machine machine;
    machine.register_global(data.data(), data.size(), {.name = "source", .writable = false});
    machine.register_global(elements.data(), elements.size(), {.name = "elements", .initialised = false});
    machine.register_global(scales.data(), scales.size(), {.name = "scales", .initialised = false});
    machine.register_global(&tensor_scale, sizeof(float), {.name = "tensor scale", .writable = false});
    const auto packed = [&](auto f) {
      using Scale = typename BlockTraits<f()>::Scale;
      return PackedScaleCodes<uint8_t>(*PackedScales<Scale>::make(
          reinterpret_cast<Scale*>(scales.data()), static_cast<int64_t>(scales.size()), host.scale_shape()));
    };
    const QuantiseKernelParams params{.source = data.data(),
                                      .source_ld = ld,
                                      .source_batch_stride = s.rows * ld,
                                      .rows = s.rows,
                                      .k = s.k,
                                      .batches = s.batches,
                                      .padded_k = host.padded_k,
                                      .elements = elements.data(),
                                      .scales = with_format(format, packed),
                                      .tensor_scale = scaled ? &tensor_scale : nullptr};
    const Status status = quantise_kernels::run(params, format, type, 2, &machine);
    ASSERT_FALSE(status) << status->message;
    EXPECT_EQ(elements, host.elements);
    EXPECT_EQ(scales, host_scales);
  }
}

}  // namespace
}  // namespace tilewright
