// What `tilewright bench` says of one measurement.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "bench_shape.h"
#include "bench_suite.h"
#include "tilewright/gemm.h"

namespace tilewright::cli {

/// One object of the result's "entries": our contender beside a peer (null: none). "agrees" is false when the
/// difference from the first contender is larger than roundings explain.
nlohmann::json bench_entry(const Problem& problem, const PlanInfo& info, const Contender& own,
                           const Contender* peer);

/// One line of the table, with a ratio to each peer.
void print_bench_row(const BenchProblem& shape, const PlanInfo& info, const Contender& own,
                     std::span<const Contender> peers, bool agrees);

}  // namespace tilewright::cli
