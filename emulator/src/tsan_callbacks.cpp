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

/// `aligned`: the compiler takes the address for a multiple of `bytes`, and a GPU faults where it is none;
/// but g++ accesses two aligned words of 8 bytes at once, as a GPU does not.
struct OrdinaryAccess {
  uint32_t bytes;
  bool write, aligned;

  bool is_odd(uint64_t address) const { return aligned && address % std::min(bytes, 8u) != 0; }
};

std::string not_aligned(const OrdinaryAccess& access, const std::string& place) {
  return text(access.write ? "a store of " : "a load of ", access.bytes,
              access.write ? " bytes to " : " bytes from ", place, " is not aligned");
}

void check_memory(Thread& thread, uintptr_t address, const OrdinaryAccess& access) {
  Cluster& cluster = *thread.cluster;
  const uint32_t bytes = access.bytes;
  const bool write = access.write;
  const char* what = write ? "a store" : "a load";
  if (++thread.accesses > cluster.launch.options().watchdog_accesses) {
    cluster.report(ReportKind::livelock, &thread,
                   text("made ", thread.accesses, " memory accesses without reaching a machine operation"));
    cluster.launch.stopped = true;
  } else if (cluster.in_windows(address)) {
    const SharedPlace place = cluster.locate_pointer(reinterpret_cast<const void*>(address));
    if (access.is_odd(place.offset)) {
      cluster.report_at(ReportKind::misaligned, thread, place,
                        not_aligned(access, cluster.describe(*place.cta, place.offset)));
      return;
    }
    cluster.check_shared(thread, place, bytes, write, what);
    if (cluster.timed()) cluster.timing()->access(thread, Timing::Memory::shared, bytes);
  } else {
    const auto memory = write ? Timing::Memory::global_store : Timing::Memory::global_load;
    const bool odd = access.is_odd(address);
    // Kernel parameters, among others, lie in memory that the machine does not know.
    const bool watched = odd || cluster.timed() || cluster.launch.trace() != nullptr;
    const GlobalBuffer* buffer = watched ? cluster.launch.memory().find(address) : nullptr;
    if (odd && buffer != nullptr) {
      const auto offset = static_cast<int64_t>(address - buffer->begin);
      const std::string& name = buffer->options.name;
      cluster.report(ReportKind::misaligned, &thread, not_aligned(access, text(name, " at offset ", offset)),
                     name.c_str());
      return;
    }
    if (cluster.timed() && buffer != nullptr) cluster.timing()->access(thread, memory, bytes);
    if (buffer != nullptr) {
      cluster.trace_in_turn(thread, write ? "store" : "load", write ? Trace::Kind::store : Trace::Kind::load,
                            {buffer->options.name.c_str()}, bytes);
    }
    cluster.check_global(thread, reinterpret_cast<const void*>(address), bytes, write,
                         {cluster.clock_of(thread), cluster.access_by(thread)}, what);
  }
}

inline bool has_loads_in_flight(const Thread& thread) {
  return thread.tensor != nullptr && !thread.tensor->registers.empty();
}

[[gnu::noinline]] void check_access(Thread& thread, uintptr_t address, const OrdinaryAccess& access) {
  {
    const OwnWork own(thread);
    if (address - thread.stack < StackArena::usable_bytes()) {
      thread.cluster->touch_registers(thread, reinterpret_cast<const std::byte*>(address), access.bytes,
                                      access.write);
      if (has_loads_in_flight(thread)) {
        check_tensor_registers(thread, reinterpret_cast<const std::byte*>(address), access.bytes,
                               access.write);
      }
    } else {
      check_memory(thread, address, access);
    }
  }
  if (thread.cluster->launch.stopped) thread.cluster->leave(thread);
}

inline void on_access(const void* address, const OrdinaryAccess& access) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  const auto where = reinterpret_cast<uintptr_t>(address);
  // Most accesses are to a thread's own stack, and matter only when wgmma or tcgen05.ld uses a part of it.
  const bool stack = where - thread->stack < StackArena::usable_bytes();
  if (stack && access.write) {
    if (where > thread->frame) ++thread->local_stores;
    thread->note_write(address, access.bytes);
  }
  if (!stack || !thread->registers.empty() || has_loads_in_flight(*thread))
    check_access(*thread, where, access);
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

// `unaligned`: the compiler knows of no alignment, and makes several instructions of it.
#define TILEWRIGHT_TSAN_ACCESSES(kind, bytes, aligned)                                            \
  void __tsan_##kind##read##bytes(void* address) { on_access(address, {bytes, false, aligned}); } \
  void __tsan_##kind##write##bytes(void* address) { on_access(address, {bytes, true, aligned}); }
#define TILEWRIGHT_TSAN_KINDS(bytes)                 \
  TILEWRIGHT_TSAN_ACCESSES(, bytes, true)            \
  TILEWRIGHT_TSAN_ACCESSES(volatile_, bytes, true)   \
  TILEWRIGHT_TSAN_ACCESSES(unaligned_, bytes, false) \
  TILEWRIGHT_TSAN_ACCESSES(unaligned_volatile_, bytes, false)
TILEWRIGHT_TSAN_KINDS(1)
TILEWRIGHT_TSAN_KINDS(2)
TILEWRIGHT_TSAN_KINDS(4)
TILEWRIGHT_TSAN_KINDS(8)
TILEWRIGHT_TSAN_KINDS(16)
#undef TILEWRIGHT_TSAN_KINDS
#undef TILEWRIGHT_TSAN_ACCESSES

void __tsan_read_range(void* address, size_t bytes) {
  on_access(address, {static_cast<uint32_t>(bytes), false, false});
}
void __tsan_write_range(void* address, size_t bytes) {
  on_access(address, {static_cast<uint32_t>(bytes), true, false});
}
}
