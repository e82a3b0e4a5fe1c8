#include "src/reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "src/complex_reference.h"
#include "tilewright/detail/parallel.h"
#include "tilewright/numeric/element.h"

namespace tilewright {
namespace {

constexpr int64_t kRows = 64;     // of a block of work
constexpr int64_t kColumns = 64;  // of a tile in it
constexpr int64_t kDepth = 256;   // of a panel
constexpr int64_t kLanes = 8;     // columns summed together

// A value and its |x~|.
template <class T>
double magnitude_of(double value) {
  constexpr bool tensor_core_type = !std::is_arithmetic_v<T> && !std::is_same_v<T, e8m0>;
  if constexpr (!tensor_core_type) return std::fabs(value);
  if (value == 0) return 0x1p-126;
  return std::max(std::fabs(value), NumericTraits<T>::min_normal);
}

// Dequantised pieces of A and B and the sums of one tile.
struct Scratch {
  std::array<double, kRows * kDepth> a, a_magnitude;        // [row][k]
  std::array<double, kDepth * kColumns> b, b_magnitude;     // [k][column]
  std::array<double, kRows * kColumns> sum, sum_magnitude;  // [row][column]
};

// values[r * width + c] = element (row + r, column + c); zeros beyond `columns`.
void dequantise(const MatrixView& view, int64_t batch, int64_t row, int64_t rows, int64_t column,
                int64_t columns, int64_t width, double* values, double* magnitudes) {
  with_type(view.type, [&](auto t) {
    using T = decltype(t);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < width; ++c) {
        const bool inside = c < columns;
        const double value = inside ? load_as<T>(view.data, view.index(batch, row + r, column + c)) : 0.0;
        values[r * width + c] = value;
        magnitudes[r * width + c] = inside ? magnitude_of<T>(value) : 0.0;
      }
    }
  });
}

// values[i * line_width + j * k_width] *= the scale of element k + j of line `line` + i; magnitudes too.
void apply_scales(const ScaleView& scales, int64_t batch, int64_t line, int64_t lines, int64_t line_width,
                  int64_t k, int64_t depth, int64_t k_width, double* values, double* magnitudes) {
  if (scales.data == nullptr) return;
  for (int64_t i = 0; i < lines; ++i) {
    for (int64_t j = 0; j < depth; ++j) {
      const double scale = scales.at(batch, line + i, k + j);
      values[i * line_width + j * k_width] *= scale;
      magnitudes[i * line_width + j * k_width] *= std::fabs(scale);
    }
  }
}

void multiply_panel(Scratch& s, int64_t rows, int64_t depth) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < kColumns; c += kLanes) {
      std::array<double, kLanes> sum, magnitude;
      std::copy_n(&s.sum[r * kColumns + c], kLanes, sum.begin());
      std::copy_n(&s.sum_magnitude[r * kColumns + c], kLanes, magnitude.begin());
      for (int64_t k = 0; k < depth; ++k) {
        const double a = s.a[r * kDepth + k], a_magnitude = s.a_magnitude[r * kDepth + k];
        const double* b = &s.b[k * kColumns + c];
        const double* b_magnitude = &s.b_magnitude[k * kColumns + c];
        for (int j = 0; j < kLanes; ++j) sum[j] += a * b[j];
        for (int j = 0; j < kLanes; ++j) magnitude[j] += a_magnitude * b_magnitude[j];
      }
      std::copy_n(sum.begin(), kLanes, &s.sum[r * kColumns + c]);
      std::copy_n(magnitude.begin(), kLanes, &s.sum_magnitude[r * kColumns + c]);
    }
  }
}

/// Whether A and B count at all: an alpha that is NaN or infinite does not bring a K of zero to life.
bool has_product(const ReferenceGemm& g) { return g.alpha != 0 && g.k != 0; }

