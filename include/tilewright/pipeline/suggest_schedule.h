// What the library's own planner would take, for users of run(): the order of tiles, and the descriptor of a
// list. Host functions of the rules and measurements behind plan() (gemm.h); no GPU work. Mode-neutral.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "tilewright/pipeline/descriptor.h"
#include "tilewright/schedule/tile_schedule.h"

namespace tilewright::blas {

/// The order of the tiles of a product: the arguments of Pipeline::make_schedule().
struct ScheduleChoice {
  schedule::Raster raster = schedule::Raster::along_m;
  uint32_t strip = 1;  // clusters

  friend bool operator==(const ScheduleChoice&, const ScheduleChoice&) = default;
};

namespace detail {

/// A descriptor as the planner sees it.
struct Candidate {
  Facts facts;
  path taken = path::none;
};

template <class D>
constexpr Candidate candidate() {
  static_assert(facts_of_v<D>.with_pipeline, "only pipelines have schedules: WithPipeline() is missing");
  static_assert(!facts_of_v<D>.is_scaled(),
                "with BlockScale there is one tile and cluster: p->make_schedule(), or "
                "p->make_controlled_schedule()");
  Candidate of{facts_of_v<D>, path_of_v<D>};
  if (of.taken != path::wgmma && of.taken != path::tcgen05)
    of.facts.cluster_m = of.facts.cluster_n = 1;  // ignored
  return of;
}

/// In src/.
ScheduleChoice choose_schedule(const Candidate& of, int64_t m, int64_t n, int64_t k, int64_t batches);
int choose_descriptor(std::span<const Candidate> of, int64_t m, int64_t n, int64_t k, int64_t batches,
                      int sms);

template <class First, class... Rest, class Visitor>
constexpr decltype(auto) visit_descriptor(int index, Visitor&& visitor) {
  if constexpr (sizeof...(Rest) == 0) {
    return visitor.template operator()<First>();
  } else {
    if (index == 0) return visitor.template operator()<First>();
    return visit_descriptor<Rest...>(index - 1, visitor);
  }
}

}  // namespace detail

/// The order in which the library's own kernels of a descriptor's type, tile and cluster take the tiles of an
/// M x N x K product (FP8: as for FP8, other types: as for f16 and bf16), of `batches` such products. With
/// Tunable the cluster is the largest; Pipeline::suggest_schedule() takes the tuned one.
template <AnyDescription D>
ScheduleChoice suggest_schedule(int64_t m, int64_t n, int64_t k, int64_t batches = 1) {
  return detail::choose_schedule(detail::candidate<D>(), m, n, k, batches);
}

/// The index of the descriptor with the least modelled time for M x N x K, `batches` times: those of the
/// fastest path among them, their tiles by the planner's cost model, and of one tile the cluster that pays.
/// sms: multiprocessors to reckon with; 0: those of the calling thread's GPU, or the 132 of an H200 where
/// there is none.
template <AnyDescription... D>
int suggest_descriptor(int64_t m, int64_t n, int64_t k, int64_t batches = 1, int sms = 0) {
  static_assert(sizeof...(D) > 0, "suggest_descriptor<D1, D2, ...>: at least one descriptor");
  const std::array<detail::Candidate, sizeof...(D)> candidates{detail::candidate<D>()...};
  return detail::choose_descriptor(candidates, m, n, k, batches, sms);
}

/// What visitor.operator()<D>() returns for that descriptor; of one type for all of them.
///   with_suggested_descriptor<Wide, Square, Low>([&]<class D> { return run<D>(a, b, c); }, m, n, k);
template <AnyDescription... D, class Visitor>
decltype(auto) with_suggested_descriptor(Visitor&& visitor, int64_t m, int64_t n, int64_t k,
                                         int64_t batches = 1, int sms = 0) {
  return detail::visit_descriptor<D...>(suggest_descriptor<D...>(m, n, k, batches, sms), visitor);
}

}  // namespace tilewright::blas
