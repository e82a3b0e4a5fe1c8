// GEMMs too large to check whole: some rows of D against FP64.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/matrix_init.h"
#include "src/reference.h"
#include "tilewright/gemm.h"

namespace tilewright::testing {

struct SampledGemm {
  std::string name;
  Problem problem;  // row-major C and D; with beta, C is D
  Options options = {};
  Init init = Init::normal;
  std::vector<int64_t> rows;  // of every batch; empty: 32 of them, the first and the last among them
};

struct SampledResult {
  std::string failure;  // empty: passed
  Comparison comparison;
  PlanInfo info;
};

/// Runs on the current GPU, twice; judges the rows, and compares their bits with those of the first run.
/// Operands lie in memory that is NaN wherever it is not A, B or a sampled row of C.
SampledResult run_sampled(const SampledGemm& gemm);

}  // namespace tilewright::testing
