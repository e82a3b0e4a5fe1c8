// Which configurations of ours `tilewright bench` measures.
#pragma once

#include <string>
#include <vector>

#include "tilewright/error.h"
#include "tilewright/gemm.h"

namespace tilewright::cli {

/// One configuration: its name in the result, as it was given, and what it forces on a GPU.
struct BenchConfig {
  std::string name;
  Options options;
};

/// A list of TILE[/CLUSTER[/SWIZZLE[/STAGES[/SMS]]]], SMS being Options::max_sms; an empty one has the
/// planner's choice, "planned". Error: what is none.
Expected<std::vector<BenchConfig>> parse_bench_configs(const std::string& text);

}  // namespace tilewright::cli
