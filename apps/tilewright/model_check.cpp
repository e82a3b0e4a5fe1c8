#include "model_check.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "src/model.h"
#include "tilewright/numeric/element.h"

namespace tilewright::cli {
namespace {

constexpr size_t kLines = 20;  // rows, and columns

std::string unmodelled(const Problem& p, const PlanInfo& plan) {
  if (plan.path != "wgmma") return "the products are those of " + plan.path;
  if (p.epilogue.activation == Activation::gelu && !p.epilogue.aux) return "GELU is within 2^-15, not exact";
  if (p.m == 0 || p.n == 0 || p.l == 0) return "D is empty";
  return {};
}

/// Corners, the two sides of edges of tiles, and random lines between.
std::vector<int64_t> sampled_lines(int64_t extent, int64_t tile, std::mt19937_64& random) {
  const auto any = [&](int64_t below) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(below));
  };
  std::set<int64_t> lines{0, extent - 1};
  if (extent > tile && tile > 0) {
    const int64_t edges = (extent - 1) / tile, edge = tile * (1 + any(edges));
    lines.insert({tile - 1, tile, edge - 1, edge, edges * tile - 1, edges * tile});
  }
  while (lines.size() < std::min(kLines, static_cast<size_t>(extent))) lines.insert(any(extent));
  return {lines.begin(), lines.end()};
}

/// Some rows of A or columns of B, K contiguous, with the scales of their blocks.
struct SampledOperand {
  std::vector<uint8_t> elements;
  std::vector<float> scales;
  int64_t k = 0, blocks = 0;
  DType type;

  SampledOperand(const MatrixView& view, const ScaleView& scale, bool blocked, bool columns, int64_t batch,
                 const std::vector<int64_t>& lines, int64_t depth)
      : k(depth), blocks((depth + 127) / 128), type(view.type) {
    const auto size = static_cast<size_t>(bits_of(type) / 8);
    elements.resize(lines.size() * static_cast<size_t>(k) * size);
    uint8_t* out = elements.data();
    for (const int64_t line : lines) {
      for (int64_t i = 0; i < k; ++i, out += size) {
        const int64_t index = columns ? view.index(batch, i, line) : view.index(batch, line, i);
        std::memcpy(out, static_cast<const uint8_t*>(view.data) + static_cast<size_t>(index) * size, size);
      }
      if (!blocked) continue;
      for (int64_t b = 0; b < blocks; ++b)
        scales.push_back(static_cast<float>(scale.at(batch, line, b * 128)));
    }
  }
  MatrixView view(bool columns) const { return {elements.data(), type, columns ? 1 : k, columns ? k : 1, 0}; }
  ScaleView scale_view() const {
    return scales.empty() ? ScaleView{} : ScaleView{scales.data(), 1, 128, blocks, 1, 0};
  }
};

std::vector<double> sampled_sums(const Problem& p, const ReferenceGemm& gemm, int64_t batch,
                                 const std::vector<int64_t>& rows, const std::vector<int64_t>& columns) {
  const bool blocked = p.scale_mode == ScaleMode::block_1x128_128x128;
  const SampledOperand a(gemm.a, gemm.a_scales, blocked, false, batch, rows, p.k),
      b(gemm.b, gemm.b_scales, blocked, true, batch, columns, p.k);
  Problem sample = p;
  sample.m = static_cast<int64_t>(rows.size());
  sample.n = static_cast<int64_t>(columns.size());
  sample.l = 1;
  ReferenceGemm views;
  views.a = a.view(false);
  views.b = b.view(true);
  views.a_scales = a.scale_view();
  views.b_scales = b.scale_view();
  return model_sums(sample, views);
}

}  // namespace

ModelCheck compare_with_model(const Operands& operands, const PlanInfo& plan, uint64_t seed) {
  const Problem& p = operands.problem;
  ModelCheck check;
  check.why_not = unmodelled(p, plan);
  if (!check.why_not.empty()) return check;
  const ReferenceGemm gemm = operands.reference();
  const ModelEpilogue epilogue{p, gemm, factors_of(p), plan.exchanged};
  const auto judge = [&](const MatrixView& output, bool aux, double sum, int64_t batch, int64_t row,
                         int64_t column) {
    ++check.elements;
    const uint64_t got = element_bits(output.type, output.data, output.index(batch, row, column)),
                   expected = epilogue.bits(sum, batch, row, column, aux);
    if (same_element(output.type, got, expected)) return;
    if (check.mismatches++ > 0) return;
    check.in_aux = aux;
    check.batch = batch, check.row = row, check.column = column;
    check.got = load_element(&got, output.type, 0);
    check.expected = load_element(&expected, output.type, 0);
  };
  std::mt19937_64 random(seed + 1);
  for (const int64_t batch : std::set<int64_t>{0, p.l - 1}) {
    const std::vector<int64_t> rows = sampled_lines(p.m, plan.tile.m, random),
                               columns = sampled_lines(p.n, plan.tile.n, random);
    std::vector<double> sums(rows.size() * columns.size(), 0.0);
    if (epilogue.factors.reads_ab()) sums = sampled_sums(p, gemm, batch, rows, columns);
    size_t at = 0;
    for (const int64_t row : rows)
      for (const int64_t column : columns) {
        if (p.epilogue.activation != Activation::gelu)
          judge(operands.d_view(), false, sums[at], batch, row, column);
        if (p.epilogue.aux) judge(operands.aux_view(), true, sums[at], batch, row, column);
        ++at;
      }
  }
  return check;
}

}  // namespace tilewright::cli
