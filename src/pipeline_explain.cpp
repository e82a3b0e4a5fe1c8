// The rule table of descriptors as text.
#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string>

#include "tilewright/pipeline/descriptor/explain.h"

namespace tilewright::blas {
namespace {

std::string sm_text(const Facts& f) {
  if (!f.has_sm) return "no SM";
  const char* modifier = f.modifier == generic         ? "generic"
                         : f.modifier == arch_specific ? "arch_specific"
                                                       : "family_specific";
  return "SM<" + std::to_string(f.sm) + ", " + modifier + ">()";
}

std::string precision_text(const Facts& f) {
  return std::string(f.is_complex ? "complex " : "") + name_of(f.a) + " x " + name_of(f.b) + " in " +
         name_of(f.c) + (f.interval == 0 ? "" : ", promoted<" + std::to_string(f.interval) + ">");
}

std::string alignment_text(const Facts& f) {
  return "A " + std::to_string(f.a_alignment) + ", B " + std::to_string(f.b_alignment) + " bytes";
}

std::string arrangement_text(const Facts& f) {
  const auto name = [](arrangement a) { return a == row_major ? "row_major" : "col_major"; };
  return std::string(name(f.a_arrangement)) + " A and " + name(f.b_arrangement) + " B of " + name_of(f.a);
}

std::string threads_text(const Facts& f) { return std::to_string(f.threads) + " threads"; }

std::string nearest_of(const char* what, int extent, std::initializer_list<int> legal) {
  // Of two that are as near, the larger.
  int nearest = *legal.begin();
  for (const int value : legal) {
    if (std::abs(value - extent) <= std::abs(nearest - extent)) nearest = value;
  }
  return std::string(what) + " = " + std::to_string(extent) + " (nearest: " + std::to_string(nearest) + ")";
}

std::string nearest_text(const char* what, int extent, int granularity) {
  const int below = std::max(extent / granularity, 1) * granularity;
  return nearest_of(what, extent, {below, (extent + granularity - 1) / granularity * granularity});
}

std::string registers_text(const Facts& f) {
  const tiles::WgmmaTilePlan p = detail::plan_of(f);
  return std::to_string(p.live_registers) + " registers: " + std::to_string(p.parts()) + " part(s) of " +
         std::to_string(p.registers) +
         (f.interval == 0 ? "" : " and a temporary of " + std::to_string(p.registers)) + "; " +
         std::to_string(p.register_limit) + " may be used";
}

std::string interval_text(const Facts& f) {
  const tiles::WgmmaTilePlan p = detail::plan_of(f);
  return "promoted<" + std::to_string(f.interval) + "> with " + std::to_string(p.mmas) +
         " MMAs in a K tile and " + std::to_string(p.parts()) + " part(s)";
}

std::string stage_text(const Facts& f) {
  return std::to_string(detail::plan_of(f).stage_bytes) + " bytes a stage: not even one pipeline stage fits";
}

std::string mma_sync_warps_text(const Facts& f) {
  return std::to_string(f.threads / 32) + " warps over " + std::to_string(f.m) + " x " + std::to_string(f.n);
}

std::string mma_sync_registers_text(const Facts& f) {
  const tiles::MmaSyncPlan p = detail::mma_sync_plan_of(f);
  return std::to_string(p.live_registers) + " registers: " + std::to_string(p.accumulators) +
         " accumulators and " + std::to_string(p.live_registers - p.accumulators) + " of operands; " +
         std::to_string(p.thread_registers) + " may be used";
}

std::string simt_registers_text(const Facts& f) {
  const tiles::SimtBlockPlan p = detail::simt_block_plan_of(f);
  return std::to_string(p.live_registers) + " registers; " + std::to_string(p.thread_registers) +
         " may be used";
}

std::string mma_sync_stage_text(const Facts& f) {
  const tiles::MmaSyncPlan p = detail::mma_sync_plan_of(f);
  return std::to_string(p.stage_bytes) + " bytes a stage of " + std::to_string(p.shared_limit) +
         ": not even one pipeline stage fits";
}

std::string cluster_text(const Facts& f) {
  return "BlocksPerCluster<" + std::to_string(f.cluster_m) + ", " + std::to_string(f.cluster_n) + ">()";
}

std::string block_scale_text(const Facts& f) {
  if (!f.is_scaled()) return "no BlockScale";
  return "BlockScale<" + std::to_string(f.scale_vector) + ", " + name_of(f.scale) + ">() of " +
         precision_text(f);
}

std::string size_text(const Facts& f) {
  if (!f.has_size) return "no Size";
  return std::to_string(f.m) + " x " + std::to_string(f.n) + " x " + std::to_string(f.k);
}

std::string tile_text(const Facts& f) {
  return size_text(f) + " (nearest: 256 x 256 x " + std::to_string(f.scaled_tile_k()) + ")";
}

// A tile whose rows are of 128 bytes.
std::string rows_text(const Facts& f) {
  const int bytes = f.k * f.stage_bytes_a();
  if (bytes == 128) return size_text(f);
  return size_text(f) + " (nearest K of 128 bytes: " + std::to_string(128 / f.stage_bytes_a()) + ")";
}

// What was found where the rule is broken.
std::string found(int rule, const Facts& f) {
  int i = 0;
#define TILEWRIGHT_X(PATH, NAME, NEEDED, CONDITION, ...) \
  if (rule == i++) return __VA_ARGS__;
  TILEWRIGHT_PIPELINE_RULES(TILEWRIGHT_X)
#undef TILEWRIGHT_X
  return {};
}

std::string line_of(path p, path chosen, const Facts& f) {
  std::string text = name_of(p);
  text.resize(9, ' ');
  if (p == chosen) {
    return text + (is_path_built(p, f.is_scaled()) ? "taken\n"
                                                   : "taken by the rules, but not built yet: no pipeline\n");
  }
  std::string broken;
  for (int i = 0; i < detail::kRuleCount; ++i) {
    const PathRule& rule = pipeline_rules[static_cast<size_t>(i)];
    if (rule.of != p || rule.holds(f)) continue;
    broken += std::string("\n  ") + rule.name + ": found " + found(i, f) + "; needed " + rule.needed;
  }
  if (!broken.empty()) return text + "no" + broken + "\n";
  if (f.required != path::none) return text + "possible, but RequirePath names another\n";
  if ((f.allowed >> static_cast<int>(p) & 1) == 0) return text + "possible, but not among AllowPaths\n";
  return text + "possible, but " + name_of(chosen) + " comes first\n";
}

}  // namespace

std::string explain(const Facts& f) {
  const bool impossible = f.required != path::none && first_broken_rule(f.required, f) >= 0;
  const path chosen = impossible ? path::none : detail::resolve(f);
  const std::string scales = f.is_scaled() ? " with a scale for " + std::to_string(f.scale_vector) : "";
  std::string text = size_text(f) + ", " + precision_text(f) + scales + ", " + threads_text(f) + ", " +
                     sm_text(f) + ": " + name_of(chosen) + "\n";
  if (impossible) text += std::string("RequirePath<path::") + name_of(f.required) + "> cannot be had\n";
  for (int i = 0; i < path_count; ++i) text += line_of(static_cast<path>(i), chosen, f);
  return text;
}

}  // namespace tilewright::blas
