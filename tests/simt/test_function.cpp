// A caller's function in the epilogue of the FP32 kernels: the kernel is instantiated here, as a user would.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tilewright/arch/launch.h"
#include "tilewright/emulator/machine.h"
#include "tilewright/kernels/simt_gemm.h"

namespace tilewright {
namespace {

using kernels::SimtGemmParams;
using kernels::SimtLoad;
using kernels::SimtPipeline;

constexpr uint32_t kM = 50, kN = 140, kK = 72;  // ragged in every direction

/// A row of bias, then ReLU.
struct BiasRelu {
  const float* bias;
  TILEWRIGHT_DEVICE float operator()(float value, uint32_t /*row*/, uint32_t column,
                                     uint32_t /*batch*/) const {
    const float sum = arch::add_rn(value, bias[column]);
    return sum > 0 ? sum : 0.0f;
  }
};

/// A machine with A (M x K) and B (N x K), both K-major, C and D (M x N), and a bias.
class SimtFunction : public ::testing::Test {
 protected:
  SimtFunction() {
    a_ = random(kM * kK, 3);
    b_ = random(kN * kK, 5);
    c_ = random(kM * kN, 7);
    bias_ = random(kN, 11);
    d_ = floats(kM * kN);
  }

  float* floats(size_t count) { return static_cast<float*>(machine_.allocate_global(4 * count, {})); }
  float* random(size_t count, uint32_t seed) {
    float* values = floats(count);
    for (size_t i = 0; i < count; ++i) {
      seed = seed * 1664525u + 1013904223u;
      values[i] = static_cast<float>(static_cast<int32_t>(seed >> 8) - (1 << 23)) / (1 << 22);
    }
    return values;
  }

  /// `ctas` CTAs; they cut all tiles along K between them if `shared`.
  SimtGemmParams params(int tile_m, int tile_n, int tile_k, uint32_t ctas, bool shared) {
    SimtGemmParams p{};
    p.m = kM, p.n = kN, p.k = kK;
    p.k_tiles = (kK + static_cast<uint32_t>(tile_k) - 1) / static_cast<uint32_t>(tile_k);
    const auto rows =
        static_cast<uint32_t>((kM + static_cast<uint32_t>(tile_m) - 1) / static_cast<uint32_t>(tile_m));
    const auto columns =
        static_cast<uint32_t>((kN + static_cast<uint32_t>(tile_n) - 1) / static_cast<uint32_t>(tile_n));
    p.tiles = schedule::TileSchedule::make(rows, columns, 1, 1, 1, schedule::Raster::along_n, 1);
    p.whole_tiles = shared ? 0 : p.tiles.clusters_total;
    const uint32_t units = (p.tiles.clusters_total - p.whole_tiles) * p.k_tiles;
    p.piece_k_tiles = units / ctas;
    p.longer_pieces = units % ctas;
    p.by_k_tiles = schedule::FastDivisor(p.k_tiles);
    p.a_batch_step = p.b_batch_step = 1;
    p.a = a_, p.a_row_stride = kK, p.a_k_stride = 1;
    p.b = b_, p.b_row_stride = kK, p.b_k_stride = 1;
    p.alpha = 0.5f;
    p.beta = 2;
    p.c = c_, p.c_row_stride = kN, p.c_column_stride = 1;
    p.d = d_, p.d_row_stride = kN, p.d_column_stride = 1;
    if (shared) p.partials = floats(static_cast<size_t>(2 * ctas) * static_cast<size_t>(tile_m * tile_n));
    return p;
  }

