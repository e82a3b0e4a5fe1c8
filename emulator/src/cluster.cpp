#include "cluster.h"

#include <algorithm>
#include <cstring>

#include "tensor_memory.h"
#include "text.h"

namespace tilewright::emulator {

constinit thread_local Thread* current_thread = nullptr;

Cluster::Cluster(Launch& the_launch, ClusterStorage& storage, uint32_t id, Index3 first_block, Ticks start)
    : launch(the_launch), storage_(storage), id_(id) {
  const LaunchConfig& config = launch.config;
  const uint32_t warps_per_cta = (launch.threads_per_cta + kWarpLanes - 1) / kWarpLanes;
  const uint32_t shared_end = kReservedShared + config.shared_bytes;
  window_base_ = reinterpret_cast<uintptr_t>(storage.windows());
  ctas.resize(launch.ctas_per_cluster);
  for (uint32_t rank = 0; rank < ctas.size(); ++rank) {
    Cta& cta = ctas[rank];
    cta.rank = rank;
    cta.block = {first_block.x + rank % config.cluster.x,
                 first_block.y + rank / config.cluster.x % config.cluster.y,
                 first_block.z + rank / config.cluster.x / config.cluster.y};
    cta.number = cta.block.x + config.grid.x * (cta.block.y + config.grid.y * cta.block.z);
    cta.window = storage.windows() + size_t{rank} * kWindowStride;
    cta.shared_end = shared_end;
    // Never-written memory holds NaN in every floating-point format.
    std::memset(cta.window, 0xFF, shared_end);
    cta.live_threads = launch.threads_per_cta;
    cta.barrier_at.assign(shared_end / 8 + 1, -1);
    cta.shadow.reset(shared_end, false);
    const uint64_t taken = uint64_t{warps_per_cta} * kWarpLanes * launch.registers_at_entry;
    const uint64_t share = kRegistersPerMultiprocessor / config.ctas_per_sm;
    cta.free_registers = taken < share ? static_cast<uint32_t>(share - taken) : 0;
  }
  start_clock(start);
  create_threads();
  const uint64_t seed = launch.options().seed;
  earliness_ = seed % 4 == 0 ? Earliness::early : seed % 4 == 1 ? Earliness::late : Earliness::mixed;
  slices_ = launch.options().schedule == SchedulePolicy::adversarial && seed / 4 % 2 == 0;
}

Cluster::~Cluster() = default;

void Cluster::create_threads() {
  const LaunchConfig& config = launch.config;
  const uint32_t per_cta = launch.threads_per_cta;
  const uint32_t warps_per_cta = (per_cta + kWarpLanes - 1) / kWarpLanes;
  const uint32_t groups_per_cta = (warps_per_cta + 3) / 4;
  threads = std::vector<Thread>(size_t{per_cta} * ctas.size());
  warps.resize(size_t{warps_per_cta} * ctas.size());
  groups = std::vector<Warpgroup>(size_t{groups_per_cta} * ctas.size());
  ready_.assign(warps.size(), 0);
  priority_.resize(warps.size());
  for (uint32_t& priority : priority_) priority = static_cast<uint32_t>(launch.random.next());
  live_threads = static_cast<uint32_t>(threads.size());
  wide_begin_ = live_threads + static_cast<uint32_t>(groups.size());
  wide_end_ = wide_begin_ + (ctas.size() > 1 ? live_threads : 0);
  clocks.reset(live_threads, wide_end_);
  cluster_barrier.clock = clocks.new_clock();
  cluster_barrier.released_clock = clocks.new_clock();

  for (uint32_t agent = 0; agent < threads.size(); ++agent) {
    Thread& thread = threads[agent];
    const uint32_t rank = agent / per_cta;
    thread.cluster = this;
    thread.cta = &ctas[rank];
    thread.index = agent % per_cta;
    thread.agent = agent;
    thread.lane = thread.index % kWarpLanes;
    thread.position = {thread.index % config.block.x, thread.index / config.block.x % config.block.y,
                       thread.index / config.block.x / config.block.y};
    const uint32_t warp = rank * warps_per_cta + thread.index / kWarpLanes;
    thread.warp = &warps[warp];
    thread.warp->cta = thread.cta;
    thread.warp->index = warp;
    thread.warp->lanes |= 1u << thread.lane;
    thread.warp->registers = launch.registers_at_entry;
    const uint32_t group = thread.index / kGroupThreads;
    thread.group = &groups[rank * groups_per_cta + group];
    thread.group->cta = thread.cta;
    thread.group->index = group;
    thread.group->threads[thread.index % kGroupThreads] = &thread;
    thread.group->complete = thread.index % kGroupThreads == kGroupThreads - 1 || thread.group->complete;
    tick(thread);
    thread.time = start_time_;
    thread.stack = reinterpret_cast<uintptr_t>(storage_.stacks.bottom(agent));
    thread.fiber.start(storage_.stacks.bottom(agent), StackArena::usable_bytes(), &Cluster::run_thread,
                       &thread);
    make_ready(thread);
  }
}

void Cluster::run_thread(void* argument) {
  Thread& thread = *static_cast<Thread*>(argument);
  thread.cluster->launch.body(thread.cluster->launch.closure);
  thread.cluster->exit_thread(thread);
  thread.cluster->leave(thread);
}

void Cluster::exit_thread(Thread& thread) {
  check_exit(thread);
  thread.exited = true;
  end_time_ = std::max(end_time_, thread.time);
  thread.warp->exited_lanes |= 1u << thread.lane;
  thread.group->any_exited = true;
  --live_threads;
  if (thread.cluster_arrived) {
    thread.cluster_arrived = false;
    --cluster_barrier.arrived;
  }
  if (--thread.cta->live_threads == 0) exit_cta(*thread.cta);
  if (live_threads == 0) check_unfinished_phases();
  // The cluster barrier counts the threads that are left.
  if (cluster_barrier.arrived != 0 && cluster_barrier.arrived == live_threads) finish_cluster_barrier();
}

void Cluster::exit_cta(Cta& cta) {
  cta.exited = true;
  const uint32_t known = clocks.new_clock();
  const uint32_t first = cta.rank * launch.threads_per_cta;
  for (uint32_t i = 0; i < launch.threads_per_cta; ++i) clocks.join(known, first + i);
  for (uint32_t agent = 0; agent < cta.peer_access.size(); ++agent) {
    if (cta.peer_access[agent] <= clocks[known][agent]) continue;
    const Thread& peer = threads[agent];
    report(
        ReportKind::exit_before_peer, &threads[first],
        text("CTA ", cta.rank, " exits without knowing that an access to its shared memory or barriers by ",
             describe(peer), " has happened: a cluster barrier or a wait for that arrival is missing"));
    break;
  }
  for (const auto& barrier : barriers) {
    if (barrier->cta != &cta) continue;
    uint32_t& most = launch.result.statistics.most_barrier_phases;
    most = std::max(most, barrier->phase);
    check_left_barrier(*barrier, threads[first], clocks[known][barrier->agent]);
  }
  check_tensor_exit(*this, cta, known);
  clocks.free_clock(known);
  check_registers(cta);
}

// Copies that nobody waited for.
void Cluster::check_left_barrier(const Barrier& barrier, const Thread& thread, uint32_t known_phases) {
  if (barrier.live && barrier.issued > barrier.expected) {
    report(ReportKind::byte_count, &thread,
           text("copies of ", barrier.issued, " bytes were issued for phase ", barrier.phase, " of ",
                describe(barrier), ", which expects ", barrier.expected),
           barrier.name, barrier.stage);
  } else if (barrier.landing_epoch > known_phases) {
    report(ReportKind::exit_with_pending_work, &thread,
           text("exits while a copy for phase ", barrier.landing_epoch - 1, " of ", describe(barrier),
                " may still be writing shared memory: no thread waited for that phase"),
           barrier.name, barrier.stage);
  }
}

// When all CTAs have left: counts that do not add up.
void Cluster::check_unfinished_phases() {
  for (const auto& barrier : barriers) {
    if (!barrier->live || (barrier->pending == barrier->count && barrier->tx == 0)) continue;
    report(ReportKind::exit_with_pending_work, nullptr,
           text("the cluster ends in the middle of phase ", barrier->phase, " of ", describe(*barrier),
                ": it still lacks ", plural(barrier->pending, "arrival"), " of ", barrier->count, " and ",
                plural(barrier->tx, "byte"), ", so the arrivals of the kernel are not whole phases"),
           barrier->name, barrier->stage);
    return;
  }
}

}  // namespace tilewright::emulator
