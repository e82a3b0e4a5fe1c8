// Memory, streams and times of the current GPU. Builds without CUDA have the same functions, which say so.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "tilewright/error.h"

namespace tilewright::cli {

/// Device memory, freed at the end. Bases are multiples of 256 bytes.
class GpuBuffer {
 public:
  GpuBuffer() = default;
  static Expected<GpuBuffer> allocate(size_t bytes);
  GpuBuffer(GpuBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  GpuBuffer& operator=(GpuBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~GpuBuffer();

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Status upload(const void* source) const;
  Status download(void* target) const;
  Status fill(uint8_t byte) const;

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

/// A stream of its own (cudaStream_t as void*).
class GpuStream {
 public:
  static Expected<GpuStream> create();
  GpuStream(GpuStream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  ~GpuStream();

  void* get() const { return stream_; }
  /// Waits for everything in it; gives the first error of any kernel since the last call.
  Status synchronize() const;
  /// Time on the device from before the first to after the last kernel that `enqueue` puts into this stream.
  Expected<double> milliseconds(const std::function<Status()>& enqueue) const;

 private:
  explicit GpuStream(void* stream) : stream_(stream) {}
  void* stream_ = nullptr;
};

/// What `enqueue` put into a stream, recorded once and replayed without the host's part of the launches.
class GpuGraph {
 public:
  static Expected<GpuGraph> record(const GpuStream& stream, const std::function<Status()>& enqueue);
  GpuGraph(GpuGraph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  ~GpuGraph();
  Status launch(const GpuStream& stream) const;

 private:
  explicit GpuGraph(void* graph) : graph_(graph) {}
  void* graph_ = nullptr;
};

/// Sets of operands, of so many bytes each, that one after the other leave nothing of the first in L2.
inline int64_t sets_beyond_l2(int64_t l2_bytes, size_t set_bytes) {
  return std::clamp<int64_t>(2 * l2_bytes / std::max<int64_t>(1, static_cast<int64_t>(set_bytes)) + 2, 2,
                             1024);
}

}  // namespace tilewright::cli