  template <class Config, class Function>
  void run(const SimtGemmParams& p, uint32_t ctas, const Function& function) {
    arch::LaunchConfig config;
    config.stream = &machine_;
    config.grid = {ctas, 1, 1};
    config.block = {Config::kPlan.threads, 1, 1};
    config.shared_bytes = Config::kPlan.shared_bytes;
    config.ctas_per_sm = static_cast<uint32_t>(Config::kPlan.ctas_per_sm);
    Status status = arch::launch(simt_gemm<Config, Function>, config, p, function);
    ASSERT_FALSE(status) << status->message;
    if (p.partials == nullptr) return;
    config.grid = {static_cast<uint32_t>(Config::kPlan.thread_m * Config::kPlan.thread_n / 4), 2, 1};
    config.block = {Config::kPlan.consumers, 1, 1};
    config.shared_bytes = 0;
    config.ctas_per_sm = 1;
    status = arch::launch(simt_fixup<Config, Function>, config, p, function);
    ASSERT_FALSE(status) << status->message;
  }

  /// alpha * sum + beta * C, the sum in chains that begin where a CTA's piece does.
  float linear(const SimtGemmParams& p, int tile_m, int tile_n, int tile_k, uint32_t row,
               uint32_t column) const {
    float total = 0, chain = 0;
    bool first = true;
    uint32_t tile = 0;
    while (p.tiles.tile(tile, 0).m != row / static_cast<uint32_t>(tile_m) ||
           p.tiles.tile(tile, 0).n != column / static_cast<uint32_t>(tile_n))
      ++tile;
    const auto owner = [&](uint32_t k) {
      if (p.partials == nullptr) return 0u;
      return kernels::SimtWork::cta_of(p, tile * p.k_tiles + k / static_cast<uint32_t>(tile_k));
    };
    for (uint32_t k = 0; k < kK; ++k) {
      if (k > 0 && owner(k) != owner(k - 1)) {
        total = first ? chain : total + chain;
        first = false;
        chain = 0;
      }
      chain = std::fma(a_[row * kK + k], b_[column * kK + k], chain);
    }
    total = first ? chain : total + chain;
    return std::fma(p.beta, c_[row * kN + column], p.alpha * total);
  }

  template <class Config>
  void expect_function(bool shared) {
    constexpr uint32_t kCtas = 3;
    const SimtGemmParams p = params(Config::kTileM, Config::kTileN, Config::kPlan.tile_k, kCtas, shared);
    const float* const bias = bias_;
    const auto check = [&](const char* what,
                           const std::function<float(float, uint32_t, uint32_t)>& expected) {
      for (uint32_t row = 0; row < kM; ++row) {
        for (uint32_t column = 0; column < kN; ++column) {
          const float value = linear(p, Config::kTileM, Config::kTileN, Config::kPlan.tile_k, row, column);
          ASSERT_EQ(d_[row * kN + column], expected(value, row, column))
              << what << " " << row << ", " << column;
        }
      }
    };
    run<Config>(p, kCtas, BiasRelu{bias});
    check("bias and ReLU",
          [&](float value, uint32_t, uint32_t column) { return std::max(value + bias[column], 0.0f); });
    run<Config>(p, kCtas, [](float value, uint32_t row, uint32_t column, uint32_t batch) {
      return value * static_cast<float>(row + 100 * column + 10000 * batch);
    });
    check("a lambda of the coordinates", [](float value, uint32_t row, uint32_t column) {
      return value * static_cast<float>(row + 100 * column);
    });
  }

  emulator::Machine machine_;
  float *a_, *b_, *c_, *bias_, *d_;
};

using Producer =
    pipeline::SimtConfig<32, 128, SimtPipeline::producer, SimtLoad::gather, SimtLoad::gather, false>;
using Async = pipeline::SimtConfig<32, 128, SimtPipeline::async, SimtLoad::gather, SimtLoad::gather, false>;

TEST_F(SimtFunction, is_applied_to_every_result) { expect_function<Producer>(false); }
TEST_F(SimtFunction, is_applied_once_to_tiles_of_several_ctas) { expect_function<Producer>(true); }
TEST_F(SimtFunction, is_applied_by_the_asynchronous_pipeline) {
  expect_function<Async>(false);
  expect_function<Async>(true);
}

}  // namespace
}  // namespace tilewright
