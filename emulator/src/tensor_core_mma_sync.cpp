// The arithmetic of mma.sync on Hopper.
#include <array>
#include <cstring>

#include "fused_sum.h"
#include "tilewright/emulator/tensor_core.h"
#include "tilewright/numeric/float16.h"
#include "tilewright/numeric/float8.h"

namespace tilewright::emulator {
namespace {

constexpr int kM = 16, kN = 8;
constexpr int kRowBytes = 32;

using Rows = std::array<uint8_t, size_t{kM} * kRowBytes>;
using Sums = std::array<uint32_t, size_t{kM} * kN>;

bool is_fp8(MmaType type) { return type == MmaType::e4m3 || type == MmaType::e5m2; }

// Rows of `bytes` bytes as rows of 32, filled up with zeros: a zero product takes part in a fused sum without
// a trace, its exponent being less than that of any accumulator.
Rows widened(const uint8_t* packed, int rows, int bytes) {
  Rows result{};
  for (int row = 0; row < rows; ++row) std::memcpy(&result[row * kRowBytes], packed + row * bytes, bytes);
  return result;
}

uint16_t to_f16(MmaType type, uint8_t code) {
  const float value = type == MmaType::e4m3 ? static_cast<float>(e4m3::from_bits(code))
                                            : static_cast<float>(e5m2::from_bits(code));
  return f16(value).bits;
}

// The elements with k % 4 in {2 * half, 2 * half + 1} as f16, in rows of 32 bytes.
Rows unpacked(MmaType type, const uint8_t* packed, int rows, int k, int half) {
  Rows result{};
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < k / 2; ++i) {
      const uint16_t value = to_f16(type, packed[row * k + i / 2 * 4 + 2 * half + i % 2]);
      std::memcpy(&result[row * kRowBytes + 2 * i], &value, sizeof value);
    }
  }
  return result;
}

uint32_t added(AccumulatorType type, uint32_t x, uint32_t y) {
  if (type == AccumulatorType::f16) {
    // A sum of two f16 rounded to f32 first rounds to the same f16.
    return f16(static_cast<float>(f16::from_bits(x & 0xFFFF)) +
               static_cast<float>(f16::from_bits(y & 0xFFFF)))
        .bits;
  }
  const float sum = __builtin_bit_cast(float, x) + __builtin_bit_cast(float, y);
  return sum != sum ? 0x7FFFFFFFu : __builtin_bit_cast(uint32_t, sum);
}

void multiply_fp8(const MmaSyncInstruction& instruction, const uint8_t* a, const uint8_t* b, uint32_t* d) {
  const WgmmaInstruction half_mma{kN, MmaType::f16, MmaType::f16, instruction.d};
  Sums product{};
  for (int half = 0; half < 2; ++half) {
    const Rows left = unpacked(instruction.a, a, kM, instruction.k, half);
    const Rows right = unpacked(instruction.b, b, kN, instruction.k, half);
    multiply_rows(half_mma, kM, left.data(), right.data(), product.data(), half != 0);
  }
  for (size_t i = 0; i < product.size(); ++i) d[i] = added(instruction.d, product[i], d[i]);
}

int element_bytes(MmaType type) {
  return type == MmaType::tf32 ? 4 : type == MmaType::f16 || type == MmaType::bf16 ? 2 : 1;
}

}  // namespace

void tensor_core_mma_sync(const MmaSyncInstruction& instruction, const uint8_t* a, const uint8_t* b,
                          uint32_t* d) {
  if (is_fp8(instruction.a)) return multiply_fp8(instruction, a, b, d);
  WgmmaInstruction mma{kN, instruction.a, instruction.b, instruction.d};
  mma.saturate = instruction.saturate;
  const int bytes = instruction.k * element_bytes(instruction.a);
  multiply_rows(mma, kM, widened(a, kM, bytes).data(), widened(b, kN, bytes).data(), d, true);
}

}  // namespace tilewright::emulator
