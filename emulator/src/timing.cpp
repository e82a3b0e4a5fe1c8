#include "timing.h"

#include "tcgen05_operand.h"
#include "tensor_memory.h"

namespace tilewright::emulator {
namespace {

constexpr uint32_t kRowBytes = 32;  // of K, per MMA
constexpr uint32_t kWgmmaRows = 64;

}  // namespace

// The lanes of a warp execute together, and here one after another: the scheduler works for the lane that is
// ahead. Of two warps that want it each has every other slot until the shorter piece of work is done; the one
// that came first is not slowed down afterwards.
void Timing::issue(Thread& thread) {
  const uint64_t count = 1 + thread.local_stores;
  thread.local_stores = 0;
  thread.instructions += count;
  uint64_t& warp = thread.warp->instructions;
  const uint64_t ahead = thread.instructions > warp ? thread.instructions - warp : 0;
  warp += ahead;
  const Ticks alone = duration(count, model_.issue_per_clock);
  Ticks delay = 0;
  if (ahead != 0) {
    Ticks& scheduler = units_[thread.cta->rank].issue[thread.index / kWarpLanes % kSchedulers];
    const Ticks work = duration(std::min(ahead, count), model_.issue_per_clock);
    const Ticks backlog = scheduler > thread.time ? scheduler - thread.time : 0;
    delay = std::min(work, backlog);
    scheduler = std::max(scheduler, thread.time) + work;
  }
  thread.time += alone + delay;
}

bool Timing::leads(const Thread& thread, uint32_t bytes) {
  return thread.bytes_accessed + bytes > thread.warp->bytes_accessed;
}

// The lanes of a warp access memory together, and here one after another: the unit works for all of them when
// the first comes.
void Timing::access(Thread& thread, Memory memory, uint32_t bytes) {
  const bool first = leads(thread, bytes);
  thread.bytes_accessed += bytes;
  if (!first) return;
  thread.warp->bytes_accessed = thread.bytes_accessed;
  Units& units = units_[thread.cta->rank];
  Ticks& unit = memory == Memory::shared        ? units.shared
                : memory == Memory::global_load ? units.from_l2
                                                : units.to_l2;
  const uint32_t rate = memory == Memory::shared ? model_.shared_bytes : model_.l2_bytes;
  thread.time = occupy(unit, thread.time, duration(uint64_t{bytes} * kWarpLanes, rate)).end;
}

Interval Timing::move_tensor(const Thread& thread, Ticks& port, uint32_t columns) const {
  Interval interval = occupy(port, thread.time, duration(columns, model_.tensor_memory_columns));
  interval.end += clocks(model_.tensor_memory_latency);
  return interval;
}

Interval Timing::load(const AsyncOperation& operation, uint32_t bytes, Ticks now) {
  Interval all{~Ticks{0}, 0};
  for (uint32_t rank = 0; rank < units_.size(); ++rank) {
    if ((operation.destinations >> rank & 1) == 0) continue;
    const Interval one = occupy(units_[rank].from_l2, now, duration(bytes, model_.l2_bytes));
    all = {std::min(all.begin, one.begin), std::max(all.end, one.end)};
  }
  all.end += clocks(model_.load_latency);
  return all;
}

// The newest wgmma of its warpgroup.
Interval Timing::multiply(const AsyncOperation& operation, Ticks now) {
  Warpgroup& group = *operation.warpgroup;
  const WgmmaOperation& wgmma = group.queue.back();
  const auto n = static_cast<uint32_t>(wgmma.instruction.n);
  const uint32_t rows = n + (wgmma.a_registers[0] == nullptr ? kWgmmaRows : 0);
  const Ticks time =
      std::max(duration(n, model_.mma_columns), duration(rows * kRowBytes, model_.shared_bytes));
  Interval interval = occupy(units_[group.cta->rank].tensor, now, time);
  interval.end += clocks(model_.mma_latency);
  return interval;
}

// The newest operation of a thread's queue. A pair works on it together.
Interval Timing::tensor_operation(const AsyncOperation& operation, Ticks now) {
  TensorThread& state = tensor_state(*operation.issuer);
  const TensorOperation& newest = state.queue.back();
  if (newest.kind == TensorOperation::Kind::commit) {
    const Ticks end = std::max(now, state.queue_end) + clocks(model_.mma_latency);
    return {std::max(now, state.queue_end), end};
  }
  const auto count = static_cast<uint32_t>(newest.cta_group);
  Ticks time = 0;
  if (newest.kind == TensorOperation::Kind::mma) {
    const uint32_t n = Tcgen05Instruction::decode(newest.mma.kind, newest.operands.instruction).n;
    const uint32_t bytes = (kTensorRows + n / count) * kRowBytes;
    time = std::max(duration(n, model_.mma_columns), duration(bytes, model_.shared_bytes));
  } else {
    const CopyShape shape = shape_of(newest.shape);
    time = duration(uint64_t{shape.rows} * shape.row_bytes, model_.shared_bytes);
  }
  const uint32_t first = operation.issuer->cta->rank & ~(count - 1);
  Ticks begin = std::max(now, state.queue_end);
  for (uint32_t rank = first; rank < first + count; ++rank) begin = std::max(begin, units_[rank].tensor);
  for (uint32_t rank = first; rank < first + count; ++rank) units_[rank].tensor = begin + time;
  state.queue_end = begin + time;
  return {begin, begin + time};
}

Interval Timing::schedule(const AsyncOperation& operation, Ticks now) {
  const Thread& issuer = *operation.issuer;
  switch (operation.kind) {
    case AsyncKind::tensor_load:
      return load(operation, operation.signalled, now);
    case AsyncKind::bulk_load:
      return load(operation, operation.bytes, now);
    case AsyncKind::cp_async: {
      Interval copy =
          occupy(units_[issuer.cta->rank].from_l2, now, duration(operation.source_bytes, model_.l2_bytes));
      copy.end += clocks(model_.load_latency);
      return copy;
    }
    case AsyncKind::cp_async_arrive:
      return {now, std::max(now, issuer.copies_due)};
    case AsyncKind::bulk_to_cluster:
      return {now,
              occupy(units_[issuer.cta->rank].to_l2, now, duration(operation.bytes, model_.l2_bytes)).end +
                  clocks(model_.remote_latency)};
    case AsyncKind::store_async:
      return {now, now + clocks(model_.remote_latency)};
    case AsyncKind::tensor_store:
    case AsyncKind::bulk_store: {
      Interval read = occupy(units_[issuer.cta->rank].to_l2, now, duration(operation.bytes, model_.l2_bytes));
      read.end += clocks(model_.store_latency);
      return read;
    }
    case AsyncKind::wgmma:
      return multiply(operation, now);
    case AsyncKind::tcgen05:
      return tensor_operation(operation, now);
    case AsyncKind::cancel_launch:
      return {now, now + clocks(model_.l2_latency)};
  }
  return {now, now};
}

}  // namespace tilewright::emulator
