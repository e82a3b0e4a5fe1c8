// The ring of the mma_sync path on the emulated machine: clean under every schedule however operands are
// brought, and one planted fault for each line that synchronises or copies.
#include <vector>

#include "tests/faults/symptom.h"
#include "tests/faults/words.h"
#include "tests/pipeline/mma_sync_case.h"
#include "tests/pipeline/under_schedules.h"

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace pipeline_tests {
namespace {

using emulator::FaultSpec;
using emulator::LaunchResult;
using emulator::Machine;
using emulator::MachineOptions;
using emulator::Op;
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

using faults::add;
using faults::flip;
using faults::nth;
using faults::reports;
using faults::skip;
using faults::thread;

struct PlantedFault {
  const char* name;
  FaultSpec fault;
  faults::Symptom symptom;
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

/// Two tiles of five K tiles each, through two stages.
template <class D>
Expected<LaunchResult> run_two_tiles(const MachineOptions& options) {
  Matrix<bf16, col_major> a(64, 160, 1, 0, false, "A");
  Matrix<bf16, col_major> b(160, 32, 1, 0, false, "B");
  Matrix<float, row_major> c(64, 32, 1, 0, true, "C");
  std::mt19937 random(3);
  a.fill(random, -2, 2);
  b.fill(random, -2, 2);
  const auto p = suggest_pipeline<2, D>(a.const_tensor(), b.const_tensor());
  Machine& machine = Machine::default_machine();
  const MachineOptions before = machine.options();
  machine.set_options(options);
  const auto out = get_batch(c.tensor(), 0);
  using Handle = std::decay_t<decltype(p->get_device_handle())>;
  const Status failed = arch::launch(two_tiles_kernel<std::remove_const_t<decltype(out)>, Handle>,
                                     p->launch_config({1, 1, 1}), out, p->get_device_handle());
  machine.set_options(before);
  if (failed && failed->code != ErrorCode::emulator) return *failed;
  return machine.last_result();
}

/// Every fault is reported, as what it is, under every schedule, and nothing without it.
template <class D>
void expect_reports(const std::vector<PlantedFault>& table) {
  const std::vector<MachineOptions> all = faults::all_schedules(3);
  faults::expect_clean(all, run_two_tiles<D>);
  for (const PlantedFault& row : table) {
    faults::expect_reported(row.fault, row.symptom, row.name, all, run_two_tiles<D>);
  }
}

constexpr const char *kProducer = "producer", *kConsumer = "consumer";
constexpr int kFirstProducer = 64;

/// Of the computing warps and of the barriers between the roles, whoever brings the operands. overrun: how a
/// producer shows that never waits for a free stage.
std::vector<PlantedFault> faults_of_the_ring(const faults::Symptom& overrun) {
  const FaultSpec wait = skip(Op::mbarrier_wait, "full", kConsumer);
  const FaultSpec release = skip(Op::mbarrier_arrive, "empty", kConsumer);
  const FaultSpec acquire = skip(Op::mbarrier_wait, "empty", kProducer);
  // The same race is named by whichever of the two accesses comes second, a deadlock by the older wait.
  const faults::Symptom race = reports(read_before_ready, overwrite_in_use).at("A", "B");
  const faults::Symptom stuck = reports(deadlock).at("empty", "full");
  return {
      {"wait_skipped", wait, reports(uninitialised_read, read_before_ready).at("A").by(kConsumer)},
      {"wait_skipped_later", nth(3, wait), race},
      {"wait_parity", flip("full", kConsumer),
       reports(uninitialised_read, read_before_ready, parity_alias, deadlock).at("A", "full", "empty")},
      {"release_skipped", release, stuck},
      {"release_skipped_once", nth(1, release), stuck},
      {"acquire_skipped", acquire, overrun},
      {"acquire_skipped_once", nth(3, acquire), race},
      {"acquire_parity", flip("empty", kProducer), stuck},
      {"lanes_not_met_before_release", skip(Op::sync_warp, "", kConsumer),
       reports(overwrite_in_use).at("A").by(kProducer)},
  };
}

TEST(PipelineMmaSyncFaults, of_the_ring_are_reported_with_cp_async) {
  expect_reports<Copied>(faults_of_the_ring(reports(unordered_writes).at("A").by(kProducer)));
}
TEST(PipelineMmaSyncFaults, of_the_ring_are_reported_with_stores) {
  // Its arrivals come so early that stages seem full.
  expect_reports<Stored>(faults_of_the_ring(
      reports(uninitialised_read, read_before_ready, parity_alias).at("A", "full").by(kConsumer)));
}
TEST(PipelineMmaSyncFaults, of_the_ring_are_reported_with_tma) {
  expect_reports<Bulk>(faults_of_the_ring(reports(unordered_writes, overwrite_in_use).at("A").by(kProducer)));
}

TEST(PipelineMmaSyncFaults, of_copies_are_reported) {
  const FaultSpec copy_a = skip(Op::cp_async, "A", kProducer), copy_b = skip(Op::cp_async, "B", kProducer);
  const FaultSpec arrive = skip(Op::cp_async_mbarrier_arrive, "full", kProducer);
  expect_reports<Copied>({
      {"copy_a_skipped", thread(kFirstProducer + 5, copy_a),
       reports(uninitialised_read).at("A").by(kConsumer)},
      {"copy_b_skipped", thread(kFirstProducer + 5, copy_b),
       reports(uninitialised_read).at("B").by(kConsumer)},
      {"copy_elsewhere", thread(kFirstProducer + 5, add(64, copy_a)),
       reports(unordered_writes).at("A").by(kProducer)},
      {"arrival_skipped", arrive, reports(deadlock).at("full", "empty")},
      {"arrival_skipped_by_one", thread(kFirstProducer + 77, arrive),
       reports(deadlock).at("full").by(kConsumer)},
  });
}
TEST(PipelineMmaSyncFaults, of_stores_are_reported) {
  const FaultSpec store = skip(Op::store_shared, "A", kProducer);
  const FaultSpec arrive = skip(Op::mbarrier_arrive, "full", kProducer);
  expect_reports<Stored>({
      {"store_skipped", thread(kFirstProducer + 5, store), reports(uninitialised_read).at("A").by(kConsumer)},
      {"arrival_skipped", arrive, reports(deadlock).at("full", "empty")},
      {"arrival_skipped_by_one", thread(kFirstProducer + 77, arrive),
       reports(deadlock).at("full").by(kConsumer)},
  });
}
TEST(PipelineMmaSyncFaults, of_tma_beside_copies_are_reported) {
  const FaultSpec expect = skip(Op::mbarrier_expect_tx, "full", kProducer);
  expect_reports<Bulky>({
      {"expect_skipped", expect, reports(deadlock, byte_count).at("full")},
      {"expect_too_many_bytes", add(64, expect), reports(deadlock).at("full").by(kConsumer)},
      {"load_skipped", skip(Op::tma_load, "A", kProducer), reports(deadlock).at("full").by(kConsumer)},
      {"copy_skipped", thread(kFirstProducer, skip(Op::cp_async, "B", kProducer)),
       reports(uninitialised_read).at("B").by(kConsumer)},
      {"arrival_skipped", skip(Op::cp_async_mbarrier_arrive, "full", kProducer),
       reports(deadlock).at("full", "empty")},
  });
}

}  // namespace
}  // namespace pipeline_tests
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
