#include "gemm_report.h"

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "arguments.h"
#include "progress.h"
#include "src/fp8_scales.h"
#include "src/gemm_bound.h"
#include "src/gemm_problem.h"
#include "tilewright/numeric/element.h"
#include "tilewright/numeric/traits.h"

namespace tilewright::cli {
namespace {

/// Half the distance between neighbours of an output type, relative and (for subnormals) absolute.
struct Rounding {
  double relative, absolute;
};
Rounding rounding_of(DType type) {
  return with_type(type, [](auto t) -> Rounding {
    using Traits = NumericTraits<decltype(t)>;
    if constexpr (std::is_integral_v<decltype(t)>) return {0, 0.5};
    return {Traits::epsilon / 2, Traits::min_subnormal / 2};
  });
}

/// The Frobenius norm of the elements' bounds over that of the reference, by the triangle inequality.
double bound_of_relative_error(const Problem& p, const AccumulationBound& bound, const Comparison& c) {
  if (c.reference_norm == 0) return 0;
  const Rounding rounding = rounding_of(p.d.type);
  const Factors factors = factors_of(p);
  const double factor = std::abs(double{factors.scale} * factors.after),
               beta = double{factors.beta} * factors.after;
  const auto whole = [](double x) { return x == std::floor(x); };
  if (is_integer(p.d.type) && whole(factor) && whole(beta)) return 0;  // exact
  const double norm = c.reference_norm, root_count = std::sqrt(static_cast<double>(c.measured));
  double sums = factor * (bound.relative * c.abs_sum_norm + bound.absolute * root_count) / norm;
  if (p.epilogue.activation == Activation::gelu) sums = activation_error(Activation::gelu, 1, sums);
  return sums + (1 + sums) * rounding.relative + rounding.absolute * root_count / norm;
}

const char* a_major(const Problem& p) { return major_word(p.a.layout == Layout::row_major, "m"); }
const char* b_major(const Problem& p) { return major_word(p.b.layout == Layout::column_major, "n"); }
const char* c_major(const Problem& p) { return p.d.layout == Layout::row_major ? "n" : "m"; }

const char* device_word(Device device) { return device == Device::gpu ? "gpu" : "emulator"; }
const char* raster_word(schedule::Raster raster) {
  return raster == schedule::Raster::along_m ? "along_m" : "along_n";
}
const char* accumulation_word(Accumulation a) { return a == Accumulation::promoted ? "promoted" : "fast"; }

std::optional<double> tflops(const GemmReport& r) {
  if (!r.run.time_us || *r.run.time_us <= 0) return {};
  return r.flops() / *r.run.time_us / 1e6;
}

void add_verdict(const Verdict& verdict, nlohmann::json& out) {
  const Comparison& c = verdict.comparison;
  out["rel_error"] = c.relative_error;
  out["error_bound"] = verdict.error_bound;
  out["worst_ratio"] = c.worst_ratio;
  out["failures"] = c.failures;
  out["unbounded"] = c.unbounded;
  if (!c.passed()) out["first_failure"] = first_failure(c);
  const ModelCheck& model = verdict.model;
  out["model_elements"] = model.elements;
  out["model_mismatches"] = model.mismatches;
  if (!model.why_not.empty()) out["model_why_not"] = model.why_not;
  if (!model.passed())
    out["model_first_mismatch"] = {{"output", model.in_aux ? "aux" : "d"},
                                   {"batch", model.batch},
                                   {"row", model.row},
                                   {"column", model.column},
                                   {"got", model.got},
                                   {"model", model.expected}};
  if (verdict.tolerance) out["tolerance"] = to_json(*verdict.tolerance);
  if (verdict.aux)
    out["aux"] = {{"rel_error", verdict.aux->relative_error},
                  {"worst_ratio", verdict.aux->worst_ratio},
                  {"failures", verdict.aux->failures}};
  if (verdict.aux && !verdict.aux->passed()) out["aux"]["first_failure"] = first_failure(*verdict.aux);
  if (verdict.amax)
    out["amax"] = {{"got", verdict.amax->got},
                   {"low", verdict.amax->range.low},
                   {"high", verdict.amax->range.high},
                   {"nan", verdict.amax->range.nan},
                   {"may_be_nan", verdict.amax->range.may_be_nan}};
}

}  // namespace

double GemmReport::flops() const {
  return (is_complex(problem.a.type) ? 8.0 : 2.0) * static_cast<double>(problem.m) *
         static_cast<double>(problem.n) * static_cast<double>(problem.k) * static_cast<double>(problem.l);
}

Expected<Verdict> judge(const Operands& operands, const PlanInfo& plan, uint64_t seed,
                        const std::optional<Tolerance>& tolerance) {
  const Problem& p = operands.problem;
  ReferenceGemm reference = operands.reference();
  std::vector<double> d(static_cast<size_t>(p.m * p.n * p.l * parts_of(p.d.type))), abs_sum(d.size());
  {
    Progress progress("FP64 reference");
    if (Status s = reference_gemm(reference, d.data(), abs_sum.data(), progress.callback())) return *s;
  }
  const bool scaled = p.scale_mode != ScaleMode::per_tensor;
  const ComparisonRules rules = comparison_rules(p, scaled ? kGreatestRandomScale * kGreatestRandomScale : 1);
  Verdict verdict;
  Progress progress("comparing");
  verdict.comparison =
      compare(reference, d.data(), abs_sum.data(), operands.d_view(), rules, progress.callback());
  verdict.error_bound = bound_of_relative_error(p, rules.accumulation, verdict.comparison);
  if (tolerance) verdict.tolerance = check_tolerance(p, operands.d_view(), d, *tolerance);
  reference.scale_d = 1;
  if (p.epilogue.amax_d) {
    if (Status s = reference_gemm(reference, d.data(), abs_sum.data())) return *s;
    verdict.amax =
        AmaxCheck{operands.amax[0], greatest_magnitude(reference, d.data(), abs_sum.data(), rules)};
  }
  if (p.epilogue.aux) {
    reference.epilogue.activation = Activation::none;
    if (Status s = reference_gemm(reference, d.data(), abs_sum.data())) return *s;
    ComparisonRules aux_rules = rules;
    aux_rules.saturate = false;
    verdict.aux = compare(reference, d.data(), abs_sum.data(), operands.aux_view(), aux_rules);
  }
  verdict.model = compare_with_model(operands, plan, seed);
  return verdict;
}

namespace {

void print_epilogue(const EpilogueOps& e) {
  if (!e.any()) return;
  fmt::print("bias: {}, activation: {}, aux: {}, amax: {}\n",
             e.bias == BiasKind::none
                 ? "none"
                 : fmt::format("one for each {}, {}", name_of(e.bias), long_name_of(e.bias_type)),
             name_of(e.activation), e.aux ? long_name_of(e.aux->type) : "no", e.amax_d ? "yes" : "no");
}

/// Of the result: from there on a theoretical bound no longer tells a right result from a wrong one.
constexpr double kWideBound = 0.1;

void print_model_check(const Verdict& verdict) {
  const ModelCheck& model = verdict.model;
  if (verdict.error_bound > kWideBound)
    fmt::print("The bound is {:.2g} of the result: smaller errors pass it.\n", verdict.error_bound);
  if (!model.why_not.empty())
    fmt::print("not compared with the model of the tensor core: {}\n", model.why_not);
  else if (model.passed())
    fmt::print("model of the tensor core: {} sampled elements, all equal bit for bit\n", model.elements);
  else
    fmt::print(
        "model of the tensor core: {} of {} sampled elements differ; the first is {}[{}][{}][{}] = {}, the "
        "model has {}\n",
        model.mismatches, model.elements, model.in_aux ? "aux" : "D", model.batch, model.row, model.column,
        model.got, model.expected);
}

void print_epilogue_verdict(const Verdict& verdict) {
  if (verdict.aux) {
    const Comparison& c = *verdict.aux;
    fmt::print("aux: relative error {:.3e}, worst element at {:.3f} of its bound, {} of {} outside{}\n",
               c.relative_error, c.worst_ratio, c.failures, c.elements, first_words("aux", c));
  }
  if (verdict.amax)
    fmt::print("amax: {}, by FP64 {} to {}{}\n", verdict.amax->got, verdict.amax->range.low,
               verdict.amax->range.high,
               verdict.amax->range.nan          ? ": NaN"
               : verdict.amax->range.may_be_nan ? ", or NaN"
                                                : "");
}

}  // namespace

void print_configuration(const Problem& p, const PlanInfo& plan, const std::string& device_name) {
  fmt::print("device: {}\n", device_name);
  fmt::print("mnkl: {},{},{},{}\n", p.m, p.n, p.k, p.l);
  fmt::print("A: {}, B: {}, D: {} {}{}\n", long_name_of(p.a.type), long_name_of(p.b.type),
             long_name_of(p.d.type), p.d.layout == Layout::row_major ? "row-major" : "column-major",
             p.beta == 0 ? "" : fmt::format(", C: {}", long_name_of(p.c.type)));
  fmt::print("A major: {}, B major: {}, C major: {}\n", a_major(p), b_major(p), c_major(p));
  if (is_integer(p.a.type)) {
    fmt::print("accumulation: exact, in 32-bit integers\n");
  } else if (p.a.type == DType::cf32) {
    fmt::print("accumulation: FP32, two fused multiply-adds after another for each part\n");
  } else if (p.a.type == DType::f32) {
    fmt::print("accumulation: FP32, one fused multiply-add after another; parts of K: {} at most\n",
               plan.splits);
  } else if (real_type_of(p.a.type) == DType::f64) {
    fmt::print("accumulation: FP64, one fused multiply-add after another\n");
  } else if (!is_fp8(p.a.type)) {
    fmt::print("accumulation: the tensor core's, in FP32\n");
  } else {
    fmt::print("accumulation: {}, promotion interval: {} MMAs, promotions per element: {}\n",
               accumulation_word(p.accumulation), p.interval, plan.promotions);
  }
  fmt::print("alpha: {}, beta: {}, scale_a: {}, scale_b: {}, scale_d: {}\n", p.alpha, p.beta, p.scale_a,
             p.scale_b, p.scale_d);
  if (p.scale_mode != ScaleMode::per_tensor) fmt::print("scales: {}\n", scale_mode_word(p.scale_mode));
  print_epilogue(p.epilogue);
  fmt::print("path: {}, {}\n", plan.path, plan.why);
  fmt::print("tile: {}x{}x{}, cluster: {}x{}, raster: {} in strips of {}, stages: {}\n", plan.tile.m,
             plan.tile.n, plan.tile_k, plan.cluster.m, plan.cluster.n, raster_word(plan.raster), plan.swizzle,
             plan.stages);
  fmt::print("grid: {} CTAs for {} tiles, {} bytes of shared memory each, {} loads, {} stores\n",
             plan.grid_ctas, plan.tiles, plan.shared_bytes, plan.tma_load ? "TMA" : "plain",
             plan.tma_store ? "TMA" : "plain");
  if (plan.scheduler != schedule::TileScheduler::static_persistent)
    fmt::print("scheduler: {}, a cluster for each tile\n", scheduler_word(plan.scheduler));
  if (plan.workspace_bytes > 0)
    fmt::print("workspace: {} bytes, kernels of a run: {}\n", plan.workspace_bytes, plan.launches);
}

void print_result(const GemmReport& r) {
  if (const std::optional<double> speed = tflops(r)) {
    fmt::print("{}time: {:.2f} us, {:.1f} TFLOPS\n", r.run.statistics ? "modelled " : "", *r.run.time_us,
               *speed);
  }
  if (r.run.statistics) {
    const emulator::Statistics& s = *r.run.statistics;
    const std::string products =
        r.problem.a.type == DType::f32 ? "" : fmt::format("{} wgmma, ", s.count(emulator::Op::wgmma));
    fmt::print("emulated in {:.2f} s: {}{} clusters, a barrier completed up to {} phases\n",
               r.run.host_seconds, products, s.clusters, s.most_barrier_phases);
  }
  if (!r.verdict) {
    fmt::print("not checked\n");
    return;
  }
  const Comparison& c = r.verdict->comparison;
  fmt::print(
      "relative error against FP64: {:.3e}, theoretical bound: {:.3e}; worst element at {:.3f} of its "
      "bound\n",
      c.relative_error, r.verdict->error_bound, c.worst_ratio);
  print_comparison("D", c);
  if (r.verdict->tolerance) print_tolerance(*r.verdict->tolerance);
  print_model_check(*r.verdict);
  print_epilogue_verdict(*r.verdict);
  fmt::print("{}\n", r.passed() ? "PASS" : "FAIL");
}

nlohmann::json to_json(const GemmReport& r) {
  const Problem& p = r.problem;
  const PlanInfo& plan = r.plan;
  nlohmann::json out{
      {"pass", r.passed()},
      {"checked", r.verdict.has_value()},
      {"path", plan.path},
      {"kernel", plan.kernel},
      {"why", plan.why},
      {"device", device_word(plan.device)},
      {"device_name", r.device_name},
      {"m", p.m},
      {"n", p.n},
      {"k", p.k},
      {"l", p.l},
      {"a_type", name_of(p.a.type)},
      {"b_type", name_of(p.b.type)},
      {"d_type", name_of(p.d.type)},
      {"d_layout", p.d.layout == Layout::row_major ? "row" : "column"},
      {"a_major", a_major(p)},
      {"b_major", b_major(p)},
      {"c_major", c_major(p)},
      {"accumulation", accumulation_word(p.accumulation)},
      {"interval", p.interval},
      {"promotions", plan.promotions},
      {"alpha", p.alpha},
      {"beta", p.beta},
      {"scale_a", p.scale_a},
      {"scale_b", p.scale_b},
      {"scale_d", p.scale_d},
      {"scale_mode", scale_mode_word(plan.scale_mode)},
      {"bias", name_of(p.epilogue.bias)},
      {"activation", name_of(p.epilogue.activation)},
      {"aux_type", p.epilogue.aux ? nlohmann::json(name_of(p.epilogue.aux->type)) : nlohmann::json()},
      {"tile", {plan.tile.m, plan.tile.n}},
      {"cluster", {plan.cluster.m, plan.cluster.n}},
      {"raster", raster_word(plan.raster)},
      {"swizzle", plan.swizzle},
      {"stages", plan.stages},
      {"tiles", plan.tiles},
      {"grid_ctas", plan.grid_ctas},
      {"tma_load", plan.tma_load},
      {"tma_store", plan.tma_store},
      {"splits", plan.splits},
      {"shared_tiles", plan.shared_tiles},
      {"repacked", {{"a", plan.repack_a}, {"b", plan.repack_b}}},
      {"workspace_bytes", plan.workspace_bytes},
      {"launches", plan.launches}};
  const std::optional<double> speed = tflops(r);
  out["time_us"] = r.run.time_us ? nlohmann::json(*r.run.time_us) : nlohmann::json();
  out["tflops"] = speed ? nlohmann::json(*speed) : nlohmann::json();
  out["rel_error"] = nlohmann::json();
  out["error_bound"] = nlohmann::json();
  if (r.verdict) add_verdict(*r.verdict, out);
  if (r.run.statistics) {
    out["emulated_seconds"] = r.run.host_seconds;
    out["wgmma"] = r.run.statistics->count(emulator::Op::wgmma);
    out["most_barrier_phases"] = r.run.statistics->most_barrier_phases;
  }
  return out;
}

}  // namespace tilewright::cli
