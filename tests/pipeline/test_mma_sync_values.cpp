// Arithmetic of the mma_sync path: bit for bit that of the instruction (which is that of an H200,
// tests/arch), step by step of K, in every arrangement; doubles are the chain of fused multiply-adds in the
// order of K.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/pipeline/mma_sync_case.h"
#include "tests/pipeline/product_case.h"
#include "tilewright/arch/mma_sync_traits.h"
#include "tilewright/emulator/tensor_core.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

/// The elements of one MMA of the product at (i, j): step by step, each as the instruction does it.
template <class D>
std::array<uint32_t, 128> expected_mma(Product<D>& p, int64_t i, int64_t j, bool promoted) {
  using A = typename D::a_value_type;
  using B = typename D::b_value_type;
  constexpr int kStep = 32 / static_cast<int>(sizeof(A));
  constexpr auto kType = std::is_same_v<typename D::c_value_type, int32_t> ? emulator::AccumulatorType::s32
                         : std::is_same_v<typename D::c_value_type, f16>   ? emulator::AccumulatorType::f16
                                                                           : emulator::AccumulatorType::f32;
  const emulator::MmaSyncInstruction instruction{kStep, arch::detail::mma_type<A>(),
                                                 arch::detail::mma_type<B>(), kType, false};
  std::array<uint32_t, 128> sum{};
  for (int64_t x = 0; x < p.k; x += kStep) {
    A a[16][kStep] = {};
    B b[8][kStep] = {};
    for (int64_t step = 0; step < kStep && x + step < p.k; ++step) {
      for (int64_t row = 0; row < 16 && i + row < p.m; ++row) a[row][step] = p.a.at(i + row, x + step, 0);
      for (int64_t column = 0; column < 8 && j + column < p.n; ++column) {
        b[column][step] = p.b.at(x + step, j + column, 0);
      }
    }
    std::array<uint32_t, 128> d = promoted ? std::array<uint32_t, 128>{} : sum;
    emulator::tensor_core_mma_sync(instruction, reinterpret_cast<const uint8_t*>(a),
                                   reinterpret_cast<const uint8_t*>(b), d.data());
    if (promoted) {
      for (size_t e = 0; e < d.size(); ++e) {
        d[e] = std::bit_cast<uint32_t>(std::bit_cast<float>(sum[e]) + std::bit_cast<float>(d[e]));
      }
    }
    sum = d;
  }
  return sum;
}

