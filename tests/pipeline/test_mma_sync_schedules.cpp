// The ring of the mma_sync path on the emulated machine: clean under every schedule however operands are
// brought, and one planted fault for each line that synchronises or copies.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/pipeline/mma_sync_case.h"
#include "tests/pipeline/under_schedules.h"
#include "tilewright/emulator/fault.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

using emulator::FaultSpec;
using emulator::Machine;
using emulator::MachineOptions;
using emulator::Op;
using emulator::Report;
using emulator::SchedulePolicy;
using enum emulator::ReportKind;

template <int BytesA, int BytesB>
using Bf16 = decltype(Size<32, 32, 32>() + Precision<bf16, bf16, float>() + BlockDim<64>() +
                      Arrangement<col_major, col_major>() + Alignment<BytesA, BytesB, 4>() + WithPipeline() +
                      SM<900, arch_specific>() + RequirePath<path::mma_sync>());
using Bulk = Bf16<16, 16>;   // TMA
using Copied = Bf16<8, 4>;   // cp.async
using Stored = Bf16<2, 2>;   // through registers
using Bulky = Bf16<16, 8>;   // TMA and cp.async
using Various = Bf16<4, 2>;  // cp.async and stores

template <class D, int Depth>
void check_persistent() {
  under_schedules([] {
    check_gemm<D, Depth, float>({.m = 40, .n = 48, .k = 136, .blocks = 1});
    if constexpr (Depth > 1) {
      EXPECT_GE(Machine::default_machine().last_result().statistics.most_barrier_phases, 8u);  // wrapped
    }
  });
}
TEST(PipelineMmaSyncSchedules, tma_is_clean_under_all_of_them) { check_persistent<Bulk, 2>(); }
TEST(PipelineMmaSyncSchedules, cp_async_is_clean_under_all_of_them) { check_persistent<Copied, 2>(); }
TEST(PipelineMmaSyncSchedules, stores_are_clean_under_all_of_them) {
  check_persistent<Stored, 2>();
  check_persistent<Stored, 1>();
}
TEST(PipelineMmaSyncSchedules, tma_with_cp_async_is_clean_under_all_of_them) { check_persistent<Bulky, 2>(); }
TEST(PipelineMmaSyncSchedules, cp_async_with_stores_is_clean_under_all_of_them) {
  check_persistent<Various, 2>();
}

// ---- planted faults

struct Planted {
  const char* name;
  FaultSpec fault;
  std::vector<emulator::ReportKind> kinds;  // one of these is reported
  std::vector<std::string> places = {};     // and names one of these
};

template <class Out, class Handle>
void two_tiles_kernel(Out out, const Handle pipeline) {
  TILEWRIGHT_SHARED(shared, Handle::buffer_alignment());
  using D = typename Handle::descriptor;
  auto tile = pipeline.get_tile(shared, 0, 0);
  for (uint32_t i = 0; i < 2; ++i) {
    tile.execute(
        [&](auto& accumulator) { accumulator.partition_and_store(get_tile(out, D::c_shape, i, 0)); });
    pipeline.reset_tile(tile, 1, 0);
  }
}

/// The first report of two tiles of five K tiles each, through two stages.
template <class D>
std::optional<Report> report_with(const FaultSpec& fault, SchedulePolicy policy, uint64_t seed) {
  Matrix<bf16, col_major> a(64, 160, 1, 0, false, "A");
  Matrix<bf16, col_major> b(160, 32, 1, 0, false, "B");
  Matrix<float, row_major> c(64, 32, 1, 0, true, "C");
  std::mt19937 random(3);
  a.fill(random, -2, 2);
  b.fill(random, -2, 2);
  const auto p = suggest_pipeline<2, D>(a.const_tensor(), b.const_tensor());
  Machine& machine = Machine::default_machine();
  const MachineOptions before = machine.options();
  MachineOptions options = before;
  options.schedule = policy;
  options.seed = seed;
  options.fault = fault;
  machine.set_options(options);
  const auto out = get_batch(c.tensor(), 0);
  using Handle = std::decay_t<decltype(p->get_device_handle())>;
  const Status failed = arch::launch(two_tiles_kernel<std::remove_const_t<decltype(out)>, Handle>,
                                     p->launch_config({1, 1, 1}), out, p->get_device_handle());
  machine.set_options(before);
  const auto& reports = machine.last_result().reports;
  if (!failed || reports.empty()) return std::nullopt;
  return reports[0];
}

/// Every fault is reported, as what it is, under every schedule.
template <class D>
void expect_reports(const std::vector<Planted>& table) {
  for (const Planted& row : table) {
    for (const SchedulePolicy policy :
         {SchedulePolicy::fair, SchedulePolicy::random, SchedulePolicy::adversarial}) {
      for (uint64_t seed = 0; seed < (policy == SchedulePolicy::fair ? 1u : 3u); ++seed) {
        SCOPED_TRACE(::testing::Message()
                     << row.name << ", schedule " << static_cast<int>(policy) << ", seed " << seed);
        const std::optional<Report> report = report_with<D>(row.fault, policy, seed);
        ASSERT_TRUE(report) << "nothing was reported";
        EXPECT_NE(std::find(row.kinds.begin(), row.kinds.end(), report->kind), row.kinds.end())
            << report->message;
        if (row.places.empty()) continue;
        const bool named = std::any_of(row.places.begin(), row.places.end(), [&](const std::string& place) {
          return report->message.find(place) != std::string::npos;
        });
        EXPECT_TRUE(named) << report->message;
      }
    }
  }
}

