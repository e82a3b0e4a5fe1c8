// What tests of all planners do: make a plan on a target without a machine, run it on addresses that nothing
// reads, look at what was launched.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/host/fake_target.h"

namespace tilewright::testing {

/// A plan that must be made.
inline Plan planned(const Problem& p, const Options& o = {}, const Target& t = fake_gpu()) {
  Expected<Plan> plan = plan_on(t, p, o);
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? *plan : Plan(nullptr);
}

/// What a run that must succeed adds to a list of launches, which is emptied first.
template <class Launch>
std::vector<Launch> run_and_list(std::vector<Launch>& list, const Plan& plan, const Buffers& buffers) {
  list.clear();
  const Status s = plan.run(buffers);
  EXPECT_FALSE(s) << s->message;
  return list;
}
/// The same of one launch.
template <class Launch>
Launch run_once(std::vector<Launch>& list, const Plan& plan, const Buffers& buffers) {
  const std::vector<Launch> all = run_and_list(list, plan, buffers);
  EXPECT_EQ(all.size(), 1u);
  return all.empty() ? Launch{} : all.front();
}

/// No plan, for this rule, with these words in the sentence.
inline void expect_refused(const Problem& p, const Options& o, const char* rule, const std::string& mention,
                           const Target& target = fake_gpu()) {
  const Expected<Plan> plan = plan_on(target, p, o);
  ASSERT_FALSE(plan) << plan->info().kernel;
  EXPECT_EQ(plan.error().rule, rule);
  EXPECT_NE(plan.error().message.find(mention), std::string::npos) << plan.error().message;
}

inline Options tiled(int64_t m, int64_t n) {
  Options o;
  o.tile = Shape2{m, n};
  return o;
}

}  // namespace tilewright::testing
