#include "tests/faults/gemm_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace tilewright::faults {

using emulator::Machine;
using emulator::MachineOptions;

constexpr auto kFast = Accumulation::fast;

const GemmCase kPromoted128x256{.name = "promoted_128x256", .tile = {128, 256}, .k_tiles = 4};
const GemmCase kPromoted256x128{
    .name = "promoted_256x128", .tile = {256, 128}, .d = DType::e4m3, .k_tiles = 5};
const GemmCase kPromoted64x64{.name = "promoted_64x64", .tile = {64, 64}};
const GemmCase kPromoted256x64{.name = "promoted_256x64", .tile = {256, 64}, .k_tiles = 2};
const GemmCase kGroups64x64{.name = "groups_64x64", .tile = {64, 64}, .interval = 8, .k_tiles = 5};
const GemmCase kOut8{.name = "out8_64x64", .tile = {64, 64}, .d = DType::e4m3};
const GemmCase kOut32{.name = "out32_64x64", .tile = {64, 64}, .d = DType::f32};
const GemmCase kFast128x128{.name = "fast_128x128", .tile = {128, 128}, .accumulation = kFast, .k_tiles = 5};
const GemmCase kFast128x256{.name = "fast_128x256", .tile = {128, 256}, .accumulation = kFast};
const GemmCase kInterval1{.name = "interval1_128x128", .tile = {128, 128}, .interval = 1, .k_tiles = 2};
const GemmCase kInterval2{.name = "interval2_128x128", .tile = {128, 128}, .interval = 2};
const GemmCase kCopy{
    .name = "copy_64x128", .tile = {64, 128}, .load = LoadKind::copy, .k_tiles = 4, .k_missing = 49};
const GemmCase kCopyOut8{.name = "copy_direct_out8_64x128",
                         .tile = {64, 128},
                         .d = DType::e5m2,
                         .load = LoadKind::copy,
                         .store = StoreKind::direct,
                         .k_tiles = 2,
                         .k_missing = 52};
const GemmCase kCopyAhead{
    .name = "copy_ahead_64x128", .tile = {64, 128}, .load = LoadKind::copy, .k_tiles = 4, .stages = 3};
const GemmCase kDirect{.name = "direct_64x64", .tile = {64, 64}, .store = StoreKind::direct};
const GemmCase kSource{.name = "source_64x64", .tile = {64, 64}, .device_alpha = true, .source = true};
const GemmCase kCluster2x1{.name = "cluster2x1_64x64", .tile = {64, 64}, .cluster = {2, 1}};
const GemmCase kCluster1x2{.name = "cluster1x2_64x64", .tile = {64, 64}, .cluster = {1, 2}};
const GemmCase kCluster2x2{.name = "cluster2x2_64x64", .tile = {64, 64}, .cluster = {2, 2}};
constexpr auto kVectorScales = ScaleMode::per_row_column;
constexpr auto kBlockScales = ScaleMode::block_1x128_128x128;
const GemmCase kVectors128x128{.name = "vectors_128x128", .tile = {128, 128}, .scale_mode = kVectorScales};
const GemmCase kVectors128x256{
    .name = "vectors_128x256", .tile = {128, 256}, .k_tiles = 4, .scale_mode = kVectorScales};
const GemmCase kBlocks64x128{.name = "blocks_64x128", .tile = {64, 128}, .scale_mode = kBlockScales};
const GemmCase kBlocks128x256{
    .name = "blocks_128x256", .tile = {128, 256}, .k_tiles = 4, .scale_mode = kBlockScales};
const GemmCase kBlocksCopy{.name = "blocks_copy_64x128",
                           .tile = {64, 128},
                           .load = LoadKind::copy,
                           .k_missing = 49,
                           .scale_mode = kBlockScales};
const GemmCase kBlocksCluster{
    .name = "blocks_cluster2x1_64x128", .tile = {64, 128}, .cluster = {2, 1}, .scale_mode = kBlockScales};
const GemmCase kBlocksAlongK{
    .name = "blocks_along_k_64x128", .tile = {64, 128}, .scale_mode = kBlockScales, .scales_along_k = true};
const GemmCase kBlocksBatched{
    .name = "blocks_batched_64x128", .tile = {64, 128}, .batches = 2, .scale_mode = kBlockScales};

std::vector<const GemmCase*> gemm_cases() {
  return {&kPromoted128x256,
          &kPromoted256x128,
          &kVectors128x256,
          &kPromoted64x64,
          &kPromoted256x64,
          &kGroups64x64,
          &kOut8,
          &kOut32,
          &kFast128x128,
          &kFast128x256,
          &kInterval1,
          &kInterval2,
          &kCopy,
          &kCopyOut8,
          &kCopyAhead,
          &kDirect,
          &kSource,
          &kCluster2x1,
          &kCluster1x2,
          &kCluster2x2,
          &kVectors128x128,
          &kBlocks64x128,
          &kBlocks128x256,
          &kBlocksCopy,
          &kBlocksCluster,
          &kBlocksAlongK,
          &kBlocksBatched};
}

