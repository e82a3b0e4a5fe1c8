#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "src/matrix_init.h"
#include "src/reference.h"
#include "tilewright/emulator/tensor_core.h"
#include "tilewright/numeric/element.h"

namespace tilewright {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

struct Storage {
  std::vector<uint8_t> bytes;
  MatrixShape shape;
  Storage(const MatrixShape& s, int64_t elements)
      : bytes(static_cast<size_t>(bytes_of(s.type, elements))), shape(s) {}
  MatrixView view() const {
    return {bytes.data(), shape.type, shape.row_stride, shape.column_stride, shape.batch_stride};
  }
};

Storage filled(DType type, int64_t rows, int64_t columns, Init init, uint64_t seed) {
  Storage s({type, rows, columns, 1, columns, 1, 0}, rows * columns);
  fill_matrix(s.bytes.data(), s.shape, init, seed);
  return s;
}

// B as the kernels have it: n rows of contiguous K.
MatrixView transposed(const Storage& s) {
  MatrixView v = s.view();
  std::swap(v.row_stride, v.column_stride);
  return v;
}

struct Reference {
  std::vector<double> d, s;
  explicit Reference(const ReferenceGemm& g) : d(g.batches * g.m * g.n, -7), s(d.size(), -7) {
    EXPECT_FALSE(reference_gemm(g, d.data(), s.data()));
  }
};

double element(const MatrixView& v, int64_t batch, int64_t i, int64_t j) {
  return load_element(v.data, v.type, v.index(batch, i, j));
}

TEST(Reference, equals_the_textbook_sum_for_every_type_and_layout) {
  const int64_t m = 70, n = 67, k = 300, batches = 2;
  for (DType type : {DType::e4m3, DType::e5m2, DType::f16, DType::bf16, DType::tf32, DType::f32, DType::s8,
                     DType::u8, DType::e2m1}) {
    // A row-major with padded rows, B column-major, C column-major; batches apart by more than a matrix.
    Storage a({type, m, k, batches, k + 4, 1, m * (k + 4) + 2}, batches * (m * (k + 4) + 2));
    Storage b({type, k, n, batches, 1, k + 2, n * (k + 2) + 6}, batches * (n * (k + 2) + 6));
    Storage c({DType::f32, m, n, batches, 1, m + 1, n * (m + 1)}, batches * n * (m + 1));
    fill_matrix(a.bytes.data(), a.shape, Init::normal, 1);
    fill_matrix(b.bytes.data(), b.shape, Init::normal, 2);
    fill_matrix(c.bytes.data(), c.shape, Init::normal, 3);
    const ReferenceGemm g{m, n, k, batches, a.view(), b.view(), c.view(), 1.5, -0.5, 2, 2};
    const Reference r(g);
    for (int64_t e = 0; e < batches * m * n; e += 13) {
      const int64_t batch = e / (m * n), i = e / n % m, j = e % n;
      double sum = 0, magnitude = 0;
      for (int64_t x = 0; x < k; ++x) {
        sum += element(g.a, batch, i, x) * element(g.b, batch, x, j);
        magnitude += std::fabs(element(g.a, batch, i, x) * element(g.b, batch, x, j));
      }
      const double want = 2 * (1.5 * sum - 0.5 * element(g.c, batch, i, j));
      ASSERT_NEAR(r.d[e], want, 1e-12 * (magnitude + 1)) << name_of(type);
      ASSERT_GE(r.s[e], magnitude * (1 - 1e-12));
      // Subnormals and zeros make it a little more; E2M1 has few codes and many zeros and subnormals.
      ASSERT_LE(r.s[e], magnitude * (type == DType::e2m1 ? 2 : 1.01)) << name_of(type);
    }
  }
}

// Scales are factors of the elements: the reference of scaled operands is that of operands multiplied by
// them.
std::complex<double> complex_element(const MatrixView& v, int64_t batch, int64_t i, int64_t j) {
  const int64_t at = 2 * v.index(batch, i, j);
  return {load_element(v.data, v.type, at), load_element(v.data, v.type, at + 1)};
}

TEST(Reference, equals_the_textbook_sum_of_complex_numbers) {
  const int64_t m = 70, n = 35, k = 150, batches = 2;
  for (DType type : {DType::cf16, DType::cbf16, DType::ctf32, DType::cf32, DType::cf64}) {
    Storage a({type, m, k, batches, k + 4, 1, m * (k + 4) + 2}, batches * (m * (k + 4) + 2));
    Storage b({type, k, n, batches, 1, k + 2, n * (k + 2) + 6}, batches * (n * (k + 2) + 6));
    Storage c({DType::cf32, m, n, batches, 1, m + 1, n * (m + 1)}, batches * n * (m + 1));
    fill_matrix(a.bytes.data(), a.shape, Init::normal, 1);
    fill_matrix(b.bytes.data(), b.shape, Init::normal, 2);
    fill_matrix(c.bytes.data(), c.shape, Init::normal, 3);
    const ReferenceGemm g{m, n, k, batches, a.view(), b.view(), c.view(), 1.5, -0.5, 1, 2};
    std::vector<double> d(static_cast<size_t>(2 * batches * m * n)), s(d.size());
    ASSERT_FALSE(reference_gemm(g, d.data(), s.data()));
    Storage got({DType::cf64, m, n, batches, n, 1, m * n}, batches * m * n);
    for (int64_t e = 0; e < batches * m * n; ++e) {
      const int64_t batch = e / (m * n), i = e / n % m, j = e % n;
      std::complex<double> sum = 0;
      double magnitude = 0;
      for (int64_t x = 0; x < k; ++x) {
        const auto p = complex_element(g.a, batch, i, x), q = complex_element(g.b, batch, x, j);
        sum += p * q;
        magnitude += std::fabs(p.real() * q.real()) + std::fabs(p.imag() * q.imag());
      }
      const auto want = 1.5 * sum - 0.5 * complex_element(g.c, batch, i, j);
      const auto at = static_cast<size_t>(2 * e);
      ASSERT_NEAR(d[at], want.real(), 1e-12 * (magnitude + 1)) << name_of(type);
      ASSERT_NEAR(d[at + 1], want.imag(), 1e-12 * (magnitude + 1)) << name_of(type);
      ASSERT_NEAR(s[at], magnitude, 0.01 * magnitude) << name_of(type);
      store_element(got.bytes.data(), DType::cf64, 2 * e, d[at], false);
      store_element(got.bytes.data(), DType::cf64, 2 * e + 1, d[at + 1], false);
    }
    // One wrong imaginary part is found, and named by its element.
    const ComparisonRules rules{fma_f64_bound(2 * k), false, true};
    EXPECT_TRUE(compare(g, d.data(), s.data(), got.view(), rules).passed());
    const int64_t wrong = (m + 5) * n + 7;
    store_element(got.bytes.data(), DType::cf64, 2 * wrong + 1, 1e3, false);
    const Comparison found = compare(g, d.data(), s.data(), got.view(), rules);
    EXPECT_EQ(found.failures, 1);
    EXPECT_EQ(found.elements, 2 * batches * m * n);
    EXPECT_EQ(std::vector<int64_t>({found.batch, found.row, found.column}), (std::vector<int64_t>{1, 5, 7}));
  }
}

TEST(Reference, scales_are_factors_of_the_elements) {
  const int64_t m = 70, n = 130, k = 300, batches = 2;
  Storage a({DType::f32, m, k, batches, k, 1, m * k}, batches * m * k);
  Storage b({DType::f32, k, n, batches, 1, k, n * k}, batches * n * k);
  fill_matrix(a.bytes.data(), a.shape, Init::normal, 1);
  fill_matrix(b.bytes.data(), b.shape, Init::normal, 2);
  // A: one for each row and 100 of k, rows contiguous; B: one for each 64 columns and 150 of k.
  std::vector<float> sa(m * 3 * batches), sb(3 * 2 * batches);
  for (size_t i = 0; i < sa.size(); ++i) sa[i] = 0.25f + static_cast<float>(i % 37);
  for (size_t i = 0; i < sb.size(); ++i) sb[i] = static_cast<float>(i) - 4.5f;
  ReferenceGemm g{m, n, k, batches, a.view(), b.view(), {}};
  g.a_scales = {sa.data(), 1, 100, 1, m, 3 * m};
  g.b_scales = {sb.data(), 64, 150, 2, 1, 6};
  const Reference scaled(g);
  const auto multiply = [&](Storage& matrix, const ScaleView& scales, bool lines_first) {
    auto* values = reinterpret_cast<float*>(matrix.bytes.data());
    for (int64_t batch = 0; batch < batches; ++batch)
      for (int64_t line = 0; line < (lines_first ? m : n); ++line)
        for (int64_t x = 0; x < k; ++x)
          values[(batch * (lines_first ? m : n) + line) * k + x] *=
              static_cast<float>(scales.at(batch, line, x));
  };
  multiply(a, g.a_scales, true);
  multiply(b, g.b_scales, false);
  g.a_scales = g.b_scales = {};
  const Reference plain(g);
  for (size_t i = 0; i < plain.d.size(); ++i) {
    ASSERT_NEAR(scaled.d[i], plain.d[i], 1e-5 * plain.s[i]) << i;
    ASSERT_NEAR(scaled.s[i], plain.s[i], 1e-5 * plain.s[i]) << i;
  }
}

TEST(Reference, block_scales_cost_two_roundings_more) {
  const AccumulationBound plain = wgmma_f32_bound(DType::e4m3, 1024, 4),
                          scaled = block_scaled_bound(DType::e4m3, 1024, 8);
  EXPECT_NEAR(scaled.relative - plain.relative, 2 * 0x1p-24, 0x1p-40);
  EXPECT_NEAR(scaled.absolute, 8 * plain.absolute + 8 * 0x1p-149, 0x1p-149);
}

TEST(Reference, subnormals_count_as_the_least_normal_number_in_s) {
  const e4m3 a = e4m3::from_bits(1), b = e4m3(1.0f);  // 2^-9
  const ReferenceGemm g{1, 1, 1, 1, {&a, DType::e4m3}, {&b, DType::e4m3}, {}};
  const Reference r(g);
  EXPECT_EQ(r.d[0], 0x1p-9);
  EXPECT_EQ(r.s[0], 0x1p-6);
}

TEST(Reference, beta_zero_never_reads_c_and_alpha_zero_never_reads_a_or_b) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), three = 3;
  ReferenceGemm g{1, 1, 1, 1, {&three, DType::f32}, {&three, DType::f32}, {nullptr, DType::f32}};
  EXPECT_EQ(Reference(g).d[0], 9);
  g.a.data = g.b.data = nullptr;
  g.alpha = 0;
  g.beta = 2;
  g.c.data = &three;
  EXPECT_EQ(Reference(g).d[0], 6);
  g.alpha = 1;
  g.k = 0;
  EXPECT_EQ(Reference(g).d[0], 6);
  g.k = 1;
  g.a.data = &nan;
  g.b.data = &three;
  EXPECT_TRUE(std::isnan(Reference(g).d[0]));
}

