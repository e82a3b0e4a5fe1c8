// Global memory as kernels see it: bounds, races, and the variables through which CTAs synchronise.
#include <algorithm>
#include <cstring>

#include "cluster.h"
#include "text.h"

namespace tilewright::emulator {

bool Cluster::check_global(Thread& thread, const void* address, uint64_t bytes, bool write,
                           const Actor& actor, const char* what) {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  GlobalBuffer* buffer = launch.memory().find(begin);
  if (buffer == nullptr) return true;  // memory that the machine does not know
  const char* name = buffer->options.name.c_str();
  if (!buffer->contains(begin, bytes)) {
    const auto distance = static_cast<int64_t>(begin - buffer->begin);
    report(ReportKind::out_of_bounds, &thread,
           text(what, write ? " writes " : " reads ", plural(static_cast<long long>(bytes), "byte"),
                " at offset ", distance, " of ", name, ", which has ", buffer->end - buffer->begin, " bytes"),
           name);
    return false;
  }
  if (write && !buffer->options.writable) {
    report(ReportKind::read_only_write, &thread,
           text(what, " writes to ", name, " at offset ", begin - buffer->begin, "; the buffer is read-only"),
           name);
    return false;
  }
  if (write) thread.wrote_global = true;
  if (write && buffer->options.written != nullptr)
    buffer->options.written->fetch_add(bytes, std::memory_order_relaxed);
  if (launch.config.dependent_launch &&
      (dependency_agent == kNoAgent || actor.clock[dependency_agent] == 0)) {
    report(ReportKind::dependency_not_waited, &thread,
           text(what, write ? " writes " : " reads ", name,
                " before a griddepcontrol.wait: the previous kernel may still be ",
                write ? "using it" : "writing it"),
           name);
  }
  if (!buffer->options.writable && buffer->options.initialised) return true;
  const uint64_t offset = begin - buffer->shadow_base();
  const Conflict conflict = write ? buffer->shadow.write(*this, offset, offset + bytes, actor)
                                  : buffer->shadow.read(*this, offset, offset + bytes, actor);
  if (conflict) {
    const uint64_t at = conflict.offset - (buffer->begin - buffer->shadow_base());
    report_conflict(thread, conflict, text(name, " at offset ", at), write, what, name, -1);
  }
  return true;
}

namespace {

uint64_t load_value(const void* address, uint32_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, address, bytes);
  return value;
}

bool check_variable(Thread& thread, const void* address, uint32_t bytes, bool reads, bool writes,
                    const char* what) {
  Cluster& cluster = *thread.cluster;
  if ((bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) ||
      reinterpret_cast<uintptr_t>(address) % bytes != 0) {
    cluster.report(
        ReportKind::misaligned, &thread,
        text(what, " of ", bytes, " bytes: the size must be a power of two up to 8, the address aligned"));
    return false;
  }
  const Actor actor{cluster.clock_of(thread), cluster.access_by(thread, AccessKind::atomic)};
  const auto check = [&](bool writes) {
    if (!cluster.in_windows(reinterpret_cast<uintptr_t>(address)))
      return cluster.check_global(thread, address, bytes, writes, actor, what);
    const SharedPlace place = cluster.locate_pointer(address);
    return cluster.touch_peer(thread, *place.cta, what) &&
           cluster.check_shared(thread, place, bytes, writes, actor, what);
  };
  const bool inside = (!reads || check(false)) && (!writes || check(true));
  if (cluster.launch.stopped) cluster.leave(thread);  // before it acts on a wrong value
  return inside;
}

void acquire_variable(Thread& thread, uintptr_t address) {
  Cluster& cluster = *thread.cluster;
  const auto found = cluster.launch.published.find(address);
  if (found != cluster.launch.published.end()) cluster.acquire(thread, found->second);
}

void publish(Thread& thread, uintptr_t address) {
  Cluster& cluster = *thread.cluster;
  cluster.launch.published[address] = cluster.snapshot(thread);
  cluster.tick(thread);
  ++cluster.launch.progress;
}

template <class T>
T combined(T old, T operand, T compare, AtomicOp op) {
  switch (op) {
    case AtomicOp::add:
      return static_cast<T>(old + operand);
    case AtomicOp::min:
      return std::min(old, operand);
    case AtomicOp::max:
      return std::max(old, operand);
    case AtomicOp::exchange:
      return operand;
    case AtomicOp::compare_exchange:
      return old == compare ? operand : old;
  }
  return old;
}

template <class T>
uint64_t apply(void* address, uint64_t operand, uint64_t compare, AtomicOp op) {
  T old, value, expected;
  std::memcpy(&old, address, sizeof(T));
  std::memcpy(&value, &operand, sizeof(T));
  std::memcpy(&expected, &compare, sizeof(T));
  const T result = combined(old, value, expected, op);
  std::memcpy(address, &result, sizeof(T));
  uint64_t bits = 0;
  std::memcpy(&bits, &old, sizeof(T));
  return bits;
}

}  // namespace

