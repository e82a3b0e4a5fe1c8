#include "tests/kernels/checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tilewright/numeric/element.h"

namespace tilewright::testing {

std::vector<GemmCase> cases_of(std::initializer_list<std::vector<GemmCase> (*)()> lists) {
  std::vector<GemmCase> all;
  for (const auto list : lists) {
    std::vector<GemmCase> cases = list();
    std::move(cases.begin(), cases.end(), std::back_inserter(all));
  }
  return all;
}

GemmCase make_case(const char* name, int64_t m, int64_t n, int64_t k, DType d) {
  GemmCase c;
  c.name = name;
  c.problem.m = m;
  c.problem.n = n;
  c.problem.k = k;
  c.problem.d.type = d;
  pad_for_bulk(c.problem);
  return c;
}

CaseResult expect_passes(const GemmCase& c, TestMachine& machine) {
  CaseResult result = run_case(c, machine);
  EXPECT_FALSE(result.refusal) << c.name << ": " << result.refusal->message << "\n  " << describe(c);
  EXPECT_EQ(result.failure, "");
  return result;
}

void expect_all_pass(std::span<const GemmCase> cases, TestMachine& machine) {
  for (const GemmCase& c : cases) expect_passes(c, machine);
}

void expect_refused(const GemmCase& c, TestMachine& machine, const char* rule, const char* mention) {
  const Status refusal = can_run(planned_problem(c), planned_options(c, machine.device()));
  ASSERT_TRUE(refusal) << describe(c);
  EXPECT_EQ(refusal->rule, rule) << describe(c);
  EXPECT_NE(refusal->message.find(mention), std::string::npos) << refusal->message;
}

double d_at(const GemmCase& c, const CaseResult& result, int64_t index) {
  return load_element(result.d.data(), c.problem.d.type, index);
}

void expect_d_is(const GemmCase& c, const CaseResult& result, double value) {
  const Problem& p = c.problem;
  ASSERT_EQ(static_cast<int64_t>(result.d.size()), bytes_of(p.d.type, p.m * p.n * p.l));
  for (int64_t i = 0; i < p.m * p.n * p.l; ++i) {
    const double got = d_at(c, result, i);
    ASSERT_TRUE(got == value || (std::isnan(got) && std::isnan(value)))
        << c.name << ": element " << i << " is " << got << " instead of " << value;
  }
}

}  // namespace tilewright::testing
