// Who may touch which columns of tensor memory, and in what order.
#include "tensor_memory.h"

#include <algorithm>

#include "collectives.h"
#include "text.h"

namespace tilewright::emulator {
namespace {

constexpr TensorMoves TensorThread::*kMoves[] = {&TensorThread::loads, &TensorThread::stores};

// How many moves of a warp are over, as far as a clock knows the epochs of all of its lanes. `first`: lane 0.
uint32_t known_moves(Thread& first, TensorMoves TensorThread::*moves,
                     std::vector<uint32_t> TensorMoves::*epochs, const uint32_t* clock) {
  uint32_t known = (tensor_state(first).*moves).count;
  for_each_lane(first, ~0u, [&](Thread& lane) {
    const std::vector<uint32_t>& own = tensor_state(lane).*moves.*epochs;
    const auto end = std::upper_bound(own.begin(), own.end(), clock[lane.agent]);
    known = std::min(known, static_cast<uint32_t>(end - own.begin()));
  });
  return known;
}

// A fence::before_thread_sync is for the moves of its own lane: whoever relies on a warp's knows all 32
// fences.
void add_fenced_moves(Cluster& cluster, uint32_t* clock) {
  for (Cta& cta : cluster.ctas) {
    if (cta.tensor_memory == nullptr) continue;
    for (Thread* first : cta.tensor_memory->movers) {
      for (const auto moves : kMoves) {
        const uint32_t agent = (tensor_state(*first).*moves).agent;
        if (agent == kNoAgent) continue;
        clock[agent] = std::max(clock[agent], known_moves(*first, moves, &TensorMoves::fenced, clock));
      }
    }
  }
}

uint32_t scratch_clock(Cluster& cluster, Thread& thread) {
  TensorThread& state = tensor_state(thread);
  if (state.scratch == kNoAgent) state.scratch = cluster.clocks.new_clock();
  return state.scratch;
}

// What a lane knows that its tensor-memory operations may use, into `into`; not the moves of other warps.
void gather_clock(Cluster& cluster, Thread& thread, uint32_t into) {
  TensorThread& state = tensor_state(thread);
  if (state.fenced == kNoAgent) {
    std::fill_n(cluster.clocks[into], cluster.clocks.agents(), 0u);
  } else {
    cluster.clocks.copy(into, state.fenced);
  }
  uint32_t* clock = cluster.clocks[into];
  clock[thread.agent] = cluster.epoch_of(thread);
  if (state.agent != kNoAgent) clock[state.agent] = state.issued;
  for (const auto moves : kMoves) {
    const uint32_t agent = (warp_state(thread).*moves).agent;
    if (agent != kNoAgent) clock[agent] = static_cast<uint32_t>((state.*moves).waited.size());
  }
}

// What all lanes of the warp know so, into the clock of the acting one.
uint32_t gather_warp_clock(Cluster& cluster, Thread& thread) {
  const uint32_t into = scratch_clock(cluster, thread), other = cluster.clocks.new_clock();
  gather_clock(cluster, thread, into);
  for_each_lane(thread, ~0u, [&](Thread& lane) {
    if (&lane == &thread) return;
    gather_clock(cluster, lane, other);
    // Program order of a lane says nothing to the others; the warp moves together.
    cluster.clocks[other][thread.agent] = cluster.clocks[into][thread.agent];
    cluster.clocks.meet(cluster.clocks[into], cluster.clocks[other]);
  });
  cluster.clocks.free_clock(other);
  return into;
}

// Another access that the acting thread would know of, had it (or the other's warp) executed a fence.
const char* missing_fence(Cluster& cluster, Thread& thread, const Access& other) {
  if (other.cluster != cluster.id() || other.kind == AccessKind::none) return nullptr;
  constexpr const char *kAfter = "tcgen05.fence::after_thread_sync",
                       *kBefore = "tcgen05.fence::before_thread_sync of all its lanes";
  const uint32_t* clock = cluster.clock_of(thread);
  const bool load = other.kind == AccessKind::tensor_load;
  if (!load && other.kind != AccessKind::tensor_store)
    return cluster.ordered(clock, other) ? kAfter : nullptr;
  Thread& first = cluster.threads[cluster.owner_of(other.agent)];
  const auto moves = kMoves[load ? 0 : 1];
  if (known_moves(first, moves, &TensorMoves::fenced, clock) >= other.epoch) return kAfter;
  return known_moves(first, moves, &TensorMoves::waited, clock) >= other.epoch ? kBefore : nullptr;
}

void report_tensor_conflict(Thread& thread, Cta& cta, const Conflict& conflict, uint32_t column, bool write,
                            const char* what) {
  Cluster& cluster = *thread.cluster;
  const std::string where = describe_columns(cluster, cta, column, 1);
  const char* place = name_of_columns(cta, column);
  const char* fence = conflict.kind == Conflict::Kind::uninitialised
                          ? nullptr
                          : missing_fence(cluster, thread, conflict.other);
  if (fence == nullptr) {
    cluster.report_conflict(thread, conflict, where, write, what, place, -1);
    return;
  }
  cluster.report(ReportKind::missing_tcgen05_fence, &thread,
                 text(what, write ? " writes " : " reads ", where, " after ",
                      cluster.describe(conflict.other), ", but no ", fence, " orders the two"),
                 place, -1);
}

bool check_allocation(Thread& thread, Cta& cta, const TensorRange& range, const Actor& actor,
                      const char* what) {
  Cluster& cluster = *thread.cluster;
  const std::string where = describe_columns(cluster, cta, range.column, range.columns);
  const TensorAllocation* allocation = tensor_memory(cta).find(range.column, range.columns);
  if (allocation == nullptr) {
    cluster.report(ReportKind::tensor_memory, &thread,
                   text(what, " uses ", where, ", which no tcgen05.alloc of that CTA holds"));
    return false;
  }
  if (allocation->freed != nullptr) {
    cluster.report(ReportKind::tensor_memory, &thread,
                   text(what, " uses ", where, ", which ", cluster.describe(*allocation->freed),
                        " has deallocated for the pair"));
    return false;
  }
  if (!cluster.ordered(actor.clock, allocation->made)) {
    const char* fence = missing_fence(cluster, thread, allocation->made);
    cluster.report(fence != nullptr ? ReportKind::missing_tcgen05_fence : ReportKind::tensor_memory, &thread,
                   text(what, " uses ", where, ", but ",
                        fence != nullptr ? text("no ", fence) : std::string("no barrier"),
                        " orders it after the tcgen05.alloc by ", cluster.describe(allocation->made)));
  }
  return true;
}

}  // namespace

TensorAllocation* TensorMemory::find(uint32_t column, uint32_t columns) {
  for (TensorAllocation& a : allocations) {
    if (column >= a.first && column + columns <= a.first + a.count) return &a;
  }
  return nullptr;
}

TensorMemory& tensor_memory(Cta& cta) {
  if (cta.tensor_memory == nullptr) cta.tensor_memory = std::make_shared<TensorMemory>();
  return *cta.tensor_memory;
}

TensorThread& tensor_state(Thread& thread) {
  if (thread.tensor == nullptr) thread.tensor = std::make_shared<TensorThread>();
  return *thread.tensor;
}

TensorThread& warp_state(Thread& thread) { return tensor_state(lane_at(thread, 0)); }

std::vector<Cta*> tensor_group(Thread& thread, int cta_group, const char* what) {
  Cluster& cluster = *thread.cluster;
  if (cta_group == 1) return {thread.cta};
  const uint32_t first = thread.cta->rank & ~1u;
  if (first + 1 >= cluster.ctas.size()) {
    cluster.report(ReportKind::invalid_argument, &thread,
                   text(what, " with cta_group 2 in a cluster of ", cluster.ctas.size(), " CTAs: CTA ",
                        thread.cta->rank, " has no pair"));
    return {};
  }
  for (uint32_t rank = first; rank < first + 2; ++rank) {
    if (!cluster.reach_peer(thread, cluster.ctas[rank], what)) return {};
  }
  return {&cluster.ctas[first], &cluster.ctas[first + 1]};
}

const uint32_t* tensor_clock(Thread& thread) {
  Cluster& cluster = *thread.cluster;
  const uint32_t clock = scratch_clock(cluster, thread);
  gather_clock(cluster, thread, clock);
  add_fenced_moves(cluster, cluster.clocks[clock]);
  return cluster.clocks[clock];
}

const uint32_t* warp_tensor_clock(Thread& thread) {
  Cluster& cluster = *thread.cluster;
  uint32_t* clock = cluster.clocks[gather_warp_clock(cluster, thread)];
  add_fenced_moves(cluster, clock);
  return clock;
}

const uint32_t* dealloc_clock(Thread& thread) {
  Cluster& cluster = *thread.cluster;
  const uint32_t clock = gather_warp_clock(cluster, thread);
  cluster.clocks.join(clock, thread.agent);
  add_fenced_moves(cluster, cluster.clocks[clock]);
  return cluster.clocks[clock];
}

bool check_tensor(Thread& thread, Cta& cta, const TensorRange& range, bool write, const Actor& actor,
                  const char* what) {
  Cluster& cluster = *thread.cluster;
  if (range.column + range.columns > kTensorColumns || range.lane + range.lanes > kTensorLanes) {
    cluster.report(
        ReportKind::out_of_bounds, &thread,
        text(what, write ? " writes" : " reads", " columns ", range.column, "..",
             range.column + range.columns - 1, " of lanes ", range.lane, "..", range.lane + range.lanes - 1,
             "; tensor memory has ", kTensorColumns, " columns and ", kTensorLanes, " lanes"));
    return false;
  }
  if (!check_allocation(thread, cta, range, actor, what)) return false;
  TensorMemory& memory = tensor_memory(cta);
  const auto visit = [&](uint64_t begin, uint64_t end) {
    const Conflict conflict = write ? memory.shadow.write(cluster, begin, end, actor)
                                    : memory.shadow.read(cluster, begin, end, actor);
    if (!conflict) return;
    const auto cell = static_cast<uint32_t>(conflict.offset / TensorMemory::kCellBytes);
    report_tensor_conflict(thread, cta, conflict, cell % kTensorColumns, write, what);
  };
  constexpr uint32_t kBytes = TensorMemory::kCellBytes;
  if (range.lane % kTensorQuarter == 0 && range.lanes % kTensorQuarter == 0) {
    for (uint32_t lane = range.lane; lane < range.lane + range.lanes; lane += kTensorQuarter) {
      const uint64_t first = uint64_t{lane / kTensorQuarter} * kTensorColumns + range.column;
      visit(first * kBytes, (first + range.columns) * kBytes);
    }
    return true;
  }
  memory.for_each_cell(range, [&](uint64_t cell) {
    const uint32_t lane = range.lane % kTensorQuarter;
    visit(cell * kBytes + lane / 2, cell * kBytes + (lane + range.lanes) / 2);
  });
  return true;
}

std::string describe_columns(const Cluster& cluster, Cta& cta, uint32_t column, uint32_t columns) {
  std::string where = columns == 1 ? text("tensor memory column ", column)
                                   : text("tensor memory columns ", column, "..", column + columns - 1);
  if (const char* name = name_of_columns(cta, column); name != nullptr) where += text(" (", name, ')');
  if (cluster.ctas.size() > 1) where += text(" of CTA ", cta.rank);
  return where;
}

const char* name_of_columns(Cta& cta, uint32_t column) {
  for (const NamedColumns& named : tensor_memory(cta).names) {
    if (column >= named.first && column < named.end) return named.name;
  }
  return nullptr;
}

void check_tensor_exit(Cluster& cluster, Cta& cta, uint32_t known) {
  const uint32_t per_cta = cluster.launch.threads_per_cta;
  Thread& first = cluster.threads[cta.rank * per_cta];
  for (Thread& thread : cluster.threads) {
    if (thread.tensor == nullptr || thread.tensor->agent == kNoAgent) continue;
    const TensorThread& state = *thread.tensor;
    const bool own = thread.cta == &cta;
    const bool pair = (thread.cta->rank ^ cta.rank) == 1;
    const uint32_t last = own ? state.issued : pair ? state.peer_reach : 0;
    if (cluster.clocks[known][state.agent] >= last) continue;
    cluster.report(
        own ? ReportKind::exit_with_pending_work : ReportKind::exit_before_peer, &first,
        text("CTA ", cta.rank, " exits without knowing that ", plural(last, "tcgen05 operation"), " of ",
             cluster.describe(thread), own ? "" : ", which reach into it,", " have completed"));
    break;
  }
  if (cta.tensor_memory == nullptr || cta.tensor_memory->allocations.empty()) return;
  const TensorAllocation& left = cta.tensor_memory->allocations.front();
  cluster.report(
      ReportKind::tensor_memory, &first,
      text("CTA ", cta.rank, " exits while it holds ", describe_columns(cluster, cta, left.first, left.count),
           ": a tcgen05.dealloc is missing"));
}

void check_tensor_registers(Thread& thread, const std::byte* begin, uint32_t bytes, bool write) {
  for (const TensorRegisters& range : tensor_state(thread).registers) {
    if (begin >= range.end || begin + bytes <= range.begin) continue;
    thread.cluster->report(ReportKind::accumulator_in_flight, &thread,
                           text(write ? "writes" : "reads", " a register (offset ", begin - range.begin,
                                " bytes) of a tcgen05.ld for which no tcgen05.wait::ld has returned"));
    return;
  }
}

// ---- hooks

void name_tensor_memory(uint32_t column, uint32_t columns, const char* name) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  std::vector<NamedColumns>& names = tensor_memory(*thread->cta).names;
  const char* kept = thread->cluster->launch.intern(name);
  const bool known =
      std::any_of(names.begin(), names.end(), [&](const NamedColumns& n) { return n.name == kept; });
  if (!known) names.push_back({column, column + columns, kept});
}

void tcgen05_fence_before() {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  if (skipped(cluster.begin(*thread, Op::tcgen05_fence_before))) return;
  for (const auto moves : kMoves) {
    TensorMoves& own = tensor_state(*thread).*moves;
    own.fenced.resize(own.waited.size(), cluster.epoch_of(*thread));
  }
}

void tcgen05_fence_after() {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  if (skipped(cluster.begin(*thread, Op::tcgen05_fence_after))) return;
  TensorThread& state = tensor_state(*thread);
  if (state.fenced == kNoAgent) state.fenced = cluster.clocks.new_clock();
  cluster.clocks.copy(state.fenced, thread->agent);
}

}  // namespace tilewright::emulator
