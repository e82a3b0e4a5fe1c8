// Tensor memory and its MMA: results under every schedule, and what each missing piece of synchronisation
// reports.
#include <cmath>

#include "tests/emulator/tcgen05_case.h"

namespace tilewright::emulator {
namespace {

using arch::Tcgen05Kind;

template <class Kernel>
class TensorProduct : public Emulator {};

using Products =
    testing::Types<TwoTiles<Tcgen05Kind::f16, f16, f16, 1>, TwoTiles<Tcgen05Kind::f8f6f4, e4m3, e5m2, 1>,
                   TwoTiles<Tcgen05Kind::mxf8f6f4, e4m3, e4m3, 1>,
                   TwoTiles<Tcgen05Kind::mxf8f6f4, e5m2, e2m1, 2>, TwoTiles<Tcgen05Kind::mxf4, e2m1, e2m1, 1>,
                   TwoTiles<Tcgen05Kind::mxf4, e2m1, e2m1, 2>, TwoTiles<Tcgen05Kind::mxf4nvf4, e2m1, e2m1, 1>,
                   TwoTiles<Tcgen05Kind::mxf4nvf4, e2m1, e2m1, 2>>;
TYPED_TEST_SUITE(TensorProduct, Products);

TYPED_TEST(TensorProduct, two_tiles_are_exact_under_every_schedule) {
  const TensorData data(TypeParam::grid().cluster, TypeParam::kN);
  std::vector<float> result(2 * 128 * TypeParam::grid().cluster * TypeParam::kN);
  const TypeParam kernel{&data, &result};
  const std::vector<float> expected = kernel.expected();
  const auto same = [&] {
    // NaNs of f16 codes count as one.
    for (size_t i = 0; i < expected.size(); ++i) {
      if (result[i] != expected[i] && !(std::isnan(result[i]) && std::isnan(expected[i]))) return false;
    }
    return true;
  };
  this->expect_clean(TypeParam::grid(), kernel, [&] {
    ASSERT_TRUE(same());
    std::fill(result.begin(), result.end(), -1.0f);
    const Statistics& counts = this->machine_.last_result().statistics;
    EXPECT_EQ(counts.count(Op::tcgen05_mma), 8u);
    EXPECT_EQ(counts.count(Op::tcgen05_cp), TypeParam::kScales != 0 ? 16u : 0u);
    EXPECT_EQ(counts.count(Op::tcgen05_ld), 2 * 2 * 4 * TypeParam::grid().cluster);
  });
}

class Tcgen05 : public Emulator {
 protected:
  using One = TwoTiles<Tcgen05Kind::mxf8f6f4, e4m3, e4m3, 1>;
  using Pair = TwoTiles<Tcgen05Kind::mxf8f6f4, e4m3, e4m3, 2>;

