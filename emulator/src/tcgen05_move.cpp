// tcgen05.ld and tcgen05.st: between a warp's registers and its quarter of the lanes.
#include <algorithm>

#include "collectives.h"
#include "tensor_memory.h"
#include "text.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kAllLanes = ~0u;
constexpr uint32_t kPoison = 0x7FF7DEAD;  // a NaN

// The first lane that the warp reaches, whatever the address says of it (the hardware ignores those bits);
// false, after a report, when the address names lanes of another warp.
bool resolve_lane(Thread& thread, uint32_t address, const char* what, uint32_t& lane) {
  const uint32_t named = address >> 16;
  lane = thread.index / kWarpLanes % kTensorQuarters * kTensorQuarter;
  if (named == 0 || named == lane) return true;
  thread.cluster->report(ReportKind::tensor_memory, &thread,
                         text(what, " at lane ", named, ": warp ", thread.index / kWarpLanes,
                              " reaches lanes ", lane, "..", lane + kTensorQuarter - 1, " only"));
  return false;
}

void carry_out_load(Thread& thread, const TensorMove& move) {
  std::copy_n(&tensor_memory(*thread.cta).word(move.lane + thread.lane, move.column), move.count,
              move.registers);
}

void carry_out_store(Thread& thread, const TensorMove& move) {
  std::copy_n(move.values.begin(), move.count,
              &tensor_memory(*thread.cta).word(move.lane + thread.lane, move.column));
}

struct Request {
  uint32_t count;
  uint32_t* registers;
  uint32_t address;
  bool store;
};

// All lanes are here: checks the whole access, and moves the words now or at the wait.
void move_warp(Thread& thread, const Request& request) {
  Cluster& cluster = *thread.cluster;
  const char* what = request.store ? "tcgen05.st" : "tcgen05.ld";
  uint32_t lane = 0;
  if (!resolve_lane(thread, request.address, what, lane)) return;
  const TensorRange range{lane, kTensorQuarter, request.address & 0xFFFF, request.count};
  TensorThread& warp = warp_state(thread);
  TensorMoves& moves = request.store ? warp.stores : warp.loads;
  if (moves.agent == kNoAgent) {
    Thread& first = lane_at(thread, 0);
    moves.agent = cluster.new_agent(first.agent);
    std::vector<Thread*>& movers = tensor_memory(*thread.cta).movers;
    if (std::find(movers.begin(), movers.end(), &first) == movers.end()) movers.push_back(&first);
  }
  const AccessKind kind = request.store ? AccessKind::tensor_store : AccessKind::tensor_load;
  const Actor actor{warp_tensor_clock(thread), {moves.agent, ++moves.count, cluster.id(), kind}};
  if (!check_tensor(thread, *thread.cta, range, request.store, actor, what)) return;
  if (request.store) {
    TensorMemory& memory = tensor_memory(*thread.cta);
    memory.for_each_cell(range, [&](uint32_t cell) { memory.content[cell] = TensorContent::stored; });
  }
  if (cluster.timed()) {
    const Interval moved = cluster.timing()->move_tensor(thread, warp.moves_end, request.count);
    warp.moves_done = moved.end;
    if (Trace* trace = cluster.launch.trace(); trace != nullptr) {
      trace->add({what,
                  Trace::Kind::tensor_memory,
                  thread.cta->number,
                  Trace::Unit::tensor_memory,
                  thread.index / kWarpLanes,
                  moved.begin,
                  moved.end,
                  {name_of_columns(*thread.cta, range.column)}});
    }
  }
  const bool now = cluster.executes_early();
  for_each_lane(thread, kAllLanes, [&](Thread& each) {
    auto* registers = static_cast<uint32_t*>(each.exchange.pointer);
    TensorMove move{request.count, registers, {}, lane, range.column};
    if (request.store) {
      move.values.assign(registers, registers + request.count);
      if (now) return carry_out_store(each, move);
      moves.pending[each.lane].push_back(std::move(move));
      return;
    }
    tensor_state(each).registers.push_back(
        {reinterpret_cast<std::byte*>(registers), reinterpret_cast<std::byte*>(registers + request.count)});
    if (now) return carry_out_load(each, move);
    std::fill_n(registers, request.count, kPoison);
    moves.pending[each.lane].push_back(std::move(move));
  });
}

void issue(const Request& request, Op op) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  Request mine = request;
  const FaultSpec* fault = cluster.begin(*thread, op);
  if (skipped(fault)) return;
  change(fault, mine.address);
  thread->exchange.pointer = mine.registers;
  thread->exchange.value = mine.address;
  if (!meet_warp(*thread, op, kAllLanes)) return;
  bool same = thread->warp->lanes == kAllLanes;
  for_each_lane(*thread, kAllLanes,
                [&](Thread& lane) { same = same && lane.exchange.value == mine.address; });
  if (same) {
    cluster.launch.count(op);
    move_warp(*thread, mine);
  } else {
    cluster.report(ReportKind::non_uniform, thread,
                   text(name_of(op), " needs 32 lanes with the same address"));
  }
  part_warp(*thread, kAllLanes);
}

void wait(bool store) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  const Op op = store ? Op::tcgen05_wait_st : Op::tcgen05_wait_ld;
  if (skipped(thread->cluster->begin(*thread, op))) return;
  if (!meet_warp(*thread, op, kAllLanes)) return;
  TensorThread& warp = warp_state(*thread);
  thread->time = std::max(thread->time, warp.moves_done);
  TensorMoves& moves = store ? warp.stores : warp.loads;
  for_each_lane(*thread, kAllLanes, [&](Thread& lane) {
    TensorThread& state = tensor_state(lane);
    for (const TensorMove& move : moves.pending[lane.lane])
      (store ? carry_out_store : carry_out_load)(lane, move);
    moves.pending[lane.lane].clear();
    if (!store) state.registers.clear();
    (store ? state.stores : state.loads).waited.resize(moves.count, thread->cluster->epoch_of(lane));
  });
  part_warp(*thread, kAllLanes);
}

}  // namespace

// ---- hooks

void tcgen05_ld(uint32_t count, void* registers, uint32_t address) {
  issue({count, static_cast<uint32_t*>(registers), address, false}, Op::tcgen05_ld);
}

void tcgen05_st(uint32_t count, const uint32_t* registers, uint32_t address) {
  issue({count, const_cast<uint32_t*>(registers), address, true}, Op::tcgen05_st);
}

void tcgen05_wait_ld() { wait(false); }

void tcgen05_wait_st() { wait(true); }

}  // namespace tilewright::emulator
