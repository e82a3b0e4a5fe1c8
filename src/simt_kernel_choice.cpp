#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "src/gemm_rules.h"
#include "src/plan_text.h"
#include "src/simt_candidates.h"
#include "src/simt_plan.h"
#include "src/workspace.h"

namespace tilewright {
namespace {

using detail::SimtWorkspace;
using kernels::SimtKernelId;
using kernels::SimtLoad;
using kernels::SimtPipeline;

/// Why bulk copies cannot address an operand along its rows, or nothing.
std::string bulk_obstacle(const KernelOperand& o) {
  if (o.bulk_along_rows) return "";
  return o.row_stride > 1 ? "K-major" : bulk_obstacle_of(o).found;
}

/// The rules of tensor maps on a repacked operand, and the size that its kernel counts to.
bool can_repack(const KernelProblem& p, const KernelOperand& o) {
  const auto bytes =
      static_cast<__int128>(4) * repacked_ld(o) * p.k * static_cast<__int128>(batches_of(p, o));
  return bytes < kMostWorkspaceBytes && repacked_ld(o) * p.k * 4 < (int64_t{1} << 40);
}

std::optional<SimtSource> source_of(const KernelProblem& p, const KernelOperand& o, SimtPipeline pipeline,
                                    SimtLoad load) {
  const bool copies_vectors = pipeline == SimtPipeline::async && o.bulk_along_rows;
  if (load == SimtLoad::gather && !copies_vectors) return SimtSource::gathered;
  if (!p.reads_ab || o.bulk_along_rows) return SimtSource::bulk;
  if (can_repack(p, o)) return SimtSource::repacked;
  return std::nullopt;
}

int64_t repacked_bytes(const KernelProblem& p, const KernelOperand& o, SimtSource source) {
  return source == SimtSource::repacked
             ? round_up(4 * repacked_ld(o) * p.k * batches_of(p, o), kWorkspaceAlignment)
             : 0;
}

/// Nothing: more than fits in memory.
std::optional<SimtWorkspace> workspace_of(const KernelProblem& p, const SimtConfiguration& c) {
  SimtWorkspace w;
  w.b = w.a + repacked_bytes(p, p.a, c.a);
  w.partials = w.b + repacked_bytes(p, p.b, c.b);
  w.bytes = w.partials;
  if (c.work.shared_tiles == 0) return w;
  const int64_t pieces = 2 * 4 * int64_t{c.id.tile_m} * c.id.tile_n;  // of each CTA
  if (c.work.ctas > kMostWorkspaceBytes / pieces) return std::nullopt;
  w.bytes += c.work.ctas * pieces;
  return w;
}

std::string source_text(const KernelOperand& o, SimtSource source) {
  if (source == SimtSource::bulk) return "";
  const std::string obstacle = bulk_obstacle(o);
  return std::string(", ") + o.name + (source == SimtSource::repacked ? " repacked" : " gathered") +
         (obstacle.empty() ? "" : " (" + obstacle + ")");
}

/// Tries all uses of all candidates and keeps the best.
class Search {
 public:
  Search(const PlanRequest& request, const SimtSides& sides) : r_(request), sides_(sides) {}

  void consider(const SimtCandidate& candidate) {
    const SimtKernelId& id = candidate.kernel->id;
    const KernelProblem& p = sides_.of(candidate);
    const std::optional<SimtSource> a = source_of(p, p.a, id.pipeline, id.a),
                                    b = source_of(p, p.b, id.pipeline, id.b);
    if (!a || !b) return;
    for (const SimtDivision& work : divisions_of(p, id)) consider(candidate, {id, *a, *b, work});
  }

  /// The emulated chip is as small as its tiles, so that every CTA has several; but where CTAs share tiles,
  /// what is chosen for a large chip stays.
  void shrink_to_emulated_chip() {
    const Options& o = r_.options;
    if (r_.target.device == Device::gpu || o.max_sms || best_.kernel == nullptr) return;
    SimtConfiguration& c = best_.configuration;
    if (c.work.shared_tiles > 0) return;
    const int64_t tiles = tiles_of(best_problem(), c.id);
    c.work.ctas = std::min(tiles, working_ctas(r_.target, o, tiles, kernels::simt_plan(c.id).ctas_per_sm, 1));
  }

