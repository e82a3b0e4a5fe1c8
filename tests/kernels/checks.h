// Cases with an answer known in advance, for any machine.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <ostream>
#include <span>
#include <vector>

#include "tests/kernels/gemm_case.h"

namespace tilewright::testing {

/// A test of a machine. Failures are reported to GoogleTest. The number in a name is the case's id in the
/// list of inputs that broke other systems.
struct Check {
  const char* name;
  void (*run)(TestMachine& machine);
};
inline void PrintTo(const Check& check, std::ostream* out) { *out << check.name; }

std::span<const Check> value_checks();   // special values, conversions, factors
std::span<const Check> shape_checks();   // extents, layouts, strides, addresses
std::span<const Check> scale_checks();   // of rows and columns, and of blocks
std::span<const Check> option_checks();  // accumulation, ring, multiprocessors, scalars

// ---- for lists of cases

/// The cases of several lists.
std::vector<GemmCase> cases_of(std::initializer_list<std::vector<GemmCase> (*)()> lists);

/// One of several processes that share a list of cases.
class Shard : public ::testing::TestWithParam<int> {
 protected:
  template <class Case>
  static std::vector<Case> share_of(const std::vector<Case>& cases, int shards) {
    std::vector<Case> share;
    for (auto i = static_cast<size_t>(GetParam()); i < cases.size(); i += static_cast<size_t>(shards))
      share.push_back(cases[i]);
    return share;
  }
};

// ---- for writing checks

/// m x n x k with f32 D and bulk leading dimensions.
GemmCase make_case(const char* name, int64_t m, int64_t n, int64_t k, DType d = DType::f32);

/// Runs a case that must be planned and must pass.
CaseResult expect_passes(const GemmCase& c, TestMachine& machine);
/// Runs many; the message of a failure names the case.
void expect_all_pass(std::span<const GemmCase> cases, TestMachine& machine);
/// plan() must refuse with this rule, and a sentence that contains `mention`.
void expect_refused(const GemmCase& c, TestMachine& machine, const char* rule, const char* mention);

/// Element `index` of the dense D of a result.
double d_at(const GemmCase& c, const CaseResult& result, int64_t index);
/// Every element of D equals `value`, or is a NaN if `value` is one.
void expect_d_is(const GemmCase& c, const CaseResult& result, double value);

}  // namespace tilewright::testing