TEST(Case, C17_no_k_gives_beta_c_whatever_alpha_is) {
  const float three = 3;
  for (const double alpha : {kNan, kInf, -kInf, 1.0}) {
    ReferenceGemm g{1, 1, 0, 1, {nullptr, DType::f32}, {nullptr, DType::f32}, {&three, DType::f32}};
    g.alpha = alpha;
    g.beta = 0.5;
    const Reference r(g);
    EXPECT_EQ(r.d[0], 1.5);
    const auto verdict = [&](float got) {
      return compare(g, r.d.data(), r.s.data(), {&got, DType::f32}, {fma_f32_bound(0)}).passed();
    };
    EXPECT_TRUE(verdict(1.5f)) << alpha;
    EXPECT_FALSE(verdict(1.25f)) << alpha;
    EXPECT_FALSE(verdict(std::numeric_limits<float>::quiet_NaN())) << alpha;
  }
}

TEST(Reference, empty_and_negative_extents) {
  double d = 5;
  ReferenceGemm g;
  EXPECT_FALSE(reference_gemm(g, &d, nullptr));
  EXPECT_EQ(d, 5);
  g.n = -1;
  const Status status = reference_gemm(g, &d, nullptr);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->rule, "reference.extent");
}

TEST(Reference, progress_counts_every_block_once) {
  const Storage a = filled(DType::e4m3, 200, 8, Init::ones, 1), b = filled(DType::e4m3, 4, 8, Init::ones, 1);
  ReferenceGemm g{200, 4, 8, 1, a.view(), transposed(b), {}};
  std::vector<double> d(800);
  int last = 0;
  ASSERT_FALSE(reference_gemm(g, d.data(), nullptr, [&](int done, int total) {
    EXPECT_EQ(done, ++last);
    EXPECT_EQ(total, 4);
  }));
  EXPECT_EQ(last, 4);
  for (double v : d) ASSERT_EQ(v, 8);
}

