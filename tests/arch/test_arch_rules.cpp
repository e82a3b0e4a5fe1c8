// The rules of arch/ that hold before any machine runs: descriptors, barrier numbers, register counts,
// launches.
#include <gtest/gtest.h>

#include "tilewright/arch/launch_config.h"
#include "tilewright/arch/named_barrier.h"
#include "tilewright/arch/registers.h"
#include "tilewright/arch/wgmma.h"

namespace tilewright {
namespace {

uint64_t field(uint64_t descriptor, int first, int last) {
  return descriptor >> first & ((uint64_t{1} << (last - first + 1)) - 1);
}

TEST(SmemDescriptor, PutsEveryFieldInItsBits) {
  const uint64_t d = arch::make_smem_descriptor(0x2A400, Swizzle::b128, 16, 1024);
  EXPECT_EQ(field(d, 0, 13), 0x2A40u);
  EXPECT_EQ(field(d, 16, 29), 1u);
  EXPECT_EQ(field(d, 32, 45), 64u);
  EXPECT_EQ(field(d, 62, 63), 1u);
  EXPECT_EQ(d & ~(uint64_t{0x3FFF} | uint64_t{0x3FFF} << 16 | uint64_t{0x3FFF} << 32 | uint64_t{3} << 62),
            0u);
}

TEST(SmemDescriptor, NumbersTheSwizzlesAsTheHardwareDoes) {
  EXPECT_EQ(arch::make_smem_descriptor(0, Swizzle::none, 0, 0), 0u);
  EXPECT_EQ(arch::make_smem_descriptor(0, Swizzle::b128, 0, 0) >> 62, 1u);
  EXPECT_EQ(arch::make_smem_descriptor(0, Swizzle::b64, 0, 0) >> 62, 2u);
  EXPECT_EQ(arch::make_smem_descriptor(0, Swizzle::b32, 0, 0) >> 62, 3u);
}

TEST(SmemDescriptor, DropsTheBitsOfAClusterAddressAndTheWindowAboveEighteenBits) {
  EXPECT_EQ(arch::make_smem_descriptor(0x01000400, Swizzle::none, 0, 0), 0x40u);
  EXPECT_EQ(arch::make_smem_descriptor(0x40000, Swizzle::none, 0x40010, 0x40020),
            uint64_t{1} << 16 | uint64_t{2} << 32);
}

TEST(SmemDescriptor, AdvancesTheAddressAlone) {
  const uint64_t d = arch::make_smem_descriptor(1024, Swizzle::b128, 16, 1024);
  EXPECT_EQ(arch::advance_descriptor(d, 32), d + 2);
  EXPECT_EQ(arch::advance_descriptor(d, 8192),
            arch::make_smem_descriptor(1024 + 8192, Swizzle::b128, 16, 1024));
}

TEST(NamedBarrier, TakesIdsZeroToFifteenAndWholeWarps) {
  EXPECT_TRUE(arch::is_legal_named_barrier(15, 128));
  EXPECT_FALSE(arch::is_legal_named_barrier(16, 128));
  EXPECT_FALSE(arch::is_legal_named_barrier(17, 128));
  EXPECT_FALSE(arch::is_legal_named_barrier(1, 100));
  EXPECT_FALSE(arch::is_legal_named_barrier(1, 0));
  EXPECT_FALSE(arch::is_legal_named_barrier(1, 1056));
}

TEST(RegisterCount, IsTwentyFourTo256InStepsOfEight) {
  EXPECT_TRUE(arch::is_legal_register_count(24));
  EXPECT_TRUE(arch::is_legal_register_count(256));
  EXPECT_FALSE(arch::is_legal_register_count(16));
  EXPECT_FALSE(arch::is_legal_register_count(28));
  EXPECT_FALSE(arch::is_legal_register_count(264));
}

TEST(WgmmaShapes, AreStepsOfEightAndOfSixteenForTheIntegersAboveTwentyFour) {
  EXPECT_TRUE(arch::detail::is_wgmma_n(40, false));
  EXPECT_FALSE(arch::detail::is_wgmma_n(40, true));
  EXPECT_TRUE(arch::detail::is_wgmma_n(24, true));
  EXPECT_TRUE(arch::detail::is_wgmma_n(240, true));
  EXPECT_FALSE(arch::detail::is_wgmma_n(264, false));
  EXPECT_FALSE(arch::detail::is_wgmma_n(0, false));
  EXPECT_FALSE(arch::detail::is_wgmma_n(12, false));
}

class LaunchRules : public testing::Test {
 protected:
  LaunchRules() {
    config_.grid = {4, 1, 1};
    config_.block = {128, 1, 1};
    config_.name = "probe";
  }

  void expect_refused(const char* rule, const char* found, const char* legal) {
    const Status status = arch::detail::check_launch(config_, 232448);
    ASSERT_TRUE(status.has_value());
    EXPECT_EQ(status->rule, rule);
    EXPECT_NE(status->message.find("probe"), std::string::npos) << status->message;
    EXPECT_NE(status->message.find(found), std::string::npos) << status->message;
    EXPECT_NE(status->message.find(legal), std::string::npos) << status->message;
  }

  arch::LaunchConfig config_;
};

TEST_F(LaunchRules, CountAMissingExtentAsOne) {
  config_.grid = {4};
  config_.block = {128};
  EXPECT_FALSE(arch::detail::check_launch(config_, 0).has_value());
  EXPECT_EQ(config_.grid.y, 1u);
  EXPECT_EQ(config_.block.z, 1u);
}

TEST_F(LaunchRules, RefuseAnEmptyGrid) {
  config_.grid = {};
  expect_refused("launch.extents", "grid", "1");
}

TEST_F(LaunchRules, RefuseMoreThreadsThanABlockHas) {
  config_.block = {32, 33, 1};
  expect_refused("launch.threads", "1056", "1024");
}

TEST_F(LaunchRules, RefuseALongGridInY) {
  config_.grid = {1, 65536, 1};
  expect_refused("launch.grid", "65536", "65535");
}

TEST_F(LaunchRules, RefuseMoreThanSixteenBlocksInACluster) {
  config_.cluster = {17, 1, 1};
  expect_refused("launch.cluster", "17", "16");
}

TEST_F(LaunchRules, RefuseAGridThatIsNotMadeOfWholeClusters) {
  config_.grid = {5, 1, 1};
  config_.cluster = {2, 1, 1};
  expect_refused("launch.grid_of_clusters", "5x1x1", "6x1x1");
}

TEST_F(LaunchRules, RefuseMoreSharedMemoryThanThereIs) {
  config_.shared_bytes = 232449;
  expect_refused("launch.shared_memory", "232449", "232448");
  config_.shared_bytes = 232448;
  EXPECT_FALSE(arch::detail::check_launch(config_, 232448).has_value());
}

}  // namespace
}  // namespace tilewright
