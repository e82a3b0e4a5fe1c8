// The library's own FP8 kernel, as plan() chooses it, for programs that use the pipeline API beside it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace tilewright::bench {

/// D = A B of n x n matrices: A and B e4m3, K contiguous, D f16, row-major.
class LibraryPeer {
 public:
  virtual ~LibraryPeer() = default;
  /// The kernel's name and tile order.
  virtual std::string name() const = 0;
  /// On the default stream; false where the launch failed.
  virtual bool run(const void* a, const void* b, void* d) const = 0;

  /// Null, with the reason in `error`, where there is no such kernel.
  static std::unique_ptr<LibraryPeer> create(int64_t n, bool promoted, std::string& error);
};

}  // namespace tilewright::bench
