#include "src/simt_candidates.h"

#include <optional>

#include "src/gemm_rules.h"
#include "src/plan_text.h"

namespace tilewright {
namespace {

using kernels::SimtKernel;
using kernels::SimtKernelId;
using kernels::SimtLoad;
using kernels::SimtPipeline;

bool loads_as_asked(const SimtKernelId& id, LoadKind asked) {
  if (asked == LoadKind::automatic) return true;
  const SimtLoad load = asked == LoadKind::tma ? SimtLoad::tma : SimtLoad::gather;
  return id.a == load && id.b == load;
}

/// Whether the program has code of a kernel for a GPU: PTX, or that of the architectures it is built for.
bool runs_on(const SimtKernelId& id, int capability) {
  if (id.pipeline == SimtPipeline::async) return capability >= 80;
#if defined(TILEWRIGHT_SM100)
  if (capability == 100) return true;
#endif
  return capability == 90;
}

bool is_filled_as_asked(const SimtKernelId& id, PipelineKind asked) {
  if (asked == PipelineKind::automatic) return true;
  return (asked == PipelineKind::async) == (id.pipeline == SimtPipeline::async);
}

/// Whether a kernel is for a flipped problem: it can store a D whose columns are apart, and has as few rows.
bool is_for_flipped(const SimtKernelId& id, const KernelProblem& flipped) {
  constexpr int64_t kFewRows = 32;
  return id.tile_m <= kFewRows && flipped.m <= kFewRows;
}

Error not_static(const PlanRequest& r, const SimtSides& sides, const std::vector<SimtCandidate>& whole) {
  const KernelProblem& p = r.problem;
  const std::string found = text(p.to_caller({p.m, p.n})) + "x" + text(p.k);
  if (whole.empty()) return broken(RuleId::shape_static, "static shape", found, "a dynamic shape");
  const Shape2 tile = sides.tile_of(whole.front()), shape = p.to_caller({p.m, p.n});
  const Shape2 nearest{round_up(shape.m, tile.m), round_up(shape.n, tile.n)};
  return broken(RuleId::shape_static, "static shape", found, text(nearest) + "x" + text(p.k));
}

/// The nearest of the candidates to a tile that none of them has.
Error no_such_tile(const SimtSides& sides, const std::vector<SimtCandidate>& candidates, Shape2 wanted) {
  const Shape2 nearest =
      nearest_shape(candidates, wanted, [&](const SimtCandidate& c) { return sides.tile_of(c); });
  return broken(RuleId::tile_built, "tile", text(wanted), text(nearest));
}

bool divides(const SimtSides& sides, const SimtCandidate& c) {
  const KernelProblem& p = sides.of(c);
  return p.m % c.kernel->id.tile_m == 0 && p.n % c.kernel->id.tile_n == 0;
}

}  // namespace

Expected<std::vector<SimtCandidate>> simt_candidates(const PlanRequest& r, const SimtSides& sides) {
  std::vector<SimtCandidate> loading, tiled, fitting;
  bool runs_here = r.target.simt.count == 0;
  for (const bool flipped : {false, true}) {
    for (int i = 0; i < r.target.simt.count; ++i) {
      const SimtKernel& k = r.target.simt.kernels[i];
      if (!runs_on(k.id, r.target.capability)) continue;
      runs_here = true;
      if (flipped && !is_for_flipped(k.id, sides.flipped)) continue;
      if (loads_as_asked(k.id, r.options.load) && is_filled_as_asked(k.id, r.options.pipeline))
        loading.push_back({&k, flipped});
    }
  }
  if (!runs_here)
    return broken(RuleId::device_gpu, "chip",
                  "f32 operands on compute capability " + capability_text(r.target.capability),
                  "8.0 or later");
  if (loading.empty())
    return r.target.simt.count == 0
               ? broken(RuleId::tile_built, "types", "f32", "none on this machine")
               : broken(RuleId::tile_built, "kernel", "f32 with the loads and the pipeline asked for",
                        "automatic ones");
  const std::optional<Shape2>& tile = r.options.tile;
  for (const SimtCandidate& c : loading)
    if (!tile || sides.tile_of(c) == *tile) tiled.push_back(c);
  if (tiled.empty()) return no_such_tile(sides, loading, *tile);
  if (r.options.static_shape)
    std::erase_if(tiled, [](const SimtCandidate& c) { return !c.kernel->id.whole; });
  for (const SimtCandidate& c : tiled)
    if (!c.kernel->id.whole || divides(sides, c)) fitting.push_back(c);
  if (r.options.static_shape && fitting.empty()) return not_static(r, sides, tiled);
  if (fitting.empty()) return no_such_tile(sides, loading, tile.value_or(sides.tile_of(tiled.front())));
  return fitting;
}

}  // namespace tilewright
