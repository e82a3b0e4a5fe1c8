// A persistent GEMM of the usual shape (producer warp, ring of stages, wgmma consumers, TMA store), alone and
// as a cluster that multicasts: clean under every schedule, and each synchronisation line is missed when it
// is left out.
#include <array>
#include <cstring>
#include <string>

#include "tests/emulator/micro.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kTile = 64;                 // rows and columns
constexpr uint32_t kDepth = 128;               // bytes of K per stage
constexpr uint32_t kOperand = kTile * kDepth;  // bytes of A or B in a stage
constexpr uint32_t kStages = 2;
constexpr uint32_t kStageBytes = 2 * kOperand;
constexpr uint32_t kStaging = kSharedBase + kStages * kStageBytes;  // D: 64 x 64 f32
constexpr uint32_t kStagingBytes = kTile * kTile * 4;
constexpr uint32_t kFull = kStaging + kStagingBytes;
constexpr uint32_t kEmpty = kFull + 8 * kStages;
constexpr uint32_t kSharedBytes = kEmpty + 8 * kStages - kSharedBase;
constexpr uint32_t kTilesPerCta = 3, kSteps = 3;
constexpr uint32_t kConsumerThreads = 128;

struct Ring {
  uint32_t stage = 0, phase = 0;
  void advance() {
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
  }
};

/// D = A B^T for a column of tiles of D per CTA; in a cluster, B is the same for all CTAs and each loads its
/// share.
struct GemmKernel {
  const TensorMap* a;
  const TensorMap* b;
  const TensorMap* d;

  void operator()() const {
    const uint32_t size = cluster_dim().x;
    if (thread_id() == 0) {
      for (uint32_t s = 0; s < kStages; ++s) {
        const int stage = static_cast<int>(s);
        name_barrier(kFull + 8 * s, "full", stage);
        name_barrier(kEmpty + 8 * s, "empty", stage);
        name_shared(kSharedBase + s * kStageBytes, kOperand, "A", stage);
        name_shared(kSharedBase + s * kStageBytes + kOperand, kOperand, "B", stage);
        mbarrier_init(kFull + 8 * s, 1);
        mbarrier_init(kEmpty + 8 * s, 4 * size);  // one lane of each consumer warp of the cluster
      }
      name_shared(kStaging, kStagingBytes, "D", -1);
      fence_mbarrier_init();
    }
    cluster_arrive(true);
    cluster_wait();
    if (warp_id() < 4) {
      name_role("consumer");
      consume(size);
    } else {
      name_role("producer");
      if (elect_one(~0u)) produce(size);
    }
    cluster_arrive(false);
    cluster_wait();
  }

 private:
  void produce(uint32_t size) const {
    Ring at;
    const uint32_t share = kTile / size;
    const auto mask = static_cast<uint16_t>(size == 1 ? 0 : (1u << size) - 1);
    for (uint32_t tile = 0; tile < kTilesPerCta; ++tile) {
      const auto row = static_cast<int32_t>((block_index().x * kTilesPerCta + tile) * kTile);
      for (uint32_t step = 0; step < kSteps; ++step) {
        mbarrier_wait_parity(kEmpty + 8 * at.stage, at.phase ^ 1);
        const uint32_t full = kFull + 8 * at.stage, stage = kSharedBase + at.stage * kStageBytes;
        mbarrier_arrive_expect_tx(full, kStageBytes);
        const auto k = static_cast<int32_t>(step * kDepth);
        const std::array<int32_t, 2> at_a{k, row};
        const std::array<int32_t, 2> at_b{k, static_cast<int32_t>(cluster_rank() * share)};
        tma_load(stage, a, full, at_a.data(), 2, 0);
        tma_load(stage + kOperand + cluster_rank() * share * kDepth, b, full, at_b.data(), 2, mask);
        at.advance();
      }
    }
  }

