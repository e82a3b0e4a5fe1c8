// Pairwise covering arrays: few rows in which every two levels of any two axes meet.
#pragma once

#include <vector>

namespace tilewright::testing {

/// A level of each axis.
using Row = std::vector<int>;

/// Rows in which every pair of levels occurs that can occur. The first axes depend on each other: `allowed`
/// lists every legal combination of them (not empty). The others are free, axis i having free_levels[i]
/// levels. Greedy and deterministic: each row begins with the first pair that is still missing, and then
/// takes the levels that bring the most missing pairs.
std::vector<Row> covering_array(const std::vector<Row>& allowed, const std::vector<int>& free_levels);

}  // namespace tilewright::testing