FaultSpec skip(Op op, const char* place, const char* role) {
  return {.op = op, .place = place, .role = role};
}
FaultSpec nth(uint32_t n, FaultSpec fault) {
  fault.occurrence = FaultSpec::Occurrence::only_nth;
  fault.nth = n;
  return fault;
}
FaultSpec flip(const char* place, const char* role) {
  FaultSpec fault = skip(Op::mbarrier_wait, place, role);
  fault.action = FaultSpec::Action::flip_parity;
  return fault;
}
FaultSpec add(int64_t value, FaultSpec fault) {
  fault.action = FaultSpec::Action::add;
  fault.value = value;
  return fault;
}
FaultSpec of_thread(int thread, FaultSpec fault) {
  fault.thread = thread;
  return fault;
}

constexpr const char *kProducer = "producer", *kConsumer = "consumer";
constexpr int kFirstProducer = 64;

/// Of the computing warps and of the barriers between the roles, whoever brings the operands.
std::vector<Planted> faults_of_the_ring() {
  const FaultSpec wait = skip(Op::mbarrier_wait, "full", kConsumer);
  const FaultSpec release = skip(Op::mbarrier_arrive, "empty", kConsumer);
  const FaultSpec acquire = skip(Op::mbarrier_wait, "empty", kProducer);
  return {
      {"wait_skipped", wait, {uninitialised_read, read_before_ready}, {"A", "B"}},
      {"wait_skipped_later", nth(3, wait), {read_before_ready, overwrite_in_use, over_arrival}},
      {"wait_parity",
       flip("full", kConsumer),
       {uninitialised_read, read_before_ready, parity_alias, deadlock}},
      {"release_skipped", release, {deadlock}},
      {"release_skipped_once", nth(1, release), {deadlock}},
      {"acquire_skipped",
       acquire,
       {over_arrival, overwrite_in_use, unordered_writes, parity_alias, read_before_ready,
        uninitialised_read}},
      {"acquire_skipped_once",
       nth(3, acquire),
       {over_arrival, overwrite_in_use, unordered_writes, parity_alias, read_before_ready}},
      {"acquire_parity", flip("empty", kProducer), {deadlock}, {"empty"}},
      {"lanes_not_met_before_release",
       skip(Op::sync_warp, "", kConsumer),
       {overwrite_in_use, unordered_writes}},
  };
}

TEST(PipelineMmaSyncFaults, of_the_ring_are_reported_with_cp_async) {
  expect_reports<Copied>(faults_of_the_ring());
}
TEST(PipelineMmaSyncFaults, of_the_ring_are_reported_with_stores) {
  expect_reports<Stored>(faults_of_the_ring());
}
TEST(PipelineMmaSyncFaults, of_the_ring_are_reported_with_tma) { expect_reports<Bulk>(faults_of_the_ring()); }

TEST(PipelineMmaSyncFaults, of_copies_are_reported) {
  const FaultSpec copy_a = skip(Op::cp_async, "A", kProducer), copy_b = skip(Op::cp_async, "B", kProducer);
  const FaultSpec arrive = skip(Op::cp_async_mbarrier_arrive, "full", kProducer);
  expect_reports<Copied>({
      {"copy_a_skipped", of_thread(kFirstProducer + 5, copy_a), {uninitialised_read}, {"A"}},
      {"copy_b_skipped", of_thread(kFirstProducer + 5, copy_b), {uninitialised_read}, {"B"}},
      {"copy_elsewhere",
       of_thread(kFirstProducer + 5, add(64, copy_a)),
       {unordered_writes, uninitialised_read},
       {"A"}},
      {"arrival_skipped", arrive, {deadlock}, {"full"}},
      {"arrival_skipped_by_one", of_thread(kFirstProducer + 77, arrive), {deadlock}, {"full"}},
  });
}
TEST(PipelineMmaSyncFaults, of_stores_are_reported) {
  const FaultSpec store = skip(Op::store_shared, "A", kProducer);
  const FaultSpec arrive = skip(Op::mbarrier_arrive, "full", kProducer);
  expect_reports<Stored>({
      {"store_skipped", of_thread(kFirstProducer + 5, store), {uninitialised_read}, {"A"}},
      {"arrival_skipped", arrive, {deadlock}, {"full"}},
      {"arrival_skipped_by_one", of_thread(kFirstProducer + 77, arrive), {deadlock}, {"full"}},
  });
}
TEST(PipelineMmaSyncFaults, of_tma_beside_copies_are_reported) {
  const FaultSpec expect = skip(Op::mbarrier_expect_tx, "full", kProducer);
  expect_reports<Bulky>({
      {"expect_skipped", expect, {deadlock, byte_count, uninitialised_read, read_before_ready}},
      {"expect_too_many_bytes", add(64, expect), {deadlock}, {"full"}},
      {"load_skipped", skip(Op::tma_load, "A", kProducer), {deadlock}, {"full"}},
      {"copy_skipped",
       of_thread(kFirstProducer, skip(Op::cp_async, "B", kProducer)),
       {uninitialised_read},
       {"B"}},
      {"arrival_skipped", skip(Op::cp_async_mbarrier_arrive, "full", kProducer), {deadlock}, {"full"}},
  });
}

TEST(PipelineMmaSyncFaults, the_kernel_without_one_is_clean) {
  EXPECT_FALSE(report_with<Copied>({}, SchedulePolicy::adversarial, 1));
  EXPECT_FALSE(report_with<Stored>({}, SchedulePolicy::adversarial, 1));
  EXPECT_FALSE(report_with<Bulky>({}, SchedulePolicy::adversarial, 1));
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
