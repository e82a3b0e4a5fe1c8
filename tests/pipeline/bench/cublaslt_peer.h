// One matrix product of cuBLASLt, for programs of the pipeline API: the command line's peer
// (apps/tilewright/cublaslt.h) without the planner's header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tilewright/numeric/dtype.h"

namespace tilewright::bench {

/// C (m x n, row-major) = A (m x k, row-major) B (k x n, column-major), packed. C is f32 for tf32 and f32
/// (TF32 off), s32 for s8, f16 for e4m3 (with the library's fast accumulation), else of the operands' type.
class CublasLtPeer {
 public:
  /// Null, with the reason in `error`, where the library or a kernel of it is missing.
  static std::unique_ptr<CublasLtPeer> create(DType type, int64_t m, int64_t n, int64_t k,
                                              std::string& error);
  ~CublasLtPeer();

  /// The library's candidates, best first by its own estimate.
  int candidates() const;
  bool run(int candidate, const void* a, const void* b, void* c, void* workspace, void* stream) const;
  static const size_t kWorkspace;

 private:
  struct State;
  explicit CublasLtPeer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tilewright::bench
