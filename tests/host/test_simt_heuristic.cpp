#include <gtest/gtest.h>

#include "src/simt_heuristic.h"

namespace tilewright {
namespace {

using kernels::SimtKernelId;
using kernels::SimtLoad;
using kernels::SimtPipeline;

constexpr SimtKernelId kLarge{128, 128, SimtPipeline::producer, SimtLoad::tma, SimtLoad::tma, false};
constexpr SimtKernelId kSmall{32, 128, SimtPipeline::producer, SimtLoad::tma, SimtLoad::tma, false};
constexpr SimtKernelId kGather{128, 128, SimtPipeline::producer, SimtLoad::gather, SimtLoad::tma, false};

double us(const SimtQuery& q, const SimtKernelId& id, SimtDivision work, SimtSource a = SimtSource::bulk) {
  return estimate_us(q, {id, a, SimtSource::bulk, work});
}

SimtQuery cube(int64_t n) { return {n, n, n, 1, 1, 1, 132}; }

TEST(SimtHeuristic, models_the_measured_time_of_large_products_within_a_tenth) {
  // 4096^3 and 8192^3 on an H200, M/N-major: 55.8 and 56.0 TFLOPS.
  EXPECT_NEAR(us(cube(4096), kLarge, {264, 0}), 2 * 4096.0 * 4096 * 4096 / 55.8e6, 250);
  EXPECT_NEAR(us(cube(8192), kLarge, {264, 0}), 2 * 8192.0 * 8192 * 8192 / 56.0e6, 2000);
}

TEST(SimtHeuristic, large_tiles_win_large_products_and_small_tiles_few_rows) {
  EXPECT_LT(us(cube(4096), kLarge, {264, 0}), us(cube(4096), kSmall, {264, 0}));
  const SimtQuery few_rows{32, 24576, 1536, 1, 1, 1, 132};
  EXPECT_LT(us(few_rows, kSmall, {192, 0}), us(few_rows, kLarge, {192, 0}));
}

TEST(SimtHeuristic, repacking_pays_in_long_products_only) {
  const auto repacked = [](const SimtQuery& q, int64_t tiles) {
    return us(q, kLarge, {tiles, 0}, SimtSource::repacked);
  };
  EXPECT_LT(repacked(cube(4096), 264), us(cube(4096), kGather, {264, 0}, SimtSource::gathered));
  EXPECT_GT(repacked(cube(256), 4), us(cube(256), kGather, {4, 0}, SimtSource::gathered));
}

TEST(SimtHeuristic, cutting_k_pays_where_tiles_leave_the_chip_idle) {
  const SimtQuery deep{256, 256, 65536, 1, 1, 1, 132};
  EXPECT_LT(us(deep, kLarge, {264, 4}), us(deep, kLarge, {4, 0}) / 10);
  EXPECT_EQ(divisions(kLarge, 4, 7, 264).size(), 1u) << "fewer than 128 elements of K for a CTA";
}

TEST(SimtHeuristic, every_division_gives_each_cta_work_and_the_first_shares_nothing) {
  for (const int64_t tiles : {1, 2, 3, 7, 100, 263, 264, 265, 500, 1024}) {
    for (const int64_t k_tiles : {0, 1, 2, 5, 64, 1000}) {
      for (const int64_t limit : {1, 2, 200, 264}) {
        const auto all = divisions(kLarge, tiles, k_tiles, limit);
        ASSERT_FALSE(all.empty());
        EXPECT_EQ(all[0], (SimtDivision{std::min(tiles, limit), 0}));
        for (const int64_t splits : {1, 2, 3, 64}) {
          const SimtDivision d = division_by(splits, tiles, k_tiles, limit);
          EXPECT_LE(d.ctas, limit);
          EXPECT_LE(d.shared_tiles, tiles);
          if (splits == 1) {
            EXPECT_EQ(d.shared_tiles, 0);
          }
        }
        for (const SimtDivision& d : all) {
          EXPECT_LE(d.ctas, limit);
          EXPECT_LE(d.shared_tiles, tiles);
          if (d.shared_tiles > 0) {
            EXPECT_GE(d.shared_tiles * k_tiles / d.ctas, 4);  // 128 elements of K
            EXPECT_EQ((tiles - d.shared_tiles) % d.ctas, 0) << "whole tiles leave CTAs idle";
          }
        }
      }
    }
  }
}

TEST(SimtHeuristic, more_multiprocessors_never_cost_time) {
  for (int sms = 1; sms < 200; ++sms) {
    SimtQuery fewer{3000, 5000, 700, 2, 2, 2, sms}, more = fewer;
    ++more.sms;
    EXPECT_GE(us(fewer, kLarge, {int64_t{2} * sms, 0}) * 1.0001, us(more, kLarge, {2 * (sms + 1), 0})) << sms;
  }
}

}  // namespace
}  // namespace tilewright
