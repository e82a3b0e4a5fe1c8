#include "bench_entry.h"

#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "arguments.h"

namespace tilewright::cli {
namespace {

/// The largest difference between results that is no sign of a fault. Promoted results differ by the rounding
/// of D and by promotion; fast ones by the tensor core's 13 bits over all of K.
double allowed_difference(const Problem& p, bool fast) {
  // FP32 sums in two orders: roundings add up like the square root of their number.
  if (p.a.type == DType::f32) return 0x1p-22 * (4 + std::sqrt(static_cast<double>(p.k)));
  if (is_integer(p.a.type)) return 0;
  if (p.a.type == DType::f64) return 1e-6;  // results are compared as floats
  const double rounding = p.d.type == DType::bf16 ? 8e-3 : 1e-3;
  return rounding + (fast ? static_cast<double>(p.k) / 32 * 0x1p-13 : 1e-3);
}

const char* type_word(const Operand& o) { return o.block ? name_of(*o.block) : name_of(o.type); }

template <class T>
nlohmann::json number_or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

const char* sums_word(const Problem& p, const Contender& c) {
  if (has_fast_sums(p)) return c.fast_accumulation ? "fast" : "promoted";
  return is_integer(p.a.type) ? "s32" : p.a.type == DType::f64 ? "fp64" : "fp32";
}

}  // namespace

nlohmann::json bench_entry(const Problem& p, const PlanInfo& info, const Contender& own,
                           const Contender* peer) {
  const double flops = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) *
                       static_cast<double>(p.l);
  const bool scaled = p.scale_mode != ScaleMode::per_tensor;
  const double off = scaled && own.error ? *own.error : own.difference;  // peers may have other scales
  nlohmann::json e{{"dtype", fmt::format("{}:{}:{}", type_word(p.a), type_word(p.b), name_of(p.d.type))},
                   {"accumulation", sums_word(p, own)},
                   {"majors", majors_of(p)},
                   {"scale_mode", scale_mode_word(p.scale_mode)},
                   {"bias", name_of(p.epilogue.bias)},
                   {"activation", name_of(p.epilogue.activation)},
                   {"aux", p.epilogue.aux.has_value()},
                   {"amax", p.epilogue.amax_d},
                   {"m", p.m},
                   {"n", p.n},
                   {"k", p.k},
                   {"l", p.l},
                   {"kernel", info.kernel},
                   {"tile", {info.tile.m, info.tile.n}},
                   {"cluster", {info.cluster.m, info.cluster.n}},
                   {"swizzle", info.swizzle},
                   {"stages", info.stages},
                   {"splits", info.splits},
                   {"shared_tiles", info.shared_tiles},
                   {"sms", info.sms},
                   {"grid_ctas", info.grid_ctas},
                   {"config", own.name},
                   {"launches", info.launches},
                   {"workspace_bytes", info.workspace_bytes},
                   {"why", info.why},
                   {"time_us", own.mean_us()},
                   {"round_us", own.round_us},
                   {"tflops", flops / own.mean_us() / 1e6},
                   {"difference", own.difference},
                   {"error", number_or_null(own.error)},
                   {"nan_elements", own.nan_elements},
                   {"agrees", own.nan_elements == 0 && off <= allowed_difference(p, own.fast_accumulation)}};
  e["peer"] = nlohmann::json();
  if (peer != nullptr) {
    e["peer"] = peer->name;
    e["peer_candidate"] = number_or_null(peer->candidate);
    e["peer_time_us"] = peer->mean_us();
    e["peer_round_us"] = peer->round_us;
    e["peer_error"] = number_or_null(peer->error);
    e["ratio"] = mean_ratio(own, *peer);
  }
  return e;
}

void print_bench_row(const BenchProblem& shape, const PlanInfo& info, const Contender& c,
                     std::span<const Contender> peers, bool agrees) {
  const Problem& p = shape.problem;
  const double flops = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  std::string ratios;
  for (const Contender& peer : peers) ratios += fmt::format(" {:>9.3f}", mean_ratio(c, peer));
  std::string errors;
  if (c.error) errors = fmt::format("  error {:.2e}", *c.error);
  if (c.error && !peers.empty() && peers[0].error) errors += fmt::format(" / {:.2e}", *peers[0].error);
  fmt::print("{:<18} {:<9} {:<44} {:>10.2f} {:>8.1f}{}{}{}\n", shape.name, sums_word(p, c),
             fmt::format("{} {}x{} /{} {}", info.kernel, info.cluster.m, info.cluster.n, info.swizzle,
                         info.grid_ctas),
             c.mean_us(), flops / c.mean_us() / 1e6, ratios, errors, agrees ? "" : "  DIFFERS");
  std::fflush(stdout);
}

}  // namespace tilewright::cli