TEST(Case, C19_integer_sums_above_2_to_24_are_exact) {
  const int64_t k = 1 << 17;
  const Storage a = filled(DType::u8, 2, k, Init::uniform, 1), b = filled(DType::u8, 2, k, Init::ones, 2);
  const ReferenceGemm g{2, 2, k, 1, a.view(), transposed(b), {}};
  const Reference r(g);
  std::vector<int32_t> got;
  for (double v : r.d) got.push_back(static_cast<int32_t>(v));
  EXPECT_GT(r.d[0], 0x1p23);
  const MatrixView view{got.data(), DType::s32, 2, 1, 0};
  EXPECT_TRUE(compare(g, r.d.data(), r.s.data(), view, {exact_bound()}).passed());
  ++got[3];  // off by one
  const Comparison wrong = compare(g, r.d.data(), r.s.data(), view, {exact_bound()});
  EXPECT_EQ(wrong.failures, 1);
  EXPECT_EQ(wrong.row, 1);
  EXPECT_EQ(wrong.column, 1);
}

// ---- the bound of FP8 accumulation against the model of the tensor core

struct Fp8Problem {
  Storage a, b;
  ReferenceGemm g;
  Reference r;
  Fp8Problem(Storage a_in, Storage b_in)
      : a(std::move(a_in)),
        b(std::move(b_in)),
        g{a.shape.rows, b.shape.rows, a.shape.columns, 1, a.view(), transposed(b), {}},
        r(g) {}

