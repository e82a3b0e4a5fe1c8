// mma.sync on whichever machine: its fragments, and its arithmetic to the last bit.
#include <cmath>
#include <random>

#include "tests/arch/mma_sync_case.h"
#include "tests/numeric/tensor_core_scalar.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace {

using emulator::MmaType;

template <class T>
constexpr MmaType type_of() {
  if (std::is_same_v<T, f16>) return MmaType::f16;
  if (std::is_same_v<T, bf16>) return MmaType::bf16;
  if (std::is_same_v<T, tf32>) return MmaType::tf32;
  return std::is_same_v<T, e4m3> ? MmaType::e4m3 : MmaType::e5m2;
}

/// The FP8 element as what it is unpacked to: f16, where more numbers are normal.
template <class T>
test::Term unpacked(const T* raw) {
  if constexpr (sizeof(T) == 1) return test::read_code(f16(static_cast<float>(*raw)).bits, 5, 10, true);
  return test::read_element(type_of<T>(), reinterpret_cast<const uint8_t*>(raw));
}

/// One element of D by the description in mma_sync.h. c and the result: raw bits.
template <class C>
uint32_t floating_element(const typename C::A* a, const typename C::B* b, uint32_t c) {
  constexpr int kFraction = 25, kBits = 23;
  std::vector<test::Term> terms;
  if constexpr (sizeof(typename C::A) != 1) {
    terms.push_back(test::read_accumulator(c, C::packed));
    for (int k = 0; k < C::k; ++k) terms.push_back(test::multiply(unpacked(a + k), unpacked(b + k)));
    return test::fused_sum(terms, kFraction, C::packed, kBits);
  } else {
    uint32_t product = 0;
    for (int half = 0; half < 2; ++half) {
      terms.assign(1, test::read_accumulator(product, C::packed));
      for (int k = 0; k < C::k; ++k) {
        if (k % 4 / 2 == half) terms.push_back(test::multiply(unpacked(a + k), unpacked(b + k)));
      }
      product = test::fused_sum(terms, kFraction, C::packed, kBits);
    }
    if constexpr (C::packed) {
      return f16(static_cast<float>(f16::from_bits(product)) + static_cast<float>(f16::from_bits(c))).bits;
    } else {
      const float sum = tilewright::detail::float_from_bits(product) + tilewright::detail::float_from_bits(c);
      return sum != sum ? 0x7FFFFFFF : tilewright::detail::float_bits(sum);
    }
  }
}

template <class C>
int32_t integer_element(const typename C::A* a, const typename C::B* b, int32_t c) {
  int64_t sum = c;
  for (int k = 0; k < C::k; ++k) sum += int64_t{a[k]} * b[k];
  if (C::saturate) sum = std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX);
  return static_cast<int32_t>(static_cast<uint32_t>(sum));
}

/// Fills `count` elements with numbers of about one size or (`any`) with any finite codes.
template <class T>
void fill_elements(T* out, int count, bool any, std::mt19937& random) {
  std::normal_distribution<double> normal;
  for (int i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, double>) {
      out[i] = std::ldexp(normal(random), any ? static_cast<int>(random() % 200) - 100 : 0);
    } else if constexpr (std::is_integral_v<T>) {
      out[i] = static_cast<T>(random());
    } else {
      do {
        out[i] = any ? T::from_bits(random()) : T(static_cast<float>(normal(random)));
      } while (test::read_element(type_of<T>(), reinterpret_cast<const uint8_t*>(out + i)).kind !=
               test::Term::finite);
    }
  }
}

template <class C>
class MmaSync : public OnMachine {
 protected:
  /// One product of random operands, each element compared with what it must be.
  void check(bool any, std::mt19937& random) {
    using A = typename C::A;
    using B = typename C::B;
    using Register = typename C::Register;
    Buffer<typename C::Operand> a(C::m * C::row), b(8 * C::row);
    Buffer<Register> c(C::m * C::columns), d(C::m * C::columns);
    auto* rows = reinterpret_cast<A*>(a.data());
    auto* columns = reinterpret_cast<B*>(b.data());
    fill_elements(rows, C::m * C::k, any, random);
    fill_elements(columns, 8 * C::k, any, random);
    for (int i = 0; i < C::m * C::columns; ++i) c[i] = accumulator(any, random);
    this->run(multiply_warp<C>, 1, 32, 0, 1, a.data(), b.data(), c.data(), d.data());
    for (int row = 0; row < C::m; ++row) {
      for (int column = 0; column < 8; ++column) {
        expect_element(rows + row * C::k, columns + column * C::k, c.data(), d.data(), row * 8 + column);
        if (HasFatalFailure()) return;
      }
    }
  }

 private:
  static typename C::Register accumulator(bool any, std::mt19937& random) {
    const auto value = static_cast<float>(static_cast<int>(random() % 4096) - 2048) / 256;
    if constexpr (C::wide) {
      return value;
    } else if constexpr (C::packed) {
      return any ? random() & 0xFBFFFBFF : f16(value).bits * 0x10001u;  // finite
    } else if constexpr (std::is_integral_v<typename C::A>) {
      return static_cast<int32_t>(random());
    } else {
      return any ? tilewright::detail::float_from_bits(random() & ~0x40000000u) : value;  // at most 2
    }
  }

  static void expect_element(const typename C::A* a, const typename C::B* b, const typename C::Register* c,
                             const typename C::Register* d, int i) {
    if constexpr (C::wide) {
      double sum = c[i];
      for (int k = 0; k < C::k; ++k) sum = std::fma(a[k], b[k], sum);
      ASSERT_EQ(d[i], sum) << i;
    } else if constexpr (std::is_integral_v<typename C::A>) {
      ASSERT_EQ(d[i], (integer_element<C>(a, b, c[i]))) << i;
    } else if constexpr (C::packed) {
      const int shift = i % 2 * 16;
      ASSERT_EQ(d[i / 2] >> shift & 0xFFFF, (floating_element<C>(a, b, c[i / 2] >> shift & 0xFFFF))) << i;
    } else {
      ASSERT_EQ(tilewright::detail::float_bits(d[i]),
                (floating_element<C>(a, b, tilewright::detail::float_bits(c[i]))))
          << i;
    }
  }
};

#define TILEWRIGHT_CASE(...) , MmaSyncCase<__VA_ARGS__>
template <class, class... Cases>
struct MmaSyncList {
  using Types = testing::Types<Cases...>;
};
using MmaSyncCases = MmaSyncList<void TILEWRIGHT_MMA_SYNC_CASES(TILEWRIGHT_CASE)>::Types;
#undef TILEWRIGHT_CASE
TYPED_TEST_SUITE(MmaSync, MmaSyncCases);

TYPED_TEST(MmaSync, of_ordinary_numbers_has_the_bits_of_its_description) {
  std::mt19937 random(1);
  for (int round = 0; round < 8; ++round) this->check(false, random);
}

TYPED_TEST(MmaSync, of_any_finite_codes_has_the_bits_of_its_description) {
  std::mt19937 random(2);
  for (int round = 0; round < 16; ++round) this->check(true, random);
}

}  // namespace
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
