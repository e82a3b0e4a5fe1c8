#include "tests/kernels/covering_array.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace tilewright::testing {
namespace {

struct Pair {
  size_t axis, other;  // axis < other
  int level, other_level;
};

/// The pairs that no row has yet.
class MissingPairs {
 public:
  explicit MissingPairs(const std::vector<int>& levels) : levels_(levels), count_(levels.size()) {
    table_.resize(count_ * count_);
    for (size_t i = 0; i < count_; ++i)
      for (size_t j = i + 1; j < count_; ++j)
        table_[i * count_ + j].assign(static_cast<size_t>(levels[i]) * static_cast<size_t>(levels[j]), false);
  }

  void set(size_t i, int a, size_t j, int b, bool missing) { at(i, a, j, b) = missing; }
  bool missing(size_t i, int a, size_t j, int b) { return at(i, a, j, b); }

  std::optional<Pair> first() const {
    for (size_t i = 0; i < count_; ++i) {
      for (size_t j = i + 1; j < count_; ++j) {
        const auto& pairs = table_[i * count_ + j];
        const auto found = std::find(pairs.begin(), pairs.end(), true);
        if (found == pairs.end()) continue;
        const auto at = static_cast<int>(found - pairs.begin());
        return Pair{i, j, at / levels_[j], at % levels_[j]};
      }
    }
    return std::nullopt;
  }

 private:
  std::vector<bool>::reference at(size_t i, int a, size_t j, int b) {
    if (i > j) {
      std::swap(i, j);
      std::swap(a, b);
    }
    return table_[i * count_ + j][static_cast<size_t>(a * levels_[j] + b)];
  }

  std::vector<int> levels_;
  size_t count_;
  std::vector<std::vector<bool>> table_;  // [axis * count + other], [level * levels + other level]
};

/// Missing pairs that `level` of `axis` makes with the levels of row[0, axis).
int gain(MissingPairs& pairs, const Row& row, size_t axis, int level) {
  int sum = 0;
  for (size_t i = 0; i < axis; ++i) sum += pairs.missing(i, row[i], axis, level);
  return sum;
}

/// Missing pairs inside a combination, and (less important) of its levels with the free axes.
int gain(MissingPairs& pairs, const Row& combination, const std::vector<int>& levels) {
  constexpr int kInside = 4;
  int sum = 0;
  for (size_t i = 0; i < combination.size(); ++i)
    sum += kInside * gain(pairs, combination, i, combination[i]);
  for (size_t i = 0; i < combination.size(); ++i)
    for (size_t j = combination.size(); j < levels.size(); ++j)
      for (int level = 0; level < levels[j]; ++level) sum += pairs.missing(i, combination[i], j, level);
  return sum;
}

bool has(const Row& combination, const Pair& wanted) {
  return (wanted.axis >= combination.size() || combination[wanted.axis] == wanted.level) &&
         (wanted.other >= combination.size() || combination[wanted.other] == wanted.other_level);
}

Row next_row(const std::vector<Row>& allowed, const std::vector<int>& levels, MissingPairs& pairs,
             const Pair& wanted, size_t number) {
  const Row* best = nullptr;
  int best_gain = -1;
  for (const Row& combination : allowed) {
    if (!has(combination, wanted)) continue;
    const int its = gain(pairs, combination, levels);
    if (its > best_gain) best = &combination, best_gain = its;
  }
  Row row = *best;
  for (size_t axis = row.size(); axis < levels.size(); ++axis) {
    int chosen = static_cast<int>(number) % levels[axis];  // of equals, not always the first
    for (int level = 0; level < levels[axis]; ++level)
      if (gain(pairs, row, axis, level) > gain(pairs, row, axis, chosen)) chosen = level;
    if (axis == wanted.axis) chosen = wanted.level;
    if (axis == wanted.other) chosen = wanted.other_level;
    row.push_back(chosen);
  }
  return row;
}

}  // namespace

std::vector<Row> covering_array(const std::vector<Row>& allowed, const std::vector<int>& free_levels) {
  std::vector<int> levels(allowed.front().size(), 0);
  for (const Row& combination : allowed)
    for (size_t i = 0; i < combination.size(); ++i) levels[i] = std::max(levels[i], combination[i] + 1);
  const size_t dependent = levels.size();
  levels.insert(levels.end(), free_levels.begin(), free_levels.end());

  MissingPairs pairs(levels);
  for (const Row& combination : allowed) {
    for (size_t i = 0; i < dependent; ++i) {
      for (size_t j = i + 1; j < dependent; ++j) pairs.set(i, combination[i], j, combination[j], true);
      for (size_t j = dependent; j < levels.size(); ++j)
        for (int level = 0; level < levels[j]; ++level) pairs.set(i, combination[i], j, level, true);
    }
  }
  for (size_t i = dependent; i < levels.size(); ++i)
    for (size_t j = i + 1; j < levels.size(); ++j)
      for (int a = 0; a < levels[i]; ++a)
        for (int b = 0; b < levels[j]; ++b) pairs.set(i, a, j, b, true);

  std::vector<Row> rows;
  while (const std::optional<Pair> wanted = pairs.first()) {
    rows.push_back(next_row(allowed, levels, pairs, *wanted, rows.size()));
    const Row& row = rows.back();
    for (size_t i = 0; i < row.size(); ++i)
      for (size_t j = i + 1; j < row.size(); ++j) pairs.set(i, row[i], j, row[j], false);
  }
  return rows;
}

}  // namespace tilewright::testing
