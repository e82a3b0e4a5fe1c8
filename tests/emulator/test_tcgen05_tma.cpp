// Tensor loads of a pair of CTAs, and padded FP4.
#include <array>
#include <numeric>
#include <vector>

#include "emulator/src/swizzle.h"
#include "tests/emulator/micro.h"
#include "tilewright/arch/cluster.h"
#include "tilewright/arch/index.h"
#include "tilewright/arch/mbarrier.h"
#include "tilewright/arch/shared.h"
#include "tilewright/arch/tcgen05_tma.h"
#include "tilewright/arch/tma.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kBar = kSharedBase, kBox = kSharedBase + 1024;

class PairLoad : public Emulator {
 protected:
  // 16 rows of 128 bytes in each of two matrices.
  PairLoad() { std::iota(bytes_.begin(), bytes_.end(), uint8_t{3}); }

  TensorMap map(const TensorMapSpec& spec) {
    auto encoded = encode_for_emulator(spec);
    EXPECT_TRUE(encoded) << encoded.error().message;
    return *encoded;
  }
  TensorMap rows_map(uint32_t box_rows) {
    return map({.base = bytes_.data(),
                .type = TmaType::u8,
                .rank = 3,
                .extent = {128, 16, 2},
                .strides = {128, 16 * 128},
                .box = {128, box_rows, 1}});
  }
  void register_bytes(const GlobalBufferOptions& options = {.name = "bytes", .writable = false}) {
    machine_.register_global(bytes_.data(), bytes_.size(), options);
  }

  alignas(32) std::array<uint8_t, 2 * 16 * 128> bytes_;
};

TEST_F(PairLoad, both_ctas_load_their_part_and_the_leader_counts_all_bytes) {
  register_bytes();
  const TensorMap rows = rows_map(8);
  std::vector<uint8_t> seen(2);
  const auto kernel = [&] {
    const uint32_t rank = cluster_rank();
    arch::name_barrier(kBar, "full");
    init_barriers(kBar, {1}, true);
    const uint32_t leader = arch::map_shared(kBar, 0);
    if (thread_id() == 0) {
      if (rank == 0) arch::mbarrier_arrive_expect_tx(kBar, 2 * 1024);
      arch::tma_load_pair_3d(kBox, &rows, leader, 0, static_cast<int32_t>(8 * rank), 1);
    }
    if (rank == 0) arch::mbarrier_wait_parity(kBar, 0);
    // The leader tells its peer.
    arch::cluster_sync();
    seen[rank] = arch::load_shared<uint8_t>(kBox + 128 + 5);
    arch::cluster_sync();
  };
  const Grid grid{.threads = 32, .ctas = 2, .cluster = 2};
  expect_clean(grid, kernel, [&] {
    EXPECT_EQ(seen[0], bytes_[16 * 128 + 128 + 5]);
    EXPECT_EQ(seen[1], bytes_[16 * 128 + 9 * 128 + 5]);
  });
  // Its own barrier, which expects nothing: the leader waits for ever, or the bytes do not add up there.
  expect_report({ReportKind::deadlock, ReportKind::byte_count}, grid, [&] {
    const uint32_t rank = cluster_rank();
    init_barriers(kBar, {1}, true);
    if (thread_id() == 0) {
      if (rank == 0) arch::mbarrier_arrive_expect_tx(kBar, 2 * 1024);
      arch::tma_load_pair_3d(kBox, &rows, kBar, 0, static_cast<int32_t>(8 * rank), 1);
    }
    if (rank == 0) arch::mbarrier_wait_parity(kBar, 0);
    arch::cluster_sync();
  });
  // Half of the bytes.
  expect_fault({ReportKind::byte_count, ReportKind::read_before_ready},
               {.op = Op::mbarrier_arrive_expect_tx, .action = FaultSpec::Action::replace, .value = 1024},
               grid, kernel);
  machine_.unregister_global(bytes_.data());
}