namespace {

// The answer comes from L2.
void charge_round_trip(Thread& thread) {
  const Timing* timing = thread.cluster->timing();
  if (timing != nullptr) thread.time += Timing::clocks(timing->model().l2_latency);
}

}  // namespace

uint64_t load_acquire(const void* address, uint32_t bytes, Scope) {
  Thread* thread = current_thread;
  if (thread == nullptr) return load_value(address, bytes);
  Cluster& cluster = *thread->cluster;
  const FaultSpec* fault = cluster.begin(*thread, Op::load_acquire);
  if (!check_variable(*thread, address, bytes, true, false, "a load-acquire")) return 0;
  // Reading the same variable again is polling: others go first.
  if (thread->polled == address) cluster.poll(*thread);
  thread->polled = address;
  charge_round_trip(*thread);
  if (!skipped(fault)) acquire_variable(*thread, reinterpret_cast<uintptr_t>(address));
  return load_value(address, bytes);
}

void store_release(void* address, uint64_t value, uint32_t bytes, Scope) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  Cluster& cluster = *thread->cluster;
  if (skipped(cluster.begin(*thread, Op::store_release))) return;
  if (!check_variable(*thread, address, bytes, false, true, "a store-release")) return;
  thread->polled = nullptr;
  std::memcpy(address, &value, bytes);
  publish(*thread, reinterpret_cast<uintptr_t>(address));
}

uint64_t atomic(void* address, uint64_t operand, uint64_t compare, AtomicType type, AtomicOp op, Scope) {
  Thread* thread = current_thread;
  if (thread == nullptr) return 0;
  Cluster& cluster = *thread->cluster;
  if (skipped(cluster.begin(*thread, Op::atomic))) return 0;
  const uint32_t bytes = type == AtomicType::u64 ? 8 : 4;
  // What an exchange finds may not matter.
  if (!check_variable(*thread, address, bytes, op != AtomicOp::exchange, true, "an atomic")) return 0;
  // A failing compare-and-swap is how locks poll.
  if (op == AtomicOp::compare_exchange && thread->polled == address) cluster.poll(*thread);
  thread->polled = op == AtomicOp::compare_exchange ? address : nullptr;
  charge_round_trip(*thread);
  acquire_variable(*thread, reinterpret_cast<uintptr_t>(address));
  uint64_t old = 0;
  switch (type) {
    case AtomicType::u32:
      old = apply<uint32_t>(address, operand, compare, op);
      break;
    case AtomicType::s32:
      old = apply<int32_t>(address, operand, compare, op);
      break;
    case AtomicType::u64:
      old = apply<uint64_t>(address, operand, compare, op);
      break;
    case AtomicType::f32:
      old = apply<float>(address, operand, compare, op);
      break;
  }
  publish(*thread, reinterpret_cast<uintptr_t>(address));
  return old;
}

}  // namespace tilewright::emulator
