#include "tests/kernels/random_cases.h"

#include <random>
#include <span>

#include "tests/kernels/axes.h"
#include "tests/kernels/text.h"

namespace tilewright::testing {
namespace {

constexpr int64_t kExtents[] = {0,  1,  2,  7,   8,   15,  16,  17,  31,  32, 33,
                                63, 64, 65, 127, 128, 129, 130, 191, 200, 256};
constexpr int64_t kDepths[] = {0,   1,   7,   16,  31,  32,  33,  63,  64,  100,
                               127, 128, 129, 200, 255, 256, 257, 320, 383, 385};
constexpr DType kOutputs[] = {DType::f32, DType::f16, DType::bf16, DType::e4m3, DType::e5m2};
constexpr DType kSources[] = {DType::f32, DType::f16, DType::bf16};
constexpr Data kFills[] = {Data::normal, Data::uniform, Data::integers, Data::codes, Data::specials};
constexpr int64_t kIntervals[] = {1, 2, 4, 4, 4, 8, 12, 64};

class Random {
 public:
  explicit Random(uint64_t seed) : bits_(seed) {}
  // No std distribution: theirs differ from library to library.
  int64_t below(int64_t n) { return static_cast<int64_t>(bits_() % static_cast<uint64_t>(n)); }
  bool one_in(int64_t n) { return below(n) == 0; }
  template <class T, size_t N>
  T of(const T (&values)[N]) {
    return values[below(static_cast<int64_t>(N))];
  }

 private:
  std::mt19937_64 bits_;
};

int64_t extent(Random& random, std::span<const int64_t> values, int64_t scale) {
  const int64_t value = values[static_cast<size_t>(random.below(static_cast<int64_t>(values.size())))];
  return value > 128 ? value + (scale - 1) * random.below(value) : value;
}

void choose_strides(Random& random, Problem& p) {
  if (random.one_in(2)) pad_for_bulk(p, random.below(3));
  Operand* operands[] = {&p.a, &p.b, &p.c, &p.d};
  for (Operand* o : operands)
    if (o->ld != 0 && random.one_in(6)) o->ld += 1 + random.below(4);
  if (p.l > 1 && random.one_in(4)) p.a.batch_stride = 0;
  if (p.l > 1 && random.one_in(4)) p.b.batch_stride = 0;
}

void choose_options(Random& random, Options& o) {
  if (random.one_in(2)) return;
  constexpr int64_t kSwizzles[] = {1, 2, 3, 8};
  const auto tile = kTiles[static_cast<size_t>(random.below(static_cast<int64_t>(kTiles.size())))];
  o.tile = Shape2{tile.m, tile.n};
  o.cluster = Shape2{1 + random.below(2), 1 + random.below(2)};
  if (random.one_in(2)) o.raster = schedule::Raster::along_m;
  o.swizzle = random.of(kSwizzles);
  o.stages = 2 + random.below(3);
  o.max_sms = o.cluster->m * o.cluster->n * (1 + random.below(3));
  if (random.one_in(3)) o.store = StoreKind::direct;
}

GemmCase random_case(Random& random, int64_t scale) {
  GemmCase c;
  Problem& p = c.problem;
  p.m = extent(random, kExtents, scale);
  p.n = extent(random, kExtents, scale);
  p.k = extent(random, kDepths, scale);
  p.l = random.one_in(4) ? 1 + random.below(3) : 1;
  if (random.one_in(3)) p.a.type = DType::e5m2;
  if (random.one_in(3)) p.b.type = DType::e5m2;
  p.d.type = random.of(kOutputs);
  p.c.type = random.of(kSources);
  if (random.one_in(3)) p.c.layout = p.d.layout = Layout::column_major;
  if (random.one_in(3)) p.beta = 0.5f;
  if (random.one_in(3)) p.alpha = -1.5f;
  if (random.one_in(4)) p.scale_d = 0.3f;
  p.saturate = random.one_in(2);
  p.accumulation = random.one_in(4) ? Accumulation::fast : Accumulation::promoted;
  p.interval = random.of(kIntervals);
  choose_strides(random, p);
  choose_options(random, c.options);
  if (random.one_in(6)) c.offset.a = 1 + static_cast<int>(random.below(16));
  c.device_scalars = random.one_in(4);
  c.data = random.of(kFills);
  c.seed = static_cast<uint64_t>(random.below(1 << 20));
  return c;
}

/// Strides of `lines` x `blocks` scales: packed, or padded with either of them contiguous.
ScaleStrides scale_strides(Random& random, int64_t lines, int64_t blocks, bool batched) {
  ScaleStrides s;
  if (random.one_in(2)) {
    const int64_t gap = 1 + random.below(3);
    s = random.one_in(2) ? ScaleStrides{gap, gap * lines + random.below(4)}
                         : ScaleStrides{gap * blocks + random.below(4), gap};
  }
  if (batched && random.one_in(4)) s.batch_stride = 0;
  return s;
}

GemmCase random_scaled_case(Random& random, int64_t scale) {
  GemmCase c = random_case(random, scale);
  Problem& p = c.problem;
  const bool blocks = random.one_in(2);
  p.scale_mode = blocks ? ScaleMode::block_1x128_128x128 : ScaleMode::per_row_column;
  p.a.type = p.b.type = DType::e4m3;
  if (bits_of(p.d.type) == 8) p.d.type = DType::bf16;
  if (blocks) p.accumulation = Accumulation::promoted, p.interval = 4;
  const int64_t k_blocks = blocks ? (p.k + 127) / 128 : 1, n_lines = blocks ? (p.n + 127) / 128 : p.n;
  p.a_scales = scale_strides(random, p.m, k_blocks, p.l > 1);
  p.b_scales = scale_strides(random, n_lines, k_blocks, p.l > 1);
  c.offset.scales = 4 * static_cast<int>(random.below(4));
  return c;
}

/// Of those that `make` gives, the first `count` that can be planned.
template <class Make>
std::vector<GemmCase> planned_cases(Device device, const char* name, uint64_t seed, int count, Make make) {
  Random random(seed);
  std::vector<GemmCase> cases;
  while (static_cast<int>(cases.size()) < count) {
    GemmCase c = make(random);
    if (can_run(planned_problem(c), planned_options(c, device))) continue;
    c.name = text(name, seed, '/', cases.size());
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace

std::vector<GemmCase> random_cases(Device device, uint64_t seed, int count, int64_t scale) {
  return planned_cases(device, "random ", seed, count, [=](Random& r) { return random_case(r, scale); });
}

std::vector<GemmCase> random_scaled_cases(Device device, uint64_t seed, int count, int64_t scale) {
  return planned_cases(device, "random, scaled ", seed, count,
                       [=](Random& r) { return random_scaled_case(r, scale); });
}

}  // namespace tilewright::testing