template <class T>
uint32_t bits_of(const T& value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <class D, class MakeA, class MakeB>
void expect_instruction(int64_t m, int64_t n, int64_t k, bool promoted, MakeA make_a, MakeB make_b) {
  Product<D> p(m, n, k);
  p.fill(make_a, make_b);
  p.template multiply<3>();
  if (::testing::Test::HasFatalFailure()) return;
  for (int64_t i = 0; i < m; i += 16) {
    for (int64_t j = 0; j < n; j += 8) {
      const std::array<uint32_t, 128> sums = expected_mma(p, i, j, promoted);
      for (int64_t e = 0; e < 128; ++e) {
        const int64_t row = i + e / 8, column = j + e % 8;
        if (row >= m || column >= n) continue;
        const auto found = p.c.at(row, column, 0);
        typename D::c_value_type expected;
        std::memcpy(static_cast<void*>(&expected), &sums[static_cast<size_t>(e)], sizeof(expected));
        if (value_of(found) != value_of(found) && value_of(expected) != value_of(expected)) continue;  // NaN
        ASSERT_EQ(bits_of(found), bits_of(expected)) << row << ", " << column;
      }
    }
  }
}

/// Values of all magnitudes that a type of few exponent bits holds.
template <class T>
T scattered(std::mt19937& random) {
  std::normal_distribution<float> values;
  std::uniform_int_distribution<int> exponents(-6, 5);
  return T(std::ldexp(values(random), exponents(random)));
}
/// Any code.
template <class T>
T any_code(std::mt19937& random) {
  return T::from_bits(static_cast<decltype(T::bits)>(random()));
}
/// Any code but NaN and infinity.
template <class T>
T finite_code(std::mt19937& random) {
  for (;;) {
    const T code = any_code<T>(random);
    if (std::isfinite(static_cast<float>(code))) return code;
  }
}

template <class A, class B, class C, int K, class MakeA, class MakeB>
void expect_instruction_in_every_arrangement(MakeA make_a, MakeB make_b) {
  expect_instruction<Sync<A, B, C, 32, 32, K, 64, row_major, col_major>>(70, 50, 200, false, make_a, make_b);
  expect_instruction<Sync<A, B, C, 32, 32, K, 64, col_major, col_major>>(70, 50, 200, false, make_a, make_b);
  expect_instruction<Sync<A, B, C, 32, 32, K, 64, row_major, row_major>>(70, 50, 200, false, make_a, make_b);
  expect_instruction<Sync<A, B, C, 32, 32, K, 64, col_major, row_major>>(70, 50, 200, false, make_a, make_b);
}

TEST(PipelineMmaSyncValues, sums_of_16_bit_types_are_those_of_the_instruction) {
  expect_instruction_in_every_arrangement<bf16, bf16, float, 32>(scattered<bf16>, scattered<bf16>);
  expect_instruction_in_every_arrangement<f16, f16, f16, 32>(scattered<f16>, scattered<f16>);
}
TEST(PipelineMmaSyncValues, sums_of_tf32_are_those_of_the_instruction) {
  expect_instruction_in_every_arrangement<tf32, tf32, float, 16>(scattered<tf32>, scattered<tf32>);
}
TEST(PipelineMmaSyncValues, sums_of_fp8_of_every_code_are_those_of_the_instruction) {
  expect_instruction_in_every_arrangement<e4m3, e4m3, float, 32>(finite_code<e4m3>, finite_code<e4m3>);
  expect_instruction_in_every_arrangement<e5m2, e4m3, float, 64>(finite_code<e5m2>, finite_code<e4m3>);
  expect_instruction_in_every_arrangement<e4m3, e5m2, f16, 32>(scattered<e4m3>, scattered<e5m2>);
}
TEST(PipelineMmaSyncValues, nan_and_infinity_go_where_the_instruction_has_them) {
  expect_instruction_in_every_arrangement<bf16, bf16, float, 32>(
      [](std::mt19937& random) {
        return random() % 400 == 0 ? any_code<bf16>(random) : scattered<bf16>(random);
      },
      [](std::mt19937& random) {
        return random() % 400 == 0 ? bf16(std::numeric_limits<float>::infinity()) : scattered<bf16>(random);
      });
  const auto rare = [](std::mt19937& random) {
    return random() % 300 == 0 ? any_code<e5m2>(random) : scattered<e5m2>(random);
  };
  expect_instruction_in_every_arrangement<e5m2, e5m2, float, 32>(rare, rare);
}

// 127 * 127 * 2200 is above 2^25, where float no longer has every integer.
TEST(PipelineMmaSyncValues, integers_are_exact_above_the_integers_of_float) {
  const auto most = [](std::mt19937& random) {
    return static_cast<int8_t>(127 - static_cast<int>(random() % 2));
  };
  expect_instruction<Sync<int8_t, int8_t, int32_t, 32, 16, 64, 32, row_major, col_major>>(32, 16, 2200, false,
                                                                                          most, most);
  expect_instruction<Sync<int8_t, int8_t, int32_t, 32, 16, 64, 32, col_major, row_major>>(32, 16, 2200, false,
                                                                                          most, most);
  const auto any = [](std::mt19937& random) { return static_cast<uint8_t>(random()); };
  const auto low = [](std::mt19937&) { return static_cast<int8_t>(-128); };
  expect_instruction<Sync<uint8_t, int8_t, int32_t, 32, 16, 64, 32, col_major, row_major>>(32, 16, 2200,
                                                                                           false, any, low);
}

TEST(PipelineMmaSyncValues, promoted_sums_are_added_in_fp32_after_every_step) {
  using D =
      decltype(Sync<bf16, bf16, float, 32, 32, 32, 64, row_major, row_major>() + Accumulation<promoted<4>>());
  expect_instruction<D>(40, 40, 500, true, scattered<bf16>, scattered<bf16>);
  // The instruction itself does so with FP8: promoted or not, the bits are the same.
  using Promoted = Sync<e4m3, e4m3, float, 32, 32, 32, 64, row_major, row_major>;
  using Fast = decltype(Promoted() + Accumulation<fast>());
  static_assert(promotion_interval_of_v<Promoted> == 4 && promotion_interval_of_v<Fast> == 0);
  expect_instruction<Promoted>(40, 40, 500, true, scattered<e4m3>, scattered<e4m3>);
  expect_instruction<Fast>(40, 40, 500, true, scattered<e4m3>, scattered<e4m3>);
}

// ---- doubles

template <arrangement OrderA, arrangement OrderB, int Architecture>
void expect_chain() {
  using D =
      decltype(Size<32, 16, 16>() + Precision<double>() + BlockDim<64>() + Arrangement<OrderA, OrderB>() +
               WithPipeline() + SM<Architecture>() + RequirePath<path::mma_sync>());
  Product<D> p(40, 30, 77);
  const auto make = [](std::mt19937& random) {
    return std::ldexp(std::normal_distribution<double>()(random), static_cast<int>(random() % 40) - 20);
  };
  p.fill(make, make);
  p.template multiply<3>();
  if (::testing::Test::HasFatalFailure()) return;
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      double sum = 0;
      for (int64_t x = 0; x < p.k; ++x) sum = std::fma(p.a.at(i, x, 0), p.b.at(x, j, 0), sum);
      ASSERT_EQ(std::memcmp(&sum, &p.c.at(i, j, 0), sizeof(sum)), 0) << i << ", " << j;
    }
  }
}

