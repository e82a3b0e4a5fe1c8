// Modelled time of the block-scaled kernels: what the clock model's figures make of their pipeline.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/block_scale/kernel_case.h"

namespace tilewright {
namespace {

using emulator::MachineOptions;

struct Formats {
  BlockFormat a, b;
};

class BlockScaledTime : public testing::TestWithParam<Formats> {
 protected:
  static constexpr int64_t kTiles = 6;

  int64_t k_tile() const { return kernels::block_scaled_tile_k(GetParam().a, GetParam().b); }
  /// Clocks of a pair of CTAs for so many tiles of so many K tiles.
  double clocks(int64_t k_tiles, bool overlap, int64_t tiles = kTiles) const {
    KernelRun run({.a = GetParam().a,
                   .b = GetParam().b,
                   .overlap = overlap,
                   .m = 256,
                   .n = 256 * tiles,
                   .k = k_tiles * k_tile(),
                   .init = BlockInit::moderate});
    const auto result = run.run(options(false));
    EXPECT_TRUE(result.reports.empty()) << result.reports[0].message;
    return result.statistics.clocks;
  }
  static MachineOptions options(bool arithmetic) {
    MachineOptions options;
    options.schedule = emulator::SchedulePolicy::timed;
    options.arithmetic = arithmetic;
    options.multiprocessors = 2;
    options.chip = emulator::Chip::sm_100a;
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(Formats, BlockScaledTime,
                         testing::Values(Formats{BlockFormat::mxfp8, BlockFormat::mxfp8},
                                         Formats{BlockFormat::mxfp8, BlockFormat::mxfp4},
                                         Formats{BlockFormat::mxfp4, BlockFormat::mxfp4},
                                         Formats{BlockFormat::nvfp4, BlockFormat::nvfp4}),
                         [](const auto& info) {
                           return std::string(name_of(info.param.a)) + "_" + name_of(info.param.b);
                         });

TEST_P(BlockScaledTime, results_are_right_in_the_order_of_modelled_time) {
  for (const bool overlap : {false, true}) {
    KernelRun run({.a = GetParam().a, .b = GetParam().b, .overlap = overlap, .k = 3 * k_tile()});
    const auto result = run.run(options(true));
    ASSERT_TRUE(result.reports.empty()) << result.reports[0].message;
    ASSERT_TRUE(run.is_right());
  }
}

TEST_P(BlockScaledTime, is_the_same_in_every_run) { EXPECT_EQ(clocks(3, true), clocks(3, true)); }

TEST_P(BlockScaledTime, overlap_saves_time_and_the_less_the_longer_k_is) {
  double last_off = 0, last_on = 0, last_gain = 10;
  for (const int64_t k_tiles : {2, 4, 8, 16}) {
    const double off = clocks(k_tiles, false), on = clocks(k_tiles, true), gain = off / on - 1;
    EXPECT_GT(off, last_off);
    EXPECT_GT(on, last_on);
    EXPECT_GT(gain, 0) << k_tiles;
    EXPECT_LT(gain, last_gain) << k_tiles;
    last_off = off, last_on = on, last_gain = gain;
  }
}

#if TILEWRIGHT_SEES_ACCESSES
// docs/block-scaled.md, "Modelled time": a row for each K, "off, on: gain %" for each pair of formats.
TEST_P(BlockScaledTime, is_that_of_the_table_in_docs_block_scaled_md) {
  const std::string label = std::string(name_of(GetParam().a)) + " x " + name_of(GetParam().b);
  std::ifstream page(TILEWRIGHT_SOURCE_DIR "/docs/block-scaled.md");
  std::string line;
  while (std::getline(page, line) && !line.starts_with("| K | mxfp8 x mxfp8 |")) {
  }
  const size_t heading = line.find("| " + label + " |");
  ASSERT_NE(heading, std::string::npos) << label;
  const auto column = std::count(line.begin(), line.begin() + static_cast<ptrdiff_t>(heading), '|');
  std::getline(page, line);  // |---|
  int64_t rows = 0;
  for (; std::getline(page, line) && line.starts_with('|'); ++rows) {
    size_t cell = 0;
    for (ptrdiff_t i = 0; i < column; ++i) cell = line.find('|', cell + 1);
    double off = 0, on = 0, gain = 0;
    ASSERT_EQ(std::sscanf(line.c_str() + cell, "| %lf, %lf: %lf", &off, &on, &gain), 3) << line;
    const int64_t k_tiles = std::stoll(line.substr(2)) / k_tile();
    constexpr int64_t kTableTiles = 14;
    EXPECT_NEAR(clocks(k_tiles, false, kTableTiles) / kTableTiles, off, 0.01 * off) << line;
    EXPECT_NEAR(clocks(k_tiles, true, kTableTiles) / kTableTiles, on, 0.01 * on) << line;
    EXPECT_NEAR(100 * (off / on - 1), gain, 0.5) << line;
  }
  EXPECT_EQ(rows, 5);
}
#endif

// In a long loop a K tile takes what its slowest unit takes: MMAs and copies of scales, or the bytes that
// come from L2 (less what the ring has ahead from the switch between tiles).
TEST_P(BlockScaledTime, a_k_tile_takes_as_long_as_its_slowest_unit) {
  const emulator::ClockModel model = emulator::clock_model(emulator::Chip::sm_100a);
  const kernels::BlockScaledKernelId id{GetParam().a, GetParam().b, 2, true};
  const auto plan = kernels::block_scaled_shared_plan(id.a, id.b);
  const auto fetched = [&](BlockFormat format) {
    const bool padded = is_fp4(format) && !kernels::multiplies_packed(id.a, id.b);
    return plan.operand_bytes / (padded ? 2 : 1);
  };
  const double scales = plan.a_scale_bytes + plan.b_scale_bytes;
  const double tensor_core = 4 * 256 / model.mma_columns + scales / model.shared_bytes;
  const double port = (fetched(id.a) + fetched(id.b) + scales) / model.l2_bytes;
  const double k_tile = (clocks(40, true) - clocks(20, true)) / (20 * kTiles);
  EXPECT_GE(k_tile, tensor_core);
  EXPECT_LE(k_tile, 1.01 * std::max(tensor_core, port));
}

}  // namespace
}  // namespace tilewright
