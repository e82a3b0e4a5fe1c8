#include <gtest/gtest.h>

#include "apps/tilewright/bench_config.h"

namespace tilewright::cli {
namespace {

TEST(BenchConfig, each_part_is_one_option) {
  const auto configs = parse_bench_configs("128x256/2x1/8/4/100,64x128");
  ASSERT_TRUE(configs) << configs.error().message;
  ASSERT_EQ(configs->size(), 2u);
  const BenchConfig& full = configs->front();
  EXPECT_EQ(full.name, "128x256/2x1/8/4/100");
  EXPECT_EQ(full.options.device, Device::gpu);
  EXPECT_EQ(full.options.tile, (Shape2{128, 256}));
  EXPECT_EQ(full.options.cluster, (Shape2{2, 1}));
  EXPECT_EQ(full.options.swizzle, 8);
  EXPECT_EQ(full.options.stages, 4);
  EXPECT_EQ(full.options.max_sms, 100);
  const Options& short_one = configs->back().options;
  EXPECT_EQ(short_one.tile, (Shape2{64, 128}));
  EXPECT_FALSE(short_one.cluster || short_one.swizzle || short_one.stages || short_one.max_sms);
}

TEST(BenchConfig, none_is_the_planners_choice) {
  const auto configs = parse_bench_configs("");
  ASSERT_TRUE(configs);
  ASSERT_EQ(configs->size(), 1u);
  EXPECT_EQ(configs->front().name, "planned");
  EXPECT_EQ(configs->front().options.device, Device::gpu);
  EXPECT_FALSE(configs->front().options.tile);
}

TEST(BenchConfig, refuses_what_is_none) {
  for (const char* text : {"128", "128x256/2", "128x256/2x1/x", "128x256/2x1/8/4/100/1"}) {
    const auto configs = parse_bench_configs(text);
    ASSERT_FALSE(configs) << text;
    EXPECT_EQ(configs.error().rule, "option.configs") << text;
  }
}

}  // namespace
}  // namespace tilewright::cli