// One tile of at most kRows x kColumns.
void reference_tile(const ReferenceGemm& g, int64_t batch, int64_t row, int64_t column, double* d,
                    double* abs_sum, Scratch& s) {
  const int64_t rows = std::min(kRows, g.m - row), columns = std::min(kColumns, g.n - column);
  s.sum.fill(0);
  s.sum_magnitude.fill(0);
  for (int64_t k = 0; k < g.k && g.alpha != 0; k += kDepth) {
    const int64_t depth = std::min(kDepth, g.k - k);
    dequantise(g.a, batch, row, rows, k, depth, kDepth, s.a.data(), s.a_magnitude.data());
    dequantise(g.b, batch, k, depth, column, columns, kColumns, s.b.data(), s.b_magnitude.data());
    apply_scales(g.a_scales, batch, row, rows, kDepth, k, depth, 1, s.a.data(), s.a_magnitude.data());
    apply_scales(g.b_scales, batch, column, columns, 1, k, depth, kColumns, s.b.data(), s.b_magnitude.data());
    multiply_panel(s, rows, depth);
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t at = (batch * g.m + row + r) * g.n + column + c;
      double value = has_product(g) ? g.alpha * s.sum[r * kColumns + c] : 0.0;
      if (g.beta != 0) {
        value += g.beta * load_element(g.c.data, g.c.type, g.c.index(batch, row + r, column + c));
      }
      value = activate(g.epilogue.activation, value + g.epilogue.bias_at(batch, row + r, column + c));
      d[at] = g.scale_d == 0 ? 0.0 : g.scale_d * value;
      if (abs_sum != nullptr) abs_sum[at] = s.sum_magnitude[r * kColumns + c];
    }
  }
}

// FP64 sums of k products, relative to S: both the products and their sums round.
double reference_error(int64_t k) { return static_cast<double>(k + 1) * 0x1p-52; }

// n roundings to nearest FP32 in a row.
double f32_roundings(double n) { return n * 0x1p-24 / (1 - std::min(n, 0x1p20) * 0x1p-24); }

}  // namespace

double ReferenceEpilogue::bias_at(int64_t batch, int64_t row, int64_t column) const {
  if (bias_kind == BiasKind::none) return 0;
  return load_element(bias, bias_type,
                      batch * bias_batch_stride + (bias_kind == BiasKind::row ? row : column));
}

Status reference_gemm(const ReferenceGemm& gemm, double* d, double* abs_sum,
                      const std::function<void(int, int)>& progress) {
  if (gemm.m < 0 || gemm.n < 0 || gemm.k < 0 || gemm.batches < 0) {
    return Error{ErrorCode::invalid_argument, "reference.extent",
                 "extents " + std::to_string(gemm.m) + " x " + std::to_string(gemm.n) + " x " +
                     std::to_string(gemm.k) + ", " + std::to_string(gemm.batches) +
                     " batches: none may be negative"};
  }
  if (gemm.n == 0) return std::nullopt;  // of however many rows and batches, also below
  if (is_complex(gemm.a.type)) return reference_gemm(RealForm(gemm).gemm, d, abs_sum, progress);
  const int64_t blocks_of_batch = (gemm.m + kRows - 1) / kRows;
  if (gemm.batches != 0 && blocks_of_batch > std::numeric_limits<int>::max() / gemm.batches) {
    return Error{ErrorCode::out_of_range, "reference.blocks",
                 std::to_string(gemm.m) + " rows in " + std::to_string(gemm.batches) +
                     " batches are more than 2^31 blocks of 64 rows"};
  }
  const auto work = [&](int block) {
    const auto scratch = std::make_unique<Scratch>();
    const int64_t batch = block / blocks_of_batch, row = block % blocks_of_batch * kRows;
    for (int64_t column = 0; column < gemm.n; column += kColumns) {
      reference_tile(gemm, batch, row, column, d, abs_sum, *scratch);
    }
  };
  detail::parallel_blocks(static_cast<int>(blocks_of_batch * gemm.batches), gemm.threads, work, progress);
  return std::nullopt;
}

AccumulationBound wgmma_f32_bound(DType type, int64_t k, int64_t interval) {
  const bool fp8 = type == DType::e4m3 || type == DType::e5m2;
  const int64_t products = fp8 ? 32 : type == DType::tf32 ? 8 : 16;
  const int64_t mmas = (k + products - 1) / products;
  if (mmas == 0) return {0, 0, NumericTraits<float>::max};
  const int64_t group = interval == 0 ? mmas : std::min(interval, mmas);
  const int64_t groups = (mmas + group - 1) / group;
  const auto steps = static_cast<double>(group);
  const double step_losses =
      fp8 ? (32 * steps - 1) * 0x1p-13 : steps * (static_cast<double>(products) / 4 + 1) * 0x1p-23;
  const double lost = std::min(1.0, step_losses);
  const double relative = lost + f32_roundings(static_cast<double>(groups - 1));
  return {relative + reference_error(k), static_cast<double>(mmas) * 0x1p-133, NumericTraits<float>::max};
}

AccumulationBound block_scaled_bound(DType type, int64_t k, double greatest) {
  constexpr int64_t kInterval = 4, kGroup = 32 * kInterval;
  AccumulationBound bound = wgmma_f32_bound(type, k, kInterval);
  const auto groups = static_cast<double>((k + kGroup - 1) / kGroup);
  bound.relative += f32_roundings(groups + 1) - f32_roundings(groups - 1);
  bound.absolute = bound.absolute * greatest + groups * 0x1p-149;
  return bound;
}

