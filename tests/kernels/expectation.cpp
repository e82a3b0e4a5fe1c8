#include "tests/kernels/expectation.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "src/gemm_bound.h"
#include "src/model.h"
#include "tests/kernels/simt_model.h"
#include "tests/kernels/text.h"
#include "tilewright/numeric/element.h"

namespace tilewright::testing {
namespace {

/// `lines`: of the operand that share a scale.
ScaleView scale_view(const HostScales& s, const Problem& p, int64_t lines) {
  if (!s.present()) return {};
  const bool blocks = p.scale_mode == ScaleMode::block_1x128_128x128;
  return {s.data(),      lines,      blocks ? 128 : std::max<int64_t>(1, p.k),
          s.line_stride, s.k_stride, s.batch_stride};
}

/// A few rows are done faster than a thread starts.
int threads_for(const Problem& p) {
  return static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k * p.l) < 2e7 ? 1 : 0;
}

}  // namespace

Expectation::Expectation(const GemmCase& c, const HostOperands& operands, const PlanInfo& plan)
    : case_(c), operands_(operands), factors_(factors_of(c)), exchanged_(plan.exchanged) {
  const Problem& p = c.problem;
  gemm_.m = p.m;
  gemm_.n = p.n;
  gemm_.k = p.k;
  gemm_.batches = p.l;
  gemm_.a = operands.a.view();
  gemm_.b = operands.b.view();
  gemm_.c = operands.c.view();
  gemm_.a_scales = scale_view(operands.a_scales, p, 1);
  gemm_.b_scales = scale_view(operands.b_scales, p, p.scale_mode == ScaleMode::per_row_column ? 1 : 128);
  gemm_.alpha = factors_.scale;
  gemm_.beta = factors_.beta;
  gemm_.scale_d = factors_.after;
  const EpilogueOps& e = p.epilogue;
  gemm_.epilogue = {e.bias, e.bias_type, operands.bias.bytes.data(), operands.bias.shape.batch_stride,
                    e.activation};
  gemm_.threads = threads_for(p);
  const auto elements = static_cast<size_t>(p.m * p.n * p.l * (is_complex(p.d.type) ? 2 : 1));
  reference_.resize(elements);
  magnitude_.resize(elements);
  static_cast<void>(reference_gemm(gemm_, reference_.data(), magnitude_.data()));  // the extents are legal
  if (c.check_model && !is_complex(p.a.type)) run_model(plan);
}

void Expectation::run_model(const PlanInfo& plan) {
  const Problem& p = case_.problem;
  sums_.assign(static_cast<size_t>(p.m * p.n * p.l), 0.0);
  if (!factors_.reads_ab()) return;
  if (p.a.type == DType::f32) {
    const std::vector<float> sums = simt_sums(plan, p, operands_.a.view(), operands_.b.view());
    sums_.assign(sums.begin(), sums.end());
    return;
  }
  sums_ = model_sums(p, gemm_);
}

ComparisonRules Expectation::rules() const {
  const double greatest = operands_.a_scales.greatest() * operands_.b_scales.greatest();
  return comparison_rules(case_.problem, greatest);
}

Comparison Expectation::compare_with_reference(const std::vector<uint8_t>& d) const {
  MatrixView got = operands_.d.view();
  got.data = d.data();
  return compare(gemm_, reference_.data(), magnitude_.data(), got, rules());
}

ReferenceGemm Expectation::reference_without(bool activation) const {
  ReferenceGemm gemm = gemm_;
  gemm.scale_d = 1;
  if (activation) gemm.epilogue.activation = Activation::none;
  return gemm;
}

Comparison Expectation::compare_aux_with_reference(const std::vector<uint8_t>& aux) const {
  const ReferenceGemm gemm = reference_without(true);
  std::vector<double> reference(reference_.size()), magnitude(magnitude_.size());
  static_cast<void>(reference_gemm(gemm, reference.data(), magnitude.data()));
  MatrixView got = operands_.aux.view();
  got.data = aux.data();
  ComparisonRules rules = this->rules();
  rules.saturate = false;
  return compare(gemm, reference.data(), magnitude.data(), got, rules);
}

std::string Expectation::judge_amax(float amax, const std::vector<uint8_t>& d) const {
  const Problem& p = case_.problem;
  const ReferenceGemm gemm = reference_without(false);
  std::vector<double> reference(reference_.size()), magnitude(magnitude_.size());
  static_cast<void>(reference_gemm(gemm, reference.data(), magnitude.data()));
  const MagnitudeRange range = greatest_magnitude(gemm, reference.data(), magnitude.data(), rules());
  if (!range.holds(amax) && range.nan != std::isnan(amax))
    return text("amax is ", amax, range.nan ? " beside a NaN" : " without a NaN");
  if (!range.holds(amax)) return text("amax is ", amax, ", but ", range.low, " to ", range.high, " by FP64");
  if (std::isnan(amax) || p.d.type != DType::f32 || p.scale_d != 1) return "";
  // Nothing comes after it: it is that of D itself.
  double most = 0;
  for (int64_t batch = 0; batch < p.l; ++batch)
    for (int64_t row = 0; row < p.m; ++row)
      for (int64_t column = 0; column < p.n; ++column)
        most = std::max(
            most, std::fabs(load_element(d.data(), p.d.type, operands_.d.shape.index(batch, row, column))));
  return most == amax ? "" : text("amax is ", amax, ", but D has ", most);
}

std::string Expectation::compare_with_model(const std::vector<uint8_t>& d) const {
  // The function is another one on each machine, to a few bits.
  if (case_.problem.epilogue.activation == Activation::gelu) return "";
  return compare_with_model(operands_.d, d, false);
}

std::string Expectation::compare_aux_with_model(const std::vector<uint8_t>& aux) const {
  return compare_with_model(operands_.aux, aux, true);
}

std::string Expectation::compare_with_model(const HostOperand& output, const std::vector<uint8_t>& got_bytes,
                                            bool aux) const {
  if (sums_.empty()) return "";
  const Problem& p = case_.problem;
  const DType type = output.shape.type;
  const ModelEpilogue epilogue{p, gemm_, factors_, exchanged_};
  for (int64_t batch = 0; batch < p.l; ++batch) {
    for (int64_t row = 0; row < p.m; ++row) {
      for (int64_t column = 0; column < p.n; ++column) {
        const uint64_t got = element_bits(type, got_bytes.data(), output.shape.index(batch, row, column));
        const uint64_t wanted = epilogue.bits(sums_[static_cast<size_t>((batch * p.m + row) * p.n + column)],
                                              batch, row, column, aux);
        if (same_element(type, got, wanted)) continue;
        return text("element (", batch, ", ", row, ", ", column, ") has bits 0x", std::hex, got,
                    ", the model 0x", wanted);
      }
    }
  }
  return "";
}

}  // namespace tilewright::testing