TEST_F(PairLoad, a_multicast_reaches_both_ctas_and_counts_twice) {
  register_bytes();
  const TensorMap blocks = map({.base = bytes_.data(),
                                .type = TmaType::u32,
                                .rank = 4,
                                .extent = {32, 4, 4, 2},
                                .strides = {128, 512, 2048},
                                .box = {32, 2, 1, 1}});
  std::vector<uint8_t> seen(2);
  const auto kernel = [&] {
    const uint32_t rank = cluster_rank();
    init_barriers(kBar, {1}, true);
    if (thread_id() == 0 && rank == 0) {
      arch::mbarrier_arrive_expect_tx(kBar, 2 * 256);
      arch::tma_load_pair_multicast_4d(kBox, &blocks, kBar, 3, 0, 2, 1, 1);
    }
    if (rank == 0) arch::mbarrier_wait_parity(kBar, 0);
    arch::cluster_sync();
    seen[rank] = arch::load_shared<uint8_t>(kBox + 130);
    arch::cluster_sync();
  };
  expect_clean({.threads = 32, .ctas = 2, .cluster = 2}, kernel, [&] {
    const uint8_t expected = bytes_[2048 + 512 + 3 * 128 + 2];
    EXPECT_EQ(seen[0], expected);
    EXPECT_EQ(seen[1], expected);
  });
  machine_.unregister_global(bytes_.data());
}

TEST_F(PairLoad, padded_e2m1_takes_sixteen_bytes_for_sixteen_elements_and_signals_the_packed_ones) {
  register_bytes();
  // 16 rows of 256 elements.
  const TensorMap padded = map({.base = bytes_.data(),
                                .type = TmaType::e2m1_padded,
                                .rank = 2,
                                .extent = {256, 16},
                                .strides = {128},
                                .box = {128, 8},
                                .swizzle = Swizzle::b128});
  std::vector<uint8_t> image(8 * 128);
  const auto kernel = [&](uint32_t expected_bytes) {
    init_barriers(kBar, {1});
    if (thread_id() == 0) {
      arch::mbarrier_arrive_expect_tx(kBar, expected_bytes);
      arch::tma_load_2d(kBox, &padded, kBar, 128, 12);  // the last four rows lie outside
    }
    arch::mbarrier_wait_parity(kBar, 0);
    for (uint32_t i = thread_id(); i < image.size(); i += 32) {
      image[i] = arch::load_shared<uint8_t>(swizzled(kBox + i, Swizzle::b128));
    }
  };
  expect_clean(
      {.threads = 32}, [&] { kernel(8 * 64); },
      [&] {
        for (uint32_t row = 0; row < 8; ++row) {
          for (uint32_t element = 0; element < 128; ++element) {
            const uint8_t got = image[row * 128 + element / 16 * 16 + element % 16 / 2];
            const uint32_t at = (12 + row) * 128 + 64 + element / 2;
            ASSERT_EQ(got, row < 4 ? bytes_[at] : 0) << row << " " << element;
          }
        }
      });
  // The size of the box in shared memory is not what arrives.
  expect_report({ReportKind::deadlock}, {.threads = 32}, [&] { kernel(8 * 128); });
  machine_.unregister_global(bytes_.data());
}

TEST_F(PairLoad, padded_e2m1_cannot_be_stored) {
  register_bytes({.name = "bytes"});
  const TensorMap padded = map({.base = bytes_.data(),
                                .type = TmaType::e2m1_padded,
                                .rank = 2,
                                .extent = {256, 16},
                                .strides = {128},
                                .box = {128, 8}});
  expect_report({ReportKind::invalid_argument}, {.threads = 32}, [&] {
    if (thread_id() == 0) arch::tma_store_2d(&padded, kBox, 0, 0);
  });
  machine_.unregister_global(bytes_.data());
}

}  // namespace
}  // namespace tilewright::emulator
