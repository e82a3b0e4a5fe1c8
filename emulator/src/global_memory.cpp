#include "global_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

namespace tilewright::emulator {
namespace {

constexpr size_t kPage = 4096;

size_t round_to_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

void unmap(const GlobalBuffer& buffer) {
  munmap(reinterpret_cast<void*>(buffer.zone_begin), buffer.zone_end - buffer.zone_begin);
}

}  // namespace

GlobalMemory::~GlobalMemory() {
  for (const auto& buffer : buffers_) {
    if (buffer->owned) unmap(*buffer);
  }
}

void* GlobalMemory::allocate(size_t bytes, GlobalBufferOptions options) {
  // The zones are accessible, so that a reported access need not end the process.
  const size_t mapped = kPage + round_to_pages(std::max<size_t>(bytes, 1)) + kPage;
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto buffer = std::make_unique<GlobalBuffer>();
  buffer->zone_begin = reinterpret_cast<uintptr_t>(memory);
  buffer->zone_end = buffer->zone_begin + mapped;
  buffer->begin = buffer->zone_begin + kPage;
  buffer->end = buffer->begin + bytes;
  buffer->owned = true;
  buffer->options = std::move(options);
  void* data = reinterpret_cast<void*>(buffer->begin);
  insert(std::move(buffer));
  return data;
}

void GlobalMemory::add(void* pointer, size_t bytes, GlobalBufferOptions options) {
  auto buffer = std::make_unique<GlobalBuffer>();
  buffer->begin = buffer->zone_begin = reinterpret_cast<uintptr_t>(pointer);
  buffer->end = buffer->zone_end = buffer->begin + bytes;
  buffer->options = std::move(options);
  insert(std::move(buffer));
}

void GlobalMemory::insert(std::unique_ptr<GlobalBuffer> buffer) {
  buffer->shadow.reset(buffer->end - buffer->shadow_base(), buffer->options.initialised);
  const auto place =
      std::upper_bound(buffers_.begin(), buffers_.end(), buffer->begin,
                       [](uintptr_t address, const auto& other) { return address < other->begin; });
  buffers_.insert(place, std::move(buffer));
}

void GlobalMemory::remove(void* pointer) {
  const auto begin = reinterpret_cast<uintptr_t>(pointer);
  const auto found = std::find_if(buffers_.begin(), buffers_.end(),
                                  [&](const auto& buffer) { return buffer->begin == begin; });
  if (found == buffers_.end()) return;
  if ((*found)->owned) unmap(**found);
  buffers_.erase(found);
  last_ = nullptr;
}

GlobalBuffer* GlobalMemory::search(uintptr_t address) {
  const auto after = std::upper_bound(buffers_.begin(), buffers_.end(), address,
                                      [](uintptr_t a, const auto& other) { return a < other->zone_begin; });
  if (after == buffers_.begin()) return nullptr;
  GlobalBuffer* buffer = std::prev(after)->get();
  if (address >= buffer->zone_end) return nullptr;
  last_ = buffer;
  return buffer;
}

void GlobalMemory::forget_accesses() {
  for (const auto& buffer : buffers_) buffer->shadow.forget_accesses();
}

}  // namespace tilewright::emulator