  Expected<SimtChoice> result() {
    if (best_.kernel != nullptr) {
      best_.why = describe();
      return best_;
    }
    if (least_bytes_)
      return broken(RuleId::workspace_limit, "max_workspace", text(r_.options.max_workspace.value_or(0)),
                    text(*least_bytes_));
    return broken(RuleId::operand_span, "workspace", "operands too large to be repacked",
                  "loads of kind copy, or fewer parts of K");
  }

 private:
  const KernelProblem& best_problem() const { return best_.flipped ? sides_.flipped : sides_.straight; }

  static int64_t tiles_of(const KernelProblem& p, const SimtKernelId& id) {
    return std::max<int64_t>(1, grid_of(p, {id.tile_m, id.tile_n}).tiles);
  }

  /// Between the CTAs that a real chip, or the emulated one that was asked for, works on at once.
  std::vector<SimtDivision> divisions_of(const KernelProblem& p, const SimtKernelId& id) const {
    constexpr int64_t kManyTiles = std::numeric_limits<int32_t>::max();
    const int64_t limit =
        working_ctas(r_.target, r_.options, kManyTiles, kernels::simt_plan(id).ctas_per_sm, 1);
    const int64_t tiles = tiles_of(p, id), k_tiles = k_tiles_of(p, id);
    if (r_.options.splits) return {division_by(*r_.options.splits, tiles, k_tiles, limit)};
    return divisions(id, tiles, k_tiles, limit);
  }

  SimtQuery query_of(const KernelProblem& p) const {
    const int limit = static_cast<int>(r_.options.max_sms.value_or(kMaxSms));
    return {
        p.m, p.n, p.k, p.l, batches_of(p, p.a), batches_of(p, p.b), std::min(r_.target.model_sms(), limit)};
  }

  void consider(const SimtCandidate& candidate, const SimtConfiguration& c) {
    const KernelProblem& p = sides_.of(candidate);
    const std::optional<SimtWorkspace> workspace = workspace_of(p, c);
    if (!workspace) return;
    if (r_.options.max_workspace && workspace->bytes > *r_.options.max_workspace) {
      if (!least_bytes_ || workspace->bytes < *least_bytes_) least_bytes_ = workspace->bytes;
      return;
    }
    ++tried_;
    const double us = estimate_us(query_of(p), c);
    if (us >= best_us_) return;
    best_us_ = us;
    best_ = {candidate.kernel, candidate.flipped, c, *workspace, ""};
  }

  std::string describe() const {
    const KernelProblem& p = best_problem();
    const SimtConfiguration& c = best_.configuration;
    std::string why = tried_ == 1 ? "the only one that fits what was asked for"
                                  : "lowest modelled time of " + text(tried_) + " configurations on " +
                                        text(r_.target.model_sms()) + " SMs";
    if (p.reads_ab) why += source_text(p.a, c.a) + source_text(p.b, c.b);
    if (c.work.shared_tiles > 0)
      why += ", " + text(c.work.shared_tiles) + " tiles cut along K for " + text(c.work.ctas) + " CTAs";
    return why;
  }

  const PlanRequest& r_;
  const SimtSides& sides_;
  SimtChoice best_;
  double best_us_ = std::numeric_limits<double>::infinity();
  int64_t tried_ = 0;
  std::optional<int64_t> least_bytes_;  // of what the limit on the workspace ruled out
};

}  // namespace

int64_t repacked_ld(const KernelOperand& operand) { return round_up(operand.rows, 32); }

int64_t k_tiles_of(const KernelProblem& problem, const SimtKernelId& id) {
  return problem.reads_ab ? ceil_div(problem.k, kernels::simt_plan(id).tile_k) : 0;
}

int64_t batches_of(const KernelProblem& problem, const KernelOperand& operand) {
  return operand.batch_stride == 0 ? std::min<int64_t>(problem.l, 1) : problem.l;
}

Expected<SimtChoice> choose_simt_kernel(const PlanRequest& request) {
  const SimtSides sides(request.problem);
  const Expected<std::vector<SimtCandidate>> candidates = simt_candidates(request, sides);
  if (!candidates) return candidates.error();
  Search search(request, sides);
  for (const SimtCandidate& c : *candidates) search.consider(c);
  search.shrink_to_emulated_chip();
  return search.result();
}

}  // namespace tilewright
