#include <algorithm>
#include <vector>

#include "src/gemm_heuristic.h"
#include "src/gemm_rules.h"
#include "src/plan_text.h"
#include "src/tensor_plan.h"

namespace tilewright {
namespace {

using kernels::TensorKernel;
using kernels::TensorKernelId;
using kernels::TensorPath;

Shape2 tile_of(const TensorKernel& k) { return {k.id.tile_m, k.id.tile_n}; }
Shape2 cluster_of(const TensorKernel& k) { return {k.id.cluster_m, k.id.cluster_n}; }

/// How an operand can be read: with K or its rows contiguous, at an alignment.
struct Access {
  bool k_major = true;
  bool bulk = true;  // by TMA, in this order
};

Access access_of(const KernelOperand& o) {
  if (o.bulk_along_k) return {};
  // A single row or column has either order.
  if (o.bulk_along_rows) return {false, true};
  return {o.k_stride <= 1, false};
}

std::string type_words(const KernelProblem& p) {
  const DType a = p.exchanged ? p.b.type : p.a.type, b = p.exchanged ? p.a.type : p.b.type;
  return std::string(name_of(a)) + " x " + name_of(b) + " -> " + name_of(p.d_type);
}

/// Kernels that can compute the problem: those of wgmma if there are any, else those of mma_sync, or simt.
class Candidates {
 public:
  Candidates(const PlanRequest& r, std::span<const TensorKernel* const> kernels)
      : r_(r), kernels_(kernels), a_(access_of(r.problem.a)), b_(access_of(r.problem.b)) {}

  bool in_missing_order() const {
    return r_.problem.reads_ab && !a_.k_major && b_.k_major &&
           (r_.options.load == LoadKind::copy || of_path(TensorPath::wgmma).empty());
  }

  Expected<std::vector<const TensorKernel*>> find(std::string& why) const {
    const LoadKind load = r_.options.load;
    std::vector<const TensorKernel*> found;
    if (load != LoadKind::copy) found = of_path(TensorPath::wgmma);
    if (!found.empty()) return found;
    if (load == LoadKind::tma) return refuse_bulk();
    why = load == LoadKind::copy ? ", loads of kind copy were asked for" : why_not_wgmma();
    for (const TensorPath path : {TensorPath::mma_sync, TensorPath::simt}) {
      found = of_path(path);
      if (!found.empty()) return found;
    }
    const bool mixed = r_.problem.a.type != r_.problem.b.type && !kernels_.empty();
    return broken(RuleId::tile_built, "types", type_words(r_.problem) + why,
                  mixed ? "two of one type, or K-major ones at multiples of 16 bytes, and D of s32"
                        : "none on this machine");
  }

 private:
  std::vector<const TensorKernel*> of_path(TensorPath path) const {
    const KernelProblem& p = r_.problem;
    std::vector<const TensorKernel*> found;
    int alignment = 0;
    for (const TensorKernel* k : kernels_) {
      const TensorKernelId& id = k->id;
      if (id.path != path || id.a != p.a.type || id.b != p.b.type || !id.stores(p.d_type)) continue;
      // Without a product the order of A and B decides nothing.
      const bool orders = id.k_major_a == a_.k_major && id.k_major_b == b_.k_major;
      const bool aligned = id.alignment < 16 || (a_.bulk && b_.bulk);
      if (p.reads_ab && !(orders && aligned)) continue;
      // The widest copies.
      if (id.alignment > alignment) found.clear();
      alignment = std::max(alignment, id.alignment);
      if (id.alignment == alignment) found.push_back(k);
    }
    return found;
  }

  std::string why_not_wgmma() const {
    if (is_complex(r_.problem.a.type))
      return r_.problem.a.type == DType::cf32 ? ", FP32 means the ordinary cores"
                                              : ", wgmma has no complex numbers";
    for (const auto& [operand, access] : {std::pair{&r_.problem.a, &a_}, std::pair{&r_.problem.b, &b_}})
      if (!access->bulk)
        return std::string(", no bulk loads (") + operand->name + ": " + bulk_obstacle_of(*operand).found +
               ")";
    return std::string(", wgmma has no ") + name_of(r_.problem.a.type) +
           (r_.problem.a.type == DType::f64 ? "" : " of this order");
  }