  std::vector<float> model(int64_t interval) const {
    const auto type = [](DType t) {
      return t == DType::e4m3 ? emulator::MmaType::e4m3 : emulator::MmaType::e5m2;
    };
    const emulator::ModelGemm model{
        type(a.shape.type), type(b.shape.type), g.m, g.n, g.k, a.bytes.data(), g.k, b.bytes.data(), g.k,
        interval,           interval == 0};
    std::vector<float> d(g.m * g.n);
    EXPECT_FALSE(emulator::model_gemm_fp8(model, d.data(), g.n));
    return d;
  }
  Comparison judge(const std::vector<float>& d, int64_t interval) const {
    const MatrixView got{d.data(), DType::f32, g.n, 1, 0};
    return compare(g, r.d.data(), r.s.data(), got, {wgmma_f32_bound(DType::e4m3, g.k, interval)});
  }
};

Storage any_codes(DType type, int64_t rows, int64_t columns, bool specials, uint64_t seed) {
  Storage s({type, rows, columns, 1, columns, 1, 0}, rows * columns);
  fill_any_codes(s.bytes.data(), s.shape, specials, seed);
  return s;
}

TEST(Fp8Bound, holds_for_the_model_on_every_kind_of_data) {
  const int64_t m = 16, n = 24;
  uint64_t seed = 0;
  for (int64_t k : {1, 32, 33, 500, 2048}) {
    for (DType type : {DType::e4m3, DType::e5m2}) {
      seed += 2;
      std::vector<Fp8Problem> problems;
      for (Init init : {Init::normal, Init::uniform, Init::ones, Init::integers}) {
        problems.emplace_back(filled(type, m, k, init, seed), filled(DType::e4m3, n, k, init, seed + 1));
      }
      problems.emplace_back(any_codes(type, m, k, false, seed),
                            any_codes(DType::e4m3, n, k, false, seed + 1));
      problems.emplace_back(any_codes(type, m, k, false, seed),
                            filled(DType::e4m3, n, k, Init::normal, seed + 1));
      for (const Fp8Problem& p : problems) {
        for (int64_t interval : {1, 2, 4, 16, 0}) {
          const Comparison c = p.judge(p.model(interval), interval);
          ASSERT_TRUE(c.passed()) << "K " << k << " interval " << interval << ": " << c.got << " for "
                                  << c.reference << " +- " << c.bound;
        }
      }
    }
  }
}

TEST(Fp8Bound, holds_for_specials_and_demands_the_same_class) {
  const Fp8Problem p(any_codes(DType::e5m2, 32, 40, true, 1), filled(DType::e4m3, 32, 40, Init::normal, 2));
  std::vector<float> d = p.model(4);
  EXPECT_TRUE(p.judge(d, 4).passed());
  const auto nan = std::find_if(d.begin(), d.end(), [](float v) { return std::isnan(v); });
  ASSERT_NE(nan, d.end());
  *nan = 1;
  EXPECT_EQ(p.judge(d, 4).failures, 1);
}