  void consume(uint32_t size) const {
    Ring at;
    float sum[32];
    const WgmmaInstruction mma = {.n = 64, .a = MmaType::e4m3, .b = MmaType::e4m3, .d = AccumulatorType::f32};
    for (uint32_t tile = 0; tile < kTilesPerCta; ++tile) {
      uint32_t previous = 0;
      for (uint32_t step = 0; step < kSteps; ++step) {
        mbarrier_wait_parity(kFull + 8 * at.stage, at.phase);
        const uint32_t stage = kSharedBase + at.stage * kStageBytes;
        wgmma_fence();
        for (uint32_t k = 0; k < kDepth; k += 32) {
          wgmma(mma, sum, nullptr, operand(stage + k), operand(stage + kOperand + k), step + k != 0);
        }
        wgmma_commit();
        wgmma_wait(1);
        if (step != 0) release(previous, size);
        previous = at.stage;
        at.advance();
      }
      wgmma_wait(0);
      release(previous, size);
      store(sum, tile);
    }
    if (thread_id() == 0) bulk_wait(0, true);
  }

  static uint64_t operand(uint32_t start) {
    return start >> 4 | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
  }

  static void release(uint32_t stage, uint32_t size) {
    if (lane_id() < size) mbarrier_arrive(map_shared(kEmpty + 8 * stage, lane_id()), 1);
  }

  void store(const float (&sum)[32], uint32_t tile) const {
    if (thread_id() == 0) bulk_wait(0, true);
    named_barrier_sync(1, kConsumerThreads);
    for (uint32_t i = 0; i < 32; i += 2) {
      const uint32_t row = 16 * warp_id() + lane_id() / 4 + 8 * (i / 2 % 2);
      const uint32_t column = 8 * (i / 4) + 2 * (lane_id() % 4);
      store_shared(kStaging + 4 * (kTile * row + column), &sum[i], 8);
    }
    fence_proxy_async(ProxyFence::shared_cta);
    named_barrier_sync(2, kConsumerThreads);
    if (thread_id() != 0) return;
    const std::array<int32_t, 2> at{0, static_cast<int32_t>((block_index().x * kTilesPerCta + tile) * kTile)};
    tma_store(d, kStaging, at.data(), 2);
    bulk_commit();
  }
};

struct FaultCase {
  const char* name;
  FaultSpec fault;
  std::vector<ReportKind> kinds;
  const char* place = "";  // of at least one of the reports
};

class Pipeline : public Emulator, public testing::WithParamInterface<uint32_t> {
 protected:
  static constexpr uint32_t kCtas = 2;
  static constexpr uint32_t kRows = kCtas * kTilesPerCta * kTile, kK = kSteps * kDepth;

  void SetUp() override {
    a_ = allocate("A", size_t{kRows} * kK, true);
    b_ = allocate("B", size_t{kTile} * kK, true);
    d_ = reinterpret_cast<float*>(allocate("D", size_t{kRows} * kTile * 4, false));
    for (uint32_t i = 0; i < kRows * kK; ++i) a_[i] = code(i);
    for (uint32_t i = 0; i < kTile * kK; ++i) b_[i] = code(i + 999);
    maps_[0] = encode(a_, TmaType::u8, kK, kRows, kDepth, kTile, Swizzle::b128);
    maps_[1] = encode(b_, TmaType::u8, kK, kTile, kDepth, kTile / GetParam(), Swizzle::b128);
    maps_[2] = encode(d_, TmaType::f32, kTile, kRows, kTile, kTile, Swizzle::none);
  }