  // The kernel with one fault, arithmetic off: the first report of every schedule is of one of the kinds.
  template <class Kernel = One>
  Report expect_tensor_fault(std::initializer_list<ReportKind> kinds, const FaultSpec& fault) {
    const TensorData data(Kernel::grid().cluster, Kernel::kN);
    std::vector<float> result(2 * 128 * Kernel::grid().cluster * Kernel::kN);
    return expect_fault(kinds, fault, Kernel::grid(), Kernel{&data, &result}, {.arithmetic = false});
  }
};

constexpr auto kNth = FaultSpec::Occurrence::only_nth;
constexpr auto kAdd = FaultSpec::Action::add;

TEST_F(Tcgen05, a_load_before_the_commit_is_known) {
  const Report report =
      expect_tensor_fault({ReportKind::uninitialised_read, ReportKind::read_before_ready},
                          {.op = Op::mbarrier_wait, .place = "done", .occurrence = kNth, .nth = 0});
  EXPECT_EQ(report.place, "accumulator");
}

TEST_F(Tcgen05, a_load_without_the_fence_after_the_wait) {
  const Report report =
      expect_tensor_fault({ReportKind::missing_tcgen05_fence},
                          {.op = Op::tcgen05_fence_after, .thread = 40, .occurrence = kNth, .nth = 1});
  EXPECT_NE(report.message.find("fence::after_thread_sync"), std::string::npos) << report.message;
}

TEST_F(Tcgen05, an_mma_over_columns_whose_loads_were_not_waited_for) {
  // The register is read before the wait, too.
  TILEWRIGHT_NEEDS_ACCESSES();
  expect_tensor_fault({ReportKind::accumulator_in_flight},
                      {.op = Op::tcgen05_wait_ld, .occurrence = kNth, .nth = 1});
}

TEST_F(Tcgen05, an_mma_over_columns_whose_loads_were_waited_for_but_not_fenced) {
  const Report report = expect_tensor_fault({ReportKind::missing_tcgen05_fence},
                                            {.op = Op::tcgen05_fence_before, .occurrence = kNth, .nth = 1});
  EXPECT_NE(report.message.find("fence::before_thread_sync"), std::string::npos) << report.message;
}

TEST_F(Tcgen05, an_mma_over_columns_whose_loads_one_lane_did_not_fence) {
  const Report report =
      expect_tensor_fault({ReportKind::missing_tcgen05_fence},
                          {.op = Op::tcgen05_fence_before, .thread = 40, .occurrence = kNth, .nth = 1});
  EXPECT_NE(report.message.find("fence::before_thread_sync"), std::string::npos) << report.message;
}

TEST_F(Tcgen05, an_mma_that_does_not_wait_for_the_readers) {
  // Far ahead, it completes a second phase that the readers take for the first.
  const Report report =
      expect_tensor_fault({ReportKind::overwrite_in_use, ReportKind::read_before_ready, ReportKind::deadlock},
                          {.op = Op::mbarrier_wait, .place = "free", .occurrence = kNth, .nth = 0});
  EXPECT_TRUE(report.place == "accumulator" || report.place == "done") << report.message;
}

TEST_F(Tcgen05, an_mma_without_the_fence_after_waiting_for_the_readers) {
  expect_tensor_fault({ReportKind::missing_tcgen05_fence},
                      {.op = Op::tcgen05_fence_after, .thread = 0, .occurrence = kNth, .nth = 2});
}

TEST_F(Tcgen05, scales_that_were_not_copied) {
  const Report report = expect_tensor_fault({ReportKind::uninitialised_read},
                                            {.op = Op::tcgen05_cp, .occurrence = kNth, .nth = 2});
  EXPECT_EQ(report.place, "scales");
}

TEST_F(Tcgen05, scales_copied_over_the_accumulator) {
  // Sixty-four columns lower: into the running accumulator, where nothing but the content tells.
  const Report report =
      expect_tensor_fault({ReportKind::tensor_memory, ReportKind::uninitialised_read},
                          {.op = Op::tcgen05_cp, .action = kAdd, .value = -64, .occurrence = kNth, .nth = 2});
  EXPECT_FALSE(report.place.empty());
}

TEST_F(Tcgen05, accumulating_on_columns_that_hold_scales) {
  const Report report =
      expect_tensor_fault({ReportKind::tensor_memory}, {.op = Op::tcgen05_mma, .action = kAdd, .value = 48});
  EXPECT_NE(report.message.find("overlap"), std::string::npos) << report.message;
}

TEST_F(Tcgen05, reading_scales_from_the_accumulator) {
  const Report report = expect_tensor_fault(
      {ReportKind::tensor_memory},
      {.op = Op::tcgen05_mma, .action = kAdd, .value = -64, .on_second = true, .occurrence = kNth, .nth = 1});
  EXPECT_NE(report.message.find("overlap"), std::string::npos) << report.message;
}

TEST_F(Tcgen05, columns_that_nobody_allocated) {
  const Report report =
      expect_tensor_fault({ReportKind::tensor_memory}, {.op = Op::tcgen05_mma, .action = kAdd, .value = 128});
  EXPECT_NE(report.message.find("no tcgen05.alloc"), std::string::npos) << report.message;
}

TEST_F(Tcgen05, columns_beyond_the_last_one) {
  expect_tensor_fault({ReportKind::out_of_bounds}, {.op = Op::tcgen05_ld, .action = kAdd, .value = 500});
}

TEST_F(Tcgen05, lanes_of_another_warp) {
  const Report report = expect_tensor_fault({ReportKind::tensor_memory},
                                            {.op = Op::tcgen05_ld, .action = kAdd, .value = 32 << 16});
  EXPECT_NE(report.message.find("reaches lanes"), std::string::npos) << report.message;
}

TEST_F(Tcgen05, an_allocation_that_is_never_given_back) {
  const Report report = expect_tensor_fault({ReportKind::tensor_memory}, {.op = Op::tcgen05_dealloc});
  EXPECT_NE(report.message.find("dealloc is missing"), std::string::npos) << report.message;
}

TEST_F(Tcgen05, an_allocation_that_is_given_back_in_another_size) {
  expect_tensor_fault({ReportKind::tensor_memory},
                      {.op = Op::tcgen05_dealloc, .action = FaultSpec::Action::replace, .value = 64});
}

TEST_F(Tcgen05, a_number_of_columns_that_is_no_power_of_two) {
  expect_tensor_fault({ReportKind::invalid_argument}, {.op = Op::tcgen05_alloc, .action = kAdd, .value = 1});
}

TEST_F(Tcgen05, C73_shared_memory_written_without_a_proxy_fence) {
  expect_tensor_fault({ReportKind::missing_proxy_fence}, {.op = Op::fence_proxy_async, .thread = 77});
}

TEST_F(Tcgen05, a_commit_that_never_comes_is_a_deadlock) {
  expect_tensor_fault({ReportKind::deadlock}, {.op = Op::tcgen05_commit, .occurrence = kNth, .nth = 0});
}

TEST_F(Tcgen05, a_pair_that_deallocates_before_its_peer_has_read) {
  // The cluster barrier before the deallocation; the one before it opened the kernel.
  const FaultSpec fault{.op = Op::cluster_wait, .cta_rank = 0, .occurrence = kNth, .nth = 2};
  const TensorData data(2, Pair::kN);
  std::vector<float> result(2 * 256 * Pair::kN);
  for (MachineOptions options : schedules({.arithmetic = false, .fault = fault})) {
    const LaunchResult run_result = run(options, Pair::grid(), Pair{&data, &result});
    ASSERT_FALSE(run_result.reports.empty()) << name_of(options.schedule) << options.seed;
    const ReportKind kind = run_result.reports[0].kind;
    EXPECT_TRUE(kind == ReportKind::overwrite_in_use || kind == ReportKind::tensor_memory ||
                kind == ReportKind::missing_tcgen05_fence)
        << name_of(kind) << ": " << run_result.reports[0].message;
  }
}

TEST_F(Tcgen05, a_pair_whose_commit_reaches_one_cta_only) {
  expect_tensor_fault<Pair>(
      {ReportKind::deadlock},
      {.op = Op::tcgen05_commit, .action = FaultSpec::Action::replace, .value = 1, .on_mask = true});
}

TEST_F(Tcgen05, C79_a_commit_mask_with_a_cta_that_is_not_there) {
  expect_tensor_fault<Pair>({ReportKind::multicast_mask},
                            {.op = Op::tcgen05_commit, .action = kAdd, .value = 4, .on_mask = true});
}

TEST_F(Tcgen05, a_reader_of_the_pair_that_signals_its_own_cta) {
  // The leader's barrier lacks half of its arrivals.
  const TensorData data(2, Pair::kN);
  std::vector<float> result(2 * 256 * Pair::kN);
  expect_fault({ReportKind::deadlock}, {.op = Op::mbarrier_arrive, .place = "free", .cta_rank = 1},
               Pair::grid(), Pair{&data, &result}, {.arithmetic = false});
}

// ---- small kernels

TEST_F(Tcgen05, what_is_stored_is_loaded) {
  std::vector<uint32_t> out(128 * 64);
  const auto kernel = [&] {
    if (warp_id() == 0) arch::tcgen05_alloc<1>(kSharedBase, 64);
    sync_threads();
    arch::tcgen05_fence_after();
    const uint32_t base = arch::load_shared<uint32_t>(kSharedBase);
    uint32_t words[64], back[64];
    for (uint32_t i = 0; i < 64; ++i) words[i] = thread_id() * 1000 + i;
    const uint32_t address = arch::tmem_address(base, warp_id() * 32, 0);
    arch::tcgen05_st_32x32b(words, address);
    arch::tcgen05_wait_st();
    arch::tcgen05_ld_32x32b(back, address);
    arch::tcgen05_wait_ld(back);
    for (uint32_t i = 0; i < 64; ++i) out[thread_id() * 64 + i] = back[i];
    arch::tcgen05_fence_before();
    sync_threads();
    if (warp_id() == 2) arch::tcgen05_dealloc<1>(base, 64);
  };
  expect_clean({.threads = 128}, kernel, [&] {
    for (uint32_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i / 64 * 1000 + i % 64);
  });
  // Without the wait for the stores the load may come first.
  expect_fault({ReportKind::read_before_ready}, {.op = Op::tcgen05_wait_st}, {.threads = 128}, kernel);
  // Without the wait for the loads nobody may read the registers.
  if (kSeesAccesses) {
    expect_fault({ReportKind::accumulator_in_flight}, {.op = Op::tcgen05_wait_ld}, {.threads = 128}, kernel);
  }
}

// Tensor memory of 32 columns, and barriers of so many arrivals from kSharedBase + 8 on. All threads.
uint32_t allocate(std::initializer_list<uint32_t> arrivals) {
  if (warp_id() == 0) arch::tcgen05_alloc<1>(kSharedBase, 32);
  init_barriers(kSharedBase + 8, arrivals);
  arch::tcgen05_fence_after();
  return arch::load_shared<uint32_t>(kSharedBase);
}

TEST_F(Tcgen05, C77_a_store_that_is_not_waited_for_before_another_warp_loads) {
  const auto kernel = [&] {
    const uint32_t base = allocate({32});
    uint32_t words[1] = {thread_id()};
    if (warp_id() == 0) {
      arch::tcgen05_st_32x32b(words, base);
      arch::tcgen05_wait_st();
      arch::tcgen05_fence_before();
      mbarrier_arrive(kSharedBase + 8, 1);
    } else if (warp_id() == 4) {  // the same lane quarter
      mbarrier_wait_parity(kSharedBase + 8, 0);
      arch::tcgen05_fence_after();
      arch::tcgen05_ld_32x32b(words, base);
      arch::tcgen05_wait_ld(words);
      arch::tcgen05_fence_before();
    }
    sync_threads();
    if (warp_id() == 0) arch::tcgen05_dealloc<1>(base, 32);
  };
  const Grid grid{.threads = 160};
  expect_clean(grid, kernel);
  expect_fault({ReportKind::read_before_ready}, {.op = Op::tcgen05_wait_st}, grid, kernel);
  expect_fault({ReportKind::missing_tcgen05_fence}, {.op = Op::tcgen05_fence_before}, grid, kernel);
  expect_fault({ReportKind::missing_tcgen05_fence},
               {.op = Op::tcgen05_fence_after, .occurrence = FaultSpec::Occurrence::from_nth, .nth = 1}, grid,
               kernel);
}

TEST_F(Tcgen05, one_lane_that_arrives_for_its_warp) {
  const auto kernel = [&] {
    const uint32_t base = allocate({1});
    uint32_t words[1] = {thread_id()};
    if (warp_id() == 0) {
      arch::tcgen05_st_32x32b(words, base);
      arch::tcgen05_wait_st();
      arch::tcgen05_ld_32x32b(words, base);
      arch::tcgen05_wait_ld(words);
      arch::tcgen05_fence_before();
      sync_warp(~0u);
      if (lane_id() == 0) mbarrier_arrive(kSharedBase + 8, 1);
    } else if (warp_id() == 4) {  // the same lane quarter
      mbarrier_wait_parity(kSharedBase + 8, 0);
      arch::tcgen05_fence_after();
      arch::tcgen05_st_32x32b(words, base);
      arch::tcgen05_wait_st();
      arch::tcgen05_fence_before();
    }
    sync_threads();
    if (warp_id() == 0) arch::tcgen05_dealloc<1>(base, 32);
  };
  const Grid grid{.threads = 160};
  expect_clean(grid, kernel);
  for (const int lane : {0, 31}) {
    expect_fault({ReportKind::missing_tcgen05_fence}, {.op = Op::tcgen05_fence_before, .thread = lane}, grid,
                 kernel);
  }
  // It knows nothing of the others' waits and fences.
  expect_fault({ReportKind::overwrite_in_use}, {.op = Op::sync_warp}, grid, kernel);
}

TEST_F(Tcgen05, C77_a_load_whose_result_nobody_uses_before_the_deallocation) {
  const auto kernel = [&](bool wait) {
    if (warp_id() == 0) arch::tcgen05_alloc<1>(kSharedBase, 32);
    sync_threads();
    arch::tcgen05_fence_after();
    const uint32_t base = arch::load_shared<uint32_t>(kSharedBase);
    uint32_t words[4] = {};
    arch::tcgen05_st_32x32b(words, base);
    arch::tcgen05_wait_st();
    arch::tcgen05_ld_32x32b(words, base);
    if (wait) arch::tcgen05_wait_ld(words);
    arch::tcgen05_fence_before();
    sync_threads();
    if (warp_id() == 0) arch::tcgen05_dealloc<1>(base, 32);
  };
  expect_clean({.threads = 128}, [&] { kernel(true); });
  expect_report({ReportKind::overwrite_in_use, ReportKind::exit_with_pending_work}, {.threads = 128},
                [&] { kernel(false); });
}

TEST_F(Tcgen05, allocations_come_and_go_in_order) {
  const auto kernel = [&](uint32_t second, bool relinquished) {
    if (warp_id() == 0) arch::tcgen05_alloc<1>(kSharedBase, 256);
    if (warp_id() == 0 && relinquished) arch::tcgen05_relinquish<1>();
    if (warp_id() == 0) arch::tcgen05_alloc<1>(kSharedBase + 4, second);
    sync_threads();
    arch::tcgen05_fence_after();
    const auto first_base = arch::load_shared<uint32_t>(kSharedBase);
    const auto second_base = arch::load_shared<uint32_t>(kSharedBase + 4);
    EXPECT_EQ(first_base, 0u);
    EXPECT_EQ(second_base, 256u);
    sync_threads();
    if (warp_id() == 0) arch::tcgen05_dealloc<1>(first_base, 256);
    if (warp_id() == 1) arch::tcgen05_dealloc<1>(second_base, second);
  };
  const Grid grid{.threads = 64};
  expect_clean(grid, [&] { kernel(128, false); });
  // Too many, larger than the first, after the promise.
  for (const uint32_t second : {512u, 256u + 256u}) {
    const Report report = expect_report({ReportKind::tensor_memory}, grid, [&] { kernel(second, false); });
    EXPECT_NE(report.message.find("must not grow"), std::string::npos) << report.message;
  }
  const Report report = expect_report({ReportKind::tensor_memory}, grid, [&] { kernel(128, true); });
  EXPECT_NE(report.message.find("relinquish"), std::string::npos) << report.message;
}

TEST_F(Tcgen05, a_pair_needs_a_cluster_of_two) {
  const auto kernel = [] {
    if (warp_id() == 0) arch::tcgen05_alloc<2>(kSharedBase, 32);
  };
  expect_report({ReportKind::invalid_argument}, {.threads = 32}, kernel);
}

TEST_F(Tcgen05, sixteen_bit_operands_may_be_mn_major) {
  // A: 128 rows, B: 64; 64 rows in 128 bytes for each k, slabs of 16 k.
  constexpr uint32_t kA = kSharedBase + 1024, kB = kA + 4096;
  const auto value = [](uint32_t row, uint32_t k) {
    return static_cast<float>(static_cast<int>(row * 7 + k * 3) % 9 - 4);
  };
  std::vector<float> out(128 * 64);
  const auto kernel = [&] {
    init_barriers(kSharedBase, {1});
    if (warp_id() == 0) arch::tcgen05_alloc<1>(kSharedBase + 8, 64);
    for (uint32_t row = thread_id(); row < 192; row += 128) {
      for (uint32_t k = 0; k < 16; ++k) {
        const uint32_t r = row < 128 ? row : row - 128;
        const uint32_t at = (row < 128 ? kA : kB) + r / 64 * 2048 + k * 128 + r % 64 * 2;
        const f16 element(value(row, k));
        store_shared(swizzled(at, Swizzle::b128), &element, 2);
      }
    }
    fence_proxy_async(ProxyFence::shared_cta);
    sync_threads();
    arch::tcgen05_fence_after();
    const uint32_t base = arch::load_shared<uint32_t>(kSharedBase + 8);
    constexpr uint32_t instruction = arch::make_instruction_descriptor<Tcgen05Kind::f16, f16, f16>(
        1, 64, arch::Major::mn, arch::Major::mn);
    if (thread_id() == 0) {
      const auto operand = [](uint32_t address) {
        return arch::make_tcgen05_descriptor(address, Swizzle::b128, 2048, 1024);
      };
      arch::tcgen05_mma<Tcgen05Kind::f16, 1>(base, operand(kA), operand(kB), instruction, false);
      arch::tcgen05_commit<1>(kSharedBase);
    }
    mbarrier_wait_parity(kSharedBase, 0);
    arch::tcgen05_fence_after();
    uint32_t words[64];
    arch::tcgen05_ld_32x32b(words, base);
    arch::tcgen05_wait_ld(words);
    for (uint32_t i = 0; i < 64; ++i) out[thread_id() * 64 + i] = __builtin_bit_cast(float, words[i]);
    arch::tcgen05_fence_before();
    sync_threads();
    if (warp_id() == 0) arch::tcgen05_dealloc<1>(base, 64);
  };
  expect_clean({.threads = 128}, kernel, [&] {
    for (uint32_t m = 0; m < 128; ++m) {
      for (uint32_t n = 0; n < 64; ++n) {
        float sum = 0;
        for (uint32_t k = 0; k < 16; ++k) sum += value(m, k) * value(128 + n, k);
        ASSERT_EQ(out[m * 64 + n], sum) << m << " " << n;
      }
    }
  });
}

TEST_F(Tcgen05, a_descriptor_in_the_form_of_wgmma_is_refused) {
  const auto kernel = [] {
    if (warp_id() == 0) arch::tcgen05_alloc<1>(kSharedBase, 32);
    sync_threads();
    arch::tcgen05_fence_after();
    constexpr uint32_t instruction = arch::make_instruction_descriptor<Tcgen05Kind::f16, f16, f16>(1, 32);
    const uint64_t old = arch::make_smem_descriptor(kSharedBase + 1024, Swizzle::b128, 0, 1024);
    if (thread_id() == 0) arch::tcgen05_mma<Tcgen05Kind::f16, 1>(0, old, old, instruction, false);
  };
  const Report report = expect_report({ReportKind::descriptor}, {.threads = 32}, kernel);
  EXPECT_NE(report.message.find("bit 46"), std::string::npos) << report.message;
}

}  // namespace
}  // namespace tilewright::emulator
