#include "tolerance.h"

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tilewright/numeric/element.h"

namespace tilewright::cli {
namespace {

/// The reference as a number of D's type.
double as_output(double value, DType type, bool saturate) {
  alignas(8) uint8_t element[8];
  store_element(element, type, 0, value, saturate && bits_of(type) == 8);
  return load_element(element, type, 0);
}

}  // namespace

ToleranceCheck check_tolerance(const Problem& p, const MatrixView& d, const std::vector<double>& reference,
                               const Tolerance& t) {
  ToleranceCheck out{t, {}};
  Comparison& c = out.found;
  c.elements = static_cast<int64_t>(reference.size());
  if (reference.empty()) return out;
  const int64_t parts = parts_of(d.type);
  size_t at = 0;
  for (int64_t b = 0; b < p.l; ++b)
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < parts * p.n; ++j, ++at) {
        const double want = t.rounded ? as_output(reference[at], d.type, p.saturate) : reference[at],
                     got = load_element(d.data, d.type, parts * d.index(b, i, j / parts) + j % parts);
        const bool both_nan = std::isnan(want) && std::isnan(got);
        const double bound = t.absolute + t.relative * std::abs(want);
        if (both_nan || want == got || std::abs(got - want) <= bound) continue;
        if (c.failures++ > 0) continue;
        c.batch = b, c.row = i, c.column = j;
        c.got = got, c.reference = want, c.bound = bound;
      }
  return out;
}

void print_tolerance(const ToleranceCheck& check) {
  fmt::print("{} of {} elements outside atol {} + rtol {} of the reference{}{}\n", check.found.failures,
             check.found.elements, check.tolerance.absolute, check.tolerance.relative,
             check.tolerance.rounded ? " as D's type" : "", first_words("D", check.found));
}

nlohmann::json to_json(const ToleranceCheck& check) {
  nlohmann::json out{{"atol", check.tolerance.absolute},
                     {"rtol", check.tolerance.relative},
                     {"rounded", check.tolerance.rounded},
                     {"failures", check.found.failures}};
  if (!check.passed()) out["first_failure"] = first_failure(check.found);
  return out;
}

void print_comparison(const char* name, const Comparison& c) {
  if (!c.passed())
    fmt::print("{} of {} elements outside their bound{}\n", c.failures, c.elements, first_words(name, c));
  if (const std::string words = unbounded_words(c); !words.empty()) fmt::print("{}\n", words);
}

std::string unbounded_words(const Comparison& c) {
  if (c.unbounded == 0) return {};
  return fmt::format("{} of {} elements may overflow on the way: any value of theirs passes", c.unbounded,
                     c.elements);
}

nlohmann::json first_failure(const Comparison& c) {
  return {{"batch", c.batch},         {"row", c.row},    {"column", c.column}, {"got", c.got},
          {"reference", c.reference}, {"bound", c.bound}};
}

std::string first_words(const char* name, const Comparison& c) {
  if (c.passed()) return {};
  return fmt::format("; the first is {}[{}][{}][{}] = {}, reference {} +- {:.3g}", name, c.batch, c.row,
                     c.column, c.got, c.reference, c.bound);
}

}  // namespace tilewright::cli