  uint8_t* allocate(const char* name, size_t bytes, bool input) {
    return static_cast<uint8_t*>(
        machine_.allocate_global(bytes, {.name = name, .writable = !input, .initialised = input}));
  }
  static uint8_t code(uint32_t i) {
    return (i * 2654435761u >> 30) % 2 != 0 ? 0x38 : 0xB8;
  }  // 1 or -1 in e4m3
  static TensorMap encode(void* base, TmaType type, uint32_t columns, uint32_t rows, uint32_t box_columns,
                          uint32_t box_rows, Swizzle swizzle) {
    TensorMapSpec spec;
    spec.base = base;
    spec.type = type;
    spec.rank = 2;
    spec.extent = {columns, rows};
    spec.strides = {uint64_t{columns} * bytes_of(type)};
    spec.box = {box_columns, box_rows};
    spec.swizzle = swizzle;
    const Expected<TensorMap> map = encode_for_emulator(spec);
    EXPECT_TRUE(map.has_value()) << map.error().message;
    return map ? *map : TensorMap{};
  }
  GemmKernel kernel() const { return {&maps_[0], &maps_[1], &maps_[2]}; }
  static Grid grid() {
    return {.threads = 160, .ctas = kCtas, .cluster = GetParam(), .shared_bytes = kSharedBytes};
  }
  float expected(uint32_t row, uint32_t column) const {
    int sum = 0;
    for (uint32_t k = 0; k < kK; ++k) sum += a_[row * kK + k] == b_[column * kK + k] ? 1 : -1;
    return static_cast<float>(sum);
  }

  uint8_t *a_ = nullptr, *b_ = nullptr;
  float* d_ = nullptr;
  alignas(128) std::array<TensorMap, 3> maps_;
};

TEST_P(Pipeline, ComputesTheProductUnderEverySchedule) {
  MachineOptions options;
  for (const SchedulePolicy policy :
       {SchedulePolicy::fair, SchedulePolicy::random, SchedulePolicy::adversarial}) {
    options.schedule = policy;
    for (options.seed = 0; options.seed < 4; ++options.seed) {
      std::memset(d_, 0xFF, size_t{kRows} * kTile * 4);
      const LaunchResult result = run(options, grid(), kernel());
      ASSERT_TRUE(result.reports.empty()) << result.reports[0].message;
      EXPECT_EQ(result.statistics.count(Op::wgmma), kCtas * kTilesPerCta * kSteps * (kDepth / 32));
      EXPECT_EQ(result.statistics.count(Op::tma_store), kCtas * kTilesPerCta);
      EXPECT_GE(result.statistics.most_barrier_phases, 4u);  // the ring wrapped
      for (uint32_t row = 0; row < kRows; row += 5) {
        for (uint32_t column = 0; column < kTile; column += 3) {
          ASSERT_EQ(d_[row * kTile + column], expected(row, column)) << row << ' ' << column;
        }
      }
    }
  }
}

TEST_P(Pipeline, IsCleanUnderEverySchedule) {
  MachineOptions options;
  options.arithmetic = false;
  expect_clean(
      grid(), kernel(), [] {}, options);
}

