#include "tests/simt/fault_case.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tilewright::faults {

using emulator::Machine;
using emulator::MachineOptions;

constexpr Layout kAlongK = Layout::row_major;

const SimtCase kSimtTma{.name = "tma"};
const SimtCase kSimtGather{.name = "gather", .load = LoadKind::copy};
const SimtCase kSimtGatherAlongK{.name = "gather_along_k", .load = LoadKind::copy, .a = kAlongK};
const SimtCase kSimtMixed{.name = "gather_and_tma", .load = LoadKind::automatic, .a = kAlongK};
const SimtCase kSimtRepack{.name = "repack", .a = kAlongK};
const SimtCase kSimtShared{.name = "shared_tiles", .splits = 3};
const SimtCase kSimtAsync{.name = "async", .load = LoadKind::automatic, .pipeline = PipelineKind::async};
const SimtCase kSimtAsyncAlongK{
    .name = "async_along_k", .load = LoadKind::automatic, .pipeline = PipelineKind::async, .a = kAlongK};

std::vector<const SimtCase*> simt_fault_cases() {
  return {&kSimtTma,    &kSimtGather, &kSimtGatherAlongK, &kSimtMixed,
          &kSimtRepack, &kSimtShared, &kSimtAsync,        &kSimtAsyncAlongK};
}

namespace {

Options options_of(const SimtCase& simt) {
  Options o;
  o.device = Device::emulator;
  o.tile = Shape2{32, 128};
  o.max_sms = simt.splits > 1 ? 3 : 1;
  o.splits = simt.splits;
  o.load = simt.load;
  o.pipeline = simt.pipeline;
  if (simt.load == LoadKind::automatic) o.max_workspace = 0;  // no repacking
  return o;
}

Plan planned(const Problem& problem, const Options& options) {
  Expected<Plan> plan = tilewright::plan(problem, options);
  EXPECT_TRUE(plan) << plan.error().message;
  return *plan;
}

void* small_floats(Machine& machine, size_t count, const char* name) {
  void* memory = machine.allocate_global(4 * count, {.name = name, .writable = false});
  for (size_t i = 0; i < count; ++i) static_cast<float*>(memory)[i] = static_cast<float>(i % 11) - 5;
  return memory;
}

}  // namespace

SimtRunner::SimtRunner(const SimtCase& simt) : case_(simt), machine_(std::make_unique<Machine>()) {
  const int64_t tile_k = simt.pipeline == PipelineKind::async ? 16 : 32;
  problem_.m = 4 * 32 - 8;
  problem_.n = 128 - 16;
  problem_.k = 5 * tile_k - 4;
  problem_.a = {.type = DType::f32, .layout = simt.a};
  problem_.b = problem_.c = problem_.d = {.type = DType::f32};
  place_operands();
  plan_ = planned(problem_, options_of(case_));
  const auto bytes = static_cast<size_t>(plan_->workspace_bytes());
  if (bytes > 0)
    buffers_.workspace = machine_->allocate_global(bytes, {.name = "workspace", .initialised = false});
}

void SimtRunner::place_operands() {
  const auto m = static_cast<size_t>(problem_.m), n = static_cast<size_t>(problem_.n);
  const auto k = static_cast<size_t>(problem_.k);
  buffers_.a = small_floats(*machine_, m * k, "matrix A");
  buffers_.b = small_floats(*machine_, n * k, "matrix B");
  d_bytes_ = 4 * m * n;
  buffers_.d = machine_->allocate_global(d_bytes_, {.name = "matrix D", .initialised = false});
}

void SimtRunner::plan_beyond(int64_t more_m, int64_t more_n, int64_t more_k) {
  Problem larger = problem_;
  larger.m += more_m;
  larger.n += more_n;
  larger.k += more_k;
  plan_ = planned(larger, options_of(case_));
}

Expected<emulator::LaunchResult> SimtRunner::run(const MachineOptions& options) {
  machine_->set_options(options);
  std::memset(buffers_.d, 0xFF, d_bytes_);
  const Status status = plan_->run(buffers_, machine_.get());
  if (status && status->code != ErrorCode::emulator) return *status;
  return machine_->last_result();
}

std::vector<std::byte> SimtRunner::result() const {
  const auto* d = static_cast<const std::byte*>(buffers_.d);
  return {d, d + d_bytes_};
}

}  // namespace tilewright::faults
