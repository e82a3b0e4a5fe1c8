// Vector clocks: what each agent of a cluster knows of every other agent.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace tilewright::emulator {

/// All clocks of one cluster, in one array. Entry a of a clock is the epoch of agent a that its owner knows:
/// an event of agent a at epoch e happened before the owner's present if and only if the entry is at least e.
/// Clocks 0 .. threads - 1 belong to the threads, which are also agents 0 .. threads - 1.
class ClockPool {
 public:
  void reset(uint32_t clocks, uint32_t agents) {
    clocks_ = clocks;
    agents_ = agents;
    stride_ = round_up(agents + 64);
    free_.clear();
    data_.assign(static_cast<size_t>(clocks_ + 64) * stride_, 0);
  }

  /// All zero.
  uint32_t new_clock() {
    if (!free_.empty()) {
      const uint32_t clock = free_.back();
      free_.pop_back();
      std::memset((*this)[clock], 0, size_t{stride_} * sizeof(uint32_t));
      return clock;
    }
    if (data_.size() < static_cast<size_t>(clocks_ + 1) * stride_) data_.resize(data_.size() * 2, 0);
    return clocks_++;
  }

  void free_clock(uint32_t clock) { free_.push_back(clock); }

  uint32_t new_agent() {
    if (agents_ == stride_) widen();
    return agents_++;
  }

  uint32_t* operator[](uint32_t clock) { return data_.data() + static_cast<size_t>(clock) * stride_; }
  const uint32_t* operator[](uint32_t clock) const {
    return data_.data() + static_cast<size_t>(clock) * stride_;
  }
  uint32_t agents() const { return agents_; }

  /// `into` learns all that `from` knows.
  void join(uint32_t into, uint32_t from) { join((*this)[into], (*this)[from]); }
  void join(uint32_t* into, const uint32_t* from) const {
    for_each_chunk([=](uint32_t i) {
      for (uint32_t j = i; j < i + kChunk; ++j) into[j] = into[j] < from[j] ? from[j] : into[j];
    });
  }
  /// The same for the agents [begin, end) alone.
  void join(uint32_t into, uint32_t from, uint32_t begin, uint32_t end) {
    uint32_t* to = (*this)[into];
    const uint32_t* source = (*this)[from];
    for (uint32_t i = begin; i < end; ++i) to[i] = to[i] < source[i] ? source[i] : to[i];
  }
  /// `into` keeps only what `from` knows too.
  void meet(uint32_t* into, const uint32_t* from) const {
    for_each_chunk([=](uint32_t i) {
      for (uint32_t j = i; j < i + kChunk; ++j) into[j] = into[j] > from[j] ? from[j] : into[j];
    });
  }
  void copy(uint32_t into, uint32_t from) { copy((*this)[into], (*this)[from]); }
  void copy(uint32_t* into, const uint32_t* from) const {
    std::memcpy(into, from, size_t{round_up(agents_)} * sizeof(uint32_t));
  }

 private:
  static constexpr uint32_t kChunk = 16;
  static uint32_t round_up(uint32_t n) { return (n + kChunk - 1) / kChunk * kChunk; }

  template <class F>
  void for_each_chunk(F&& f) const {
    for (uint32_t i = 0; i < agents_; i += kChunk) f(i);
  }

  void widen() {
    const uint32_t stride = stride_ * 2;
    const size_t rows = data_.size() / stride_;
    std::vector<uint32_t> wider(rows * stride, 0);
    for (size_t r = 0; r < rows; ++r) {
      std::memcpy(&wider[r * stride], &data_[r * stride_], stride_ * sizeof(uint32_t));
    }
    data_ = std::move(wider);
    stride_ = stride;
  }

  std::vector<uint32_t> data_;
  std::vector<uint32_t> free_;
  uint32_t stride_ = kChunk, agents_ = 0, clocks_ = 0;
};

}  // namespace tilewright::emulator