std::vector<FaultCase> fault_cases() {
  using Action = FaultSpec::Action;
  using Occurrence = FaultSpec::Occurrence;
  using Kind = ReportKind;
  const std::vector<Kind> early = {Kind::read_before_ready, Kind::uninitialised_read};
  const std::vector<Kind> parity = {Kind::deadlock,           Kind::parity_alias,     Kind::overwrite_in_use,
                                    Kind::read_before_ready,  Kind::unordered_writes, Kind::over_arrival,
                                    Kind::uninitialised_read, Kind::byte_count};
  return {
      {"consumer does not wait for full", {.op = Op::mbarrier_wait, .place = "full"}, early, "A"},
      {"one consumer thread does not wait",
       {.op = Op::mbarrier_wait, .place = "full", .thread = 70},
       early,
       "A"},
      {"full is not waited for once",
       {.op = Op::mbarrier_wait, .place = "full", .occurrence = Occurrence::only_nth, .nth = 4},
       {Kind::read_before_ready, Kind::overwrite_in_use},
       "A"},
      {"producer does not wait for empty",
       {.op = Op::mbarrier_wait, .place = "empty"},
       {Kind::over_arrival, Kind::unordered_writes, Kind::overwrite_in_use, Kind::parity_alias}},
      {"empty is not waited for once",
       {.op = Op::mbarrier_wait, .place = "empty", .occurrence = Occurrence::only_nth, .nth = 4},
       {Kind::overwrite_in_use, Kind::unordered_writes, Kind::over_arrival, Kind::parity_alias,
        Kind::byte_count}},
      {"parity of full flipped",
       {.op = Op::mbarrier_wait, .place = "full", .action = Action::flip_parity},
       parity},
      {"parity of empty flipped",
       {.op = Op::mbarrier_wait, .place = "empty", .action = Action::flip_parity},
       parity},
      {"parity of full not flipped after a tile",
       {.op = Op::mbarrier_wait,
        .place = "full",
        .action = Action::flip_parity,
        .occurrence = Occurrence::from_nth,
        .nth = 5},
       parity},
      {"no arrival with the bytes", {.op = Op::mbarrier_arrive_expect_tx}, {Kind::deadlock}, "full"},
      {"bytes of one operand only",
       {.op = Op::mbarrier_arrive_expect_tx, .action = Action::replace, .value = kOperand},
       {Kind::byte_count, Kind::read_before_ready, Kind::uninitialised_read}},
      {"too many bytes",
       {.op = Op::mbarrier_arrive_expect_tx, .action = Action::add, .value = 16},
       {Kind::deadlock},
       "full"},
      {"a load is missing",
       {.op = Op::tma_load, .place = "B", .occurrence = Occurrence::only_nth, .nth = 3},
       {Kind::deadlock},
       "full"},
      {"a load lands in the other operand",
       {.op = Op::tma_load, .place = "B", .action = Action::add, .value = -int64_t{kOperand}},
       {Kind::unordered_writes, Kind::uninitialised_read, Kind::read_before_ready, Kind::overwrite_in_use}},
      {"a load is off the swizzle atom",
       {.op = Op::tma_load, .place = "A", .action = Action::add, .value = 128},
       {Kind::misaligned},
       "A"},
      {"stage is not released",
       {.op = Op::mbarrier_arrive, .place = "empty", .stage = 1},
       {Kind::deadlock},
       "empty"},
      {"one warp does not release",
       {.op = Op::mbarrier_arrive, .place = "empty", .thread = 96},
       {Kind::deadlock},
       "empty"},
      {"released twice",
       {.op = Op::mbarrier_arrive, .place = "empty", .thread = 0, .action = Action::add, .value = 1},
       {Kind::over_arrival, Kind::parity_alias, Kind::overwrite_in_use, Kind::deadlock,
        Kind::read_before_ready}},
      {"released before the group is done",
       {.op = Op::wgmma_wait, .action = Action::replace, .value = 2},
       {Kind::overwrite_in_use, Kind::accumulator_in_flight}},
      {"one group is never waited for",
       {.op = Op::wgmma_wait, .action = Action::replace, .value = 1},
       {Kind::overwrite_in_use, Kind::accumulator_in_flight, Kind::exit_with_pending_work}},
      {"no wgmma fence", {.op = Op::wgmma_fence}, {Kind::missing_wgmma_fence}},
      {"no wgmma commit",
       {.op = Op::wgmma_commit},
       {Kind::overwrite_in_use, Kind::accumulator_in_flight, Kind::exit_with_pending_work}},
      {"A operand of the other stage",
       {.op = Op::wgmma,
        .action = Action::add,
        .value = kStageBytes / 16,
        .occurrence = Occurrence::only_nth,
        .nth = 0},
       early},
      {"B operand off its atom",
       {.op = Op::wgmma, .action = Action::add, .value = 16, .on_second = true},
       {Kind::descriptor},
       "B"},
      {"no proxy fence", {.op = Op::fence_proxy_async}, {Kind::missing_proxy_fence}, "D"},
      {"no proxy fence by one thread",
       {.op = Op::fence_proxy_async, .thread = 127},
       {Kind::missing_proxy_fence},
       "D"},
      {"store before all have written",
       {.op = Op::named_barrier_sync, .occurrence = Occurrence::only_nth, .nth = 1},
       {Kind::read_before_ready, Kind::uninitialised_read},
       "D"},
      {"source of the store reused",
       {.op = Op::bulk_wait, .occurrence = Occurrence::only_nth, .nth = 1},
       {Kind::overwrite_in_use},
       "D"},
      {"left with a store outstanding",
       {.op = Op::bulk_wait, .occurrence = Occurrence::only_nth, .nth = 3},
       {Kind::exit_with_pending_work}},
      {"barrier not initialised",
       {.op = Op::mbarrier_init, .place = "empty", .stage = 1},
       {Kind::barrier_not_initialised}},
      {"arrival count too small",
       {.op = Op::mbarrier_init, .place = "empty", .action = Action::add, .value = -1},
       {Kind::over_arrival, Kind::parity_alias, Kind::overwrite_in_use, Kind::read_before_ready,
        Kind::deadlock, Kind::exit_with_pending_work, Kind::unordered_writes}},
      {"arrival count too large",
       {.op = Op::mbarrier_init, .place = "empty", .action = Action::add, .value = 1},
       {Kind::deadlock}},
      {"initialisation not fenced", {.op = Op::fence_mbarrier_init}, {Kind::barrier_init_not_visible}},
      {"no barrier after the initialisation",
       {.op = Op::cluster_wait, .occurrence = Occurrence::only_nth, .nth = 0},
       {Kind::barrier_init_not_visible, Kind::barrier_not_initialised, Kind::cluster_barrier,
        Kind::non_uniform}},
  };
}

