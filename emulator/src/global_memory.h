// Buffers of global memory that the machine knows: bounds, what was written, who touched it in this launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "shadow.h"
#include "tilewright/emulator/machine.h"

namespace tilewright::emulator {

struct GlobalBuffer {
  uintptr_t begin = 0, end = 0;            // the data
  uintptr_t zone_begin = 0, zone_end = 0;  // the data and its red zones
  GlobalBufferOptions options;
  bool owned = false;
  Shadow shadow;  // offsets count from shadow_base()

  uintptr_t shadow_base() const { return begin & ~uintptr_t{15}; }
  bool contains(uintptr_t address, uint64_t bytes) const {
    return address >= begin && address <= end && bytes <= end - address;
  }
};

class GlobalMemory {
 public:
  GlobalMemory() = default;
  ~GlobalMemory();
  GlobalMemory(const GlobalMemory&) = delete;
  GlobalMemory& operator=(const GlobalMemory&) = delete;

  void* allocate(size_t bytes, GlobalBufferOptions options);
  void add(void* pointer, size_t bytes, GlobalBufferOptions options);
  void remove(void* pointer);
  /// The buffer in whose data or red zone the address lies; null when it is unknown memory.
  GlobalBuffer* find(uintptr_t address) {
    if (last_ != nullptr && address - last_->zone_begin < last_->zone_end - last_->zone_begin) return last_;
    return search(address);
  }
  void forget_accesses();

 private:
  GlobalBuffer* search(uintptr_t address);
  void insert(std::unique_ptr<GlobalBuffer> buffer);

  std::vector<std::unique_ptr<GlobalBuffer>> buffers_;  // by address
  GlobalBuffer* last_ = nullptr;
};

}  // namespace tilewright::emulator
