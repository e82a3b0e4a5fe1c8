#include "bench_suite.h"

#include <sstream>

#include "arguments.h"

namespace tilewright::cli {
namespace {

// M, N, K: large products, those of large language models, and few rows.
constexpr const char* kHeadline =
    "8192x8192x8192 4096x4096x4096 4096x7168x16384 4096x24576x1536 4096x7168x2048";
constexpr const char* kOthers =
    "2048x2048x2048 16384x16384x4096 4096x4096x7168 128x7168x2048 128x4096x7168 64x24576x1536";

// FP32: cubes, an odd one, few rows, a deep one.
constexpr const char* kF32 =
    "1024x1024x1024 2048x2048x2048 4096x4096x4096 8192x8192x8192 8192x8192x4096 4096x7168x2048 "
    "4097x4095x4093 "
    "128x7168x2048 64x24576x1536 256x256x65536";
constexpr const char* kLayouts =
    "4096x4096x4096:kkn 4096x4096x4096:knn 4096x4096x4096:mkn 4096x4096x4096:mnn 4096x4096x4096:kkm "
    "4096x4096x4096:knm 4096x4096x4096:mkm 4096x4096x4096:mnm";

}  // namespace

std::string bench_suite(DType type, const std::string& suite) {
  const bool f32 = type == DType::f32;
  std::string shapes = f32 ? kF32 : kHeadline;
  if (suite != "all") return shapes;
  if (!f32) shapes += std::string(" ") + kOthers;
  // The types whose operands come in every layout.
  if (f32 || bits_of(type) == 16) shapes += std::string(" ") + kLayouts;
  return shapes;
}

std::vector<std::string> split_words(std::string text) {
  for (char& c : text)
    if (c == ',') c = ' ';
  std::istringstream words(text);
  std::vector<std::string> out;
  for (std::string word; words >> word;) out.push_back(word);
  return out;
}

Expected<BenchProblem> parse_bench_problem(const std::string& text, const Problem& like) {
  const size_t colon = text.find(':');
  const Expected<std::vector<int64_t>> extents = parse_integers("shapes", text.substr(0, colon), 3, 'x');
  if (!extents) return extents.error();
  BenchProblem out{text, like};
  Problem& p = out.problem;
  p.m = (*extents)[0];
  p.n = (*extents)[1];
  p.k = (*extents)[2];
  if (colon == std::string::npos) return out;
  const std::string majors = text.substr(colon + 1);
  const auto known = [&](size_t i, char k, char other) { return majors[i] == k || majors[i] == other; };
  if (majors.size() != 3 || !known(0, 'k', 'm') || !known(1, 'k', 'n') || !known(2, 'n', 'm'))
    return Error{ErrorCode::invalid_argument, "option.shapes",
                 "--shapes: '" + majors + "' does not name k or m, k or n, n or m"};
  p.a.layout = majors[0] == 'k' ? Layout::row_major : Layout::column_major;
  p.b.layout = majors[1] == 'k' ? Layout::column_major : Layout::row_major;
  p.c.layout = p.d.layout = majors[2] == 'n' ? Layout::row_major : Layout::column_major;
  return out;
}

std::string majors_of(const Problem& p) {
  return {p.a.layout == Layout::row_major ? 'k' : 'm', p.b.layout == Layout::column_major ? 'k' : 'n',
          p.d.layout == Layout::row_major ? 'n' : 'm'};
}

}  // namespace tilewright::cli
