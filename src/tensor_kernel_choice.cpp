#include <algorithm>
#include <cstdlib>
#include <vector>

#include "src/gemm_heuristic.h"
#include "src/gemm_rules.h"
#include "src/plan_text.h"
#include "src/tensor_plan.h"

namespace tilewright {
namespace {

using kernels::TensorKernel;
using kernels::TensorKernelId;

Shape2 tile_of(const TensorKernel& k) { return {k.id.tile_m, k.id.tile_n}; }
Shape2 cluster_of(const TensorKernel& k) { return {k.id.cluster_m, k.id.cluster_n}; }

/// In which order an operand is loaded: with K contiguous, or its rows.
Expected<bool> k_major(const KernelOperand& o) {
  if (o.bulk_along_k) return true;
  if (bits_of(o.type) == 16 && o.bulk_along_rows) return false;
  const std::string name(1, o.name);
  const int64_t size = bits_of(o.type) / 8, step = 16 / size;
  const std::string bytes = " of " + text(size) + (size == 1 ? " byte" : " bytes");
  if (o.alignment < 16) return broken(RuleId::load_tma, name, "base aligned to " + text(o.alignment), "16");
  const bool rows_apart = o.k_stride <= 1;
  const int64_t ld = rows_apart ? o.row_stride : o.k_stride;
  if (ld % step != 0)
    return broken(RuleId::load_tma, name, "leading dimension " + text(ld) + bytes, text(round_up(ld, step)));
  return broken(RuleId::load_tma, name, "batch stride " + text(o.batch_stride) + bytes,
                text(round_up(o.batch_stride, step)));
}

std::string type_words(const KernelProblem& p) {
  const DType a = p.exchanged ? p.b.type : p.a.type, b = p.exchanged ? p.a.type : p.b.type;
  return std::string(name_of(a)) + " x " + name_of(b) + " -> " + name_of(p.d_type);
}

/// Kernels of the right types and majorness.
Expected<std::vector<const TensorKernel*>> typed_kernels(const PlanRequest& r) {
  const KernelProblem& p = r.problem;
  const Expected<bool> a = k_major(p.a), b = k_major(p.b);
  const bool any_order = !p.reads_ab;
  if (!any_order && !a) return a.error();
  if (!any_order && !b) return b.error();
  std::vector<const TensorKernel*> typed;
  for (int i = 0; i < r.target.tensor.count; ++i) {
    const TensorKernel& k = r.target.tensor.kernels[i];
    if (k.id.a != p.a.type || k.id.b != p.b.type || k.id.d != p.d_type) continue;
    if (any_order || (k.id.k_major_a == *a && k.id.k_major_b == *b)) typed.push_back(&k);
  }
  if (typed.empty()) return broken(RuleId::tile_built, "types", type_words(p), "none on this machine");
  return typed;
}

/// The member of `kernels` whose shape is nearest to one that none has, as the caller sees it.
template <class ShapeOf>
std::string nearest(const std::vector<const TensorKernel*>& kernels, const KernelProblem& p, Shape2 wanted,
                    ShapeOf shape_of) {
  const auto distance = [&](const TensorKernel* k) {
    const Shape2 s = shape_of(*k);
    return std::abs(s.m - wanted.m) + std::abs(s.n - wanted.n);
  };
  const auto found = std::min_element(kernels.begin(), kernels.end(), [&](const auto* x, const auto* y) {
    return distance(x) < distance(y);
  });
  return text(p.to_caller(shape_of(**found)));
}

/// Leaves the kernels of the tile and the cluster that were asked for.
Status keep_asked(const PlanRequest& r, std::vector<const TensorKernel*>& kernels) {
  const auto keep = [&](std::optional<Shape2> asked, RuleId rule, const char* what, auto shape_of) -> Status {
    if (!asked) return {};
    const Shape2 wanted = r.problem.to_kernel(*asked);
    std::vector<const TensorKernel*> kept;
    for (const TensorKernel* k : kernels)
      if (shape_of(*k) == wanted) kept.push_back(k);
    if (kept.empty()) return broken(rule, what, text(*asked), nearest(kernels, r.problem, wanted, shape_of));
    kernels = std::move(kept);
    return {};
  };
  if (Status s = keep(r.options.tile, RuleId::tile_built, "tile", tile_of)) return s;
  return keep(r.options.cluster, RuleId::cluster_built, "cluster", cluster_of);
}

/// The kernel of a tile whose cluster suits the problem: 8-bit operands stream so fast that sharing B between
/// two CTAs pays in long runs (measured; for the other types it does not).
bool prefers_cluster(const PlanRequest& r, const TensorKernelId& id) {
  constexpr double kLongRounds = 7;
  const KernelProblem& p = r.problem;
  if (bits_of(id.a) != 8 || r.options.max_sms.value_or(2) < 2) return false;
  const double tiles = static_cast<double>(ceil_div(p.m, id.tile_m)) *
                       static_cast<double>(ceil_div(p.n, id.tile_n)) * static_cast<double>(p.l);
  return tiles > kLongRounds * r.target.model_sms();
}

Expected<bool> choose_store(const PlanRequest& r, std::string& why) {
  const KernelProblem& p = r.problem;
  if (r.options.store == StoreKind::direct) {
    why += ", direct stores as asked";
    return false;
  }
  if (p.d_bulk) return true;
  if (r.options.store == StoreKind::tma)
    return broken(RuleId::store_tma, "D",
                  "rows of " + text(p.n) + " elements, leading dimension " + text(p.d.row) + ", alignment " +
                      text(p.d_alignment),
                  "multiples of " + text(128 / bits_of(p.d_type)) + " elements, or direct stores");
  why += ", direct stores";
  return false;
}

}  // namespace

Expected<TensorChoice> choose_tensor_kernel(const PlanRequest& r) {
  Expected<std::vector<const TensorKernel*>> found = typed_kernels(r);
  if (!found) return found.error();
  if (Status s = keep_asked(r, *found)) return *s;
  const KernelProblem& p = r.problem;
  const int sms = r.target.model_sms();
  // Every type takes as long for a K tile of 128 bytes: the model of FP8 tiles without promotion is theirs
  // too.
  const TilingQuery query{p.m, p.n, p.k * bits_of(p.a.type) / 8, p.l, sms, false};
  std::vector<TileChoice> tiles;
  for (const TensorKernel* k : *found) tiles.push_back({k->id.tile_m, k->id.tile_n, false});
  const TileChoice tile = tiles[static_cast<size_t>(choose_tile(query, tiles))];
  TensorChoice choice;
  for (const TensorKernel* k : *found) {
    if (k->id.tile_m != tile.tile_m || k->id.tile_n != tile.tile_n) continue;
    const bool alone = cluster_of(*k) == Shape2{1, 1};
    if (choice.kernel == nullptr || alone != prefers_cluster(r, k->id)) choice.kernel = k;
  }
  choice.why = r.options.tile ? "tile as asked"
                              : "lowest modelled time of " + text(static_cast<int64_t>(tiles.size())) +
                                    " kernels on " + text(sms) + " SMs";
  const Expected<bool> store = choose_store(r, choice.why);
  if (!store) return store.error();
  choice.tma_store = *store;
  return choice;
}

}  // namespace tilewright
