// Global memory in the order of a stream: what a stream's work uses between its allocation and its release.
// Host.
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>

#include "tilewright/config.h"
#include "tilewright/error.h"
#if defined(TILEWRIGHT_EMULATE)
#  include "tilewright/emulator/hooks.h"
#endif

namespace tilewright {
inline namespace TILEWRIGHT_MODE {
namespace arch {

/// Zeros in device memory, in the order of a stream: a cudaStream_t (cudaMemsetAsync), or an
/// emulator::Machine*. Errors: the runtime's.
#if defined(TILEWRIGHT_EMULATE)
inline Status fill_with_zeros(void* pointer, size_t bytes, void*) {
  memset(pointer, 0, bytes);
  return {};
}
#else
Status fill_with_zeros(void* pointer, size_t bytes, void* stream);
#endif

namespace detail {

#if defined(TILEWRIGHT_EMULATE)
inline Expected<void*> allocate(size_t bytes, bool zeroed, void* stream) {
  return emulator::allocate(static_cast<emulator::Machine*>(stream), bytes, zeroed);
}
inline void release(void* pointer, void* stream) {
  emulator::release(static_cast<emulator::Machine*>(stream), pointer);
}
#else
/// cudaMallocAsync and cudaFreeAsync.
Expected<void*> allocate(size_t bytes, bool zeroed, void* stream);
void release(void* pointer, void* stream);
#endif

}  // namespace detail

/// Owns device memory that was allocated on a stream, and frees it there. `stream`: a cudaStream_t, or an
/// emulator::Machine*; null is the default one. It must live as long as the memory does.
class StreamMemory {
 public:
  StreamMemory() = default;
  StreamMemory(StreamMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_), stream_(other.stream_) {}
  StreamMemory& operator=(StreamMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~StreamMemory() {
    if (data_ != nullptr) detail::release(data_, stream_);
  }

  /// At least 256-byte aligned. zeroed: filled with zeros, in the stream's order. Errors: the runtime's.
  static Expected<StreamMemory> allocate(size_t bytes, bool zeroed, void* stream) {
    const Expected<void*> data = detail::allocate(bytes, zeroed, stream);
    if (!data) return data.error();
    StreamMemory memory;
    memory.data_ = *data;
    memory.bytes_ = bytes;
    memory.stream_ = stream;
    return Expected<StreamMemory>(std::move(memory));
  }

  /// Whether it can serve work on `stream` that needs `bytes`: what the stream did with it before comes
  /// first.
  bool serves(size_t bytes, void* stream) const {
    return data_ != nullptr && bytes <= bytes_ && stream == stream_;
  }
  /// Fills it with zeros, in the stream's order.
  Status zero() { return fill_with_zeros(data_, bytes_, stream_); }

  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
  void* stream_ = nullptr;
};

}  // namespace arch
}  // namespace TILEWRIGHT_MODE
}  // namespace tilewright
