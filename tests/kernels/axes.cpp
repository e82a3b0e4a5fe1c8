#include "tests/kernels/axes.h"

#include <utility>

#include "tests/kernels/text.h"

namespace tilewright::testing {
namespace {

constexpr int64_t kLongerThanK = int64_t{1} << 40;

struct Types {
  DType a, b;
};
constexpr std::array<Types, 4> kTypePairs{{{DType::e4m3, DType::e4m3},
                                           {DType::e4m3, DType::e5m2},
                                           {DType::e5m2, DType::e4m3},
                                           {DType::e5m2, DType::e5m2}}};
struct Output {
  DType type;
  bool saturate;
};
constexpr std::array<Output, 7> kOutputs{{{DType::f32, true},
                                          {DType::f16, true},
                                          {DType::bf16, true},
                                          {DType::e4m3, true},
                                          {DType::e4m3, false},
                                          {DType::e5m2, true},
                                          {DType::e5m2, false}}};
struct Sum {
  int64_t interval;  // 0: fast
  int64_t k_tiles;   // that make it differ from the others
};
constexpr std::array<Sum, 8> kSums{
    {{0, 2}, {1, 2}, {2, 2}, {4, 2}, {4, 5}, {8, 3}, {16, 5}, {kLongerThanK, 2}}};
constexpr std::array<Shape2, 4> kClusters{{{1, 1}, {2, 1}, {1, 2}, {2, 2}}};
constexpr std::array<DType, 4> kSources{DType::f16, DType::f16, DType::bf16,
                                        DType::f32};  // the first: beta is 0
constexpr std::array<int64_t, 4> kSwizzles{1, 2, 3, 8};
constexpr std::array<Data, 5> kData_{Data::normal, Data::uniform, Data::integers, Data::codes,
                                     Data::specials};
constexpr std::array<int64_t, 8> kMissing{0,  1,  31, 32,
                                          33, 64, 95, 127};  // elements that the last K tile lacks

constexpr int64_t kTileK = 128;

template <class T, size_t N>
const T& level(const std::array<T, N>& values, const Row& row, Axis axis) {
  return values[static_cast<size_t>(row[axis])];
}

/// Rows or columns: `tiles` tiles, the last one not full.
int64_t ragged(int64_t tile, int64_t tiles, int number) {
  const int64_t last = 1 + (number * 29 + 12) % (tile - 1);
  return (tiles - 1) * tile + last;
}

void set_extents(Problem& p, const Row& row, int number, Size size) {
  const KernelTile tile = level(kTiles, row, kTile);
  const bool batched = row[kBatches] != 0, large = tile.m * tile.n > 128 * 128;
  p.l = batched ? 3 : 1;
  const bool least = size == Size::least;
  const int64_t tiles_m = least || (batched && large) ? 1 : 2, tiles_n = least || batched ? 1 : large ? 2 : 3;
  p.m = ragged(tile.m, tiles_m, number);
  p.n = ragged(tile.n, tiles_n, number + 7);
  if (row[kStore] == 0) {  // rows that end on 16 bytes, as bulk stores need
    const int64_t unit = 128 / bits_of(level(kOutputs, row, kOutput).type);
    p.n = (p.n + unit - 1) / unit * unit;
  }
  p.k = level(kSums, row, kAccumulation).k_tiles * kTileK -
        kMissing[static_cast<size_t>(number) % kMissing.size()];
}

void set_types(Problem& p, const Row& row) {
  p.a.type = level(kTypePairs, row, kTypes).a;
  p.b.type = level(kTypePairs, row, kTypes).b;
  p.d.type = level(kOutputs, row, kOutput).type;
  p.saturate = level(kOutputs, row, kOutput).saturate;
  p.c.type = level(kSources, row, kSource);
  p.beta = row[kSource] == 0 ? 0.0f : -0.5f;
  const Sum& sum = level(kSums, row, kAccumulation);
  p.accumulation = sum.interval == 0 ? Accumulation::fast : Accumulation::promoted;
  if (sum.interval != 0) p.interval = sum.interval;
}

void set_options(Options& o, const Row& row) {
  o.tile = Shape2{level(kTiles, row, kTile).m, level(kTiles, row, kTile).n};
  o.cluster = level(kClusters, row, kCluster);
  o.raster = row[kRaster] == 0 ? schedule::Raster::along_m : schedule::Raster::along_n;
  o.swizzle = level(kSwizzles, row, kSwizzle);
  if (row[kStages] == 0) o.stages = 2;
  o.max_sms = o.cluster->m * o.cluster->n;
  o.load = row[kLoad] == kLoadTma ? LoadKind::tma : LoadKind::copy;
  o.store = row[kStore] == 0 ? StoreKind::tma : StoreKind::direct;
}

/// The caller's problem of a column-major D that kernels compute as D^T = B^T A^T.
void exchange(GemmCase& c) {
  Problem& p = c.problem;
  std::swap(p.m, p.n);
  std::swap(p.a.type, p.b.type);
  p.c.layout = p.d.layout = Layout::column_major;
  const auto transpose = [](Shape2 s) { return Shape2{s.n, s.m}; };
  c.options.tile = transpose(*c.options.tile);
  c.options.cluster = transpose(*c.options.cluster);
  using schedule::Raster;
  c.options.raster = *c.options.raster == Raster::along_m ? Raster::along_n : Raster::along_m;
}

/// Loads of kind copy take operands as they are: packed, at odd addresses.
void place(GemmCase& c, const Row& row) {
  pad_for_bulk(c.problem, row[kPadding] == 0 ? 0 : 3);
  if (row[kLoad] != kLoadCopy) return;
  c.problem.a.ld = row[kPadding] == 0 ? 0 : c.problem.k + 5;
  c.problem.b.ld = row[kPadding] == 0 ? 0 : c.problem.k + 3;
  c.offset.a = 1;
  c.offset.b = 2;
}

bool runs(const GemmCase& c, Device device) {
  return !can_run(planned_problem(c), planned_options(c, device));
}

/// Calls f with every combination of levels of the axes varied[0], varied[1], ...
template <class F>
void for_each_combination(Row row, const std::vector<Axis>& varied, size_t first, const F& f) {
  if (first == varied.size()) return f(row);
  for (int i = 0; i < axis_levels()[varied[first]]; ++i) {
    row[varied[first]] = i;
    for_each_combination(row, varied, first + 1, f);
  }
}

}  // namespace

const std::array<int, kAxes>& axis_levels() {
  static const std::array<int, kAxes> levels{static_cast<int>(kTiles.size()),
                                             static_cast<int>(kTypePairs.size()),
                                             static_cast<int>(kOutputs.size()),
                                             static_cast<int>(kSums.size()),
                                             2,  // loads
                                             static_cast<int>(kClusters.size()),
                                             2,  // stores
                                             static_cast<int>(kSources.size()),
                                             2,  // layouts
                                             2,  // batches
                                             2,  // rasters
                                             static_cast<int>(kSwizzles.size()),
                                             2,  // stages
                                             static_cast<int>(kData_.size()),
                                             2,  // scalars
                                             2};
  return levels;
}

GemmCase case_at(const Row& row, int number, Size size) {
  GemmCase c;
  set_extents(c.problem, row, number, size);
  set_types(c.problem, row);
  set_options(c.options, row);
  if (row[kLayout] != 0) exchange(c);
  place(c, row);
  c.data = level(kData_, row, kData);
  c.seed = static_cast<uint64_t>(1000 + 10 * number);
  // Powers of two: host and device make the same product of them.
  c.problem.alpha = 0.25f;
  c.problem.scale_a = 2;
  c.problem.scale_b = 0.5f;
  c.problem.scale_d = bits_of(c.problem.d.type) == 8 ? 0.5f : 1.0f;
  c.device_scalars = row[kScalars] != 0;
  return c;
}

std::vector<Row> dependent_combinations() {
  std::vector<Axis> dependent;
  for (size_t i = 0; i < kDependentAxes; ++i) dependent.push_back(static_cast<Axis>(i));
  std::vector<Row> all;
  for_each_combination(Row(kAxes, 0), dependent, 0, [&](const Row& row) { all.push_back(row); });
  return all;
}

std::vector<Row> runnable_combinations(Device device) {
  std::vector<Row> found;
  for (const Row& row : dependent_combinations())
    if (runs(case_at(row, 0), device)) found.emplace_back(row.begin(), row.begin() + kDependentAxes);
  return found;
}

std::vector<Row> covering_rows(Device device) {
  const std::vector<Row> allowed = runnable_combinations(device);
  if (allowed.empty()) return {};
  return covering_array(allowed, {axis_levels().begin() + kDependentAxes, axis_levels().end()});
}

std::vector<GemmCase> covering_cases(Device device) {
  std::vector<GemmCase> cases;
  for (const Row& row : covering_rows(device)) {
    cases.push_back(case_at(row, static_cast<int>(cases.size())));
    cases.back().name = text("covering row ", cases.size() - 1);
  }
  return cases;
}

std::vector<GemmCase> product_cases(Device device, const Row& base, const std::vector<Axis>& varied,
                                    Size size) {
  std::vector<GemmCase> cases;
  int number = 0;
  for_each_combination(base, varied, 0, [&](const Row& row) {
    GemmCase c = case_at(row, number, size);
    c.name = text("product point ", number++);
    if (runs(c, device)) cases.push_back(std::move(c));
  });
  return cases;
}

std::vector<GemmCase> value_product(Device device, bool whole) {
  Row base(kAxes, 0);
  base[kTile] = 1;
  std::vector<Axis> varied{kOutput, kSource, kLayout, kStore, kLoad};
  if (whole) varied.insert(varied.end(), {kTypes, kAccumulation, kScalars});
  std::vector<GemmCase> cases;
  for (const int sum : {kLevelFast, kLevelInterval4}) {
    base[kAccumulation] = sum;
    std::vector<GemmCase> more = product_cases(device, base, varied, Size::least);
    std::move(more.begin(), more.end(), std::back_inserter(cases));
    if (whole) break;  // with all levels of the axis
  }
  for (GemmCase& c : cases) c.runs = 1;
  return cases;
}

std::vector<GemmCase> order_product(Device device) {
  Row base(kAxes, 0);
  base[kAccumulation] = kLevelInterval4;
  std::vector<GemmCase> cases =
      product_cases(device, base, {kCluster, kRaster, kSwizzle, kBatches}, Size::few_tiles);
  for (GemmCase& c : cases) {
    c.problem.m = 3 * 64 - 5;
    c.problem.n = (c.problem.l == 1 ? 5 : 3) * 64 - 8;
    c.problem.k = 100;
    pad_for_bulk(c.problem);
    c.runs = 1;
  }
  return cases;
}

}  // namespace tilewright::testing