// Terms just below the last place that is kept, all of one sign: the loss comes near the bound.
TEST(Fp8Bound, is_nearly_reached_by_adversarial_data) {
  const int64_t steps = 16, k = 32 * steps;
  std::vector<e4m3> a(k, e4m3(1.875f)), b(k, e4m3(3.75f));  // 7.03 < 8, the last place of 2^16
  std::fill_n(a.begin(), 32, e4m3(0.0f));
  a[0] = b[0] = e4m3(256.0f);
  Storage sa({DType::e4m3, 1, k, 1, k, 1, 0}, k), sb = sa;
  std::copy(a.begin(), a.end(), reinterpret_cast<e4m3*>(sa.bytes.data()));
  std::copy(b.begin(), b.end(), reinterpret_cast<e4m3*>(sb.bytes.data()));
  const Fp8Problem p(sa, sb);
  const Comparison c = p.judge(p.model(0), 0);
  EXPECT_TRUE(c.passed());
  EXPECT_GT(c.worst_ratio, 0.7);
}

TEST(Fp8Bound, fast_accumulation_fails_the_promoted_bound_on_uniform_data) {
  const Fp8Problem p(filled(DType::e4m3, 8, 16384, Init::uniform, 1),
                     filled(DType::e4m3, 8, 16384, Init::uniform, 2));
  const std::vector<float> promoted = p.model(4), fast = p.model(0);
  const Comparison good = p.judge(promoted, 4);
  EXPECT_TRUE(good.passed());
  EXPECT_LE(good.relative_error, 5.5e-4);
  EXPECT_TRUE(p.judge(fast, 0).passed());
  const Comparison bad = p.judge(fast, 4);
  EXPECT_EQ(bad.failures, 64);
  EXPECT_GE(bad.relative_error, 0.2);
}

TEST(Fp8Bound, grows_with_the_interval_and_never_exceeds_everything) {
  double last = 0;
  for (int64_t interval : {1, 2, 4, 8, 16, 64}) {
    const double bound = wgmma_f32_bound(DType::e4m3, 16384, interval).relative;
    EXPECT_GT(bound, last);
    last = bound;
  }
  EXPECT_NEAR(wgmma_f32_bound(DType::e4m3, 16384, 4).relative, 127.0 / 8192, 1e-4);
  EXPECT_LE(wgmma_f32_bound(DType::e4m3, 16384, 0).relative, 1 + 1e-9);
  EXPECT_EQ(wgmma_f32_bound(DType::e4m3, 64, 100).relative, wgmma_f32_bound(DType::e4m3, 64, 0).relative);
  EXPECT_EQ(wgmma_f32_bound(DType::e4m3, 0, 4).relative, 0);
}

// ---- the bounds of the other types, one 64 x 8 tile of instructions in a row

template <class Bound>
void expect_chain_within(DType type, emulator::MmaType mma_type, emulator::AccumulatorType accumulator,
                         const Bound& bound, bool any) {
  const int64_t depth = 32 * 8 / bits_of(type);
  for (int64_t steps : {1, 7, 64}) {
    const int64_t k = steps * depth;
    const Storage a = any ? any_codes(type, 64, k, false, 1) : filled(type, 64, k, Init::normal, 1);
    const Storage b = filled(type, 8, k, Init::normal, 2);
    const ReferenceGemm g{64, 8, k, 1, a.view(), transposed(b), {}};
    const Reference r(g);
    const emulator::WgmmaInstruction mma{8, mma_type, mma_type, accumulator};
    std::vector<uint32_t> d(64 * 8);
    for (int64_t s = 0; s < steps; ++s) {
      std::vector<uint8_t> step_a, step_b;
      const auto take = [&](const Storage& from, std::vector<uint8_t>& to) {
        const int64_t row_bytes = bytes_of(type, k);
        for (int64_t row = 0; row < from.shape.rows; ++row) {
          const auto at = from.bytes.begin() + row * row_bytes + s * 32;
          to.insert(to.end(), at, at + 32);
        }
      };
      take(a, step_a);
      take(b, step_b);
      emulator::tensor_core_multiply(mma, step_a.data(), step_b.data(), d.data(), s != 0);
    }
    const bool half = accumulator == emulator::AccumulatorType::f16;
    // An f16 accumulator lies in the low half of its word.
    const MatrixView got{d.data(), half ? DType::f16 : DType::f32, half ? 16 : 8, half ? 2 : 1, 0};
    const Comparison c = compare(g, r.d.data(), r.s.data(), got, {bound(k), false});
    ASSERT_TRUE(c.passed()) << name_of(type) << " K " << k << ": " << c.got << " for " << c.reference
                            << " +- " << c.bound;
  }
}

