// The machine that a GEMM case runs on: memory and launches, the same for the emulated machine and a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "tilewright/gemm.h"

namespace tilewright::testing {

class TestMachine {
 public:
  virtual ~TestMachine() = default;

  virtual Device device() const = 0;

  /// Bytes that run_case puts on either side of an operand, fills with a pattern and checks afterwards. 0:
  /// the machine itself reports every access outside an operand.
  virtual size_t guard_bytes() const = 0;

  /// Memory with these contents, at a multiple of 256; null when there is none left. `output`: a kernel may
  /// write it.
  virtual void* place(std::span<const uint8_t> contents, const char* name, bool output) = 0;
  virtual void release(void* memory) = 0;
  virtual Status upload(void* to, std::span<const uint8_t> from) = 0;
  virtual Status download(std::span<uint8_t> to, const void* from) = 0;

  /// Has something launch on its stream, and waits for the end. No two need be scheduled alike.
  virtual Status launch(const std::function<Status(void* stream)>& on_stream) = 0;
  /// A plan so.
  virtual Status run(const Plan& plan, const Buffers& buffers) {
    return launch([&](void* stream) { return plan.run(buffers, stream); });
  }
};

}  // namespace tilewright::testing
