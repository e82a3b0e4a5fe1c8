#include "tests/kernels/simt_model.h"

#include <algorithm>
#include <cmath>

#include "tilewright/schedule/tile_schedule.h"

namespace tilewright::testing {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Elements of D, from the first to before the last row and column.
struct Block {
  int64_t batch, row, row_end, column, column_end;
};

/// The tiles of a plan in their order, as the caller sees them.
class Tiles {
 public:
  Tiles(const PlanInfo& plan, const Problem& p) : plan_(plan), p_(p) {
    const Shape2 tile = plan.exchanged ? Shape2{plan.tile.n, plan.tile.m} : plan.tile;
    const auto rows = static_cast<uint32_t>(ceil_div(plan.exchanged ? p.n : p.m, tile.m));
    const auto columns = static_cast<uint32_t>(ceil_div(plan.exchanged ? p.m : p.n, tile.n));
    using schedule::Raster;
    const bool along_m = (plan.raster == Raster::along_m) != plan.exchanged;
    schedule_ = schedule::TileSchedule::make(rows, columns, static_cast<uint32_t>(p.l), 1, 1,
                                             along_m ? Raster::along_m : Raster::along_n,
                                             static_cast<uint32_t>(plan.swizzle));
  }

  Block block(int64_t index) const {
    const schedule::TileCoord at = schedule_.tile(static_cast<uint32_t>(index), 0);
    const int64_t row = (plan_.exchanged ? at.n : at.m) * plan_.tile.m;
    const int64_t column = (plan_.exchanged ? at.m : at.n) * plan_.tile.n;
    return {at.batch, row, std::min(row + plan_.tile.m, p_.m), column, std::min(column + plan_.tile.n, p_.n)};
  }

  /// Elements of K at which the sums of a tile are cut, 0 and K included.
  std::vector<int64_t> cuts(int64_t index) const {
    std::vector<int64_t> out{0};
    const int64_t first_shared = plan_.tiles - plan_.shared_tiles;
    const int64_t k_tiles = ceil_div(p_.k, plan_.tile_k);
    if (index >= first_shared) {
      const int64_t begin = (index - first_shared) * k_tiles, end = begin + k_tiles;
      const int64_t all = plan_.shared_tiles * k_tiles;
      for (int64_t cta = 0; cta < plan_.grid_ctas; ++cta) {
        const int64_t cut = cta * (all / plan_.grid_ctas) + std::min(cta, all % plan_.grid_ctas);
        if (cut > begin && cut < end) out.push_back((cut - begin) * plan_.tile_k);
      }
    }
    out.push_back(p_.k);
    return out;
  }

 private:
  const PlanInfo& plan_;
  const Problem& p_;
  schedule::TileSchedule schedule_;
};

float at(const MatrixView& view, int64_t batch, int64_t row, int64_t column) {
  return static_cast<const float*>(view.data)[view.index(batch, row, column)];
}

}  // namespace

std::vector<float> simt_sums(const PlanInfo& plan, const Problem& p, const MatrixView& a,
                             const MatrixView& b) {
  std::vector<float> sums(static_cast<size_t>(p.m * p.n * p.l));
  if (sums.empty()) return sums;
  const Tiles tiles(plan, p);
  for (int64_t index = 0; index < plan.tiles; ++index) {
    const Block block = tiles.block(index);
    const std::vector<int64_t> cuts = tiles.cuts(index);
    for (int64_t row = block.row; row < block.row_end; ++row) {
      float* const out = &sums[static_cast<size_t>((block.batch * p.m + row) * p.n)];
      for (size_t part = 0; part + 1 < cuts.size(); ++part) {
        std::vector<float> chain(static_cast<size_t>(block.column_end - block.column), 0.0f);
        for (int64_t k = cuts[part]; k < cuts[part + 1]; ++k) {
          const float left = at(a, block.batch, row, k);
          for (int64_t column = block.column; column < block.column_end; ++column) {
            float& sum = chain[static_cast<size_t>(column - block.column)];
            sum = std::fma(left, at(b, block.batch, k, column), sum);
          }
        }
        for (int64_t column = block.column; column < block.column_end; ++column) {
          const float value = chain[static_cast<size_t>(column - block.column)];
          out[column] = part == 0 ? value : out[column] + value;
        }
      }
    }
  }
  return sums;
}

}  // namespace tilewright::testing
