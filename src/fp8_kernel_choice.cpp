#include <algorithm>
#include <limits>
#include <vector>

#include "src/fp8_plan.h"
#include "src/gemm_heuristic.h"
#include "src/gemm_rules.h"
#include "src/plan_text.h"

namespace tilewright {
namespace {

using kernels::Fp8Kernel;
using kernels::Fp8KernelId;
using kernels::Load;

constexpr int64_t kMmasPerTile = kernels::kFp8TileK / 32;

/// K tiles, and how long an interval is in them.
struct Promotion {
  bool promoted = true;
  int64_t interval = 4;
  int64_t k_tiles = 0;
  bool covers_k = false;  // one group: the same as fast accumulation

  bool runs_on(const Fp8KernelId& id) const {
    if (!promoted || covers_k) {
      const bool one_group = k_tiles <= 1 || !kernels::fp8_begins_in_temporary(id);
      return id.interval == 0 && one_group;
    }
    if (!id.promoted) return false;
    if (interval < kMmasPerTile) return id.interval == interval;
    if (id.interval != 0) return false;
    return interval == kMmasPerTile || kernels::fp8_interval_spans_tiles(id);
  }
  uint32_t group_tiles() const {
    const bool endless = !promoted || covers_k || interval / kMmasPerTile >= k_tiles;
    const int64_t tiles = endless ? k_tiles : interval / kMmasPerTile;
    return static_cast<uint32_t>(std::max<int64_t>(1, tiles));
  }
};

Status check_interval(int64_t interval) {
  if (interval == 1 || interval == 2 || (interval > 0 && interval % kMmasPerTile == 0)) return {};
  std::string nearest = "1";
  if (interval == 3) nearest = "2 or 4";
  if (interval > 4) {
    const int64_t below = interval - interval % kMmasPerTile;
    nearest = text(below);
    if (below <= std::numeric_limits<int64_t>::max() - kMmasPerTile)
      nearest += " or " + text(below + kMmasPerTile);
  }
  return broken(RuleId::interval_value, "interval", text(interval), nearest);
}

/// `why`: of copied operands.
Expected<Load> choose_load(const KernelProblem& p, LoadKind asked, std::string& why) {
  if (asked == LoadKind::copy) {
    why = "loads of kind copy were asked for";
    return Load::copy;
  }
  for (const KernelOperand* o : {&p.a, &p.b}) {
    if (!p.reads_ab || o->bulk_along_k) continue;
    const BulkObstacle obstacle = bulk_obstacle_of(*o);
    const std::string name(1, o->name);
    if (asked == LoadKind::tma)
      return broken(RuleId::load_tma, name, obstacle.found, obstacle.nearest + ", or loads of kind copy");
    why = "no bulk loads (" + name + ": " + obstacle.found + ")";
    return Load::copy;
  }
  return Load::tma;
}

Expected<bool> choose_store(const KernelProblem& p, StoreKind asked, std::string& why) {
  if (asked == StoreKind::tma && !p.d_bulk) {
    const int64_t size = bits_of(p.d_type) / 8;
    std::string found = "rows of " + text(p.n) + " elements";
    if (p.d.column > 1) found = "columns of a product with block scales";
    if (p.d.column <= 1 && p.d_alignment < 16) found = "base aligned to " + text(p.d_alignment);
    if (p.d.column <= 1 && p.d_alignment >= 16 && p.n * size % 16 == 0)
      found = "leading dimension " + text(p.d.row) + ", batch stride " + text(p.d.batch) + " of " +
              text(size) + " bytes";
    return broken(RuleId::store_tma, "D", found,
                  "multiples of " + text(16 / size) + " elements, or direct stores");
  }
  if (asked != StoreKind::direct && !p.d_bulk) why += why.empty() ? "direct stores" : ", direct stores";
  return asked != StoreKind::direct && p.d_bulk;
}

/// Whether the kernel applies the scales of a problem, and no others.
bool scales_fit(const Fp8KernelId& id, ScaleMode mode) {
  switch (mode) {
    case ScaleMode::per_row_column:
      return kernels::fp8_takes_vectors(id);
    case ScaleMode::block_1x128_128x128:
      return id.scales == kernels::Scales::blocks;
    case ScaleMode::per_tensor:
      break;
  }
  return id.scales == kernels::Scales::none;
}

Shape2 tile_of(const Fp8KernelId& id) { return {id.tile_m, id.tile_n}; }

/// Kernels of the right types and load; then those that promote as asked; then those of the tile asked for.
/// why_load: for errors.
Expected<std::vector<const Fp8Kernel*>> candidates(const PlanRequest& r, const Promotion& promotion,
                                                   Load load, const std::string& why_load) {
  const Target& target = r.target;
  const KernelProblem& p = r.problem;
  const std::optional<Shape2>& tile = r.options.tile;
  const std::string loaded = why_load.empty() ? "" : ", " + why_load;
  std::vector<const Fp8Kernel*> typed, promoting, fitting;
  const int out_bytes = bits_of(p.d_type) / 8;
  for (int i = 0; i < target.fp8.count; ++i) {
    const Fp8Kernel& k = target.fp8.kernels[i];
    if (k.id.a == p.a.type && k.id.b == p.b.type && k.id.out_bytes == out_bytes && k.id.load == load &&
        scales_fit(k.id, p.scale_mode))
      typed.push_back(&k);
  }
  if (typed.empty())
    return broken(RuleId::tile_built, "types",
                  std::string(name_of(p.a.type)) + " x " + name_of(p.b.type) + " -> " + name_of(p.d_type),
                  "none on this machine");
  for (const Fp8Kernel* k : typed)
    if (promotion.runs_on(k->id)) promoting.push_back(k);
  const std::string interval = promotion.promoted ? text(promotion.interval) : "fast accumulation";
  if (promoting.empty()) return broken(RuleId::interval_kernel, "interval", interval + loaded, "4");
  if (!tile) return promoting;

  const Shape2 wanted = p.to_kernel(*tile);
  const auto has_tile = [&](const Fp8Kernel* k) { return tile_of(k->id) == wanted; };
  std::copy_if(promoting.begin(), promoting.end(), std::back_inserter(fitting), has_tile);
  if (!fitting.empty()) return fitting;
  const std::string nearest =
      text(p.to_caller(nearest_shape(promoting, wanted, [](const Fp8Kernel* k) { return tile_of(k->id); })));
  if (std::any_of(typed.begin(), typed.end(), has_tile))
    return broken(RuleId::interval_kernel, "interval", interval + " on tile " + text(*tile) + loaded,
                  "4, or tile " + nearest);
  return broken(RuleId::tile_built, "tile", text(*tile) + loaded, nearest);
}

}  // namespace

Expected<Fp8Choice> choose_fp8_kernel(const PlanRequest& request) {
  const KernelProblem& p = request.problem;
  const Problem& asked = request.asked;
  const Options& options = request.options;
  Fp8Choice choice;
  Promotion promotion;
  promotion.promoted = asked.accumulation == Accumulation::promoted;
  promotion.interval = asked.interval;
  promotion.k_tiles = ceil_div(p.k, kernels::kFp8TileK);
  promotion.covers_k = asked.interval >= ceil_div(p.k, 32);
  if (promotion.promoted)
    if (Status s = check_interval(asked.interval)) return *s;
  std::string why;
  const Expected<Load> load = choose_load(p, options.load, why);
  if (!load) return load.error();
  Expected<std::vector<const Fp8Kernel*>> found = candidates(request, promotion, *load, why);
  if (!found) return found.error();
  const Expected<bool> store = choose_store(p, options.store, why);
  if (!store) return store.error();
  // A kernel without a temporary accumulator is the better one for fast accumulation.
  std::stable_partition(found->begin(), found->end(), [](const Fp8Kernel* k) { return !k->id.promoted; });

  std::vector<TileChoice> tiles;
  for (const Fp8Kernel* k : *found)
    tiles.push_back({k->id.tile_m, k->id.tile_n, k->id.promoted && promotion.promoted});
  const int sms = request.target.model_sms();
  const TilingQuery query{p.m, p.n, p.k, p.l, sms};
  choice.kernel = (*found)[static_cast<size_t>(choose_tile(query, tiles))];
  if (!options.tile)
    for (const auto& [tile, clocks] : ranked_tiles(query, tiles))
      choice.candidates.push_back({p.to_caller({tile.tile_m, tile.tile_n}), clocks});
  choice.tma_store = *store;
  choice.group_tiles = promotion.group_tiles();
  choice.why = options.tile ? "tile as asked"
                            : "lowest modelled time of " + text(static_cast<int64_t>(tiles.size())) +
                                  " kernels on " + text(sms) + " SMs";
  if (!why.empty()) choice.why += ", " + why;
  return choice;
}

}  // namespace tilewright
