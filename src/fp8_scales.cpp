#include "src/fp8_scales.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "src/rounding.h"

namespace tilewright {
namespace {

constexpr int64_t kBlock = 128;

int64_t blocks_of(int64_t extent) { return ceil_div(extent, kBlock); }

}  // namespace

ScaleGrid scales_of_a(const Problem& p) {
  switch (p.scale_mode) {
    case ScaleMode::per_tensor:
      break;
    case ScaleMode::per_row_column:
      return {p.m, 1, 1, std::max<int64_t>(1, p.k), false};
    case ScaleMode::block_1x128_128x128:
      return {p.m, blocks_of(p.k), 1, kBlock, false};
  }
  return {};
}

ScaleGrid scales_of_b(const Problem& p) {
  switch (p.scale_mode) {
    case ScaleMode::per_tensor:
      break;
    case ScaleMode::per_row_column:
      return {p.n, 1, 1, std::max<int64_t>(1, p.k), false};
    case ScaleMode::block_1x128_128x128:
      return {blocks_of(p.n), blocks_of(p.k), kBlock, kBlock, true};
  }
  return {};
}

ScaleView packed_scale_view(const ScaleGrid& grid, const float* data) {
  if (grid.lines == 0) return {};
  return {data, grid.line_elements, grid.k_elements, grid.line_stride(), grid.k_stride(), grid.count()};
}

std::vector<float> random_scales(const ScaleGrid& grid, int64_t batches, uint64_t seed) {
  std::vector<float> scales(static_cast<size_t>(grid.count() * batches));
  std::mt19937_64 random(seed);
  constexpr double kUnit = 0x1p-64;
  const float most = std::nextafter(static_cast<float>(kGreatestRandomScale), 0.0f);
  for (float& scale : scales)
    scale = std::min(most, static_cast<float>(std::exp2(2 * static_cast<double>(random()) * kUnit - 1)));
  return scales;
}

}  // namespace tilewright
