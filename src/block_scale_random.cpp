#include "src/block_scale_random.h"

#include <cmath>

#include "src/matrix_init.h"
#include "tilewright/numeric/element.h"

namespace tilewright {
namespace {

// Random codes for an array of bytes, by place.
std::vector<uint8_t> random_bytes(int64_t rows, int64_t columns, int64_t batches, uint64_t seed) {
  std::vector<uint8_t> bytes(static_cast<size_t>(rows * columns * batches));
  fill_any_codes(bytes.data(), {DType::u8, rows, columns, batches, columns, 1, rows * columns}, true, seed);
  return bytes;
}

// A finite code of the element type.
uint8_t element_code(DType type, BlockInit init, uint8_t random) {
  if (type == DType::e2m1) return random & 0xFu;
  const float e2m1_value = static_cast<float>(e2m1::from_bits(random));
  if (type == DType::e4m3) {
    if (init == BlockInit::moderate) return e4m3(e2m1_value).bits;
    return (random & 0x7Fu) == 0x7Fu ? 0 : random;
  }
  if (init == BlockInit::moderate) return e5m2(e2m1_value).bits;
  return (random & 0x7Fu) >= 0x7Cu ? 0 : random;
}

uint8_t scale_code(DType type, BlockInit init, uint8_t random) {
  if (init == BlockInit::moderate) {
    const int exponent = random % 9 - 7;
    if (type == DType::e8m0) return static_cast<uint8_t>(127 + exponent);
    return e4m3(std::ldexp(1.0f, exponent)).bits;
  }
  if (type == DType::e8m0) return static_cast<uint8_t>(127 - 20 + random % 41);
  const uint8_t magnitude = random & 0x7Fu;
  return magnitude == 0x7Fu ? 0x7E : magnitude;
}

}  // namespace

Expected<BlockScaledTensor> random_block_scaled(BlockFormat format, int64_t rows, int64_t k, int64_t batches,
                                                BlockInit init, uint64_t seed, int64_t k_multiple) {
  auto made = make_block_scaled(format, rows, k, batches, k_multiple);
  if (!made) return made;
  BlockScaledTensor& out = *made;
  const DType type = element_type(format);
  const int vector = scale_vector(format);
  const int64_t vectors = (k + vector - 1) / vector;
  const auto elements = random_bytes(rows, k, batches, seed);
  const auto scales = random_bytes(rows, vectors, batches, seed + 0x5CA1E);
  const auto zeros = random_bytes(rows, vectors, batches, seed + 0x2E20);
  for (int64_t line = 0; line < batches * rows; ++line) {
    const uint64_t first_scale = static_cast<uint64_t>(line * (out.padded_k / vector));
    for (int64_t v = 0; v < vectors; ++v) {
      out.scales[first_scale + static_cast<uint64_t>(v)] =
          scale_code(scale_type(format), init, scales[static_cast<size_t>(line * vectors + v)]);
    }
    for (int64_t column = 0; column < k; ++column) {
      const bool zero = init == BlockInit::full_range &&
                        zeros[static_cast<size_t>(line * vectors + column / vector)] % 16 == 0;
      const uint8_t code =
          zero ? uint8_t{0} : element_code(type, init, elements[static_cast<size_t>(line * k + column)]);
      const int64_t index = line * out.padded_k + column;
      if (is_fp4(format)) store_e2m1(out.elements.data(), index, e2m1::from_bits(code));
      if (!is_fp4(format)) out.elements[static_cast<size_t>(index)] = code;
    }
  }
  return made;
}

}  // namespace tilewright