  Error refuse_bulk() const {
    for (const auto& [operand, access] : {std::pair{&r_.problem.a, &a_}, std::pair{&r_.problem.b, &b_}})
      if (!access->bulk) {
        const BulkObstacle o = bulk_obstacle_of(*operand);
        return broken(RuleId::load_tma, std::string(1, operand->name), o.found,
                      o.nearest + ", or loads of kind copy");
      }
    return broken(RuleId::tile_built, "types", type_words(r_.problem) + " by bulk loads in this order",
                  "K-major operands, or automatic loads");
  }

  const PlanRequest& r_;
  std::span<const TensorKernel* const> kernels_;
  Access a_, b_;
};

/// Leaves the kernels of the tile and the cluster that were asked for. why_path: why they are not of wgmma.
Status keep_asked(const PlanRequest& r, const std::string& why_path,
                  std::vector<const TensorKernel*>& kernels) {
  const auto keep = [&](std::optional<Shape2> asked, RuleId rule, const char* what, auto shape_of) -> Status {
    if (!asked) return {};
    const Shape2 wanted = r.problem.to_kernel(*asked);
    std::vector<const TensorKernel*> kept;
    for (const TensorKernel* k : kernels)
      if (shape_of(*k) == wanted) kept.push_back(k);
    if (kept.empty()) {
      const auto shape = [&](const TensorKernel* k) { return shape_of(*k); };
      return broken(rule, what, text(*asked) + why_path,
                    text(r.problem.to_caller(nearest_shape(kernels, wanted, shape))));
    }
    kernels = std::move(kept);
    return {};
  };
  if (Status s = keep(r.options.tile, RuleId::tile_built, "tile", tile_of)) return s;
  return keep(r.options.cluster, RuleId::cluster_built, "cluster", cluster_of);
}

Expected<bool> choose_store(const PlanRequest& r, const TensorKernel& kernel, std::string& why) {
  const KernelProblem& p = r.problem;
  if (kernel.id.path != TensorPath::wgmma) {
    if (r.options.store != StoreKind::tma) return false;
    return broken(RuleId::store_tma, "D", "of a kernel of mma_sync or simt", "direct stores");
  }
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

bool takes_flipped(const PlanRequest& r, std::span<const TensorKernel* const> kernels) {
  return Candidates(r, kernels).in_missing_order();
}

Expected<TensorChoice> choose_tensor_kernel(const PlanRequest& r,
                                            std::span<const TensorKernel* const> kernels) {
  std::string why_path;
  Expected<std::vector<const TensorKernel*>> found = Candidates(r, kernels).find(why_path);
  if (!found) return found.error();
  if (Status s = keep_asked(r, why_path, *found)) return *s;
  const KernelProblem& p = r.problem;
  const int sms = r.target.model_sms();
  // Every type takes as long for a K tile of 128 bytes: the model of FP8 tiles without promotion is theirs
  // too.
  const bool promoted = is_fp8(p.a.type);
  const TilingQuery query{p.m, p.n, p.k * bits_of(p.a.type) / 8, p.l, sms};
  std::vector<TileChoice> tiles;
  std::vector<TileCandidate> candidates;
  for (const TensorKernel* k : *found) {
    tiles.push_back({k->id.tile_m, k->id.tile_n, promoted});
    candidates.push_back({tiles.back(), {k->id.cluster_m, k->id.cluster_n}});
  }
  const TileChoice tile = tiles[static_cast<size_t>(choose_tile(query, tiles))];
  TilingQuery limited = query;
  limited.sms = static_cast<int>(r.options.max_sms.value_or(sms));
  const Cluster cluster = choose_tensor_cluster(limited, tile, bits_of(p.a.type));
  TensorChoice choice;
  if (!r.options.tile)
    for (const auto& [each, clocks] : ranked_tiles(query, tiles))
      choice.candidates.push_back({p.to_caller({each.tile_m, each.tile_n}), clocks});
  choice.kernel = (*found)[static_cast<size_t>(choose_candidate(candidates, tile, cluster))];
  choice.why = r.options.tile ? "tile as asked"
                              : "lowest modelled time of " + text(static_cast<int64_t>(tiles.size())) +
                                    " kernels on " + text(sms) + " SMs";
  choice.why += why_path;
  const Expected<bool> store = choose_store(r, *choice.kernel, choice.why);
  if (!store) return store.error();
  choice.tma_store = *store;
  return choice;
}

}  // namespace tilewright
