#include "fiber.h"

#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#  include <sanitizer/asan_interface.h>
#  include <sanitizer/common_interface_defs.h>
#endif

namespace tilewright::emulator {

StackArena::~StackArena() { release(); }

// Abandoned fibers left the red zones of their frames behind.
void StackArena::forget() {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(reinterpret_cast<void*>(base_), bytes_);
#endif
}

void StackArena::release() {
  if (bytes_ == 0) return;
  forget();
  munmap(reinterpret_cast<void*>(base_), bytes_);
  base_ = 0;
  bytes_ = 0;
}

bool StackArena::reserve(uint32_t count) {
  const size_t bytes = count * kStackBytes;
  if (bytes <= bytes_) {
    forget();
    return true;
  }
  release();
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  base_ = reinterpret_cast<uintptr_t>(memory);
  bytes_ = bytes;
  for (uint32_t i = 0; i < count; ++i) mprotect(bottom(i) - kGuardBytes, kGuardBytes, PROT_NONE);
  return true;
}

void Fiber::start(std::byte* stack_bottom, size_t stack_bytes, Entry entry, void* argument) {
  entry_ = entry;
  argument_ = argument;
  stack_bottom_ = stack_bottom;
  stack_bytes_ = stack_bytes;
  context_ = boost::context::detail::make_fcontext(stack_bottom + stack_bytes, stack_bytes, &Fiber::enter);
}

void Fiber::enter(boost::context::detail::transfer_t transfer) {
  auto* fiber = static_cast<Fiber*>(transfer.data);
  fiber->scheduler_ = transfer.fctx;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &fiber->scheduler_stack_, &fiber->scheduler_stack_bytes_);
#endif
  fiber->entry_(fiber->argument_);
}

void Fiber::resume() {
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, stack_bottom_, stack_bytes_);
#endif
  context_ = boost::context::detail::jump_fcontext(context_, this).fctx;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

void Fiber::suspend([[maybe_unused]] bool last) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(last ? nullptr : &fake_stack_, scheduler_stack_, scheduler_stack_bytes_);
#endif
  scheduler_ = boost::context::detail::jump_fcontext(scheduler_, this).fctx;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack_, &scheduler_stack_, &scheduler_stack_bytes_);
#endif
}

}  // namespace tilewright::emulator
