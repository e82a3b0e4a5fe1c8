// Fibers: one stack and one saved context for each CUDA thread, switched by hand.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <cstdint>

namespace tilewright::emulator {

/// Stacks of equal size in one mapping, so that an address tells which fiber it belongs to. A page below each
/// stack is not accessible.
class StackArena {
 public:
#if defined(__SANITIZE_ADDRESS__)
  static constexpr size_t kStackBytes = 256 * 1024;
#else
  static constexpr size_t kStackBytes = 64 * 1024;
#endif

  StackArena() = default;
  ~StackArena();
  StackArena(const StackArena&) = delete;
  StackArena& operator=(const StackArena&) = delete;

  /// Makes room for `count` stacks; forgets the contents of all. False when memory is short.
  bool reserve(uint32_t count);
  bool contains(uintptr_t address) const { return address - base_ < bytes_; }
  std::byte* bottom(uint32_t index) const {
    return reinterpret_cast<std::byte*>(base_) + index * kStackBytes + kGuardBytes;
  }
  static constexpr size_t usable_bytes() { return kStackBytes - kGuardBytes; }

 private:
  static constexpr size_t kGuardBytes = 4096;

  void forget();
  void release();

  uintptr_t base_ = 0;
  size_t bytes_ = 0;
};

/// One fiber. `resume` runs it until it calls `suspend`. A fiber that is never resumed again is simply
/// dropped: nothing on its stack is unwound.
class Fiber {
 public:
  using Entry = void (*)(void* argument);

  /// Prepares the fiber to call entry(argument) on its stack. `entry` must not return.
  void start(std::byte* stack_bottom, size_t stack_bytes, Entry entry, void* argument);
  /// Called by the scheduler.
  void resume();
  /// Called on the fiber itself. Pass `last` when it will never be resumed.
  void suspend(bool last = false);

 private:
  static void enter(boost::context::detail::transfer_t transfer);

  boost::context::detail::fcontext_t context_ = nullptr;
  boost::context::detail::fcontext_t scheduler_ = nullptr;
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  std::byte* stack_bottom_ = nullptr;
  size_t stack_bytes_ = 0;
  const void* scheduler_stack_ = nullptr;
  size_t scheduler_stack_bytes_ = 0;
  void* fake_stack_ = nullptr;
};

}  // namespace tilewright::emulator