TEST_P(Pipeline, EveryFaultIsReported) {
  for (const FaultCase& c : fault_cases()) {
    MachineOptions options;
    options.arithmetic = false;
    options.fault = c.fault;
    bool place_found = c.place[0] == '\0';
    for (const MachineOptions& schedule : schedules(options)) {
      SCOPED_TRACE(std::string(c.name) + ", " + name_of(schedule));
      // Without instrumentation registers in flight are not seen; the groups are missed at the exit.
      const LaunchResult result = run(schedule, grid(), kernel());
      ASSERT_FALSE(result.reports.empty()) << "nothing was reported";
      const Report& first = result.reports[0];
      ASSERT_TRUE(std::find(c.kinds.begin(), c.kinds.end(), first.kind) != c.kinds.end())
          << name_of(first.kind) << ": " << first.message;
      place_found = place_found || first.place == c.place;
    }
    EXPECT_TRUE(place_found) << c.name << ": no report names " << c.place;
  }
}

// What only a cluster can get wrong.
class ClusterPipeline : public Pipeline {};

TEST_P(ClusterPipeline, ClusterFaultsAreReported) {
  using Action = FaultSpec::Action;
  MachineOptions options;
  options.arithmetic = false;
  expect_fault({ReportKind::multicast_mask},
               {.op = Op::tma_load, .place = "B", .action = Action::replace, .value = 0b101, .on_mask = true},
               grid(), kernel(), options);
  expect_fault({ReportKind::deadlock},
               {.op = Op::tma_load,
                .place = "B",
                .cta_rank = 1,
                .action = Action::replace,
                .value = 0b10,
                .on_mask = true},
               grid(), kernel(), options);
  // A CTA that releases only to itself.
  expect_fault({ReportKind::deadlock},
               {.op = Op::mbarrier_arrive, .place = "empty", .cta_rank = 0, .thread = 1}, grid(), kernel(),
               options);
  // No barrier at the end: the peer's arrivals may come after the exit.
  expect_fault({ReportKind::exit_before_peer},
               {.op = Op::cluster_wait, .occurrence = FaultSpec::Occurrence::only_nth, .nth = 1}, grid(),
               kernel(), options);
}

INSTANTIATE_TEST_SUITE_P(Clusters, Pipeline, testing::Values(1u, 2u),
                         [](const auto& info) { return "of" + std::to_string(info.param); });
INSTANTIATE_TEST_SUITE_P(Clusters, ClusterPipeline, testing::Values(2u),
                         [](const auto& info) { return "of" + std::to_string(info.param); });

}  // namespace
}  // namespace tilewright::emulator