TEST(PipelineMmaSyncValues, doubles_are_a_chain_of_fused_multiply_adds_in_every_arrangement) {
  expect_chain<row_major, col_major, 900>();
  expect_chain<col_major, col_major, 900>();
  expect_chain<row_major, row_major, 900>();
  expect_chain<col_major, row_major, 900>();
}
TEST(PipelineMmaSyncValues, doubles_before_sm_90_are_the_same_chain) {
  expect_chain<row_major, col_major, 800>();
  expect_chain<col_major, row_major, 800>();
}

// K of an MMA runs over the real parts of four numbers, then over their imaginary ones.
template <arrangement OrderA, arrangement OrderB>
void expect_complex_chain() {
  using D =
      decltype(Size<16, 16, 8>() + Precision<double>() + Type<type::complex>() + BlockDim<32>() +
               Arrangement<OrderA, OrderB>() + WithPipeline() + SM<900>() + RequirePath<path::mma_sync>());
  Product<D> p(20, 18, 22);
  const auto make = [](std::mt19937& random) {
    std::normal_distribution<double> values;
    const double real = values(random);
    return complex<double>{real, values(random)};
  };
  p.fill(make, make);
  p.template multiply<3>();
  if (::testing::Test::HasFatalFailure()) return;
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      double real = 0, imaginary = 0;
      for (int64_t first = 0; first < p.k; first += 4) {
        const int64_t end = std::min(first + 4, p.k);
        for (int64_t x = first; x < end; ++x) {
          real = std::fma(p.a.at(i, x, 0).x, p.b.at(x, j, 0).x, real);
          imaginary = std::fma(p.a.at(i, x, 0).x, p.b.at(x, j, 0).y, imaginary);
        }
        for (int64_t x = first; x < end; ++x) {
          real = std::fma(p.a.at(i, x, 0).y, -p.b.at(x, j, 0).y, real);
          imaginary = std::fma(p.a.at(i, x, 0).y, p.b.at(x, j, 0).x, imaginary);
        }
      }
      ASSERT_EQ(p.c.at(i, j, 0).x, real) << i << ", " << j;
      ASSERT_EQ(p.c.at(i, j, 0).y, imaginary) << i << ", " << j;
    }
  }
}

TEST(PipelineMmaSyncValues, complex_doubles_are_two_chains_in_every_arrangement) {
  expect_complex_chain<row_major, col_major>();
  expect_complex_chain<col_major, row_major>();
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