TEST(WgmmaBound, holds_for_16_bit_and_tf32_operands) {
  using emulator::AccumulatorType;
  using emulator::MmaType;
  for (bool any : {false, true}) {
    const auto f32 = [](DType t) { return [t](int64_t k) { return wgmma_f32_bound(t, k, 0); }; };
    expect_chain_within(DType::f16, MmaType::f16, AccumulatorType::f32, f32(DType::f16), any);
    expect_chain_within(DType::bf16, MmaType::bf16, AccumulatorType::f32, f32(DType::bf16), any);
    expect_chain_within(DType::tf32, MmaType::tf32, AccumulatorType::f32, f32(DType::tf32), any);
  }
}

TEST(WgmmaBound, holds_for_f16_accumulators) {
  using emulator::AccumulatorType;
  using emulator::MmaType;
  for (bool any : {false, true}) {
    const auto f16_bound = [](DType t) { return [t](int64_t k) { return wgmma_f16_bound(t, k); }; };
    expect_chain_within(DType::f16, MmaType::f16, AccumulatorType::f16, f16_bound(DType::f16), any);
    expect_chain_within(DType::e4m3, MmaType::e4m3, AccumulatorType::f16, f16_bound(DType::e4m3), any);
    expect_chain_within(DType::e5m2, MmaType::e5m2, AccumulatorType::f16, f16_bound(DType::e5m2), any);
  }
}

TEST(FmaBound, holds_for_a_sequential_chain_and_is_no_looser_than_k_roundings) {
  const int64_t k = 4096;
  const Storage a = filled(DType::f32, 4, k, Init::normal, 1), b = filled(DType::f32, 4, k, Init::normal, 2);
  const ReferenceGemm g{4, 4, k, 1, a.view(), transposed(b), {}};
  const Reference r(g);
  std::vector<float> d(16);
  for (int64_t e = 0; e < 16; ++e) {
    for (int64_t x = 0; x < k; ++x) {
      d[e] = std::fma(static_cast<float>(element(g.a, 0, e / 4, x)),
                      static_cast<float>(element(g.b, 0, x, e % 4)), d[e]);
    }
  }
  EXPECT_TRUE(
      compare(g, r.d.data(), r.s.data(), {d.data(), DType::f32, 4, 1, 0}, {fma_f32_bound(k)}).passed());
  EXPECT_LE(fma_f32_bound(k).relative, (static_cast<double>(k) + 10) * 0x1p-24);
}

// ---- judging single elements

// A 1 x 1 x 1 problem with D = reference exactly, and the verdict on `got`.
template <class T>
bool accepted(double reference, T got, bool saturate, double scale_d = 1) {
  const float a = static_cast<float>(reference), one = 1;
  ReferenceGemm g{1, 1, 1, 1, {&a, DType::f32}, {&one, DType::f32}, {}};
  g.scale_d = scale_d;
  const Reference r(g);
  return compare(g, r.d.data(), r.s.data(), {&got, dtype_of<T>}, {exact_bound(), saturate}).passed();
}

TEST(Compare, an_exact_result_must_be_the_rounded_reference) {
  EXPECT_TRUE(accepted(1.0, f16(1.0f), true));
  EXPECT_FALSE(accepted(1.0, f16(1.0f + 0x1p-10f), true));
  EXPECT_TRUE(accepted(1.03, e4m3(1.0f), true));
  EXPECT_FALSE(accepted(1.03, e4m3(1.125f), true));
  EXPECT_FALSE(accepted(1.0625, e4m3(1.125f), true)) << "a tie goes to even";
}

TEST(Compare, overflow_follows_the_saturation_rule) {
  EXPECT_TRUE(accepted(1000.0, e4m3::from_bits(0x7E), true));
  EXPECT_FALSE(accepted(1000.0, e4m3::from_bits(0x7F), true));
  EXPECT_TRUE(accepted(1000.0, e4m3::from_bits(0x7F), false));
  EXPECT_FALSE(accepted(1000.0, e4m3::from_bits(0x7E), false));
  EXPECT_FALSE(accepted(400.0, e4m3::from_bits(0x7F), false));
  EXPECT_TRUE(accepted(1e5, f16::from_bits(0x7C00), false));
  EXPECT_FALSE(accepted(1e5, f16::from_bits(0x7C00), true));
  EXPECT_TRUE(accepted(1e5, e5m2::from_bits(0x7B), true));
  EXPECT_TRUE(accepted(1e5, e5m2::from_bits(0x7C), false));
}

