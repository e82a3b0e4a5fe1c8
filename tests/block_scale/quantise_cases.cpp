#include "tests/block_scale/quantise_cases.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/block_scale/piece.h"
#include "tests/kernels/text.h"
#include "tilewright/numeric/element.h"
#include "tilewright/quantise.h"

namespace tilewright::testing {
namespace {

struct Shape {
  int64_t rows, k, batches;
};

constexpr uint8_t kUnwritten = 0x55;

/// What the values of a row are.
enum class Values { binades, bits, subnormal, large, few };
constexpr int kKinds = 5;

double value_of(Values kind, DType type, int64_t block, std::mt19937_64& random) {
  const double uniform = static_cast<double>(random() >> 11) * 0x1p-52 - 1;  // from -1 to 1
  switch (kind) {
    case Values::binades:  // each block around a magnitude of its own, some of zeros
      return block % 7 == 3 ? -0.0 : uniform * std::exp2(static_cast<double>(block * 5 % 41 - 20));
    case Values::bits: {  // every code, infinities and NaNs among them
      const uint64_t bits = random();
      return load_element(&bits, type, 0);
    }
    case Values::subnormal:
      return uniform * (type == DType::f16 ? 0x1p-14 : 0x1p-126);
    case Values::large:
      return uniform * (type == DType::f16 ? 65504.0 : 0x1p127);
    default:  // zeros but for one element in 40
      return random() % 40 == 0 ? uniform : 0.0;
  }
}

/// `ld` elements between rows, NaN between them.
std::vector<uint8_t> source_of(DType type, const Shape& s, int64_t ld) {
  std::vector<uint8_t> bytes(static_cast<size_t>(s.batches * s.rows * ld * bits_of(type) / 8), 0xFF);
  std::mt19937_64 random(static_cast<uint64_t>(s.rows * 131 + s.k));
  for (int64_t row = 0; row < s.batches * s.rows; ++row)
    for (int64_t column = 0; column < s.k; ++column) {
      const double value = value_of(static_cast<Values>(row % kKinds), type, row + column / 16, random);
      store_element(bytes.data(), type, row * ld + column, value, false);
    }
  // Alone among ordinary values: row 0.
  if (s.rows > 0 && s.k > 40) {
    store_element(bytes.data(), type, 1, std::numeric_limits<double>::infinity(), false);
    store_element(bytes.data(), type, s.k - 1, std::numeric_limits<double>::quiet_NaN(), false);
  }
  return bytes;
}

/// The same bytes, or the first that differ.
void expect_equal(const std::vector<uint8_t>& got, const std::vector<uint8_t>& want,
                  const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(int{got[i]}, int{want[i]}) << what << ", byte " << i << " of " << got.size();
}

template <class T>
WritableBlockScales writable(void* data, size_t bytes, const ScaleShape& shape) {
  return *PackedScales<T>::make(static_cast<T*>(data), static_cast<int64_t>(bytes), shape);
}

void expect_quantised(const Shape& s, BlockFormat format, DType type, bool tensor_scale,
                      TestMachine& machine) {
  const std::string what =
      text(name_of(format), " of ", name_of(type), ", ", s.batches, " x ", s.rows, " x ", s.k);
  const int64_t ld = s.k + 3;
  const std::vector<uint8_t> data = source_of(type, s, ld);
  const QuantiseSource source{data.data(), type, s.rows, s.k, s.batches, ld, s.rows * ld};
  const auto host = quantise(source, format, {.tensor_scale = tensor_scale});
  ASSERT_TRUE(host) << host.error().message;
  const std::vector<uint8_t> scales = packed_scale_bytes(*host);
  std::vector<uint8_t> factor(sizeof(float));
  std::memcpy(factor.data(), &host->tensor_scale, sizeof(float));

  const Piece from(machine, "source", data, false), scale(machine, "tensor scale", factor, false);
  const Piece to(machine, "elements", std::vector<uint8_t>(host->elements.size(), kUnwritten), true),
      scales_to(machine, "scales", std::vector<uint8_t>(scales.size(), kUnwritten), true);
  QuantiseSource there = source;
  there.data = from.data();
  const ScaleShape shape = host->scale_shape();
  const QuantisedMatrices matrices{static_cast<uint8_t*>(to.data()),
                                   format == BlockFormat::nvfp4
                                       ? writable<e4m3>(scales_to.data(), scales.size(), shape)
                                       : writable<e8m0>(scales_to.data(), scales.size(), shape)};
  const Status status = machine.launch([&](void* stream) {
    QuantiseLaunch how{.device = machine.device(), .stream = stream};
    if (tensor_scale) how.tensor_scale = static_cast<const float*>(scale.data());
    return quantise_on_device(there, format, matrices, how);
  });
  ASSERT_FALSE(status) << what << ": " << status->message;
  std::string failure;
  expect_equal(to.read(failure, "the elements"), host->elements, what + ": elements");
  expect_equal(scales_to.read(failure, "the scales"), scales, what + ": scales");
  EXPECT_EQ(failure, "") << what;
}

}  // namespace

void expect_quantised_as_on_host(BlockFormat format, DType source, TestMachine& machine) {
  for (const Shape& s : {Shape{5, 100, 1}, Shape{130, 256, 2}, Shape{3, 1, 3}, Shape{257, 130, 1},
                         Shape{4, 0, 1}, Shape{0, 64, 2}}) {
    expect_quantised(s, format, source, false, machine);
    if (format == BlockFormat::nvfp4) expect_quantised(s, format, source, true, machine);
  }
}

template <class T>
void expect_packed_as_on_host(TestMachine& machine) {
  for (const ScaleShape& shape : {ScaleShape{1, 1, 1}, ScaleShape{130, 7, 2}, ScaleShape{31, 16, 3},
                                  ScaleShape{0, 4, 1}, ScaleShape{256, 5, 1}}) {
    const std::string what = text(shape.batches, " x ", shape.rows, " x ", shape.columns);
    std::vector<uint8_t> linear(static_cast<size_t>(scale_bytes<ScaleLayout::linear>(shape)));
    for (size_t i = 0; i < linear.size(); ++i) linear[i] = static_cast<uint8_t>(i * 37 + i / 256);
    std::vector<uint8_t> packed(static_cast<size_t>(scale_bytes<ScaleLayout::packed>(shape)));
    const auto of = [&](auto type, void* data, const std::vector<uint8_t>& bytes) {
      using Scales = typename decltype(type)::type;
      return *Scales::make(static_cast<std::remove_pointer_t<decltype(std::declval<Scales>().data())>*>(data),
                           static_cast<int64_t>(bytes.size()), shape);
    };
    const std::type_identity<LinearScales<const T>> linear_in;
    const std::type_identity<LinearScales<T>> linear_out;
    const std::type_identity<PackedScales<const T>> packed_in;
    const std::type_identity<PackedScales<T>> packed_out;
    ASSERT_FALSE(pack_scales<T>(of(linear_in, linear.data(), linear), of(packed_out, packed.data(), packed)));

    const Piece from(machine, "linear scales", linear, false);
    const Piece to(machine, "packed scales", std::vector<uint8_t>(packed.size(), kUnwritten), true);
    // At an odd address: linear scales need no alignment.
    const Piece back(machine, "linear scales again", std::vector<uint8_t>(linear.size(), kUnwritten), true,
                     1);
    const Status status = machine.launch([&](void* stream) -> Status {
      if (Status s = pack_scales_on_device<T>(of(linear_in, from.data(), linear),
                                              of(packed_out, to.data(), packed), stream, machine.device()))
        return s;
      return unpack_scales_on_device<T>(of(packed_in, to.data(), packed), of(linear_out, back.data(), linear),
                                        stream, machine.device());
    });
    ASSERT_FALSE(status) << what << ": " << status->message;
    std::string failure;
    expect_equal(to.read(failure, "the packed scales"), packed, what + ": packed");
    expect_equal(back.read(failure, "the linear scales"), linear, what + ": unpacked");
    EXPECT_EQ(failure, "") << what;
  }
}

template void expect_packed_as_on_host<e8m0>(TestMachine&);
template void expect_packed_as_on_host<e4m3>(TestMachine&);

}  // namespace tilewright::testing