AccumulationBound wgmma_f16_bound(DType type, int64_t k) {
  const bool fp8 = type == DType::e4m3 || type == DType::e5m2;
  const int64_t products = fp8 ? 32 : 16;
  const auto mmas = static_cast<double>((k + products - 1) / products);
  const double growth = std::pow(1 + 0x1p-11, mmas);
  const double step = static_cast<double>(products) * (fp8 ? 0x1p-13 : 0x1p-25) + 0x1p-11;
  return {growth * mmas * step + reference_error(k), growth * mmas * 0x1p-21, NumericTraits<f16>::max};
}

AccumulationBound fma_f32_bound(int64_t k) {
  const double roundings = static_cast<double>(k) + 8;
  return {f32_roundings(roundings) + reference_error(k), roundings * 0x1p-149, NumericTraits<float>::max};
}

AccumulationBound fma_f64_bound(int64_t k) {
  const double roundings = static_cast<double>(k) + 8;
  return {roundings * 0x1p-53 + reference_error(k), 0, NumericTraits<double>::max};
}

AccumulationBound exact_bound() { return {0, 0, std::numeric_limits<double>::infinity()}; }

namespace {

// What is known of one element of D before it is rounded to the output type.
struct Expectation {
  double reference;
  double error;      // of sum and epilogue
  bool any = false;  // intermediate overflow is possible
};

/// The sum of an element's products, and that of their magnitudes.
struct Sums {
  double value = 0, magnitude = 0;
};

Sums sums_at(const ReferenceGemm& g, int64_t batch, int64_t row, int64_t column) {
  Sums sums;
  for (int64_t k = 0; k < g.k; ++k) {
    double a = load_element(g.a.data, g.a.type, g.a.index(batch, row, k));
    double b = load_element(g.b.data, g.b.type, g.b.index(batch, k, column));
    if (g.a_scales.data != nullptr) a *= g.a_scales.at(batch, row, k);
    if (g.b_scales.data != nullptr) b *= g.b_scales.at(batch, column, k);
    sums.value += a * b;
    sums.magnitude += std::fabs(a * b);
  }
  return sums;
}

/// added: the magnitudes of beta * C and of the bias.
Expectation expect(const ReferenceGemm& g, const ComparisonRules& rules, double reference, double sum,
                   double added) {
  const AccumulationBound& bound = rules.accumulation;
  const double alpha = has_product(g) ? std::fabs(g.alpha) : 0.0;
  const double product = alpha == 0 ? 0.0 : alpha * (sum * (1 + bound.relative) + bound.absolute);
  const double scale = std::fabs(g.scale_d);
  Expectation e{reference, 0, false};
  // Sums, and what else lies on the way to the result, cannot overflow below half of the largest number of
  // the epilogue's arithmetic. A factor alone gives the result itself, which is judged.
  const bool direct = added == 0 && scale == 1 && g.epilogue.activation == Activation::none &&
                      g.a_scales.data == nullptr && g.b_scales.data == nullptr;
  const double peak = direct ? sum : std::max({sum, product + added, scale * (product + added)});
  const double limit = rules.wide_epilogue ? 0x1p1023 : 0x1p127;
  e.any = std::isfinite(reference) && (sum >= bound.largest || !(peak < limit));
  // What overflows beside an infinity may be one of the other sign.
  if (std::isinf(reference))
    e.any = (std::isfinite(sum) && sum >= bound.largest) ||
            (std::min(product, added) >= limit && std::isfinite(std::min(product, added)));
  e.error = scale * alpha * (bound.relative * sum + bound.absolute);
  const bool exact = bound.relative == 0 && g.alpha == 1 && added == 0 && g.scale_d == 1 && sum < 0x1p24;
  // At most eight roundings of the factors, of each product and of the sum; tiny ones may be subnormal.
  if (rules.wide_epilogue) {
    e.error += 0x1p-49 * scale * (product + added);
  } else if (!exact) {
    e.error += 0x1p-21 * scale * (product + added) + 0x1p-147 * std::max(1.0, scale);
  }
  if (scale > 0)
    e.error = scale * activation_error(g.epilogue.activation, std::fabs(reference) / scale, e.error / scale);
  return e;
}

// Value of the output type for an unrounded one; overflow that makes a NaN counts as infinity, to keep the
// order.
template <class T>
double round_output(double value, bool saturate) {
  double rounded = 0;
  alignas(8) std::array<uint8_t, 8> storage{};
  store_as<T>(storage.data(), 0, value, saturate);
  rounded = load_as<T>(storage.data(), 0);
  if (std::isnan(rounded) && !std::isnan(value))
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  return rounded;
}

template <class T>
bool passes(const Expectation& e, double got, bool saturate) {
  if (e.any) return true;
  if (std::isnan(e.reference))
    return NumericTraits<T>::has_nan ? std::isnan(got) : got == round_output<T>(NAN, saturate);
  const bool overflow_is_nan = !NumericTraits<T>::has_infinity && NumericTraits<T>::has_nan;
  const double error = std::isfinite(e.error) ? e.error : 0.0;
  const double low = round_output<T>(e.reference - error, saturate);
  const double high = round_output<T>(e.reference + error, saturate);
  if (std::isnan(got)) return overflow_is_nan && (std::isinf(low) || std::isinf(high));
  return low <= got && got <= high;
}

// Half the distance between output values near x.
template <class T>
double half_ulp(double x) {
  if (!std::isfinite(x)) return 0;
  if constexpr (std::is_integral_v<T>) return 0.5;
  const double scale = std::exp2(std::floor(std::log2(std::max(x, NumericTraits<T>::min_normal))));
  return scale * std::exp2(-NumericTraits<T>::mantissa_bits - 1);
}

// Comparison of a block of rows, with the sums its relative error needs.
struct Partial {
  Comparison result;
  double error_square = 0, reference_square = 0, abs_sum_square = 0;
};

template <class T>
void judge(Partial& partial, const Expectation& e, double abs_sum, double got, bool saturate, int64_t batch,
           int64_t row, int64_t column) {
  Comparison& r = partial.result;
  ++r.elements;
  if (e.any) ++r.unbounded;
  // What saturates is as far off as it is from the largest value, not from the sum before.
  constexpr double kMost = std::numeric_limits<double>::max();
  const double reference =
      std::clamp(e.reference, round_output<T>(-kMost, saturate), round_output<T>(kMost, saturate));
  const double bound = e.error + half_ulp<T>(std::fabs(reference) + e.error);
  const bool failed = !passes<T>(e, got, saturate);
  bool worst = false;
  if (std::isfinite(e.reference) && std::isfinite(got)) {
    const double difference = std::fabs(got - reference);
    if (!e.any) {
      ++r.measured;
      partial.error_square += difference * difference;
      partial.reference_square += reference * reference;
      partial.abs_sum_square += abs_sum * abs_sum;
    }
    r.max_error = std::max(r.max_error, difference);
    const double ratio = difference == 0 ? 0.0 : difference / bound;
    worst = !e.any && ratio > r.worst_ratio;
    if (worst) r.worst_ratio = ratio;
  }
  if (r.elements == 1 || (failed ? r.failures == 0 : worst && r.failures == 0)) {
    r.batch = batch, r.row = row, r.column = column;
    r.got = got, r.reference = e.reference, r.bound = bound;
  }
  if (failed) ++r.failures;
}

// Adds the later rows `next` to `sum`.
void merge(Partial& sum, const Partial& next) {
  Comparison& a = sum.result;
  const Comparison& b = next.result;
  const bool take =
      a.elements == 0 || (a.failures == 0 && (b.failures != 0 || b.worst_ratio > a.worst_ratio));
  if (take) {
    a.batch = b.batch, a.row = b.row, a.column = b.column;
    a.got = b.got, a.reference = b.reference, a.bound = b.bound;
  }
  a.elements += b.elements;
  a.failures += b.failures;
  a.unbounded += b.unbounded;
  a.max_error = std::max(a.max_error, b.max_error);
  a.worst_ratio = std::max(a.worst_ratio, b.worst_ratio);
  a.measured += b.measured;
  sum.error_square += next.error_square;
  sum.reference_square += next.reference_square;
  sum.abs_sum_square += next.abs_sum_square;
}

/// What is expected of an element.
Expectation expect_at(const ReferenceGemm& g, const ComparisonRules& rules, const double* d_reference,
                      const double* abs_sum, int64_t batch, int64_t row, int64_t column) {
  const int64_t at = (batch * g.m + row) * g.n + column;
  double added = std::fabs(g.epilogue.bias_at(batch, row, column));
  if (g.beta != 0)
    added += std::fabs(g.beta * load_element(g.c.data, g.c.type, g.c.index(batch, row, column)));
  Expectation e = expect(g, rules, d_reference[at], abs_sum[at], added);
  const bool infinite = std::isinf(g.alpha) && has_product(g);
  if (!infinite && !std::isinf(g.scale_d)) return e;
  // Infinity times what may be zero or have the other sign: NaN, or either infinity. Zeros alone make a NaN.
  const Sums sums = has_product(g) ? sums_at(g, batch, row, column) : Sums{};
  if (infinite && sums.magnitude != 0) {
    const AccumulationBound& bound = rules.accumulation;
    e.any |= std::fabs(sums.value) <= bound.relative * abs_sum[at] + bound.absolute;
  }
  if (std::isinf(g.scale_d) && (sums.magnitude != 0 || added != 0)) {
    ReferenceGemm before = g;
    before.scale_d = 1;
    double value = has_product(g) ? g.alpha * sums.value : 0.0;
    if (g.beta != 0) value += g.beta * load_element(g.c.data, g.c.type, g.c.index(batch, row, column));
    value = activate(g.epilogue.activation, value + g.epilogue.bias_at(batch, row, column));
    const Expectation scaled = expect(before, rules, value, abs_sum[at], added);
    e.any |= scaled.any || std::fabs(value) <= scaled.error;
  }
  return e;
}

template <class T>
Partial compare_rows(const ReferenceGemm& g, const double* d_reference, const double* abs_sum,
                     const MatrixView& got, const ComparisonRules& rules, int64_t batch, int64_t first,
                     int64_t last) {
  Partial partial;
  for (int64_t row = first; row < last; ++row) {
    for (int64_t column = 0; column < g.n; ++column) {
      const Expectation e = expect_at(g, rules, d_reference, abs_sum, batch, row, column);
      judge<T>(partial, e, abs_sum[(batch * g.m + row) * g.n + column],
               load_as<T>(got.data, got.index(batch, row, column)), rules.saturate, batch, row, column);
    }
  }
  return partial;
}

}  // namespace