TEST(Compare, what_saturates_is_measured_from_the_largest_value) {
  const float a = 1000, one = 1;
  const ReferenceGemm g{1, 1, 1, 1, {&a, DType::f32}, {&one, DType::f32}, {}};
  const Reference r(g);
  const auto judged = [&](float value, bool saturate) {
    const e4m3 got(value);
    return compare(g, r.d.data(), r.s.data(), {&got, DType::e4m3}, {exact_bound(), saturate});
  };
  const Comparison right = judged(448, true);
  EXPECT_TRUE(right.passed());
  EXPECT_EQ(right.worst_ratio, 0);
  EXPECT_EQ(right.max_error, 0);
  EXPECT_EQ(right.relative_error, 0);
  const Comparison wrong = judged(-448, true);
  EXPECT_FALSE(wrong.passed());
  EXPECT_EQ(wrong.max_error, 896);
  EXPECT_EQ(wrong.relative_error, 2);
  EXPECT_EQ(judged(448, false).max_error, 552);
}

// A sum that the accumulator cuts to zero, or past it, makes NaN or the other infinity.
TEST(Compare, an_infinite_alpha_asks_for_an_infinity_only_where_the_sum_has_a_sign) {
  for (const double sum : {0x1p-20, 1.0}) {
    const float a[] = {1, static_cast<float>(sum - 1)}, b[] = {1, 1}, scale = 2;
    ReferenceGemm g{1, 1, 2, 1, {a, DType::f32, 2, 1, 0}, {b, DType::f32, 1, 1, 0}, {}};
    g.alpha = -kInf;
    g.a_scales = {&scale, 1, 2};
    const Reference r(g);
    EXPECT_EQ(r.d[0], -kInf);
    for (const double value : {kNan, kInf, -kInf}) {
      const auto got = static_cast<float>(value);
      const AccumulationBound bound{0x1p-15, 0, NumericTraits<float>::max};
      EXPECT_EQ(compare(g, r.d.data(), r.s.data(), {&got, DType::f32}, {bound}).passed(),
                value == -kInf || sum < 1)
          << sum << ' ' << value;
    }
  }
}

// So does an infinite scale of D of a value that may be zero, or of either sign.
TEST(Compare, an_infinite_scale_of_d_asks_for_an_infinity_only_where_its_value_has_a_sign) {
  for (const double value : {-0x1p-20, -1.0}) {
    const float a[] = {1, static_cast<float>(value / 2 - 1)}, b[] = {1, 1}, c = static_cast<float>(value / 2);
    ReferenceGemm g{1, 1, 2,   1, {a, DType::f32, 2, 1, 0}, {b, DType::f32, 1, 1, 0}, {&c, DType::f32},
                    1, 1, kInf};
    const Reference r(g);
    EXPECT_EQ(r.d[0], -kInf);
    for (const double found : {kNan, kInf, -kInf}) {
      const auto got = static_cast<float>(found);
      const AccumulationBound bound{0x1p-15, 0, NumericTraits<float>::max};
      EXPECT_EQ(compare(g, r.d.data(), r.s.data(), {&got, DType::f32}, {bound}).passed(),
                found == -kInf || value > -1)
          << value << ' ' << found;
    }
  }
}

TEST(Compare, infinity_times_nothing_but_zeros_is_a_nan) {
  const float zero = 0;
  for (const auto& [alpha, scale_d] : {std::pair{kInf, 1.0}, {1.0, kInf}}) {
    const ReferenceGemm g{1, 1, 1, 1, {&zero, DType::tf32}, {&zero, DType::tf32}, {}, alpha, 0, scale_d};
    const Reference r(g);
    EXPECT_GT(r.s[0], 0);
    for (const double found : {kNan, kInf, 1.0}) {
      const auto got = static_cast<float>(found);
      const Comparison c =
          compare(g, r.d.data(), r.s.data(), {&got, DType::f32}, {wgmma_f32_bound(DType::tf32, 1, 0)});
      EXPECT_EQ(c.passed(), std::isnan(found)) << alpha << ' ' << found;
    }
  }
}