namespace {

constexpr int64_t kTilesPerCta = 3;

Problem problem_of(const GemmCase& gemm) {
  Problem problem;
  problem.m = gemm.tile.m * gemm.cluster.m * kTilesPerCta - 8;
  problem.n = gemm.tile.n * gemm.cluster.n - 16;
  problem.k = gemm.k_tiles * 128 - gemm.k_missing;
  problem.l = gemm.batches;
  problem.c.type = problem.d.type = gemm.d;
  problem.accumulation = gemm.accumulation;
  problem.interval = gemm.interval;
  problem.beta = gemm.source ? 1 : 0;
  problem.scale_mode = gemm.scale_mode;
  if (gemm.scales_along_k) problem.a_scales = {.line_stride = gemm.k_tiles, .k_stride = 1};
  return problem;
}

Options options_of(const GemmCase& gemm) {
  Options options;
  options.device = Device::emulator;
  options.tile = gemm.tile;
  options.cluster = gemm.cluster;
  options.stages = gemm.stages;
  options.max_sms = gemm.cluster.m * gemm.cluster.n;
  options.load = gemm.load;
  options.store = gemm.store;
  return options;
}

/// `bytes` bytes whose values are finite and small in each of the types of the operands.
void* random_bytes(Machine& machine, size_t bytes, const char* name) {
  void* memory = machine.allocate_global(bytes, {.name = name, .writable = false});
  std::mt19937 random(1);
  for (size_t i = 0; i < bytes; ++i) static_cast<uint8_t*>(memory)[i] = random() & 0xB7;
  return memory;
}

/// `count` scales of 1/2.
const float* scales(Machine& machine, size_t count, const char* name) {
  auto* memory =
      static_cast<float*>(machine.allocate_global(count * sizeof(float), {.name = name, .writable = false}));
  std::fill_n(memory, count, 0.5f);
  return memory;
}

}  // namespace

std::optional<GemmRunner> GemmRunner::make(const GemmCase& gemm) {
#ifdef TILEWRIGHT_FEWER_KERNELS
  constexpr bool fewer_kernels = true;
#else
  constexpr bool fewer_kernels = false;
#endif
  const Problem problem = problem_of(gemm);
  Expected<Plan> planned = plan(problem, options_of(gemm));
  if (!planned) {
    EXPECT_TRUE(fewer_kernels && planned.error().rule == "tile.built")
        << gemm.name << ": " << planned.error().message;
    return std::nullopt;
  }
  return GemmRunner(gemm, problem, *planned);
}

GemmRunner::GemmRunner(const GemmCase& gemm, const Problem& problem, Plan plan)
    : machine_(std::make_unique<Machine>()), plan_(std::move(plan)) {
  const auto m = static_cast<size_t>(problem.m), n = static_cast<size_t>(problem.n);
  const auto k = static_cast<size_t>(problem.k), l = static_cast<size_t>(problem.l);
  d_bytes_ = l * m * n * static_cast<size_t>(bits_of(gemm.d)) / 8;
  buffers_.a = random_bytes(*machine_, l * m * k, "matrix A");
  buffers_.b = random_bytes(*machine_, l * n * k, "matrix B");
  buffers_.d = machine_->allocate_global(d_bytes_, {.name = "matrix D", .initialised = false});
  if (gemm.source) buffers_.c = random_bytes(*machine_, d_bytes_, "matrix C");
  if (gemm.scale_mode != ScaleMode::per_tensor) {
    const bool blocks = gemm.scale_mode == kBlockScales;
    const size_t k_blocks = l * (blocks ? (k + 127) / 128 : 1);
    buffers_.scale_a = scales(*machine_, m * k_blocks, "scales of A");
    buffers_.scale_b = scales(*machine_, (blocks ? (n + 127) / 128 : n) * k_blocks, "scales of B");
  }
  if (gemm.device_alpha) {
    void* alpha = machine_->allocate_global(sizeof(float), {.name = "alpha", .writable = false});
    const float value = 0.5f;
    std::memcpy(alpha, &value, sizeof value);
    buffers_.alpha = static_cast<const float*>(alpha);
  }
}

Expected<emulator::LaunchResult> GemmRunner::run(const MachineOptions& options) {
  machine_->set_options(options);
  std::memset(buffers_.d, 0xFF, d_bytes_);
  const Status status = plan_.run(buffers_, machine_.get());
  if (status && status->code != ErrorCode::emulator) return *status;
  return machine_->last_result();
}

std::vector<std::byte> GemmRunner::result() const {
  const auto* d = static_cast<const std::byte*>(buffers_.d);
  return {d, d + d_bytes_};
}

std::vector<MachineOptions> schedules(uint64_t seeds, double share) {
  return all_schedules(seeds_or(seeds, share), {.arithmetic = false});
}

}  // namespace tilewright::faults
