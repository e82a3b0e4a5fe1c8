#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tilewright/schedule/tile_schedule.h"

namespace tilewright::schedule {
namespace {

TEST(FastDivisor, is_exact_at_multiples_and_beside_them) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 20000; ++trial) {
    const uint32_t divisor =
        trial < 4096 ? static_cast<uint32_t>(trial + 1) : 1 + random() % ((1u << 31) - 1);
    const FastDivisor fast(divisor);
    const uint32_t most = ((1u << 31) - 1) / divisor;
    for (const uint32_t quotient : {0u, 1u, most / 2, most, static_cast<uint32_t>(random()) % (most + 1)}) {
      for (const int64_t beside : {-1, 0, 1}) {
        const int64_t dividend = int64_t{quotient} * divisor + beside;
        if (dividend < 0 || dividend >= int64_t{1} << 31) continue;
        ASSERT_EQ(fast.divide(static_cast<uint32_t>(dividend)), dividend / divisor)
            << dividend << " / " << divisor;
      }
    }
  }
}

TEST(FastDivisor, takes_the_largest_divisor) {
  const FastDivisor fast(1u << 31);
  EXPECT_EQ(fast.divide((1u << 31) - 1), 0u);
}

struct Grid {
  uint32_t m, n, batches, cluster_m, cluster_n, strip;
  Raster raster;
};

/// Every tile of the padded grid comes exactly once.
void expect_visits_all(const Grid& g) {
  const TileSchedule s = TileSchedule::make(g.m, g.n, g.batches, g.cluster_m, g.cluster_n, g.raster, g.strip);
  const uint32_t padded_m = (g.m + g.cluster_m - 1) / g.cluster_m * g.cluster_m;
  const uint32_t padded_n = (g.n + g.cluster_n - 1) / g.cluster_n * g.cluster_n;
  const uint32_t ranks = g.cluster_m * g.cluster_n;
  ASSERT_EQ(s.clusters_total * ranks, padded_m * padded_n * g.batches);
  std::vector<int> visits(padded_m * padded_n * g.batches);
  for (uint32_t cluster = 0; cluster < s.clusters_total; ++cluster) {
    const TileCoord first = s.tile(cluster, 0);
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      const TileCoord t = s.tile(cluster, rank);
      ASSERT_LT(t.m, padded_m);
      ASSERT_LT(t.n, padded_n);
      ASSERT_LT(t.batch, g.batches);
      ASSERT_EQ(t.m, first.m + rank % g.cluster_m);  // ranks run M fastest
      ASSERT_EQ(t.n, first.n + rank / g.cluster_m);
      ++visits[(t.batch * padded_m + t.m) * padded_n + t.n];
    }
  }
  for (const int count : visits) ASSERT_EQ(count, 1);
}

TEST(TileSchedule, visits_every_tile_once_for_random_grids) {
  std::mt19937 random(2);
  const auto up_to = [&](uint32_t most) { return 1 + static_cast<uint32_t>(random()) % most; };
  for (int trial = 0; trial < 3000; ++trial) {
    const Grid g{up_to(40),
                 up_to(40),
                 up_to(4),
                 1u << random() % 3,
                 1u << random() % 2,
                 up_to(50),
                 random() % 2 == 0 ? Raster::along_m : Raster::along_n};
    SCOPED_TRACE(::testing::Message() << g.m << "x" << g.n << "x" << g.batches << " cluster " << g.cluster_m
                                      << "x" << g.cluster_n << " strip " << g.strip);
    expect_visits_all(g);
    if (HasFatalFailure()) return;
  }
}

TEST(TileSchedule, walks_down_a_strip_and_across_it_before_each_step) {
  const TileSchedule s = TileSchedule::make(3, 5, 1, 1, 1, Raster::along_m, 2);
  const std::vector<std::pair<uint32_t, uint32_t>> expected = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0},
                                                               {2, 1}, {0, 2}, {0, 3}, {1, 2}};
  for (uint32_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(s.tile(i, 0).m, expected[i].first) << i;
    EXPECT_EQ(s.tile(i, 0).n, expected[i].second) << i;
  }
}

TEST(TileSchedule, along_n_is_along_m_with_the_axes_exchanged) {
  const TileSchedule down = TileSchedule::make(7, 5, 2, 2, 1, Raster::along_m, 3);
  const TileSchedule across = TileSchedule::make(5, 7, 2, 1, 2, Raster::along_n, 3);
  for (uint32_t i = 0; i < down.clusters_total; ++i) {
    EXPECT_EQ(down.tile(i, 0).m, across.tile(i, 0).n);
    EXPECT_EQ(down.tile(i, 0).n, across.tile(i, 0).m);
  }
}

TEST(TileSchedule, a_strip_wider_than_the_grid_is_the_grid) {
  const TileSchedule s = TileSchedule::make(4, 4, 1, 1, 1, Raster::along_m, 1000000);
  EXPECT_EQ(s.strip, 4u);
  expect_visits_all({4, 4, 1, 1, 1, 1000000, Raster::along_m});
}

TEST(TileSchedule, the_last_of_2_to_the_31_clusters_is_the_last_tile) {
  const uint32_t m = 1u << 16, n = (1u << 15) - 1;
  const TileSchedule s = TileSchedule::make(m, n, 1, 1, 1, Raster::along_n, 100);
  const TileCoord last = s.tile(s.clusters_total - 1, 0);
  EXPECT_EQ(last.m, m - 1);
  EXPECT_EQ(last.n, n - 1);
}

}  // namespace
}  // namespace tilewright::schedule