TEST(Compare, nan_and_infinity_keep_their_class) {
  EXPECT_TRUE(accepted(kNan, f16::from_bits(0xFE01), true));
  EXPECT_FALSE(accepted(kNan, f16(0.0f), true));
  EXPECT_FALSE(accepted(0.0, f16::from_bits(0x7FFF), true));
  EXPECT_TRUE(accepted(kInf, f16::from_bits(0x7C00), false));
  EXPECT_FALSE(accepted(kInf, f16::from_bits(0xFC00), false));
  EXPECT_TRUE(accepted(kInf, e4m3::from_bits(0x7F), false));
  EXPECT_TRUE(accepted(-kInf, e4m3::from_bits(0xFE), true));
  EXPECT_TRUE(accepted(kNan, int32_t{0}, true));
}

TEST(Compare, epilogue_roundings_are_allowed_for) {
  // Near a tie either neighbour may be right.
  EXPECT_TRUE(accepted(1.0625, e4m3(1.125f), true, 1 + 1e-7));
  EXPECT_TRUE(accepted(1.0625, e4m3(1.0f), true, 1 + 1e-7));
  EXPECT_TRUE(accepted(1.0f / 3, 1.0f / 3 * 0.3f, true, 0.3));
  EXPECT_FALSE(accepted(1.0f / 3, 1.0f / 3 * 0.3f * 1.00001f, true, 0.3));
}

TEST(Compare, overflow_on_the_way_excuses_any_value) {
  const bf16 a[] = {bf16(0x1p127f), bf16(-0x1p127f)}, b[] = {bf16(2.0f), bf16(2.0f)};
  const ReferenceGemm g{1, 1, 2, 1, {a, DType::bf16, 2, 1, 0}, {b, DType::bf16, 1, 1, 0}, {}};
  const Reference r(g);
  EXPECT_EQ(r.d[0], 0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(
      compare(g, r.d.data(), r.s.data(), {&nan, DType::f32}, {wgmma_f32_bound(DType::bf16, 2, 0)}).passed());
}

// In FP32 the product is an infinity, too: of the sign that C's has, or of the other.
TEST(Compare, overflow_beside_an_infinity_may_be_one_of_the_other_sign) {
  const bf16 one(1.0f);
  for (const float alpha : {-3e38f, 1.0f}) {
    const float a = 4, c = std::numeric_limits<float>::infinity();
    ReferenceGemm g{1, 1, 1, 1, {&a, DType::f32}, {&one, DType::bf16}, {&c, DType::f32}, alpha, 1};
    const Reference r(g);
    EXPECT_EQ(r.d[0], kInf);
    for (const float got : {std::numeric_limits<float>::quiet_NaN(), -c, c})
      EXPECT_EQ(compare(g, r.d.data(), r.s.data(), {&got, DType::f32}, {wgmma_f32_bound(DType::bf16, 1, 0)})
                    .passed(),
                alpha < 0 || got == c)
          << alpha << ' ' << got;
  }
}

TEST(MagnitudeRange, is_a_nan_where_one_is_wanted_or_may_be) {
  const float a[] = {1, -1}, b[] = {1, 1};
  ReferenceGemm g{1, 1, 2, 1, {a, DType::f32, 2, 1, 0}, {b, DType::f32, 1, 1, 0}, {}};
  const ComparisonRules rules{wgmma_f32_bound(DType::bf16, 2, 0)};
  const auto holds = [&](double alpha, double got) {
    g.alpha = alpha;
    const Reference r(g);
    return greatest_magnitude(g, r.d.data(), r.s.data(), rules).holds(got);
  };
  EXPECT_TRUE(holds(1, 0));
  EXPECT_FALSE(holds(1, kNan));
  EXPECT_FALSE(holds(1, 1));
  EXPECT_TRUE(holds(kNan, kNan));
  EXPECT_FALSE(holds(kNan, 1));
}

// Infinity times a sum that is cut to zero, or not.
TEST(MagnitudeRange, of_what_may_overflow_is_a_nan_or_none) {
  const float a[] = {1, 0x1p-20f - 1}, b[] = {1, 1};
  ReferenceGemm g{1, 1, 2, 1, {a, DType::f32, 2, 1, 0}, {b, DType::f32, 1, 1, 0}, {}};
  g.alpha = kInf;
  const Reference r(g);
  EXPECT_EQ(r.d[0], kInf);
  const MagnitudeRange range =
      greatest_magnitude(g, r.d.data(), r.s.data(), {{0x1p-15, 0, NumericTraits<float>::max}});
  EXPECT_TRUE(range.holds(kNan));
  EXPECT_TRUE(range.holds(kInf));
}

}  // namespace
}  // namespace tilewright
