#include "src/matrix_init.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "tilewright/detail/parallel.h"
#include "tilewright/numeric/element.h"

namespace tilewright {
namespace {

// A bijection of 64-bit words in which every input bit moves half of the output bits.
uint64_t mix(uint64_t x) {
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93u;
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93u;
  x ^= x >> 32;
  return x;
}

// 64 random bits of an element.
uint64_t element_hash(uint64_t seed, int64_t batch, int64_t row, int64_t column) {
  uint64_t h = mix(seed + 0x9E3779B97F4A7C15u);
  h = mix(h ^ static_cast<uint64_t>(batch));
  h = mix(h + static_cast<uint64_t>(row) * 0x9E3779B97F4A7C15u);
  return mix(h + static_cast<uint64_t>(column) * 0xC2B2AE3D27D4EB4Fu);
}

// [0, 1) with 32 random bits.
double unit_interval(uint64_t bits) { return static_cast<double>(bits & 0xFFFFFFFFu) * 0x1p-32; }

// Box and Muller's transformation of two uniform numbers.
double standard_normal(uint64_t hash) {
  const double radius = std::sqrt(-2 * std::log(1 - unit_interval(hash)));
  return radius * std::cos(2 * std::numbers::pi * unit_interval(hash >> 32));
}

template <class T>
double draw(Init init, uint64_t hash) {
  constexpr bool integer = std::is_integral_v<T>;
  switch (init) {
    case Init::normal:
      return standard_normal(hash) * (integer ? 16 : 1);
    case Init::uniform:
      if constexpr (integer) {
        const double values = NumericTraits<T>::max - NumericTraits<T>::lowest + 1;
        return NumericTraits<T>::lowest + std::floor(unit_interval(hash) * values);
      }
      return unit_interval(hash);
    case Init::ones:
      return 1;
    case Init::integers:
      return std::floor(unit_interval(hash) * 10) - (std::is_unsigned_v<T> ? 0 : 5);
  }
  return 0;
}

// write(batch, row, column, index) for every element.
template <class Write>
void for_each_element(const MatrixShape& shape, const Write& write) {
  constexpr int64_t kBlockRows = 64;
  if (shape.rows == 0 || shape.columns == 0) return;  // of however many batches
  const int64_t blocks = (shape.rows + kBlockRows - 1) / kBlockRows;
  // Packed elements of neighbouring rows may share a byte.
  const int threads = bits_of(shape.type) < 8 ? 1 : 0;
  for (int64_t batch = 0; batch < shape.batches; ++batch) {
    const auto work = [&](int block) {
      const int64_t first = block * kBlockRows, last = std::min(first + kBlockRows, shape.rows);
      for (int64_t row = first; row < last; ++row) {
        for (int64_t column = 0; column < shape.columns; ++column) {
          write(batch, row, column,
                batch * shape.batch_stride + row * shape.row_stride + column * shape.column_stride);
        }
      }
    };
    detail::parallel_blocks(static_cast<int>(blocks), threads, work, {});
  }
}

// fill(first part, shape, seed) for the parts of a complex matrix, as two matrices that lie between each
// other.
template <class Fill>
void for_each_part(void* data, MatrixShape shape, uint64_t seed, const Fill& fill) {
  if (!is_complex(shape.type)) return fill(data, shape, seed);
  const int64_t bytes = bits_of(shape.type) / 16;
  shape.type = real_type_of(shape.type);
  shape.row_stride *= 2, shape.column_stride *= 2, shape.batch_stride *= 2;
  fill(data, shape, seed);
  fill(static_cast<uint8_t*>(data) + bytes, shape, ~seed);
}

// Sets the bits of an element.
template <class T>
void store_code(void* data, int64_t index, uint64_t code) {
  if constexpr (std::is_same_v<T, e2m1>) {
    store_e2m1(static_cast<uint8_t*>(data), index, e2m1::from_bits(static_cast<uint32_t>(code)));
  } else {
    std::memcpy(static_cast<uint8_t*>(data) + index * static_cast<int64_t>(sizeof(T)), &code, sizeof(T));
  }
}

}  // namespace

Expected<Init> parse_init(std::string_view text) {
  if (text == "normal") return Init::normal;
  if (text == "uniform") return Init::uniform;
  if (text == "ones") return Init::ones;
  if (text == "integers") return Init::integers;
  return Error{
      ErrorCode::invalid_argument, "init.name",
      "'" + std::string(text) + "' is not a way to fill a matrix; known are normal, uniform, ones, integers"};
}

void fill_matrix(void* all, const MatrixShape& whole, Init init, uint64_t whole_seed) {
  for_each_part(all, whole, whole_seed, [&](void* data, const MatrixShape& shape, uint64_t seed) {
    with_type(shape.type, [&](auto t) {
      using T = decltype(t);
      for_each_element(shape, [&](int64_t batch, int64_t row, int64_t column, int64_t index) {
        store_as<T>(data, index, draw<T>(init, element_hash(seed, batch, row, column)), true);
      });
    });
  });
}

void fill_any_codes(void* all, const MatrixShape& whole, bool specials, uint64_t whole_seed) {
  for_each_part(all, whole, whole_seed, [&](void* data, const MatrixShape& shape, uint64_t seed) {
    with_type(shape.type, [&](auto t) {
      using T = decltype(t);
      for_each_element(shape, [&](int64_t batch, int64_t row, int64_t column, int64_t index) {
        store_code<T>(data, index, element_hash(seed, batch, row, column));
        if (!specials && !std::isfinite(load_as<T>(data, index))) store_code<T>(data, index, 0);
      });
    });
  });
}

}  // namespace tilewright