bool MagnitudeRange::holds(double got) const {
  if (nan || std::isnan(got)) return (nan || may_be_nan) && std::isnan(got);
  return low <= got && got <= high;
}

MagnitudeRange greatest_magnitude(const ReferenceGemm& g, const double* d_reference, const double* abs_sum,
                                  const ComparisonRules& rules) {
  MagnitudeRange range;
  for (int64_t batch = 0; batch < g.batches && g.n != 0; ++batch) {
    for (int64_t row = 0; row < g.m; ++row) {
      for (int64_t column = 0; column < g.n; ++column) {
        const Expectation e = expect_at(g, rules, d_reference, abs_sum, batch, row, column);
        const double magnitude = std::fabs(e.reference), error = std::isfinite(e.error) ? e.error : 0.0;
        if (e.any) {
          range.high = std::numeric_limits<double>::infinity();
          range.may_be_nan = true;
        } else if (std::isnan(magnitude)) {
          range.nan = true;
        } else {
          range.low = std::max(range.low, magnitude - error);
          range.high = std::max(range.high, magnitude + error);
        }
      }
    }
  }
  return range;
}

Comparison compare(const ReferenceGemm& gemm, const double* d_reference, const double* abs_sum,
                   const MatrixView& got, const ComparisonRules& rules,
                   const std::function<void(int, int)>& progress) {
  if (gemm.n == 0) return {};
  if (is_complex(got.type)) {
    std::vector<uint8_t> bytes;
    const MatrixView parts = real_parts(got, gemm.m, gemm.n, gemm.batches, bytes);
    Comparison c = compare(RealForm(gemm).gemm, d_reference, abs_sum, parts, rules, progress);
    c.column /= 2;
    return c;
  }
  const int64_t blocks_of_batch = (gemm.m + kRows - 1) / kRows;
  std::vector<Partial> partials(static_cast<size_t>(blocks_of_batch * gemm.batches));
  const auto work = [&](int block) {
    const int64_t batch = block / blocks_of_batch, first = block % blocks_of_batch * kRows;
    const int64_t last = std::min(first + kRows, gemm.m);
    partials[static_cast<size_t>(block)] = with_type(got.type, [&](auto t) {
      return compare_rows<decltype(t)>(gemm, d_reference, abs_sum, got, rules, batch, first, last);
    });
  };
  detail::parallel_blocks(static_cast<int>(partials.size()), gemm.threads, work, progress);
  Partial sum;
  for (const Partial& partial : partials) merge(sum, partial);
  sum.result.reference_norm = std::sqrt(sum.reference_square);
  sum.result.abs_sum_norm = std::sqrt(sum.abs_sum_square);
  if (sum.reference_square > 0)
    sum.result.relative_error = std::sqrt(sum.error_square / sum.reference_square);
  return sum.result;
}

}  // namespace tilewright
