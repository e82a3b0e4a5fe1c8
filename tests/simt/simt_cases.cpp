#include "tests/simt/simt_cases.h"

#include <array>
#include <iterator>
#include <limits>

#include "tests/kernels/covering_array.h"
#include "tests/kernels/text.h"

namespace tilewright::testing {
namespace {

constexpr std::array<Layout, 2> kLayouts{Layout::row_major, Layout::column_major};
constexpr std::array<LoadKind, 3> kLoads{LoadKind::automatic, LoadKind::tma, LoadKind::copy};
constexpr std::array<PipelineKind, 3> kPipelines{PipelineKind::automatic, PipelineKind::async,
                                                 PipelineKind::producer};
constexpr Shape2 kSmallTile{32, 128};

/// The ways in which stages are filled.
struct Fill {
  LoadKind load;
  PipelineKind pipeline;
};
constexpr std::array<Fill, 4> kFills{{{LoadKind::automatic, PipelineKind::producer},
                                      {LoadKind::tma, PipelineKind::producer},
                                      {LoadKind::copy, PipelineKind::producer},
                                      {LoadKind::automatic, PipelineKind::async}}};

/// Two CTAs of the emulated chip, whatever the number of tiles.
constexpr int64_t kOneSm = 1;

GemmCase named(GemmCase c, std::string name) {
  c.name = std::move(name);
  return c;
}

/// The tile as the kernel sees it: it is exchanged for a D whose columns are apart.
void set_tile(GemmCase& c, Shape2 tile) {
  const Problem& p = c.problem;
  const int64_t ld = p.d.ld == 0 ? p.m : p.d.ld;
  const bool exchanged = p.d.layout == Layout::column_major && p.n > 1 && ld > 1;
  c.options.tile = exchanged ? Shape2{tile.n, tile.m} : tile;
}

// ---- the covering array

enum Axis : size_t {
  kA,
  kB,
  kC,
  kD,
  kTile,
  kSize,
  kPadding,
  kOffset,
  kBatches,
  kFactors,
  kSplits,
  kLoad,
  kData,
  kOrder,
  kSms,
  kPipeline,
  kAxes
};
constexpr std::array<int, kAxes> kLevels{2, 2, 2, 2, 5, 5, 3, 3, 3, 5, 4, 3, 4, 3, 3, 3};

void set_size(GemmCase& c, int level) {
  constexpr std::array<std::array<int64_t, 3>, 5> kSizes{
      {{97, 131, 45}, {33, 260, 70}, {130, 30, 129}, {128, 128, 64}, {128, 256, 33}}};
  const auto& s = kSizes[static_cast<size_t>(level)];
  c.problem.m = s[0], c.problem.n = s[1], c.problem.k = s[2];
}

void pad(Operand& o, int64_t rows, int64_t columns, int64_t wider, int64_t odd) {
  o.ld = bulk_ld(o.layout == Layout::row_major ? columns : rows, o.type, wider) + odd;
}

/// Leading dimensions that are packed, that whole 16 bytes address, or that nothing does.
void set_padding(GemmCase& c, int level) {
  if (level == 0) return;
  Problem& p = c.problem;
  const int64_t odd = level == 1 ? 0 : 1;
  pad(p.a, p.m, p.k, 1, odd);
  pad(p.b, p.k, p.n, 0, 3 * odd);
  pad(p.c, p.m, p.n, 1, 5 * odd);
  pad(p.d, p.m, p.n, 2, 7 * odd);
}

void set_batches(GemmCase& c, int level) {
  if (level == 0) return;
  c.problem.l = 2;
  if (level == 2) c.problem.a.batch_stride = c.problem.b.batch_stride = 0;
}

void set_factors(GemmCase& c, int level) {
  constexpr std::array<std::array<float, 2>, 5> kFactors{
      {{1, 0}, {-1.25f, 0}, {0.5f, 2}, {0, 1}, {1.5f, -0.75f}}};
  c.problem.alpha = kFactors[static_cast<size_t>(level)][0];
  c.problem.beta = kFactors[static_cast<size_t>(level)][1];
  c.device_scalars = level == 4;
}

void set_order(GemmCase& c, int level) {
  if (level == 0) return;
  c.options.raster = level == 1 ? schedule::Raster::along_m : schedule::Raster::along_n;
  c.options.swizzle = level;
}

GemmCase covering_case(const Row& at, size_t number) {
  constexpr std::array<Shape2, 5> kTiles{{{0, 0}, {32, 128}, {64, 128}, {128, 128}, {16, 256}}};
  constexpr std::array<int, 4> kParts{0, 1, 2, 5};
  constexpr std::array<GemmCase::Offsets, 3> kOffsets{{{0, 0, 0, 0}, {4, 8, 4, 12}, {12, 4, 8, 4}}};
  constexpr std::array<Data, 4> kKinds{Data::normal, Data::uniform, Data::integers, Data::specials};
  GemmCase c = named(simt_case("", 0, 0, 0), text("covering ", number));
  Problem& p = c.problem;
  const auto layout = [&](Axis axis) { return kLayouts[static_cast<size_t>(at[axis])]; };
  p.a.layout = layout(kA), p.b.layout = layout(kB), p.c.layout = layout(kC), p.d.layout = layout(kD);
  set_size(c, at[kSize]);
  c.options.tile.reset();
  set_padding(c, at[kPadding]);
  const PipelineKind pipeline = kPipelines[static_cast<size_t>(at[kPipeline])];
  Shape2 tile = kTiles[static_cast<size_t>(at[kTile])];
  LoadKind load = kLoads[static_cast<size_t>(at[kLoad])];
  if (pipeline == PipelineKind::async && tile.m == 16) tile = {128, 128};  // not built
  if ((pipeline == PipelineKind::async || tile.m == 16) && load == LoadKind::tma) load = LoadKind::copy;
  if (tile.m > 0) set_tile(c, tile);
  c.options.pipeline = pipeline;
  c.offset = kOffsets[static_cast<size_t>(at[kOffset])];
  set_batches(c, at[kBatches]);
  set_factors(c, at[kFactors]);
  c.options.splits.reset();
  if (at[kSplits] > 0) c.options.splits = kParts[static_cast<size_t>(at[kSplits])];
  c.options.load = load;
  c.data = kKinds[static_cast<size_t>(at[kData])];
  set_order(c, at[kOrder]);
  if (at[kSms] > 0) c.options.max_sms = at[kSms] == 1 ? kOneSm : 4;
  c.seed = number;
  return c;
}

}  // namespace

GemmCase simt_case(const char* name, int64_t m, int64_t n, int64_t k) {
  GemmCase c;
  c.name = name;
  c.problem.m = m;
  c.problem.n = n;
  c.problem.k = k;
  c.problem.a = {.type = DType::f32, .layout = Layout::column_major};
  c.problem.b = c.problem.c = c.problem.d = {.type = DType::f32};
  c.options.tile = kSmallTile;
  c.options.splits = 1;
  return c;
}

std::vector<GemmCase> simt_covering_cases() {
  std::vector<GemmCase> cases;
  const std::vector<Row> first{{0}, {1}};  // levels of the first axis; no two axes depend on each other
  for (const Row& row : covering_array(first, {kLevels.begin() + 1, kLevels.end()}))
    cases.push_back(covering_case(row, cases.size()));
  return cases;
}

std::vector<GemmCase> simt_layout_cases() {
  std::vector<GemmCase> cases;
  for (const Layout a : kLayouts)
    for (const Layout b : kLayouts)
      for (const Layout c_layout : kLayouts)
        for (const Layout d : kLayouts)
          for (const Fill& fill : kFills)
            for (const int64_t splits : {1, 3}) {
              GemmCase c = named(simt_case("", 45, 137, 100), text("layouts ", cases.size()));
              c.problem.a.layout = a;
              c.problem.b.layout = b;
              c.problem.c.layout = c_layout;
              c.problem.d.layout = d;
              c.problem.beta = 0.5f;
              set_tile(c, kSmallTile);
              c.options.load = fill.load;
              c.options.pipeline = fill.pipeline;
              c.options.splits = splits;
              c.options.max_sms = 3;
              c.runs = 1;
              cases.push_back(std::move(c));
            }
  return cases;
}

std::vector<GemmCase> simt_k_cases() {
  std::vector<GemmCase> cases;
  for (const int64_t k : {0, 1, 2, 3, 4, 8, 9, 16, 17, 31, 32, 33, 63, 64, 65, 96, 97, 128, 200}) {
    for (const Fill& fill : {kFills[1], kFills[2], kFills[3]}) {
      GemmCase c = named(simt_case("", 40, 150, k), text("K = ", k));
      c.problem.a.layout = k % 2 == 0 ? Layout::row_major : Layout::column_major;
      c.problem.b.layout = k % 3 == 0 ? Layout::row_major : Layout::column_major;
      c.problem.beta = k == 0 ? 2.0f : 0.0f;
      c.options.load = fill.load;
      c.options.pipeline = fill.pipeline;
      c.options.max_sms = kOneSm;
      cases.push_back(std::move(c));
    }
  }
  return cases;
}

std::vector<GemmCase> simt_edge_cases() {
  std::vector<GemmCase> cases;
  const auto add = [&](int64_t m, int64_t n, Layout d) {
    GemmCase c = named(simt_case("", m, n, 35), text("edge ", m, " x ", n));
    c.problem.d.layout = d;
    c.problem.d.ld = (d == Layout::row_major ? n : m) + 3;
    c.problem.beta = static_cast<float>((m + n) % 2);
    set_tile(c, kSmallTile);
    c.options.max_sms = kOneSm;
    cases.push_back(std::move(c));
  };
  for (const Layout d : kLayouts) {
    for (const int64_t m : {0, 1, 2, 4, 5, 15, 16, 17, 31, 32, 33, 64, 65}) add(m, 130, d);
    for (const int64_t n : {0, 1, 3, 4, 5, 31, 32, 33, 63, 64, 65, 127, 128, 129}) add(34, n, d);
    add(1, 1, d);
  }
  // Few columns of a row-major D (rows of a column-major one): the problem is flipped onto a low tile.
  for (const Layout d : kLayouts) {
    for (const int64_t few : {1, 5, 16, 17, 31, 32}) {
      const bool rows = d == Layout::row_major;
      GemmCase c = named(simt_case("", rows ? 300 : few, rows ? few : 300, 70), text("few ", few));
      c.problem.d.layout = d;
      c.problem.d.ld = few + 2;
      c.problem.beta = 0.5f;
      c.options.tile.reset();
      c.options.splits = few % 2 == 0 ? 1 : 2;
      c.options.max_sms = kOneSm;
      cases.push_back(std::move(c));
    }
  }
  return cases;
}

std::vector<GemmCase> simt_shared_cases() {
  std::vector<GemmCase> cases;
  // Pieces shorter than a tile, longer, equal; cuts that meet tile edges and that do not.
  for (const int64_t tiles : {1, 2, 3, 5, 7}) {
    for (const int64_t k : {64, 160, 320}) {
      for (const int64_t sms : {1, 2, 3, 4}) {
        GemmCase c = named(simt_case("", 32 * tiles - 5, 100, k - 7),
                           text("shared ", tiles, " tiles, K ", k - 7, ", ", 2 * sms, " CTAs"));
        c.options.splits = 8;
        c.options.max_sms = sms;
        c.options.pipeline = kPipelines[cases.size() % kPipelines.size()];
        c.problem.beta = tiles == 3 ? 1.0f : 0.0f;
        c.runs = 1;
        cases.push_back(std::move(c));
      }
    }
  }
  return cases;
}

std::vector<GemmCase> simt_value_cases() {
  std::vector<GemmCase> cases;
  const auto add = [&](const char* name, int64_t m, int64_t n, int64_t k, const auto& change) {
    for (const Fill& fill : {kFills[1], kFills[2], kFills[3]}) {
      GemmCase c = simt_case(name, m, n, k);
      c.options.load = fill.load;
      c.options.pipeline = fill.pipeline;
      change(c);
      cases.push_back(std::move(c));
    }
  };
  for (const Data data : {Data::integers, Data::specials, Data::ones})
    add("data", 70, 140, 150, [&](GemmCase& c) { c.data = data; });
  // 1 + 2^-12 does not fit in TF32's ten bits.
  add("1 + 2^-12 times the identity", 64, 128, 64, [](GemmCase& c) {
    c.a_value = [](int64_t, int64_t row, int64_t column) { return row == column ? 1 : 0; };
    c.b_value = [](int64_t, int64_t row, int64_t column) {
      return 1 + 0x1p-12 * static_cast<double>(1 + (row + column) % 3);
    };
  });
  // A row of A that is NaN leaves the rows beside it alone.
  add("a row of NaN", 40, 128, 33, [](GemmCase& c) {
    c.a_value = [](int64_t, int64_t row, int64_t) {
      return row == 3 ? std::numeric_limits<double>::quiet_NaN() : 0.5;
    };
  });
  return cases;
}

std::vector<GemmCase> simt_cases() {
  std::vector<GemmCase> all;
  for (const auto& list : {simt_covering_cases, simt_layout_cases, simt_k_cases, simt_edge_cases,
                           simt_shared_cases, simt_value_cases}) {
    std::vector<GemmCase> cases = list();
    std::move(cases.begin(), cases.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace tilewright::testing
