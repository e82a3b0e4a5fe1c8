// Which problems `tilewright bench` measures.
#pragma once

#include <string>
#include <vector>

#include "tilewright/error.h"
#include "tilewright/gemm.h"

namespace tilewright::cli {

/// One problem and its name in the table: "4096x7168x2048", and where layouts are not the default ones their
/// contiguous dimensions of A, B and C, "4096x4096x4096:mnn".
struct BenchProblem {
  std::string name;
  Problem problem;
};

/// The named suite of a type: "headline" or "all".
std::string bench_suite(DType type, const std::string& suite);

/// "MxNxK" or "MxNxK:abc" with a k or m, b k or n, c n or m; types and the rest as in `like`. Error: neither.
Expected<BenchProblem> parse_bench_problem(const std::string& text, const Problem& like);

/// Words of a list, separated by blanks or commas.
std::vector<std::string> split_words(std::string text);

/// "knn": the contiguous dimensions of A, B and C.
std::string majors_of(const Problem& problem);

}  // namespace tilewright::cli
