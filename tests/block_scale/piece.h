// Memory of a machine with guards around it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/kernels/test_machine.h"
#include "tests/kernels/text.h"

namespace tilewright::testing {

/// One piece of a machine's memory: guard, contents, guard.
class Piece {
 public:
  Piece(TestMachine& machine, const char* name, const std::vector<uint8_t>& contents, bool output,
        size_t offset = 0)
      : machine_(machine), skip_(machine.guard_bytes() + offset), size_(contents.size()) {
    image_.assign(skip_ + size_ + machine.guard_bytes(), 0xFF);
    std::copy(contents.begin(), contents.end(), image_.begin() + static_cast<std::ptrdiff_t>(skip_));
    memory_ = machine.place(image_, name, output);
    EXPECT_NE(memory_, nullptr) << name;
  }
  ~Piece() {
    if (memory_ != nullptr) machine_.release(memory_);
  }
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;

  void* data() const { return static_cast<uint8_t*>(memory_) + skip_; }
  void write(const std::vector<uint8_t>& contents) {
    std::copy(contents.begin(), contents.end(), image_.begin() + static_cast<std::ptrdiff_t>(skip_));
    EXPECT_FALSE(machine_.upload(memory_, image_));
  }
  /// Empty and a failure when a guard has changed.
  std::vector<uint8_t> read(std::string& failure, const char* name) const {
    std::vector<uint8_t> now(image_.size());
    EXPECT_FALSE(machine_.download(now, memory_));
    const auto begin = now.begin() + static_cast<std::ptrdiff_t>(skip_);
    const auto end = begin + static_cast<std::ptrdiff_t>(size_);
    const auto is_guard = [](uint8_t byte) { return byte == 0xFF; };
    if (!std::all_of(now.begin(), begin, is_guard) || !std::all_of(end, now.end(), is_guard))
      failure += text("bytes around ", name, " have changed\n");
    return {begin, end};
  }

 private:
  TestMachine& machine_;
  size_t skip_, size_;
  std::vector<uint8_t> image_;
  void* memory_ = nullptr;
};

}  // namespace tilewright::testing
