// The FP32 kernels on the emulated machine, element by element and bit by bit.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/kernels/checks.h"
#include "tests/kernels/emulated_machine.h"
#include "tests/simt/simt_cases.h"

namespace tilewright::testing {
namespace {

void run(const char* group, const std::vector<GemmCase>& cases) {
  EmulatedMachine machine;
  expect_all_pass(cases, machine);
  std::printf("%s: %zu cases\n", group, cases.size());
}

TEST(SimtCases, all_pairs_of_options_meet) { run("covering array", simt_covering_cases()); }

TEST(SimtCases, every_layout_under_every_load) { run("layouts", simt_layout_cases()); }

TEST(SimtCases, k_around_the_edges_of_stages) { run("K", simt_k_cases()); }

TEST(SimtCases, m_and_n_around_the_edges_of_tiles) { run("edges", simt_edge_cases()); }

TEST(SimtCases, tiles_that_several_ctas_compute) { run("shared tiles", simt_shared_cases()); }

TEST(SimtCases, values_with_known_answers) { run("values", simt_value_cases()); }

}  // namespace
}  // namespace tilewright::testing
