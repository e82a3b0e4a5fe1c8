// One matrix product of cuBLASLt, which is loaded at run time and never linked.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tilewright::bench {

enum class PeerType : uint8_t { f16, bf16, tf32, s8, f32, f64, e4m3 };

/// C (m x n, row-major) = A (m x k, row-major) B (k x n, column-major), packed. C is f16 for f16, bf16 for
/// bf16, f32 for tf32 and f32 (TF32 off), s32 for s8,
/// f64 for f64, f16 for e4m3 (with the library's fast accumulation).
class CublasLtPeer {
 public:
  /// Null, with the reason in `error`, where the library or a kernel of it is missing.
  static std::unique_ptr<CublasLtPeer> create(PeerType type, int64_t m, int64_t n, int64_t k,
                                              std::string& error);
  ~CublasLtPeer();

  /// The library's candidates, best first by its own estimate.
  int candidates() const;
  bool run(int candidate, const void* a, const void* b, void* c, void* workspace, void* stream) const;
  static constexpr size_t kWorkspace = size_t{64} << 20;

 private:
  struct State;
  explicit CublasLtPeer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tilewright::bench
