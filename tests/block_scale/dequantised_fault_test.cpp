// The kernels of dequantised products with one fault planted: named under every schedule, nothing without it.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/block_scale/dequantised_case.h"
#include "tests/faults/symptom.h"
#include "tests/faults/words.h"
#include "tilewright/emulator/machine.h"

namespace tilewright::testing {
namespace {

using emulator::FaultSpec;
using emulator::LaunchResult;
using emulator::MachineOptions;
using emulator::Op;
using emulator::ReportKind;

/// A product of scales that need shifts on a machine, whose runs stop at the first report.
class Runner {
 public:
  Runner() : operands_(case_()) {
    Options options;
    options.device = Device::emulator;
    options.chip = Chip::sm_90a;
    options.max_sms = 2;
    plan_ = tilewright::plan(operands_.problem(), options);
    EXPECT_TRUE(plan_) << plan_.error().message;
    buffers_ = {.a = place(operands_.a_elements, "A"),
                .b = place(operands_.b_elements, "B"),
                .d = machine_.allocate_global(operands_.d_bytes, {.name = "D", .initialised = false}),
                .a_scales = ProblemOperands::scales_at(operands_.a, place(operands_.a_scales, "A scales")),
                .b_scales = ProblemOperands::scales_at(operands_.b, place(operands_.b_scales, "B scales"))};
    workspace_bytes_ = static_cast<size_t>(plan_->workspace_bytes());
  }

  /// The reports of both kernels, up to the first. A new workspace, of which nothing is known.
  LaunchResult run(const MachineOptions& options) {
    machine_.set_options(options);
    buffers_.workspace =
        machine_.allocate_global(workspace_bytes_, {.name = "workspace", .initialised = false});
    const Status status = plan_->run(buffers_, &machine_);
    EXPECT_TRUE(!status || status->code == ErrorCode::emulator) << status->message;
    machine_.free_global(buffers_.workspace);
    return machine_.last_result();
  }

  std::vector<uint8_t> result() const {
    const auto* d = static_cast<const uint8_t*>(buffers_.d);
    return {d, d + operands_.d_bytes};
  }

 private:
  static const ProblemCase& case_() {
    static const ProblemCase c = [] {
      ProblemCase made;
      made.m = 70, made.n = 136, made.k = 256;
      made.d = made.c = DType::f32;
      made.edit = [](BlockScaledTensor& a, BlockScaledTensor& b) { a.scales[0] = 250, b.scales[7] = 252; };
      return made;
    }();
    return c;
  }
  void* place(const std::vector<uint8_t>& bytes, const char* name) {
    void* memory = machine_.allocate_global(bytes.size(), {.name = name, .writable = false});
    std::memcpy(memory, bytes.data(), bytes.size());
    return memory;
  }

  emulator::Machine machine_;
  ProblemOperands operands_;
  Expected<Plan> plan_ = Error{};
  Buffers buffers_;
  size_t workspace_bytes_ = 0;
};

TEST(DequantisedSchedules, report_nothing_and_change_no_bit) {
  Runner runner;
  std::vector<uint8_t> first;
  for (const MachineOptions& options : faults::all_schedules(6)) {
    const LaunchResult result = runner.run(options);
    ASSERT_TRUE(result.reports.empty()) << result.reports[0].message;
    if (first.empty()) first = runner.result();
    EXPECT_EQ(runner.result(), first);
  }
}

struct Planted {
  const char* name;
  FaultSpec fault;
  faults::Symptom symptom;
};

// The kernels' own rings have faults of their own elsewhere (tests/pipeline, tests/faults); these are those
// of the kernel before the product.
TEST(PlantedInDequantised, is_reported) {
  using faults::nth;
  using faults::reports;
  using faults::skip;
  using faults::thread;
  using enum ReportKind;
  const faults::Symptom unawaited = reports(dependency_not_waited).at("A scales");
  const Planted table[] = {
      {"nobody waits for the kernel before", skip(Op::grid_dependency_wait), unawaited},
      {"one thread does not wait", thread(128, skip(Op::grid_dependency_wait)), unawaited},
      {"flags are collected without a barrier", nth(0, skip(Op::sync_threads)),
       reports(uninitialised_read, read_before_ready)},
      {"a warp leaves its flag out", thread(32, skip(Op::store_shared)), reports(uninitialised_read)},
  };
  Runner runner;
  for (const Planted& row : table) {
    faults::expect_reported(row.fault, row.symptom, row.name, faults::all_schedules(3),
                            [&](const MachineOptions& options) { return Expected(runner.run(options)); });
  }
}

}  // namespace
}  // namespace tilewright::testing
