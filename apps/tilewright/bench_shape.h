// Measures contenders side by side on one problem.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench_block_scaled.h"
#include "bench_reference.h"
#include "cublaslt.h"
#include "gpu.h"
#include "tilewright/gemm.h"

namespace tilewright::cli {

/// How times are taken. A burst is `idle_ms` of rest (all kernels are at the power limit: without it, each
/// would run at the temperature and clock that the one before it left), two or more launches to warm up, and
/// then about `timed_ms` of launches that are timed together. In a round the contenders take turns, `bursts`
/// times; each contender's time is its median.
struct BenchMethod {
  int rounds = 3, bursts = 7;
  double idle_ms = 90, timed_ms = 1.6, warm_ms = 0.1;
};

/// The method for a problem's types: the slower its products, the longer its bursts.
BenchMethod method_for(const Problem& problem, BenchMethod method);

/// Whether sums may be promoted or fast.
bool has_fast_sums(const Problem& problem);

/// Operands in device memory, as many sets as do not fit in L2 together, with different values.
class BenchOperands {
 public:
  static Expected<BenchOperands> make(const Problem& problem, int64_t l2_bytes);

  int sets() const { return static_cast<int>(sets_.size()); }
  const void* a(int set) const { return sets_[static_cast<size_t>(set)].a.data(); }
  const void* b(int set) const { return sets_[static_cast<size_t>(set)].b.data(); }
  void* d(int set) const { return sets_[static_cast<size_t>(set)].d.data(); }
  /// What the library multiplies: the same or, of block-scaled operands, their values as bf16.
  const void* peer_a(int set) const { return blocks_ ? set_of(set).peer_a.data() : a(set); }
  const void* peer_b(int set) const { return blocks_ ? set_of(set).peer_b.data() : b(set); }
  /// Of block-scaled operands; or none.
  PackedBlockScales a_block_scales(int set) const;
  PackedBlockScales b_block_scales(int set) const;
  /// Of rows and columns, or of blocks: the same for all sets, in the strides of benched_scales(). Or null.
  const float* a_scales() const { return static_cast<const float*>(a_scales_.data()); }
  const float* b_scales() const { return static_cast<const float*>(b_scales_.data()); }
  /// Of the problem's epilogue, the same for all sets; or null.
  const void* bias() const { return bias_.data(); }
  void* aux() const { return aux_.data(); }
  float* amax() const { return static_cast<float*>(amax_.data()); }
  /// FP64 values for set 0; nothing but for f32 and block-scaled operands and for products with scales.
  const std::optional<SampledReference>& reference() const { return reference_; }
  Status poison_d() const;
  /// D of set 0, as floats. D has 16 bits or more.
  Expected<std::vector<float>> download_d(DType type) const;

 private:
  struct Set {
    GpuBuffer a, b, d, a_scales, b_scales, peer_a, peer_b;
  };
  /// Block-scaled operands on the host.
  struct Blocks {
    BlockScaledSource a, b;
  };
  const Set& set_of(int set) const { return sets_[static_cast<size_t>(set)]; }
  static Expected<BenchOperands> make_blocks(const Problem& problem, int64_t l2_bytes);

  std::shared_ptr<const Blocks> blocks_;
  std::vector<Set> sets_;
  static Status add_epilogue(const Problem& problem, BenchOperands& out);

  GpuBuffer a_scales_, b_scales_, bias_, aux_, amax_;
  std::optional<SampledReference> reference_;
};

/// Something that computes the problem on set `set`.
struct Contender {
  std::string name;
  bool fast_accumulation = false;
  std::function<Status(int set, void* stream)> run;
  std::optional<int> candidate;  // of cuBLASLt's heuristic; ours have none

  // filled in by measure()
  std::vector<double> round_us;  // one time for each round
  double difference = 0;         // of its D from the first contender's, Frobenius, relative
  int64_t nan_elements = 0;      // of D; D was poisoned with NaN
  std::optional<double> error;   // of its D from BenchOperands::reference()

  double mean_us() const;
};

/// Checks the contenders against the first of them and takes their times. Errors: a launch, memory.
Status measure(const BenchOperands& operands, DType d_type, const GpuStream& stream,
               const BenchMethod& method, std::vector<Contender>& contenders);

/// Mean over the rounds of peer's time / own time: above 1, own is faster.
double mean_ratio(const Contender& own, const Contender& peer);

/// The problem with the strides of block scales that cuBLASLt takes: A's have the rows contiguous, B's the
/// blocks along K, of which it wants a multiple of four.
Problem benched_scales(Problem problem);

/// Fills in Problem::epilogue from words joined by '_': bias (of columns, of rows of a column-major D; of D's
/// type, bf16 beside an f32 D of FP8 operands), relu or gelu, aux (of D's type), amax. Error: another word.
Status set_benched_epilogue(const std::string& words, Problem& problem);

/// The fastest of cuBLASLt's first `tried` candidates for a problem as a contender. `workspace` and `one` (a
/// float 1 on the device) must outlive it.
Expected<Contender> fastest_cublaslt(const CublasLt& library, const Problem& problem, bool fast, int tried,
                                     const BenchMethod& method, const BenchOperands& operands,
                                     const GpuBuffer& workspace, const GpuBuffer& one,
                                     const GpuStream& stream);

}  // namespace tilewright::cli
