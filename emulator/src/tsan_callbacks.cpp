// The loads and stores of kernels. Kernel translation units are compiled with -fsanitize=thread and linked
// with these functions instead of the sanitizer's runtime; an access outside of a kernel returns at once.
#include <cstddef>
#include <cstdint>

#include "tensor_memory.h"
#include "text.h"

namespace tilewright::emulator {
namespace {

// Functions of the standard library may be linked in their instrumented form: while the machine itself works,
// accesses are its own.
class OwnWork {
 public:
  explicit OwnWork(Thread& thread) : thread_(thread) { current_thread = nullptr; }
  ~OwnWork() { current_thread = &thread_; }
  OwnWork(const OwnWork&) = delete;
  OwnWork& operator=(const OwnWork&) = delete;

 private:
  Thread& thread_;
};

void check_registers(Thread& thread, uintptr_t address, uint32_t bytes, bool write) {
  const auto* begin = reinterpret_cast<const std::byte*>(address);
  for (RegisterRange& range : thread.registers) {
    if (begin >= range.end || begin + bytes <= range.begin) continue;
    if (range.operand && !write) continue;
    if (range.group <= thread.groups_waited) {
      range.touched = true;
      continue;
    }
    const ReportKind kind =
        range.operand ? ReportKind::operand_register_in_flight : ReportKind::accumulator_in_flight;
    thread.cluster->report(
        kind, &thread,
        text(write ? "writes " : "reads ", range.operand ? "A registers" : "an accumulator register",
             " (offset ", begin - range.begin, " bytes) of wgmma group ", range.group,
             ", which it has waited for only up to group ", thread.groups_waited));
    break;
  }
}

void check_memory(Thread& thread, uintptr_t address, uint32_t bytes, bool write) {
  Cluster& cluster = *thread.cluster;
  const char* what = write ? "a store" : "a load";
  if (++thread.accesses > cluster.launch.options().watchdog_accesses) {
    cluster.report(ReportKind::livelock, &thread,
                   text("made ", thread.accesses, " memory accesses without reaching a machine operation"));
    cluster.launch.stopped = true;
  } else if (cluster.in_windows(address)) {
    const SharedPlace place = cluster.locate_pointer(reinterpret_cast<const void*>(address));
    cluster.check_shared(thread, place, bytes, write, what);
    if (cluster.timed()) cluster.timing()->access(thread, Timing::Memory::shared, bytes);
  } else {
    const auto memory = write ? Timing::Memory::global_store : Timing::Memory::global_load;
    // Kernel parameters, among others, lie in memory that the machine does not know.
    if (cluster.timed() && cluster.launch.memory().find(address) != nullptr)
      cluster.timing()->access(thread, memory, bytes);
    cluster.check_global(thread, reinterpret_cast<const void*>(address), bytes, write,
                         {cluster.clock_of(thread), cluster.access_by(thread)}, what);
  }
}

inline bool has_loads_in_flight(const Thread& thread) {
  return thread.tensor != nullptr && !thread.tensor->registers.empty();
}

[[gnu::noinline]] void check_access(Thread& thread, uintptr_t address, uint32_t bytes, bool write) {
  {
    const OwnWork own(thread);
    if (address - thread.stack < StackArena::usable_bytes()) {
      check_registers(thread, address, bytes, write);
      if (has_loads_in_flight(thread)) {
        check_tensor_registers(thread, reinterpret_cast<const std::byte*>(address), bytes, write);
      }
    } else {
      check_memory(thread, address, bytes, write);
    }
  }
  if (thread.cluster->launch.stopped) thread.cluster->leave(thread);
}

inline void on_access(const void* address, uint32_t bytes, bool write) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  const auto where = reinterpret_cast<uintptr_t>(address);
  // Most accesses are to a thread's own stack, and matter only when wgmma or tcgen05.ld uses a part of it.
  const bool stack = where - thread->stack < StackArena::usable_bytes();
  if (stack && write && where > thread->frame) ++thread->local_stores;
  if (!stack || !thread->registers.empty() || has_loads_in_flight(*thread))
    check_access(*thread, where, bytes, write);
}

}  // namespace
}  // namespace tilewright::emulator

using tilewright::emulator::on_access;

// The names are the compiler's.
extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define TILEWRIGHT_TSAN_ACCESSES(bytes)                                                           \
  void __tsan_read##bytes(void* address) { on_access(address, bytes, false); }                    \
  void __tsan_write##bytes(void* address) { on_access(address, bytes, true); }                    \
  void __tsan_unaligned_read##bytes(void* address) { on_access(address, bytes, false); }          \
  void __tsan_unaligned_write##bytes(void* address) { on_access(address, bytes, true); }          \
  void __tsan_volatile_read##bytes(void* address) { on_access(address, bytes, false); }           \
  void __tsan_volatile_write##bytes(void* address) { on_access(address, bytes, true); }           \
  void __tsan_unaligned_volatile_read##bytes(void* address) { on_access(address, bytes, false); } \
  void __tsan_unaligned_volatile_write##bytes(void* address) { on_access(address, bytes, true); }
TILEWRIGHT_TSAN_ACCESSES(1)
TILEWRIGHT_TSAN_ACCESSES(2)
TILEWRIGHT_TSAN_ACCESSES(4)
TILEWRIGHT_TSAN_ACCESSES(8)
TILEWRIGHT_TSAN_ACCESSES(16)
#undef TILEWRIGHT_TSAN_ACCESSES

void __tsan_read_range(void* address, size_t bytes) {
  on_access(address, static_cast<uint32_t>(bytes), false);
}
void __tsan_write_range(void* address, size_t bytes) {
  on_access(address, static_cast<uint32_t>(bytes), true);
}
}
