// The vendor's library as a peer in measurements: loaded at run time, never linked.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "tilewright/error.h"
#include "tilewright/gemm.h"

namespace tilewright::cli {

struct CublasLtApi;

/// A loaded cuBLASLt with a handle.
class CublasLt {
 public:
  /// `path`: a library file; empty tries the usual names and places. Errors: not found, too old, no CUDA.
  static Expected<CublasLt> load(const std::string& path);

  std::string version() const;
  const CublasLtApi& api() const { return *api_; }

 private:
  std::shared_ptr<const CublasLtApi> api_;
};

constexpr size_t kCublasLtWorkspace = size_t{64} << 20;
/// What its heuristic is asked for.
constexpr int kCublasLtCandidates = 8;

/// What the epilogue of a problem reads and writes besides, in device memory; null where it has none.
struct CublasLtEpilogue {
  const void* bias = nullptr;
  void* aux = nullptr;
};

/// D = A B, with the problem's bias, activation and aux (benched_epilogue()), packed operands in the
/// problem's layouts; sums in FP32 (f32 operands: products too, never TF32), of integers in 32-bit integers.
/// FP8 operands are K-major and have scales in device memory: none (null), one each, or those of the
/// problem's mode, with the strides of benched_scales().
class CublasLtMatmul {
 public:
  /// The first kCublasLtCandidates candidates of the library's heuristic. Error: it has none.
  static Expected<CublasLtMatmul> create(const CublasLt& library, const Problem& problem,
                                         bool fast_accumulation, const float* scale_a, const float* scale_b,
                                         const CublasLtEpilogue& epilogue = {});

  int candidates() const;
  /// workspace: kCublasLtWorkspace bytes.
  Status run(int candidate, const void* a, const void* b, void* d, void* workspace, void* stream) const;

  struct State;
  explicit CublasLtMatmul(std::shared_ptr<const State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace tilewright::cli
